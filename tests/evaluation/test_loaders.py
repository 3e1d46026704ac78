"""Each official distribution in miniature becomes a benchmark folder without faults."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion, check_benchmark
from scripts.benchmarks.loaders import LOADERS, load_dataset
from tests.evaluation.distributions import (
    GRID,
    fetaqa,
    finqa,
    hitab,
    lines,
    multitableqa,
    ottqa,
    spider,
    tabfact,
    tatqa,
    wikitablequestions,
    write,
)

CASES: dict[Callable[[Path], None], tuple[BenchmarkQuestion, list[list[str]]]] = {
    wikitablequestions: (
        BenchmarkQuestion("nt-1", "who leads?", ("Rovers", "a|b"), ("204_5",)),
        [["Team", "Points"], ["Rovers\nFC", "12"]],
    ),
    tatqa: (BenchmarkQuestion("q", "?", ("12",), ("t",), (("t", 1, 1),)), GRID),
    finqa: (BenchmarkQuestion("A/2008/p.pdf-1", "?", ("0.5",), ("A_2008_p.pdf-1",), (("A_2008_p.pdf-1", 1, 1),)), GRID),
    hitab: (BenchmarkQuestion("h1", "?", ("9.0",), ("7",), (("7", 2, 1),)), GRID),
    fetaqa: (BenchmarkQuestion("4", "?", ("Rovers lead.",), ("feta_4",), (("feta_4", 1, 0), ("feta_4", 1, 1))), GRID),
    ottqa: (BenchmarkQuestion("o1", "?", ("12",), ("League_0",), (("League_0", 1, 1),)), GRID[:2]),
    tabfact: (
        BenchmarkQuestion("tf_2-1-1-0", "rovers lead", ("1",), ("tf_2-1-1",)),
        [["team", "points"], ['"rovers', "12"]],
    ),
    spider: (BenchmarkQuestion("spider-dev-0", "?", ("Rovers", "United"), ("league__Team",)), [["name", "points"]]),
    multitableqa: (BenchmarkQuestion("wtq-0", "?", ("12",), ("wtq_1", "wtq_2")), GRID[:2]),
}


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_distribution_becomes_a_benchmark_without_faults(make: Callable[[Path], None], tmp_path: Path) -> None:
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


def test_context_is_kept_in_order(tmp_path: Path) -> None:
    tatqa(tmp_path / "source")
    load_dataset("tatqa", tmp_path / "source", tmp_path / "out")
    sidecar = json.loads((tmp_path / "out" / "tables" / "t.json").read_text())
    assert sidecar == {"paragraphs": ["first", "after"]}


def test_the_gold_of_a_test_split_stands_for_the_split(tmp_path: Path) -> None:
    tatqa(tmp_path)
    raw = tmp_path / "dataset_raw"
    (raw / "tatqa_dataset_dev.json").rename(raw / "tatqa_dataset_test_gold.json")
    pages = json.loads((raw / "tatqa_dataset_test_gold.json").read_text())
    del pages[0]["questions"][0]["answer"]
    write(raw / "tatqa_dataset_test.json", pages)
    assert load_dataset("tatqa", tmp_path, tmp_path / "out") == 1
    assert Benchmark(tmp_path / "out").questions("test")[0].answers == ("12",)


def test_a_file_laid_out_otherwise_is_named(tmp_path: Path) -> None:
    write(tmp_path / "tatqa_dataset_dev.json", [{"table": {}}])
    with pytest.raises(BenchmarkError, match=r"tatqa_dataset_dev\.json is not laid out as .* KeyError"):
        load_dataset("tatqa", tmp_path, tmp_path / "out")


def test_without_traces_or_rows_there_are_no_gold_cells(tmp_path: Path) -> None:
    finqa(tmp_path)
    path = tmp_path / "dataset" / "dev.json"
    pages = json.loads(path.read_text(encoding="utf-8"))
    pages[0]["qa"]["gold_inds"] = {"text_0": "y"}
    pages[0]["qa"]["answer"] = "<b>"
    del pages[0]["qa"]["exe_ans"]
    write(path, pages)
    load_dataset("finqa", tmp_path, tmp_path / "out")
    (question,) = Benchmark(tmp_path / "out").questions("dev")
    assert (question.cells, question.answers) == ((), ("<b>",))


def test_the_cells_of_the_answer_are_gold_and_others_are_not(tmp_path: Path) -> None:
    hitab(tmp_path)
    load_dataset("hitab", tmp_path, tmp_path / "out")
    (question,) = Benchmark(tmp_path / "out").questions("dev")
    assert question.cells == (("7", 2, 1),)
    assert json.loads((tmp_path / "out" / "tables" / "7.json").read_text(encoding="utf-8")) == {"title": "Clubs"}


@pytest.mark.parametrize("linked", [{}, {"quantity_link": {}}, {"quantity_link": {"a": {"(2, 1)": {"x": 1}}}}])
def test_a_question_without_linked_cells(linked: dict[str, object], tmp_path: Path) -> None:
    item = {"id": "h1", "table_id": "7", "question": "?", "answer": [1, "<b>"], "linked_cells": linked}
    hitab(tmp_path)
    write(tmp_path / "data" / "dev_samples.jsonl", lines(item))
    load_dataset("hitab", tmp_path, tmp_path / "out")
    (question,) = Benchmark(tmp_path / "out").questions("dev")
    assert (question.cells, question.answers) == ((), ("1", "<b>"))


@pytest.mark.parametrize(
    ("name", "label", "answers", "fact"),
    [
        ("sqa", '["13", "S01"]', ("13", "S01"), None), ("hybridqa", "Jerry", ("Jerry",), None),
        ("hybridqa", "[sic", ("[sic",), None), ("tabfact", 0, ("0",), 0), ("tabfact", "1", ("1",), 1),
    ],
)  # fmt: skip
def test_labels_of_each_kind(
    tmp_path: Path, name: str, label: object, answers: tuple[str, ...], fact: int | None
) -> None:
    part = {"source_table_idx": 3, "table_idx": 1, "caption": "", "table": {"header": ["a"], "rows": [["b"]]}}
    write(tmp_path / name / f"{name}_table.jsonl", lines(part))
    write(tmp_path / name / f"{name}_query.jsonl", lines({"query": "?", "label": label, "source_table_idx": 3}))
    write(tmp_path / name / f"{name}_example_query.jsonl", lines({"example_query": "a leak"}))
    assert load_dataset("multitableqa", tmp_path, tmp_path / "out") == 1
    (question,) = Benchmark(tmp_path / "out").questions(name)
    assert (question.answers, question.extra.get("label")) == (answers, fact)


def test_an_sql_that_fails_is_told_and_not_dropped(tmp_path: Path) -> None:
    spider(tmp_path / "source")
    assert load_dataset("spider", tmp_path / "source", tmp_path / "out") == 2
    assert "no such column" in Benchmark(tmp_path / "out").questions("dev")[1].extra["sql_fault"]


def test_no_query_can_write(tmp_path: Path) -> None:
    spider(tmp_path)
    write(tmp_path / "dev.json", [{"db_id": "league", "question": "?", "query": "DROP TABLE Team"}])
    load_dataset("spider", tmp_path, tmp_path / "out")
    assert "readonly" in Benchmark(tmp_path / "out").questions("dev")[0].extra["sql_fault"]


def test_simple_and_complex_statements_about_one_table_have_ids_of_their_own(tmp_path: Path) -> None:
    tabfact(tmp_path)
    more = {"2-1-1.html.csv": [["rovers lead by three"], [1], "league"]}
    write(tmp_path / "collected_data" / "r2_training_all.json", more)
    assert load_dataset("tabfact", tmp_path, tmp_path / "out") == 3
    found = Benchmark(tmp_path / "out").questions("val")
    assert [question.id for question in found] == ["tf_2-1-1-0", "tf_2-1-1-1", "tf_2-1-1-2"]
