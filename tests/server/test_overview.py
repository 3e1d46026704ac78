from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import kgtable
from kgtable.building.pipeline import start_empty
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views import overview, table_list
from kgtable.server.views.suggested_questions import TableQuestions, suggestions
from kgtable.server.views.table_windows import forget_cells
from kgtable.tables.model import MeasureKind, Role
from tests.server.open_graph import silent


@pytest.fixture
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("empty") / "kg"
    start_empty(folder)
    yield kgtable.open(folder)
    overview.forget()
    forget_cells()


def listed(q: str = "", offset: int = 0, limit: int = 100) -> dict[str, object]:
    return {"q": q, "offset": offset, "limit": limit}


def test_counts_of_the_graph(opened: KnowledgeGraph) -> None:
    found = overview.info(opened, {}, silent)
    assert found["tables"] == len(opened.tables)
    assert found["cells"] == opened.info()["cells"]
    assert found["start"] in {opened.names.table_iri(id) for id in opened.tables}


def test_an_empty_graph_has_nothing_to_ask(empty: KnowledgeGraph) -> None:
    found = overview.info(empty, {}, silent)
    assert (found["tables"], found["start"]) == (0, None)
    assert suggestions(empty, {}, silent) == {"questions": []}
    assert found["summary"].startswith("0 tables, 0 rows")
    none: dict[str, list[object]] = {"unit": [], "kind": [], "folder": []}
    assert table_list.tables(empty, listed(), silent) == {"total": 0, "tables": [], "facets": none}
    assert overview.ontology(empty, listed("x"), silent) == {"total": 0, "predicates": []}
    assert overview.classes(empty, {}, silent)["classes"] == []


def test_an_editor_is_told_prefixes_examples_and_iris(opened: KnowledgeGraph) -> None:
    found = overview.dataset(opened, {}, silent)
    assert opened.names.predicate_iri("hasPlanet") in found["properties"]
    assert found["properties"] == sorted(set(found["properties"]))
    assert found["prefixes"]["ex"] == opened.names.ex
    assert found["examples"][0]["query"]


def test_markup_stays_text(hostile_graph: KnowledgeGraph) -> None:
    for operation in (overview.info, overview.dataset, overview.classes):
        json.dumps(operation(hostile_graph, {}, silent))
    assert table_list.tables(hostile_graph, listed("a&b"), silent)["total"] == 1
    labels = {entry["label"] for entry in overview.ontology(hostile_graph, listed(), silent)["predicates"]}
    assert '<b>"x"\u202e' in labels
    overview.forget()


@pytest.mark.parametrize(
    ("header", "role", "kind", "first", "added"),
    [
        ("Price", Role.MEASURE, MeasureKind.RATE, "Shop", False),
        ("Fee", Role.MEASURE, MeasureKind.AMOUNT, "Shop", True),
        ("Stock", Role.MEASURE, MeasureKind.LEVEL, "Shop", True),
        ("Stock", Role.MEASURE, MeasureKind.LEVEL, "Month", False),
        ("Account", Role.IDENTIFIER, None, "Shop", None),
        ("Place", Role.ORDINAL, None, "Shop", None),
    ],
)
def test_no_total_is_suggested_of_what_does_not_add_up(
    header: str, role: Role, kind: MeasureKind | None, first: str, added: bool | None, tmp_path: Path
) -> None:
    names = ("January", "February", "March") if first == "Month" else ("Ahlberg", "Birk", "Dahl")
    rows = "".join(f"{name},{number}\n" for name, number in zip(names, (120, 340, 75), strict=True))
    (tmp_path / "shops.csv").write_text(f"{first},{header}\n{rows}", encoding="utf-8")
    decided = tmp_path / "decided.csv"
    more = "Month,,Time,\n" if first == "Month" else ""
    decided.write_text(
        f"column name,predicate,role,measure kind\n{header},,{role},{kind or ''}\n{more}", encoding="utf-8"
    )
    kgtable.build(tmp_path / "shops.csv", tmp_path / "kg", mapping=decided, embedding="none")
    with kgtable.open(tmp_path / "kg") as graph:
        questions = replace(TableQuestions.of(graph, "shops"), title="Shops")
    assert bool(questions.measures) is (added is not None)
    assert any("total" in question for question in questions.general()) is bool(added)


def test_suggested_questions_name_rows_by_nouns_and_measures_in_words(tmp_path: Path) -> None:
    tables = {
        "stays": "Guest house,Nights,Best of\nAnker,12,3\nBirke,30,4\nKompass,7,5\n",
        "orders": "Order No,Weight (kg)\nA-1,12.5\nB-2,30.25\nC-3,7.75\n",
        "staff": "Name,Salary (€)\nAda Moss,2400\nBo Falk,1900\nCy Lund,3100\n",
        "wards": "Ward,Beds\nNorth,20\nSouth,14\nNorth,18\n",
    }
    for name, rows in tables.items():
        (tmp_path / f"{name}.csv").write_text(rows, encoding="utf-8")
    kgtable.build([tmp_path / f"{name}.csv" for name in tables], tmp_path / "kg", embedding="none").close()
    with kgtable.open(tmp_path / "kg") as graph:
        asked = {name: list(TableQuestions.of(graph, name).general()) for name in tables}
        front = suggestions(graph, {}, silent)["questions"]
    assert asked["stays"][0] == "Which guest house has the most nights?"
    assert not any("best of" in question.lower() for question in asked["stays"])
    for name in ("orders", "staff", "wards"):
        assert not [question for question in asked[name] if question.startswith("Which")], name
    assert "What is the salary of Bo Falk?" in asked["staff"]
    assert front
    assert len({question.split()[0] for question in front}) > 1
