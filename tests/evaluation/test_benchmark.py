from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import Benchmark, check_benchmark


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
        ("{not json", "line 2: this is not JSON"),
        ("[1]", "line 2: the line: "),
        (GOOD | {"id": 7}, "line 2: id: 7 is not of type 'string'"),
        (
            GOOD | {"id": "2", "cells": [["t", -2, 0]]},
            r"line 2: cells\[0\]\[1\]: -2 is less than the minimum",
        ),
        (GOOD, "line 2: the id “1” stands in line 1 too"),
    ],
)
def test_a_faulty_line_is_named(tmp_path: Path, line: object, message: str) -> None:
    with pytest.raises(BenchmarkError, match=rf"questions\.dev\.jsonl, {message}"):
        folder(tmp_path, GOOD, line).questions("dev")


def test_invalid_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "questions.dev.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(BenchmarkError, match="line 1: this is not JSON in UTF-8"):
        Benchmark(tmp_path).questions("dev")


def test_check_lists_every_fault(tmp_path: Path) -> None:
    benchmark = folder(
        tmp_path,
        "{",
        GOOD,
        GOOD | {"id": "2", "tables": ["u"]},
        GOOD,
        GOOD | {"id": "3", "cells": [["t", 9, 1]]},
    )
    faults = [str(fault) for fault in check_benchmark(benchmark, {"t": (4, 2)})]
    assert len(faults) == 4
    assert faults == [str(fault) for fault in check_benchmark(benchmark, {"t": (4, 2)}, "dev")]
    assert "line 1: this is not JSON" in faults[0]
    assert faults[1:] == [
        "questions.dev.jsonl, line 3: there is no table “u”",
        "questions.dev.jsonl, line 4: the id “1” stands in line 2 too",
        "questions.dev.jsonl, line 5: the cell [t, 9, 1] lies outside its table of 3 rows below the header "
        "and 2 columns",
    ]
