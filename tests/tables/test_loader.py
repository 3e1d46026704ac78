from __future__ import annotations

import csv
import hashlib
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils import get_column_letter

from kgtable.errors import TableError
from kgtable.tables.discovery import find_files
from kgtable.tables.loader import read_file, read_folder
from kgtable.tables.model import Context, Grid, read_sidecar, spreadsheet_reference


def read(tmp_path: Path, content: object) -> tuple[Context, list[str]]:
    path = tmp_path / "t.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    context, notices = read_sidecar(path, "t.json")
    return context, [notice.code for notice in notices]


def test_what_surrounds_a_table(tmp_path: Path) -> None:
    content = {
        "title": "Report", "heading": ["Notes", "Segments"], "caption": "in millions", "textAbove": "above",
        "post_text": ["after 1", "after 2"], "paragraphs": [{"text": "one"}, "two"], "header_rows": 2,
    }  # fmt: skip
    assert read(tmp_path, content) == (
        Context("Report", ("Notes", "Segments"), "in millions", ("above",), ("after 1", "after 2"), ("one", "two")),
        [],
    )


@pytest.mark.parametrize("content", ["{", "[1]", "null", "", "[" * 100_000, '"x"'])
def test_a_broken_sidecar_gives_a_notice(tmp_path: Path, content: str) -> None:
    assert read(tmp_path, content) == (Context(), ["sidecar"])


def test_a_field_of_the_wrong_kind_costs_only_itself(tmp_path: Path) -> None:
    assert read(tmp_path, {"title": 5, "caption": "c"}) == (Context(caption="c"), ["sidecar"])


def test_a_missing_sidecar_gives_a_notice(tmp_path: Path) -> None:
    _, [notice] = read_sidecar(tmp_path / "none.json", "none.json")
    assert "none.json" in str(notice)


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(content: bytes) -> None:

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.json")
        path.write_bytes(content)
        assert isinstance(read_sidecar(path, "t.json")[0], Context)


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
    files = sorted(folder.glob("*.csv"))
    chosen = files[:: max(1, len(files) // 200)]
    count = 0
    for grid in read_folder(chosen):
        assert isinstance(grid, Grid), grid
        with (folder / Path(grid.source.path).name).open(encoding="utf-8", newline="") as stream:
            assert grid.rows == tuple(map(tuple, csv.reader(stream))), grid.id
        assert grid.notices == ()
        count += 1
    assert count == len(chosen)


@given(st.integers(0, 2_000_000), st.integers(0, 16_383))
def test_spreadsheet_reference_agrees_with_openpyxl(row: int, column: int) -> None:
    assert spreadsheet_reference(row, column) == f"{get_column_letter(column + 1)}{row + 1}"


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    assert read(tmp_path, '{"title": "a\\ud800b"}')[0].title == "a\ufffdb"
