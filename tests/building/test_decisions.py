"""Decisions about how a table is read: previewed, made, taken back; from Python, the command line and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kgtable
from kgtable.cli.main import main
from kgtable.errors import GraphNotFoundError, MappingError, UsageError
from kgtable.ontology.mapping import UserMapping

FLEET = "Fleet,,\n,2023,2024\nFerries,5,6\nTugs,7,8\nStaff,2023,2024\nCrew,30,40\nOffice,6,9\n"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    (tmp_path / "fleet.csv").write_text(FLEET, encoding="utf-8")
    kgtable.build(tmp_path / "fleet.csv", tmp_path / "kg", embedding="none").close()
    return tmp_path / "kg"


def run(graph: Path, *arguments: str) -> Any:
    return CliRunner().invoke(main, [arguments[0], *arguments[1:], "--kg", str(graph)])


def test_what_was_found_is_seen_and_previewed_without_a_change(graph: Path) -> None:
    with kgtable.open(graph) as kg:
        (found,) = kg.preview("fleet")["tables"]
        assert (found["header_rows"], found["label_column"]) == ("2", "A")
        assert [row["kind"] for row in found["head"]][:3] == ["title", "header", "body"]
        (then,) = kg.preview("fleet", {"header rows": "none", "unit": "CCY_EUR", "label column": "A"})["tables"]
        assert then["header_rows"] == "none"
        assert then["columns"][1]["units"][0]["name"] == "CCY_EUR"
        assert kg.preview("fleet")["tables"] == [found]


def test_a_sheet_is_split_and_made_whole_again(graph: Path) -> None:
    with kgtable.decide(graph, "fleet", {"tables begin at": "5"}) as kg:
        assert kg.built is not None
        assert (kg.built.changes.added, kg.built.changes.removed) == (("fleet#0", "fleet#1"), ("fleet",))
        assert not kg.built.messages
        assert kg.tables["fleet#1"].to_frame(text=True)["2024"].tolist() == ["40", "9"]
    mapping = UserMapping.load(graph / "ontology.tables.csv")
    assert mapping.about_table("fleet") == {"tables begin at": "5"}
    with kgtable.build(graph.parent / "fleet.csv", graph, embedding="none") as kg:
        assert kg.built is not None
        assert kg.built.changes.unchanged == 2
    with kgtable.decide(graph, "fleet#1", {"unit": "USD", "scale": "thousands"}) as kg:
        found = kg.ask("What is the Crew in 2024?", model="none")
        assert (found.value, found.unit) == ("40000", "CCY_USD")
    with kgtable.decide(graph, "fleet", {"tables begin at": ""}) as kg:
        assert list(kg.tables) == ["fleet"]


@pytest.mark.parametrize("decided", ["none", "2; 900"])
def test_none_keeps_a_sheet_whole_and_a_row_beyond_it_is_told(decided: str, tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("A,B\nx,1\ny,2\n,\nC,D,E\nz,3,4\nu,5,6\n", encoding="utf-8")
    with kgtable.build(tmp_path / "two.csv", tmp_path / "kg", embedding="none") as kg:
        assert list(kg.tables) == ["two#0", "two#1"]
        found = kg.preview("two", {"tables begin at": decided})["tables"]
    if decided == "none":
        assert [table["id"] for table in found] == ["two"]
    else:
        assert [table["id"] for table in found] == ["two#0", "two#1"]
        assert any("row 900" in note for note in found[0]["notes"])


@pytest.mark.parametrize(
    ("decisions", "words"),
    [
        ({"header rws": "1"}, "Did you mean 'header rows'"), ({"header rows": "99"}, "has no row 99"),
        ({"header rows": "one"}, "are not rows"), ({"unit": "furlongs per moon"}, "is not a unit"),
        ({"label column": "Z"}, "has no column 'Z'"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_built(
    decisions: dict[str, str], words: str, graph: Path
) -> None:
    before = (graph / "kgtable.json").read_bytes()
    with pytest.raises(MappingError, match=words):
        kgtable.decide(graph, "fleet", decisions)
    assert (graph / "kgtable.json").read_bytes() == before


def test_unknown_tables_and_lost_files_are_named(graph: Path) -> None:
    with pytest.raises(GraphNotFoundError, match="no table 'fleets'"):
        kgtable.decide(graph, "fleets", {"title": "x"})
    (graph.parent / "fleet.csv").unlink()
    with pytest.raises(UsageError, match="not there any more"):
        kgtable.decide(graph, "fleet", {"title": "x"})


def test_the_command_shows_and_with_apply_decides(graph: Path) -> None:
    shown = run(graph, "decide", "fleet", "header rows=none")
    assert "-   header rows: 2; label column: A" in shown.stdout
    assert "+   header rows: none; label column: A" in shown.stdout
    assert "header rows: 2;" in run(graph, "info", "fleet").stdout
    assert run(graph, "decide", "fleet", "title=", "-q").stdout == "Nothing changes.\n"
    assert run(graph, "decide", "fleet", "header rows=none", "--apply").exit_code == 0
    assert "header rows: none;" in run(graph, "info", "fleet").stdout
    assert run(graph, "decide", "fleet", "rows=1").exit_code == 2


def test_a_column_is_decided_about_and_taken_back(graph: Path) -> None:
    assert "kilogram" in run(graph, "decide", "fleet", "--column", "2023", "unit=kg").stdout
    assert run(graph, "decide", "fleet", "--column", "2023", "unit=kg", "--apply").exit_code == 0
    with kgtable.open(graph) as kg:
        assert kg.ask("What is the Tugs in 2023?", model="none").unit == "KiloGM"
    with kgtable.decide(graph, "fleet", {"unit": ""}, column="2023") as kg:
        assert kg.ask("What is the Tugs in 2023?", model="none").unit != "KiloGM"


@pytest.mark.parametrize(
    ("column", "decisions", "words"),
    [
        ("202", {"unit": "kg"}, "no column '202'. Did you mean"),
        ("2023", {"color": "red"}, "not what can be decided about a column"),
        ("2023", {"role": "king"}, "king"),
    ],
)
def test_what_makes_no_sense_of_a_column_is_refused(
    column: str, decisions: dict[str, str], words: str, graph: Path
) -> None:
    with pytest.raises(MappingError, match=words):
        kgtable.decide(graph, "fleet", decisions, column=column)
