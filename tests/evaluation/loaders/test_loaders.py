"""Each distribution in miniature, laid out as the official one, becomes a benchmark folder without faults."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion, check_benchmark
from kgtable.evaluation.loaders import LOADERS, load_dataset
from tests.evaluation.loaders.distributions import (
    GRID,
    fetaqa,
    finqa,
    hitab,
    multitableqa,
    ottqa,
    spider,
    tabfact,
    tatqa,
    wikitablequestions,
)

CASES: dict[Callable[[Path], None], tuple[BenchmarkQuestion, list[list[str]]]] = {
    wikitablequestions: (
        BenchmarkQuestion("nt-1", "who leads?", ("Rovers", "a|b"), ("204_5",)),
        [["Team", "Points"], ["Rovers\nFC", "12"]],
    ),
    tatqa: (BenchmarkQuestion("q", "?", ("12",), ("t",), (("t", 1, 1),)), GRID),
    finqa: (
        BenchmarkQuestion("A/2008/p.pdf-1", "?", ("0.5",), ("A_2008_p.pdf-1",), (("A_2008_p.pdf-1", 1, 1),)),
        GRID,
    ),
    hitab: (BenchmarkQuestion("h1", "?", ("9.0",), ("7",), (("7", 2, 1),)), GRID),
    fetaqa: (
        BenchmarkQuestion("4", "?", ("Rovers lead.",), ("feta_4",), (("feta_4", 1, 0), ("feta_4", 1, 1))),
        GRID,
    ),
    ottqa: (BenchmarkQuestion("o1", "?", ("12",), ("League_0",), (("League_0", 1, 1),)), GRID[:2]),
    tabfact: (
        BenchmarkQuestion("tf_2-1-1-0", "rovers lead", ("1",), ("tf_2-1-1",)),
        [["team", "points"], ['"rovers', "12"]],
    ),
    spider: (
        BenchmarkQuestion("spider-dev-0", "?", ("Rovers", "United"), ("league__Team",)),
        [["name", "points"]],
    ),
    multitableqa: (BenchmarkQuestion("wtq-0", "?", ("12",), ("wtq_1", "wtq_2")), GRID[:2]),
}


def test_every_loader_is_tested() -> None:
    assert {make.__name__ for make in CASES} == set(LOADERS)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_distribution_becomes_a_benchmark_without_faults(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "source")
    count = load_dataset(make.__name__, tmp_path / "source", tmp_path / "out")
    benchmark = Benchmark(tmp_path / "out")
    (split,) = benchmark.splits()
    questions = benchmark.questions(split)
    expected, grid = CASES[make]
    first = questions[0]
    assert len(questions) == count
    assert (first.id, first.text, first.answers) == (expected.id, expected.text, expected.answers)
    assert (first.tables, first.cells) == (expected.tables, expected.cells)
    with (benchmark.tables / f"{expected.tables[0]}.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.reader(file))
    assert written[: len(grid)] == grid
    shapes = {table: (len(written), len(written[0])) for table in expected.tables}
    assert [f for f in check_benchmark(benchmark, shapes) if expected.id in f.message] == []


@pytest.mark.parametrize("name", LOADERS)
def test_an_empty_folder_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with pytest.raises(BenchmarkError):
        load_dataset(name, tmp_path / "source", tmp_path / "out")


def test_unknown_loader_and_absent_folder(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no loader “squad”"):
        load_dataset("squad", tmp_path, tmp_path / "out")
    with pytest.raises(BenchmarkError, match="is not a folder"):
        load_dataset("spider", tmp_path / "absent", tmp_path / "out")
