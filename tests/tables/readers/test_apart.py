"""Files that are read in another process: equal results, one budget, and no file that ends more than itself."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from kgtable.errors import UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, faults_of, this_process
from kgtable.tables.loader import read_file, reader_of
from kgtable.tables.model import ReadContent
from kgtable.tables.readers import apart
from kgtable.tables.readers.apart import RowsApart, is_read_apart, read_apart
from tests.tables.readers.files import parquet_bytes, read_one, workbook_bytes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="bounds of processes are those of POSIX")
PAGE = (
    "<title>T</title><h1>H</h1><p>before</p><table><caption>größe</caption><tr><th colspan=2>a<th>c"
    '<tr><td style="padding-left:2em">x<td>1<td>2<tr><td rowspan=2>y<td>3<td>\ud83d4<tr><td>5<td>6</table>'
)


def file_of(path: Path, content: bytes | str) -> TableFile:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
    return TableFile(path, path.name, path.stem)


def read_here(file: TableFile, limits: ReadLimits) -> ReadContent:
    with faults_of(file):
        return reader_of(file)(file, limits)


SAMPLES: dict[str, bytes | str] = {
    "t.html": PAGE,
    "t.json": json.dumps({"k": [{"a": 1.50, "b": None, "\u0001": "\ud800"}], "l": [{"c": "ü"}]}),
    "t.md": "Words.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    "t.xlsx": workbook_bytes({"A1": "a", "B2": 0.5, "C3": 1_000}, B2="0.0%", C3="#,##0"),
    "t.parquet": parquet_bytes(pa.table({"a": ["x", None, "é"], "b": [1.5, 2.0, None]})),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_tables_are_those_that_the_reader_gives(name: str, tmp_path: Path) -> None:
    file, limits = file_of(tmp_path / name, SAMPLES[name]), ReadLimits(apart_above=0)
    assert is_read_apart(file, limits)
    here, there = read_here(file, limits), read_apart(file, limits)
    assert there == here
    formats = [[list(grid.formats.items()) for grid in content.grids] for content in (here, there)]
    assert formats[0] == formats[1]
    assert bool(here.text.paragraphs) == name.endswith(("html", "md"))


def test_small_pages_are_read_here(tmp_path: Path) -> None:
    file = file_of(tmp_path / "t.html", PAGE)
    assert not is_read_apart(file, ReadLimits())
    assert not is_read_apart(replace(file, path=tmp_path / "none.html"), ReadLimits())


def test_errors_are_those_of_the_reader(tmp_path: Path) -> None:
    file = file_of(tmp_path / "t.json", '[{"a": 1}, {"a":')
    with pytest.raises(UnreadableTableError) as here:
        read_here(file, ReadLimits())
    with pytest.raises(UnreadableTableError) as there:
        read_apart(file, ReadLimits())
    assert (str(there.value), vars(there.value)) == (str(here.value), vars(here.value))
    [kept] = apart._IDLE
    with pytest.raises(UnreadableTableError):
        read_apart(file, ReadLimits())
    assert [kept] == apart._IDLE, "a process that refused one file reads the next"


def test_rows_of_a_large_file_are_walked_again_and_left_halfway(tmp_path: Path) -> None:
    content = parquet_bytes(pa.table({"a": list(range(30_000))}))
    grid = read_one(tmp_path / "t.parquet", content, ReadLimits(stream_above=1_000))
    assert isinstance(grid.rows, RowsApart)
    assert len(grid.head) == 2_000
    [process] = apart._IDLE
    assert [row[0] for row in grid.rows] == ["a", *map(str, range(30_000))]
    one, other = iter(grid.rows), iter(grid.rows)
    assert next(one) == next(other) == ("a",)
    del one, other
    assert len(apart._IDLE) == 1
    assert process.child.alive or process not in apart._IDLE


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (ReadLimits(max_cells=5_000), "more than 5,000 cells"),
        (ReadLimits(max_unpacked=20_000), "values take more than 20,000 bytes"),
        (ReadLimits(max_memory=1 << 20), "memory"),
        (ReadLimits(max_seconds=-99), "seconds"),
    ],
    ids=["cells", "bytes", "memory", "seconds"],
)
def test_one_budget_for_a_file(limits: ReadLimits, words: str, tmp_path: Path) -> None:
    count = 100_000 if words in ("memory", "seconds") else 4_000
    rows = "".join(f"<tr><td>{n}<td>{n * n}" for n in range(count))
    file = file_of(tmp_path / "t.html", f"<table>{rows}</table>")
    with pytest.raises(UnreadableTableError, match=words) as raised:
        read_apart(file, limits)
    assert raised.value.path == "t.html"
    assert raised.value.hint
    assert len(read_apart(file_of(tmp_path / "u.html", PAGE), ReadLimits()).grids) == 1


def test_a_process_that_is_killed_is_replaced(tmp_path: Path) -> None:
    file, limits = file_of(tmp_path / "t.parquet", SAMPLES["t.parquet"]), ReadLimits(stream_above=0)
    [grid] = read_apart(file, limits).grids
    [idle] = apart._IDLE
    os.kill(idle.child.pid, signal.SIGKILL)
    idle.child._child.wait()
    assert len(list(grid.rows)) == 4
    rows = iter(grid.rows)
    next(rows)
    assert not apart._IDLE
    del rows
    [idle] = apart._IDLE
    assert idle.child.pid != os.getpid()


def test_a_process_that_ends_at_work_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = apart._ReadingProcess.order

    def crash(process: apart._ReadingProcess, file: TableFile, limits: ReadLimits, what: str) -> bool:
        begun = order(process, file, limits, what)
        os.kill(process.child.pid, signal.SIGKILL)
        return begun

    file = file_of(tmp_path / "t.xlsx", SAMPLES["t.xlsx"])
    monkeypatch.setattr(apart._ReadingProcess, "order", crash)
    with pytest.raises(UnreadableTableError, match=r"t\.xlsx: the file leads its reader astray"):
        read_file(file)
    monkeypatch.setattr(apart._ReadingProcess, "order", order)
    assert len(read_file(file)) == 1


def test_this_process_is_not_bounded() -> None:
    assert not this_process.is_bounded
