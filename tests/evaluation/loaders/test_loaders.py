"""Each distribution in miniature, laid out as the official one, becomes a benchmark folder without faults."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark, Question, check_benchmark
from kgtable.evaluation.loaders import LOADERS, load_dataset

GRID = [["Team", "Points"], ["Rovers", "12"], ["United", "9"]]


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def lines(*items: object) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def wikitablequestions(folder: Path) -> None:
    header = "id\tutterance\tcontext\ttargetValue\n"
    write(folder / "data" / "dev.tsv", f"{header}nt-1\twho leads?\tcsv/204-csv/5.csv\tRovers|a\\pb\n")
    write(folder / "csv" / "204-csv" / "5.tsv", "Team\tPoints\nRovers\\nFC\t12\n")
    write(folder / "page" / "204-page" / "5.json", {"title": "League"})


def tatqa(folder: Path) -> None:
    question = {"uid": "q", "question": "?", "answer": ["12"], "scale": "million"}
    page = {
        "table": {"uid": "t", "table": GRID},
        "paragraphs": [{"order": 2, "text": "after"}, {"order": 1, "text": "first"}],
        "questions": [question | {"mapping": {"table": [[1, 1]]}}],
    }
    write(folder / "dataset_raw" / "tatqa_dataset_dev.json", [page])


def finqa(folder: Path) -> None:
    gold = {"question": "?", "exe_ans": 0.5, "gold_inds": {"table_1": "x", "text_0": "y"}}
    page = {"id": "A/2008/p.pdf-1", "pre_text": ["a"], "post_text": ["b"], "table": GRID, "qa": gold}
    write(folder / "dataset" / "dev.json", [page])


def hitab(folder: Path) -> None:
    linked = {"entity_link": {"top": {"x": {"(0, 1)": "Points"}}}, "quantity_link": {"x": {"(2, 1)": 9.0}}}
    item = {"id": "h1", "table_id": "7", "question": "?", "answer": [9.0], "linked_cells": linked}
    write(folder / "data" / "dev_samples.jsonl", lines(item))
    write(folder / "data" / "tables" / "raw" / "7.json", {"title": "Clubs", "texts": GRID})


def fetaqa(folder: Path) -> None:
    item = {
        "feta_id": 4,
        "table_array": GRID,
        "question": "?",
        "answer": "Rovers lead.",
        "highlighted_cell_ids": [[1, 0], [1, 1]],
        "table_page_title": "League",
        "table_section_title": "Table",
    }
    write(folder / "data" / "fetaQA-v1_dev.jsonl", lines(item))


def ottqa(folder: Path) -> None:
    item = {
        "question_id": "o1",
        "question": "?",
        "table_id": "League_0",
        "answer-text": "12",
        "answer-node": [["12", [0, 1], None, "table"], ["12", [0, 0], "/wiki/R", "passage"]],
    }
    table = {
        "title": "League",
        "header": [["Team", []], ["Points", []]],
        "data": [[["Rovers", ["/wiki/R"]], ["12", []]]],
    }
    write(folder / "released_data" / "dev.traced.json", [item])
    del item["answer-node"]
    write(folder / "released_data" / "dev.json", [item])
    write(folder / "data" / "traindev_tables_tok" / "League_0.json", table)


def tabfact(folder: Path) -> None:
    statements = {"2-1-1.html.csv": [["rovers lead", "united lead"], [1, 0], "league"]}
    write(folder / "collected_data" / "r1_training_all.json", statements)
    write(folder / "data" / "all_csv" / "2-1-1.html.csv", 'team#points\n"rovers#12\n')
    write(folder / "data" / "val_id.json", ["2-1-1.html.csv"])


def spider(folder: Path) -> None:
    path = folder / "database" / "league" / "league.sqlite"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE Team (name TEXT, points INT)")
        connection.execute("CREATE TABLE coach (name TEXT)")
        connection.executemany("INSERT INTO Team VALUES (?, ?)", [("Rovers", 12), ("United", None)])
    sql = "SELECT name FROM team WHERE name <> 'coach' ORDER BY name"
    items = [{"db_id": "league", "question": q, "query": s} for q, s in (("?", sql), ("??", "SELECT x"))]
    write(folder / "dev.json", items)


def multitableqa(folder: Path) -> None:
    part = {"source_table_idx": 3, "caption": "League", "example_query": ["a leak"]}
    tables = [part | {"table_idx": n, "table": {"header": GRID[0], "rows": [GRID[n]]}} for n in (1, 2)]
    write(folder / "wtq_table.jsonl", lines(*tables))
    write(folder / "wtq_query.jsonl", lines({"query": "?", "label": ["12"], "source_table_idx": 3}))


CASES: dict[Callable[[Path], None], tuple[Question, list[list[str]]]] = {
    wikitablequestions: (
        Question("nt-1", "who leads?", ("Rovers", "a|b"), ("204_5",)),
        [["Team", "Points"], ["Rovers\nFC", "12"]],
    ),
    tatqa: (Question("q", "?", ("12",), ("t",), (("t", 1, 1),)), GRID),
    finqa: (
        Question("A/2008/p.pdf-1", "?", ("0.5",), ("A_2008_p.pdf-1",), (("A_2008_p.pdf-1", 1, 1),)),
        GRID,
    ),
    hitab: (Question("h1", "?", ("9.0",), ("7",), (("7", 2, 1),)), GRID),
    fetaqa: (Question("4", "?", ("Rovers lead.",), ("feta_4",), (("feta_4", 1, 0), ("feta_4", 1, 1))), GRID),
    ottqa: (Question("o1", "?", ("12",), ("League_0",), (("League_0", 1, 1),)), GRID[:2]),
    tabfact: (
        Question("tf_2-1-1-0", "rovers lead", ("1",), ("tf_2-1-1",)),
        [["team", "points"], ['"rovers', "12"]],
    ),
    spider: (Question("spider-dev-0", "?", ("Rovers", "United"), ("league__Team",)), [["name", "points"]]),
    multitableqa: (Question("wtq-0", "?", ("12",), ("wtq_1", "wtq_2")), GRID[:2]),
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


def test_simple_and_complex_statements_about_one_table_have_ids_of_their_own(tmp_path: Path) -> None:
    tabfact(tmp_path)
    more = {"2-1-1.html.csv": [["rovers lead by three"], [1], "league"]}
    write(tmp_path / "collected_data" / "r2_training_all.json", more)
    assert load_dataset("tabfact", tmp_path, tmp_path / "out") == 3
    found = Benchmark(tmp_path / "out").questions("val")
    assert [question.id for question in found] == ["tf_2-1-1-0", "tf_2-1-1-1", "tf_2-1-1-2"]


@pytest.mark.parametrize(
    ("name", "label", "answers", "fact"),
    [
        ("sqa", '["13", "S01"]', ("13", "S01"), None),
        ("hybridqa", "Jerry", ("Jerry",), None),
        ("hybridqa", "[sic", ("[sic",), None),
        ("tabfact", 0, ("0",), 0),
        ("tabfact", "1", ("1",), 1),
    ],
)
def test_labels_of_each_kind(
    tmp_path: Path, name: str, label: object, answers: tuple[str, ...], fact: int | None
) -> None:
    part = {"source_table_idx": 3, "table_idx": 1, "caption": "", "table": {"header": ["a"], "rows": [["b"]]}}
    write(tmp_path / name / f"{name}_table.jsonl", lines(part))
    write(
        tmp_path / name / f"{name}_query.jsonl", lines({"query": "?", "label": label, "source_table_idx": 3})
    )
    write(tmp_path / name / f"{name}_example_query.jsonl", lines({"example_query": "a leak"}))
    assert load_dataset("multitableqa", tmp_path, tmp_path / "out") == 1
    (question,) = Benchmark(tmp_path / "out").questions(name)
    assert (question.answers, question.extra.get("label")) == (answers, fact)


def test_an_sql_that_fails_is_told_and_not_dropped(tmp_path: Path) -> None:
    spider(tmp_path / "source")
    assert load_dataset("spider", tmp_path / "source", tmp_path / "out") == 2
    assert "no such column" in Benchmark(tmp_path / "out").questions("dev")[1].extra["sql_fault"]


@pytest.mark.parametrize("name", LOADERS)
def test_an_empty_folder_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with pytest.raises(BenchmarkError):
        load_dataset(name, tmp_path / "source", tmp_path / "out")


def test_a_file_laid_out_otherwise_is_named(tmp_path: Path) -> None:
    write(tmp_path / "tatqa_dataset_dev.json", [{"table": {}}])
    with pytest.raises(BenchmarkError, match=r"tatqa_dataset_dev\.json is not laid out as .* KeyError"):
        load_dataset("tatqa", tmp_path, tmp_path / "out")


def test_an_absent_table_is_named(tmp_path: Path) -> None:
    wikitablequestions(tmp_path / "source")
    (tmp_path / "source" / "csv" / "204-csv" / "5.tsv").unlink()
    with pytest.raises(BenchmarkError, match=r"5\.tsv is not there"):
        load_dataset("wikitablequestions", tmp_path / "source", tmp_path / "out")


def test_unknown_loader_and_absent_folder(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no loader “squad”"):
        load_dataset("squad", tmp_path, tmp_path / "out")
    with pytest.raises(BenchmarkError, match="is not a folder"):
        load_dataset("spider", tmp_path / "absent", tmp_path / "out")
