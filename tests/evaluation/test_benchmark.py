from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark, check_benchmark
from scripts.benchmarks.folder import BenchmarkFolder, file_name, inner, read_json_lines, reading


def folder(tmp_path: Path, *lines: object, split: str = "dev") -> Benchmark:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (tmp_path / f"questions.{split}.jsonl").write_text(text + "\n", encoding="utf-8")
    return Benchmark(tmp_path)


GOOD = {"id": "1", "question": "?", "answers": ["x"], "tables": ["t"], "cells": [["t", -1, 0], ["t", 2, 1]]}


def test_rows_become_grid_rows_and_other_fields_are_kept(tmp_path: Path) -> None:
    (question,) = folder(tmp_path, GOOD | {"scale": "million"}).questions("dev")
    assert question.cells == (("t", 0, 0), ("t", 3, 1))
    assert question.extra == {"scale": "million"}


def test_an_absent_split_names_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"no split “test”.*There are: dev"):
        folder(tmp_path, GOOD).questions("test")


def test_a_folder_without_questions(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match=r"no questions\.<split>\.jsonl"):
        Benchmark(tmp_path).splits()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{not json", "line 2: this is not JSON"), ("[" * 100_000, "line 2: this is not JSON"),
        ("[1]", "line 2: the line: "), (GOOD | {"id": 7}, "line 2: id: 7 is not of type 'string'"),
        (GOOD | {"id": "2", "cells": [["t", -2, 0]]}, r"line 2: cells\[0\]\[1\]: -2 is less than the minimum"),
        (GOOD, "line 2: the id “1” is also in line 1"),
    ],
)  # fmt: skip
def test_a_faulty_line_is_named(tmp_path: Path, line: object, message: str) -> None:
    with pytest.raises(BenchmarkError, match=rf"questions\.dev\.jsonl, {message}"):
        folder(tmp_path, GOOD, line).questions("dev")


def test_invalid_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "questions.dev.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(BenchmarkError, match="line 1: this is not JSON in UTF-8"):
        Benchmark(tmp_path).questions("dev")


def test_check_lists_every_fault(tmp_path: Path) -> None:
    benchmark = folder(
        tmp_path, "{", GOOD, GOOD | {"id": "2", "tables": ["u"]}, GOOD, GOOD | {"id": "3", "cells": [["t", 9, 1]]}
    )
    faults = [str(fault) for fault in check_benchmark(benchmark, {"t": (4, 2)})]
    assert len(faults) == 4
    assert faults == [str(fault) for fault in check_benchmark(benchmark, {"t": (4, 2)}, "dev")]
    assert "line 1: this is not JSON" in faults[0]
    assert faults[1:] == [
        "questions.dev.jsonl, line 3: there is no table “u”",
        "questions.dev.jsonl, line 4: the id “1” is also in line 2",
        "questions.dev.jsonl, line 5: the cell [t, 9, 1] lies outside its table of 3 rows below the header "
        "and 2 columns",
    ]


def test_check_finds_a_question_without_answers(tmp_path: Path) -> None:
    bare = {"id": "2", "question": "?", "tables": ["t"]}
    benchmark = folder(tmp_path, GOOD, bare, bare | {"id": "3", "answers": []})
    faults = [str(fault) for fault in check_benchmark(benchmark, {"t": (4, 2)})]
    assert [fault.partition(":")[0] for fault in faults] == ["questions.dev.jsonl, line 2"]
    assert "no answers" in faults[0]


HOSTILE = (("a", 'b"'), ("x\ny", "\u202e<b>"), (None, 1.5))


def test_tables_are_csv_with_what_surrounds_them_beside(tmp_path: Path) -> None:
    BenchmarkFolder(tmp_path).add_table("t", HOSTILE, title="T", heading=[], caption="")
    with (tmp_path / "tables" / "t.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["a", 'b"'], ["x\ny", "\u202e<b>"], ["", "1.5"]]
    assert json.loads((tmp_path / "tables" / "t.json").read_text(encoding="utf-8")) == {"title": "T"}
    BenchmarkFolder(tmp_path).add_table("bare", HOSTILE)
    assert not (tmp_path / "tables" / "bare.json").exists()


def test_the_same_table_may_come_twice_another_may_not(tmp_path: Path) -> None:
    folder = BenchmarkFolder(tmp_path)
    for _ in range(2):
        folder.add_table("t", HOSTILE)
    with pytest.raises(BenchmarkError, match="share the id"):
        folder.add_table("t", (("other",),))
    folder.add_table("a/b", HOSTILE)
    with pytest.raises(BenchmarkError, match="share the"):
        folder.add_table("a_b", (("other",),))


@pytest.mark.parametrize("id", ["../../x", "/etc/passwd", "..", "", "a\\b", ".hidden"])
def test_no_table_leaves_the_folder(id: str, tmp_path: Path) -> None:
    BenchmarkFolder(tmp_path / "out").add_table(id, HOSTILE)
    (path,) = (tmp_path / "out" / "tables").iterdir()
    assert path.name == f"{file_name(id)}.csv"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_questions_are_lines_of_json(tmp_path: Path) -> None:
    questions = [{"id": "1", "question": "\u2028<b>"}, {"id": "2", "question": "ü"}]
    assert BenchmarkFolder(tmp_path).write_questions("dev", questions) == 2
    assert list(read_json_lines(tmp_path / "questions.dev.jsonl")) == questions


@pytest.mark.parametrize("error", [KeyError("x"), IndexError(), TypeError("y"), ValueError()])
def test_what_is_laid_out_otherwise_is_named(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="not laid out as its official distribution"), reading(tmp_path):
        raise error
    with pytest.raises(BenchmarkError, match="none is not there"), reading(tmp_path):
        (tmp_path / "none").read_bytes()


def test_the_inner_folder_or_the_one_given(tmp_path: Path) -> None:
    assert inner(tmp_path, "data") == tmp_path
    (tmp_path / "data").mkdir()
    assert inner(tmp_path, "data") == tmp_path / "data"
