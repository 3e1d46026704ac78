from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.answering.program_answers import read_relation, relations_of
from kgtable.graph.table_source import TableReader
from kgtable.programs.algebra import RowChoice
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import text_of
from kgtable.questions.by_rules import MOST_TABLES

HEADER = "Order,Status,paid on,Price (EUR),Weight (kg),Share,Floor,Note"


def _rows(count: int) -> Iterator[str]:
    chosen = random.Random(3)
    for number in range(count):
        status = chosen.choice(("Paid", "paid", "Open", "n/a", "in transit"))
        price = chosen.choice((f'"{chosen.randint(1000, 99999):,}.50"', "12", "-3.5", ""))
        day = f"2021-0{chosen.randint(1, 9)}-1{chosen.randint(0, 9)}"
        share = chosen.choice(("5%", "12.5%", "2-3%"))
        note = chosen.choice(("", "late ", "Été", "all"))
        yield f"A-{number:04},{status},{day},{price},{chosen.randint(1, 9)},{share},{chosen.randint(0, 4)},{note}"
    yield '"Total",,,"1,000",55,,,'
    yield '"Source: the harbour",,,,,,,'


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("long")
    (folder / "tables").mkdir()
    text = "\n".join((HEADER, *_rows(400))) + "\n"
    (folder / "tables" / "orders.csv").write_text(text, encoding="utf-8")
    with kgtable.build(folder / "tables", folder / "kg", embedding="none") as kg:
        yield kg


@pytest.fixture
def by_column(graph: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> Iterator[kgtable.KnowledgeGraph]:
    """The same graph, whose table counts as a long one that is never read as a whole."""
    monkeypatch.setattr("kgtable.answering.program_answers.LONG", 50)

    def never(*_: object) -> Any:
        raise AssertionError("The table was read as a whole.")

    monkeypatch.setattr(TableReader, "decoded", never)
    with kgtable.open(graph.path) as again:
        yield again


def _values(relation: Relation, column: int) -> list[tuple[object, ...] | None]:
    data = relation.data(column)
    return [
        None if (datum := data[row]) is None else (datum.kind, text_of(datum), datum.value, datum.unit, datum.scale)
        for row in range(len(relation))
    ]


def test_a_relation_read_by_column_is_the_one_of_the_whole_table(
    graph: kgtable.KnowledgeGraph, by_column: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read_relation(by_column.reader, "orders")
    monkeypatch.undo()
    whole = relations_of(graph.reader)["orders"]
    assert [column.path for column in found.columns] == [column.path for column in whole.columns]
    assert found.kinds.tolist() == whole.kinds.tolist()
    assert len(set(found.kinds.tolist())) == 3
    for column in range(len(whole.columns)):
        assert found.typing(column) == whole.typing(column)
        assert [found.text(row, column) for row in range(len(found))] == [
            whole.text(row, column) for row in range(len(whole))
        ]
        assert _values(found, column) == _values(whole, column)
    for row in (0, 7, 400):
        assert found.position(row, 1) == whole.position(row, 1)
    assert found.select(RowChoice.TOTALS).tolist() == whole.select(RowChoice.TOTALS).tolist() == [400]


def _column(name: str) -> dict[str, str]:
    return {"column": name, "table": "orders"}


PAID = {
    "op": "filter",
    "source": {"op": "table", "table": "orders"},
    "condition": {"op": "=", "left": _column("Status"), "right": "paid"},
}
PROGRAMS = {
    "count": {"op": "count", "rows": PAID},
    "sum": {"op": "sum", "rows": PAID, "argument": _column("Price (EUR)")},
    "mean": {"op": "mean", "rows": "orders", "argument": _column("Weight (kg)")},
    "latest": {"op": "max", "rows": PAID, "argument": _column("paid on")},
}


@pytest.mark.parametrize("engine", ["memory", "sparql"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_give_the_same_without_the_whole_table(
    name: str,
    engine: str,
    graph: kgtable.KnowledgeGraph,
    by_column: kgtable.KnowledgeGraph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = by_column.run(PROGRAMS[name], engine=engine)
    monkeypatch.undo()
    whole = graph.run(PROGRAMS[name], engine="memory")
    assert (found.value, found.unit) == (whole.value, whole.unit)
    assert found.calculation == whole.calculation
    assert found.citations == whole.citations
    assert found.cells_read == whole.cells_read > 60
    assert len(found.citations) == 60


def test_a_changed_graph_is_read_from_its_store(
    graph: kgtable.KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtable.answering.program_answers.LONG", 50)
    monkeypatch.setattr("kgtable.index.graph_index.GraphIndex.describes", lambda *_: False)
    with kgtable.open(graph.path) as again:
        assert again.run(PROGRAMS["count"]).value == graph.run(PROGRAMS["count"]).value
        assert "orders" in again.reader._tables


def test_the_tables_of_one_question_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tables").mkdir()
    for number in range(MOST_TABLES + 1):
        (tmp_path / "tables" / f"t{number}.csv").write_text(f"Name,Size\na,{number}\nb,7\n", encoding="utf-8")
    monkeypatch.setattr("kgtable.answering.program_answers._KEPT_CELLS", 3)
    with kgtable.build(tmp_path / "tables", tmp_path / "kg", embedding="none") as graph:
        relations = relations_of(graph.reader)
        read = [relations[f"t{number}"] for number in range(MOST_TABLES)]
        assert [relations[f"t{number}"] for number in range(MOST_TABLES)] == read
        relations[f"t{MOST_TABLES}"]
        assert len(relations) == MOST_TABLES
        assert "t0" not in list(relations)
