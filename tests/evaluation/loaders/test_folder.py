from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import BenchmarkFolder, file_name, inner, read_json_lines, reading

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
