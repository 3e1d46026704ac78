from __future__ import annotations

import csv
import hashlib
import os
from pathlib import Path

import pytest

from kgtable.errors import TableError
from kgtable.tables.discovery import find_files
from kgtable.tables.loader import read_file, read_folder
from kgtable.tables.model import Grid

BENCHMARKS = Path(os.environ.get("KGTABLE_BENCHMARKS", Path(__file__).parents[3] / "shared" / "data"))


def test_a_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_bytes(b"\0\0")
    (tmp_path / "c.csv").write_text("z\n3\n")
    first, error, last = read_folder(tmp_path)
    assert isinstance(first, Grid)
    assert isinstance(last, Grid)
    assert (first.id, last.id) == ("a", "c")
    assert isinstance(error, TableError)
    assert error.path == "b.csv"


def test_a_sidecar_tells_what_surrounds_the_table(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "a.json").write_text('{"title": "T", "heading": 5}')
    [grid] = read_folder([tmp_path])
    assert isinstance(grid, Grid)
    assert grid.context.title == "T"
    assert [(notice.code, notice.path) for notice in grid.notices] == [("sidecar", "a.json")]


def test_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n")
    [file] = find_files([tmp_path])
    [grid] = read_file(file)
    assert grid.source.sha256 == hashlib.sha256(b"x,y\n").hexdigest()
    assert grid.source.path == "a.csv"


@pytest.mark.benchmarks
@pytest.mark.parametrize("name", ["wtq", "tatqa", "finqa", "multitable", "spider", "hitab"])
def test_real_tables_are_read_exactly(name: str) -> None:
    folder = BENCHMARKS / name / "tables"
    if not folder.is_dir():
        pytest.skip(f"the benchmark folder {name} is not here")
    count = 0
    for grid in read_folder(folder):
        assert isinstance(grid, Grid), grid
        with (folder / grid.source.path).open(encoding="utf-8", newline="") as stream:
            assert grid.rows == tuple(map(tuple, csv.reader(stream))), grid.id
        assert grid.notices == ()
        count += 1
    assert count == len(list(folder.glob("*.csv")))
