from __future__ import annotations

from pathlib import Path

import pytest

import kgtable
from kgtable.errors import BenchmarkError, KgtableError, UsageError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.run_plan import System, graph_state, make_plan, read_grid
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
        ({"id": "q2"}, "the id “q2” stands in line 1 too"),
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


def test_a_grid_is_the_product_of_its_lists_where_they_apply(tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        'methods = ["hybrid", "bm25", "zero-shot"]\nformats = ["csv", "html"]\n'
        'prompts = ["context-first"]\nmodels = ["m1", "m2"]\nanswers = true\nk = 300\n'
    )
    grid = read_grid(file)
    assert [system.name for system in grid.systems] == [
        "hybrid/context-first/m1",
        "hybrid/context-first/m2",
        "bm25/csv/context-first/m1",
        "bm25/csv/context-first/m2",
        "bm25/html/context-first/m1",
        "bm25/html/context-first/m2",
        "zero-shot/m1",
        "zero-shot/m2",
    ]
    assert grid.options == {"k": 300, "answers": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("methods = [", "not readable as TOML"),
        ('method = "bm25"', "no entry 'method'"),
        ('methods = "bm25"', "no list of names"),
        ('methods = ["bm26"]', "no method 'bm26'"),
        ('methods = ["bm25"]\nformats = ["pdf"]', "no table format 'pdf'"),
        ('methods = ["bm25"]\nprompts = ["p"]', "no prompt setting 'p'"),
        ('methods = ["bm25"]\nlimit = true', "wrong type"),
        ("methods = []", "nothing to evaluate"),
    ],
)
def test_what_a_grid_cannot_hold(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "grid.toml").write_text(text)
    with pytest.raises(KgtableError, match=message):
        read_grid(tmp_path / "grid.toml")
