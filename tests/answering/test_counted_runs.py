"""Programs at an endpoint over a long table: the engine counts, a bounded part of the table is read."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import kgtable
from kgtable.answering.program_runs import ProgramRun
from kgtable.errors import UnknownColumnError
from kgtable.graph.table_content import CellContent
from kgtable.graph.table_source import TableReader
from kgtable.programs.table_relation import is_note, is_part, is_summary_word, is_total_word
from kgtable.resources import read_shipped
from tests.graph.remote.engines import ENGINES, connected_graph

HEADER = "Order,Status,paid on,Price (EUR),Weight (kg),Cost,Note"
SIZE = 1_200


def _rows() -> Iterator[str]:
    chosen = random.Random(7)
    for number in range(SIZE):
        label = "" if number in (300, 301, 900) else f"A-{2000 + number}"
        status = chosen.choice(("Paid", "paid", "PAID ", "Open", "n/a", "in transit", ""))
        day = chosen.choice(
            (f"2021-0{chosen.randint(1, 9)}-1{chosen.randint(0, 9)}", f"{chosen.randint(1, 28)} May 2021")
        )
        price = chosen.choice((f'"{chosen.randint(1000, 99999):,}.50"', "12", "-3.5", "", "n/a"))
        cost = f"{chosen.choice(('€', '$', ''))}{chosen.randint(1, 900)}"
        note = chosen.choice(("", "late ", "Été", "total", "all"))
        yield f"{label},{status},{day},{price},{chosen.randint(1, 9)},{cost},{note}"
        if number == 700:
            yield ",,,,,,"
            yield 'Total so far,,,"9,000",,,'
            yield 'Subtotal,Open,,"8,000",44,,'
    yield 'Total,,,"1,000",55,,'
    yield '"Source: the harbour",,,,,,'
    yield '"* three days late",,,,,,'


def _column(name: str) -> dict[str, str]:
    return {"column": name, "table": "orders"}


def _where(condition: object, source: object = "orders") -> dict[str, object]:
    return {"op": "filter", "source": source, "condition": condition}


def _is(name: str, text: object, relator: str = "=") -> dict[str, object]:
    return {"op": relator, "left": _column(name), "right": text}


def _of(function: str, name: str, rows: object = "orders") -> dict[str, object]:
    return {"op": function, "rows": rows, "argument": _column(name)}


PAID = _where(_is("Status", "paid"))
RARE = _where(
    {"op": "and", "conditions": [_is("Status", "open"), _is("Price (EUR)", 12), _is("Note", "été")]}
)
PROGRAMS: dict[str, Any] = {
    "all rows": {"op": "count", "rows": "orders"},
    "rows with totals": {"op": "count", "rows": {"op": "table", "table": "orders", "choice": "all"}},
    "count": {"op": "count", "rows": PAID},
    "rare": {"op": "count", "rows": RARE},
    "none": {"op": "count", "rows": _where(_is("Status", "lost"))},
    "given": _of("count", "Price (EUR)", PAID),
    "different": _of("count_distinct", "Status"),
    "sum": _of("sum", "Price (EUR)", PAID),
    "mean": _of("mean", "Weight (kg)"),
    "largest": _of("max", "Price (EUR)", PAID),
    "smallest": _of("min", "Price (EUR)"),
    "latest": _of("max", "paid on", PAID),
    "two steps": _of("sum", "Weight (kg)", _where(_is("Price (EUR)", 100, ">"), PAID)),
    "either": {"op": "count", "rows": _where({"op": "or", "conditions": [_is("Note", "late"), _is("Weight (kg)", 9)]})},
    "missing": {"op": "count", "rows": _where({"op": "is_missing", "operand": _column("Price (EUR)")})},
    "begins": {"op": "count", "rows": _where(_is("Status", "in", "starts"))},
    "totals alone": _of("sum", "Weight (kg)", {"op": "table", "table": "orders", "choice": "totals"}),
}  # fmt: skip
BY_COLUMNS: dict[str, Any] = {
    "several currencies": _of("sum", "Cost", _where(_is("Note", "late"))),
    "one label": _of("sum", "Weight (kg)", _where(_is("Order", "A-2017"))),
    "groups": {
        "op": "group",
        "source": "orders",
        "keys": [{"name": "Status", "expression": _column("Status")}],
        "measures": [{"name": "rows", "expression": {"op": "count"}}],
    },
}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("counted")
    (folder / "tables").mkdir()
    (folder / "tables" / "orders.csv").write_text("\n".join((HEADER, *_rows())) + "\n", encoding="utf-8")
    with kgtable.build(folder / "tables", folder / "kg", embedding="none") as kg:
        yield kg


@pytest.fixture(scope="module", params=ENGINES)
def engine(
    request: pytest.FixtureRequest, local: kgtable.KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[kgtable.KnowledgeGraph]:
    with connected_graph(request.param, local, tmp_path_factory.mktemp("remote")) as graph:
        yield graph


@pytest.fixture
def far(engine: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> kgtable.KnowledgeGraph:
    """The table counts as one of which little is read; nothing is known of it yet."""
    monkeypatch.setattr("kgtable.answering.program_answers.LONG", 50)
    monkeypatch.setattr("kgtable.answering.counted_runs.FIRST_ROWS", 60)
    monkeypatch.setattr("kgtable.answering.counted_runs.SAMPLED", 20)
    for name in ("reader", "_programs"):
        engine.__dict__.pop(name, None)
    return engine


@pytest.fixture
def read_rows(far: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> dict[int, set[int]]:
    """The rows that were read of each column."""
    found: dict[int, set[int]] = defaultdict(set)
    column = TableReader.column

    def reading(self: TableReader, id: str, index: int, rows: Sequence[int]) -> list[CellContent | None]:
        found[index].update(rows)
        return column(self, id, index, rows)

    def never(*_: object) -> Any:
        raise AssertionError("The table was read as a whole.")

    monkeypatch.setattr(TableReader, "column", reading)
    monkeypatch.setattr(TableReader, "_whole", never)
    return found


def _told(run: ProgramRun) -> tuple[object, ...]:
    return run.value, run.unit, run.rows, run.size, run.calculation, run.citations, run.cells_read


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_counting_program_tells_what_the_embedded_store_does(
    name: str,
    local: kgtable.KnowledgeGraph,
    far: kgtable.KnowledgeGraph,
    read_rows: dict[int, set[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = far.run(PROGRAMS[name], engine="sparql")
    assert found.query == far.compile(PROGRAMS[name])
    assert max(map(len, read_rows.values())) < 450
    monkeypatch.undo()
    monkeypatch.setattr("kgtable.answering.program_answers.LONG", 50)
    with kgtable.open(local.path) as here:
        expected = here.run(PROGRAMS[name], engine="memory")
    assert (found.value is None) == (expected.value is None)
    assert _told(found)[4:] == _told(expected)[4:]
    if name == "mean":
        assert abs(found.value - expected.value) < 1e-12  # type: ignore[operator,arg-type]
    else:
        assert (found.value, found.unit) == (expected.value, expected.unit)


@pytest.mark.parametrize("name", BY_COLUMNS)
def test_what_a_part_does_not_tell_is_read_by_column(
    name: str,
    local: kgtable.KnowledgeGraph,
    far: kgtable.KnowledgeGraph,
    read_rows: dict[int, set[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kgtable.graph.table_sample.MOST_DIFFERENT", 100)
    kept = "kgtable.answering.program_runs.GraphPrograms._counted"
    try:
        found: object = _told(far.run(BY_COLUMNS[name], engine="sparql"))
    except kgtable.KgtableError as error:
        found = type(error), str(error)
    monkeypatch.setattr(kept, lambda *_: None)
    for part in ("reader", "_programs"):
        far.__dict__.pop(part, None)
    try:
        expected: object = _told(far.run(BY_COLUMNS[name], engine="sparql"))
    except kgtable.KgtableError as error:
        expected = type(error), str(error)
    assert found == expected


def test_a_wrong_column_is_told_without_reading(
    far: kgtable.KnowledgeGraph, read_rows: dict[int, set[int]]
) -> None:
    with pytest.raises(UnknownColumnError):
        far.run(_of("sum", "Prize"), engine="sparql")
    assert max(map(len, read_rows.values())) < 450


def test_the_look_at_labels_finds_all_that_the_words_tell(local: kgtable.KnowledgeGraph) -> None:
    texts = (
        "Total", "total:", "TOTALS *", "Grand total (all)", "sub-total", "Sub total 2019", "Subtotal", "Overall",
        "overall total", "Average", "avg.", "Mean 2020", "mediàn", "All", "all (2019)", "Minimum†", "— Total —",
        "of which: paid", "(thereof abroad)", "davon Frauen", "dont femmes", "incl. VAT", "including tax",
        "included in above", "Note: late", "Notes.", "Sources : here", "Key: x", "Legend.", "Quelle: a",
        "Anmerkung: b", "* two words", "† in 2019", "¹ see below", "  ² see below", "Remark.", "sum", "Sum:",
        "Totally", "Allan", "Summer", "Keyboard", "A-0001", "Sumatra", "Meanwhile", "* word", "Notebook",
    )  # fmt: skip
    query = read_shipped("queries/remote/marked-labels.rq")
    condition = query[query.index("REGEX(") : query.index("}\nORDER")].strip().removesuffix(")")
    for text in texts:
        told = is_part(text) or is_note(text) or is_summary_word(text) or is_total_word(text)
        asked = condition.replace("STR(?text)", "?text")
        found = local.store.query(f"SELECT ?text {{ FILTER({asked}) }}", bindings={"text": text})
        assert len(list(found)) or not told, text  # type: ignore[arg-type]


def test_blank_rows_are_not_counted_where_columns_come_from_the_index(
    local: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtable.answering.program_answers.LONG", 50)
    with kgtable.open(local.path) as here:
        assert here.run(PROGRAMS["all rows"], engine="sparql").value == SIZE
