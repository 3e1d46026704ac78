"""Charts of answers: what is drawn, how, and what is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import kgtable
from kgtable.answering.charts import MOST_SERIES, Chart, ChartPoint, chart_of, chart_of_columns, image_of
from kgtable.cli.main import main
from kgtable.errors import UsageError

PORTS = "Port,Country,2021 fees (EUR million),2022 fees (EUR million),2023 fees (EUR million)\n"
PORTS += "Skarv,Norway,12,14,17\nFjell,Norway,31,29,26\nHalden,Sweden,8,9,11\n"

QUERY = """SELECT ?port ?fees { GRAPH ?table { ?row rdfs:label ?port ; ex:has2023Fees ?cell .
?cell qudt:numericValue ?fees } }"""


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("ports")
    (folder / "ports.csv").write_text(PORTS, encoding="utf-8")
    with kgtable.build(folder, folder / "kg", embedding="none") as graph:
        yield graph


def spec_of(kg: kgtable.KnowledgeGraph, question: str) -> Any:
    chart = kg.ask(question, model="none").plot()
    return None if chart is None else chart.spec


def numbers(**values: float) -> list[ChartPoint]:
    return [ChartPoint(name, "Share", Decimal(str(value))) for name, value in values.items()]


def test_a_ranking_is_bars_the_largest_first_with_the_answer_marked(kg: kgtable.KnowledgeGraph) -> None:
    spec = spec_of(kg, "Which port had the highest fees in 2023?")
    assert spec["mark"] == "bar"
    assert spec["encoding"]["y"]["sort"] == ["Fjell", "Skarv", "Halden"]
    assert spec["encoding"]["x"]["title"] == "million euros"
    assert {point["name"]: point["value"] for point in spec["data"]["values"]} == {
        "Fjell": 26,
        "Skarv": 17,
        "Halden": 11,
    }
    assert [point["name"] for point in spec["data"]["values"] if point["answer"]] == ["Fjell"]


def test_the_cells_that_decide_are_cited_first(kg: kgtable.KnowledgeGraph) -> None:
    answer = kg.ask("Which port had the highest fees in 2023?", model="none")
    assert [cited.text for cited in answer.citations][:2] == ["Fjell", "26"]


def test_numbers_over_years_are_a_line(kg: kgtable.KnowledgeGraph) -> None:
    spec = spec_of(kg, "How much did the fees of Skarv change from 2021 to 2023?")
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["line", "point"]
    assert [name[:4] for name in spec["encoding"]["x"]["sort"]] == ["2021", "2023"]


def test_one_number_or_a_text_is_not_drawn(kg: kgtable.KnowledgeGraph) -> None:
    assert spec_of(kg, "What were the fees of Skarv in 2023?") is None
    assert spec_of(kg, "In which country is Halden?") is None


def test_what_cannot_be_compared_is_not_drawn() -> None:
    assert chart_of([], "?", None) is None
    assert chart_of(numbers(a=1), "?", None) is None
    assert chart_of([*numbers(a=1, b=2), *numbers(a=3)], "?", None) is None
    assert chart_of([*numbers(a=1), ChartPoint("b", "Share", Decimal("1e400"))], "?", None) is None
    many = [ChartPoint(row, str(n), Decimal(n)) for n in range(MOST_SERIES + 1) for row in ("a", "b")]
    assert chart_of(many, "?", None) is None


def test_periods_are_in_their_order_and_series_have_colours() -> None:
    points = [ChartPoint(row, f"Q{n} 2023", Decimal(n)) for row in ("A", "B") for n in (4, 2, 1)]
    chart = chart_of(points, "?", "PERCENT")
    assert chart is not None
    assert chart.spec["encoding"]["x"]["sort"] == ["Q1 2023", "Q2 2023", "Q4 2023"]
    assert chart.spec["layer"][0]["encoding"]["color"]["sort"] == ["A", "B"]


def test_texts_of_tables_stand_in_the_data_alone() -> None:
    nasty = "'];alert(1)//<script>\\u202e" + "x" * 500
    chart = chart_of([ChartPoint(nasty, nasty, Decimal(1)), ChartPoint("b", nasty, Decimal(2))], nasty, None)
    assert chart is not None
    tests = [part["test"] for part in (chart.spec["encoding"]["color"]["condition"],)]
    assert tests == ["datum.answer"]
    assert len(json.dumps(chart.spec)) < 5_000
    assert chart._repr_mimebundle_()["application/vnd.vegalite.v5+json"] == chart.spec


def test_a_chart_is_drawn_to_a_file(kg: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    chart = kg.ask("Which port had the highest fees in 2023?", model="none").plot()
    assert chart is not None
    chart.save(tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    svg = chart.to_svg()
    assert svg.startswith("<svg")
    assert all(word in svg for word in ("Fjell", "million euros"))
    with pytest.raises(kgtable.errors.UsageError, match="cannot be written"):
        chart.save(tmp_path / "c.bmp")


@pytest.mark.parametrize("label", ["roc\x1bket", "a\0b", "\ufffe", "\udc80", "constructor", "toString", "__proto__"])
def test_any_label_is_drawn(kg: kgtable.KnowledgeGraph, label: str) -> None:
    pytest.importorskip("vl_convert")
    for column in ("Share", label):
        points = [ChartPoint(label, column, Decimal(1)), ChartPoint("b", column, Decimal(2))]
        points += [ChartPoint(point.row, "Other", point.value) for point in points]
        chart = chart_of(points, f"Of {label}", None)
        assert chart is not None
        ElementTree.fromstring(chart.to_svg())
        assert chart.to_svg().count('aria-roledescription="bar"') == 4
    columns = {"name": [label.replace("\udc80", ""), "b"], "value": [1, 2]}
    assert "<img" in image_of(chart_of_columns(columns))


def test_a_specification_that_crashes_the_library_ends_its_process_only(kg: kgtable.KnowledgeGraph) -> None:
    pytest.importorskip("vl_convert")
    good = chart_of(numbers(a=1, b=2), "?", None)
    assert good is not None
    for label in ("\x1b", "constructor"):
        text = json.dumps(good.spec).replace('"a "', json.dumps(label))
        with pytest.raises(kgtable.errors.EvaluationError, match="could not be drawn"):
            Chart(json.loads(text)).to_svg()
        assert image_of(Chart(json.loads(text))) == ""
        assert good.to_svg().startswith("<svg")


def test_ask_draws_and_tells_where_there_is_nothing_to_draw(kg: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    def ask(question: str, name: str) -> str:
        options = ["--kg", str(kg.path), "--model", "none", "--plot", str(tmp_path / name)]
        done = CliRunner().invoke(main, ["ask", question, *options])
        assert done.exit_code == 0, done.output
        return done.stderr

    ask("Which port had the highest fees in 2023?", "fees.json")
    assert json.loads((tmp_path / "fees.json").read_text(encoding="utf-8"))["mark"] == "bar"
    assert "no chart was written" in ask("In which country is Halden?", "none.json")
    assert not (tmp_path / "none.json").exists()


def test_columns_of_a_result_are_chosen_by_what_they_hold() -> None:
    rows = [("Skarv", "2022", 14), ("Skarv", "2023", 17), ("Fjell", "2022", 29), ("Fjell", "2023", 26)]
    columns = dict(zip(("port", "year", "fees"), zip(*rows, strict=True), strict=True))
    unit = ["http://qudt.org/vocab/unit/CCY_EUR"] * len(rows)
    chart = chart_of_columns({**columns, "unit": unit}, "Fees")
    assert chart is not None
    assert chart.spec["encoding"]["y"]["title"] == "euros"
    assert {point["series"] for point in chart.spec["data"]["values"]} == {"Skarv", "Fjell"}
    years = chart_of_columns({"year": [2021, 2022], "fees": [Decimal(3), Decimal(4)]})
    assert years is not None
    assert "layer" in years.spec
    assert chart_of_columns({"port": ["Skarv", "Fjell"], "open": [True, False]}) is None
    assert chart_of_columns({}) is None


def test_results_of_queries_and_programs_are_drawn(kg: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    chart = kg.chart(QUERY)
    assert chart is not None
    assert {point["name"] for point in chart.spec["data"]["values"]} == {"Skarv", "Fjell", "Halden"}
    assert kg.chart("ASK { ?s ?p ?o }") is None
    program = json.dumps({"op": "project", "source": "ports", "columns": [{"column": "Port"}, {"column": 4}]})
    run = kg.run(program).plot()
    assert run is not None
    assert [point["value"] for point in run.spec["data"]["values"]] == [17, 26, 11]
    assert kg.run('{"op": "count", "rows": "ports"}').plot() is None
    for command, argument in (("sparql", QUERY), ("run", program)):
        drawn = tmp_path / f"{command}.json"
        done = CliRunner().invoke(main, [command, argument, "--kg", str(kg.path), "--plot", str(drawn)])
        assert done.exit_code == 0, done.output
        assert len(json.loads(drawn.read_text())["data"]["values"]) == 3


def test_a_group_without_a_key_is_drawn_as_blank() -> None:
    chart = chart_of_columns({"client": ["Alba", None], "hours": [Decimal(3), Decimal(4)]})
    assert chart is not None
    assert [point["name"] for point in chart.spec["data"]["values"]] == ["Alba", "(blank)"]


def test_plot_writes_the_chart_to_a_path(kg: kgtable.KnowledgeGraph, tmp_path: Path) -> None:
    answer = kg.ask("Which port had the highest fees in 2023?", model="none")
    chart = answer.plot(tmp_path / "fees.svg")
    assert chart is not None
    assert (tmp_path / "fees.svg").read_text(encoding="utf-8") == chart.to_svg()
    assert kg.run('{"op": "count", "rows": "ports"}').plot(tmp_path / "none.svg") is None
    assert not (tmp_path / "none.svg").exists()
    with pytest.raises(UsageError):
        answer.plot(tmp_path / "fees.doc")
