from __future__ import annotations

from pathlib import Path

import pytest

import kgtable
from kgtable.errors import BenchmarkError, UsageError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.run_plan import System, graph_state, make_plan, systems
from tests.evaluation.sample import QUESTIONS, write_benchmark

BM25 = (System("bm25"),)


def test_the_fingerprint_knows_settings_questions_and_tables(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    state = graph_state(graph)
    plan = make_plan(graph, benchmark_folder, BM25)
    assert plan.split == "dev"
    assert plan.fingerprint(state) == make_plan(graph, benchmark_folder, BM25).fingerprint(state)
    others = [
        make_plan(graph, benchmark_folder, BM25, k=5),
        make_plan(graph, benchmark_folder, BM25, limit=4),
        make_plan(graph, benchmark_folder, (System("bm25", "csv"),)),
    ]
    assert len({p.fingerprint(state) for p in (plan, *others)}) == 4
    assert plan.fingerprint({**state, "tables": {}}) != plan.fingerprint(state)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tables": ["poets"]}, "questions.dev.jsonl, line 1: there is no table “poets”"),
        ({"cells": [["ports", 9, 0]]}, r"the cell \[ports, 9, 0\] lies outside"),
        ({"id": "q2"}, "the id “q2” is also in line 1"),
        ({"cells": [["ports", 0]]}, "line 1"),
    ],
)
def test_gold_that_the_graph_does_not_hold(
    graph: kgtable.KnowledgeGraph, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    benchmark = write_benchmark(tmp_path / "small", ({**QUESTIONS[0], **change}, *QUESTIONS[1:]))
    with pytest.raises(BenchmarkError, match=message):
        make_plan(graph, benchmark, BM25)


def test_splits(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no split “test”"):
        make_plan(graph, benchmark_folder, BM25, split="test")
    with pytest.raises(UsageError):
        make_plan(graph, benchmark_folder, BM25, k=0)
    several = write_benchmark(tmp_path / "several")
    (several.folder / "questions.dev.jsonl").rename(several.folder / "questions.one.jsonl")
    assert make_plan(graph, several, BM25).split == "one"
    (several.folder / "questions.two.jsonl").touch()
    with pytest.raises(BenchmarkError, match="several splits"):
        make_plan(graph, several, BM25)
    with pytest.raises(BenchmarkError, match="holds no question"):
        make_plan(graph, several, BM25, split="two")


def test_systems_are_the_product_of_the_options_where_they_apply() -> None:
    found = systems(
        ("hybrid", "bm25", "zero-shot"), formats=("csv", "html"), prompts=("context-first",), models=("m1", "m2")
    )
    assert [system.name for system in found] == [
        "hybrid/context-first/m1", "hybrid/context-first/m2", "bm25/csv/context-first/m1", "bm25/csv/context-first/m2",
        "bm25/html/context-first/m1", "bm25/html/context-first/m2", "zero-shot/m1", "zero-shot/m2",
    ]  # fmt: skip
