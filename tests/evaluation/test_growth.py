"""A benchmark of growing tables, and what a run over it measures by their size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.config import Settings
from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark, check_benchmark
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import make_plan, shapes, systems
from kgtable.evaluation.session import evaluate
from kgtable.evaluation.summary import report_tables, result_json
from scripts.benchmarks.grown_tables import KEY_COLUMNS, grown_table, growth_benchmark

SIZES = (20, 40)
METHODS = ("tablerag", "read-table:context=2000", "read-schema", "bm25")
CELLS = tuple(size * size for size in SIZES)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Benchmark, kgtable.KnowledgeGraph]]:
    root = tmp_path_factory.mktemp("growth")
    growth_benchmark(root / "grown", SIZES)
    with kgtable.build(root / "grown" / "tables", root / "graph", embedding="minilm") as graph:
        yield Benchmark(root / "grown"), graph


@pytest.fixture(scope="module")
def measured(grown: tuple[Benchmark, kgtable.KnowledgeGraph], tmp_path_factory: pytest.TempPathFactory) -> Run:
    benchmark, graph = grown
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KGTABLE_CACHE", str(tmp_path_factory.mktemp("cache")))
        return run(graph, benchmark)


def run(graph: kgtable.KnowledgeGraph, benchmark: Benchmark, methods: tuple[str, ...] = METHODS, **options: Any) -> Run:
    plan = make_plan(graph, benchmark, systems(methods), **{"scaling": True, **options})
    found = evaluate(graph, plan, Settings(model="none"))
    assert isinstance(found, Run)
    return found


def test_the_generator_is_seeded_and_keeps_the_rows_of_the_questions(tmp_path: Path) -> None:
    small, large = grown_table(20), grown_table(40)
    assert (len(large), len(large[0])) == (41, 40)
    assert grown_table(20) == small != grown_table(20, seed=1)
    for name in KEY_COLUMNS:
        columns = [[row[table[0].index(name)] for row in table[1:21]] for table in (small, large)]
        assert columns[0] == columns[1]
    for folder in ("one", "two"):
        growth_benchmark(tmp_path / folder, [20])
    one, two = (sorted(path for path in (tmp_path / f).rglob("*") if path.is_file()) for f in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_gold_is_there_and_answers_are_those_of_the_rows(grown: tuple[Benchmark, kgtable.KnowledgeGraph]) -> None:
    benchmark, graph = grown
    assert check_benchmark(benchmark, shapes(graph)) == []
    table = grown_table(20)
    places = {name: place for place, name in enumerate(table[0])}
    counted = next(
        q for q in benchmark.questions("growth") if q.text == "How many orders were returned to the warehouse?"
    )
    rows = [row for row in table[1:] if row[places["Order status"]] == "Returned to warehouse"]
    assert counted.answers == (str(len(rows)),)
    assert counted.extra["values"] == [["orders-20", places["Order status"], "Returned to warehouse"]]


@pytest.mark.parametrize("size", [5, 4_000])
def test_a_size_that_cannot_be_made_is_refused(size: int, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="cannot be made"):
        growth_benchmark(tmp_path / "out", [20, size])
    assert not (tmp_path / "out").exists()


SIZE_TABLE = "Size of the gold tables"


def sizes(found: Run, system: str, name: str) -> dict[int, set[int]]:
    """A figure of a system by the cells of the tables."""
    figures: dict[int, set[int]] = {cells: set() for cells in CELLS}
    for record in found.records:
        if record.system == system and record.size.get("shown", 1) and name in record.size:
            figures[record.size["cells"]].add(record.size[name])
    return figures


def test_prompts_and_texts_are_measured_by_size(measured: Run) -> None:
    ours, theirs = sizes(measured, "tablerag", "tokens"), sizes(measured, "bm25", "tokens")
    assert max(ours[1_600]) < 1.4 * min(ours[400]) < min(theirs[400])
    assert not sizes(measured, "read-table:context=2000", "tokens")[1_600]  # the larger one is refused
    assert sizes(measured, "read-schema", "encoded") == {400: {0}, 1_600: {0}}
    assert [sum(encoded) for encoded in sizes(measured, "tablerag", "encoded").values()] == [20 + 50, 40 + 103]
    (told,) = [table.rows[1:] for table in report_tables(measured) if table.title == SIZE_TABLE]
    assert len(told) == 2 * len(METHODS) - 1
    assert told[0][1] == "400"
    assert float(told[0][2].replace(",", "")) > 0
    assert told[4][4] == "1.000"


def test_the_gold_tables_alone_are_looked_at_but_tables_are_ranked_over_all(measured: Run) -> None:
    shown = next(record for record in measured.records if record.system == "tablerag")
    assert len(shown.tables) == len(SIZES)
    assert all(text.startswith(f"{shown.question.rsplit('-', 1)[0]},") for text in shown.triples)
    assert shown.scores["column_recall"] > 0


def test_a_second_run_measures_the_same_and_takes_nothing_from_the_cache(
    grown: tuple[Benchmark, kgtable.KnowledgeGraph], measured: Run
) -> None:
    benchmark, graph = grown
    again = run(graph, benchmark, ("tablerag",))
    assert result_json(again)["systems"] == result_json(measured)["systems"][:1]
    assert sum(record.size.get("encoded", 0) for record in again.records) >= sum(SIZES)


def test_a_run_that_measures_nothing_has_no_sizes(grown: tuple[Benchmark, kgtable.KnowledgeGraph]) -> None:
    benchmark, graph = grown
    plain = run(graph, benchmark, ("bm25",), scaling=False, limit=1)
    assert all(len(table.rows) == 1 for table in report_tables(plain) if table.title == SIZE_TABLE)
    assert not any("size" in question for system in result_json(plain)["systems"] for question in system["questions"])
