from __future__ import annotations

import csv
import gzip
import io
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import EmptyTableError, NoTableError, TableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits
from kgtable.tables.loader import read_file
from kgtable.tables.model import Grid, Row
from kgtable.tables.readers.delimited import SAMPLE, read_delimited, read_delimited_bytes
from kgtable.tables.readers.dialect import DELIMITERS, TextDialect, detect_dialect

FILE = TableFile(Path("x.csv"), "x.csv", "x")
CELL = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
GRID = st.lists(st.lists(CELL, max_size=4), min_size=1, max_size=6).filter(any)


def read(path: Path, content: bytes | str, limits: ReadLimits | None = None) -> Grid:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    [grid] = read_file(TableFile(path, path.name, path.stem), limits)
    return grid


def written(rows: list[list[str]], delimiter: str = ",") -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue()


def as_rows(rows: list[list[str]]) -> tuple[Row, ...]:
    return tuple(map(tuple, rows))


@given(GRID, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_any_grid_comes_back_exactly(rows: list[list[str]], codec: str) -> None:
    text = "sep=,\n" + written(rows)
    assert read_delimited_bytes(text.encode(codec), FILE).rows == as_rows(rows)


@given(st.data(), st.sampled_from(DELIMITERS), st.integers(2, 4))
def test_the_delimiter_is_found(data: st.DataObject, delimiter: str, width: int) -> None:
    cell = st.text(st.sampled_from('abcXYZ0189.-é \n"'), min_size=1, max_size=8).filter(lambda text: text[0] != " ")
    rows = data.draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=2, max_size=8))
    assert read_delimited_bytes(written(rows, delimiter).encode(), FILE).rows == as_rows(rows)


@given(st.lists(st.lists(CELL, max_size=4), min_size=1, max_size=6).filter(any), st.sampled_from(["utf-8", "utf-16"]))
def test_streamed_rows_equal_held_rows(rows: list[list[str]], codec: str) -> None:
    content = written(rows).encode(codec)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.csv")
        path.write_bytes(content)
        file = TableFile(path, "x.csv", "x")
        [held], [streamed] = (read_delimited(file, ReadLimits(**limits)) for limits in ({}, {"stream_above": 0}))
        assert streamed.streamed
        assert tuple(streamed.rows) == tuple(streamed.rows) == held.rows
        assert streamed.width == held.width
        assert [notice.row for notice in streamed.notices] == [notice.row for notice in held.notices]


@given(st.binary(max_size=300))
def test_any_bytes_give_a_grid_or_a_table_error(content: bytes) -> None:
    try:
        grid = read_delimited_bytes(content, FILE)
    except TableError:
        return
    assert grid.width == max(map(len, grid.rows))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_encodings(tmp_path: Path, codec: str) -> None:
    grid = read(tmp_path / "t.csv", "name,größe\nMünchen,1 €\n".encode(codec))
    assert grid.rows == (("name", "größe"), ("München", "1 €"))
    assert grid.notices == ()


@pytest.mark.parametrize("stream_above", [0, 1 << 20])
def test_windows_1252_is_noticed_with_its_place(tmp_path: Path, stream_above: int) -> None:
    content = "a,b\nx,\n\ny,“Zürich”\n".encode("cp1252")
    grid = read(tmp_path / "t.csv", content, ReadLimits(stream_above=stream_above))
    assert tuple(grid.rows)[3] == ("y", "“Zürich”")
    [notice] = grid.notices
    assert (notice.code, notice.row, notice.column) == ("encoding", 3, 1)
    assert grid.source.encoding == "cp1252"


def test_damaged_utf8_stays_utf8(tmp_path: Path) -> None:
    grid = read(tmp_path / "t.csv", "Köln,Málaga\n".encode() + b"x,\xff\n")
    assert grid.rows == (("Köln", "Málaga"), ("x", "\ufffd"))
    assert [(n.row, n.column) for n in grid.notices] == [(1, 1)]


def test_an_unclosed_quote_is_noticed(tmp_path: Path) -> None:
    grid = read(tmp_path / "t.csv", 'a,b\nc,"d\ne,f\n')
    assert [(n.code, n.row) for n in grid.notices] == [("quotes", 1)]
    assert grid.rows == (("a", "b"), ("c", '"d'), ("e", "f"))


def test_text_after_a_closing_quote_is_kept(tmp_path: Path) -> None:
    grid = read(tmp_path / "t.csv", 'a,b\n"c" d,e\n')
    assert grid.rows == (("a", "b"), ("c d", "e"))
    assert [(n.code, n.row) for n in grid.notices] == [("quotes", 1)]


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    grid = read(tmp_path / "t.csv.gz", gzip.compress(b"a,b\n1,2\n"))
    assert grid.rows == (("a", "b"), ("1", "2"))


def test_plain_text_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(NoTableError):
        read(tmp_path / "notes.txt", "Just a line\nand another\n")


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"\n\n\n", b"\xff\xfe"])
def test_empty_files(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(EmptyTableError, match=r"t\.csv"):
        read(tmp_path / "t.csv", content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n\0\0\0", "NUL"), (b"PK\x03\x04\x14\0\0\0", "Excel workbook"), (b"%PDF-1.7\n\0\0", "PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "PNG"),
    ],
)  # fmt: skip
def test_binary_content_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(UnreadableTableError, match=words) as raised:
        read(tmp_path / "t.csv", content)
    assert raised.value.hint


BENCHMARKS = Path(os.environ.get("KGTABLE_BENCHMARKS", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1,2\n", ","), ("a;b\n1;2\n", ";"), ("a;b\n1,5;2,5\n", ";"), ("1,5;2\n3,5;4\n", ";"),
        ("name;text\nx;one, two\ny;three\n", ";"), ("name;value;unit\n", ";"), ("name\nSmith; John\n", ","),
        ("Just a note; nothing else", ","), ("a\tb\n1,000\t2\n", "\t"), ("a|b\n1|2\n", "|"), ("about\n~40\n~50\n", ","),
        ("name\nSmith; John\nDoe; Jane\nRoe; Ann\n", ","), ("Report\n\nName;2018;2019\nx;1;2\ny;3;4\n", ";"),
        ("Plan and actual, in euros\nMay;IT;8,00;6,41\nMay;HR;4,50;6,88\nJune;IT;1,25;7,02\n", ";"),
        ('"a;b",c\n"d;e",f\n', ","), ('a,"x;y"\nb,"z;w"\n', ","), ('"a,b";c\n"d,e";f\n', ";"), ("a,b;c\nd,e;f\n", ","),
        ("Total;net\n1; 2\n", ";"), ("", ","), ("\n\n", ","), ("one\ntwo\n", ","), ("12:30,a|b\n12:45,c|d\n", ","),
    ],
)  # fmt: skip
def test_the_delimiter_of_a_sample(sample: str, delimiter: str) -> None:
    assert detect_dialect(sample, whole=True) == TextDialect(delimiter)


@pytest.mark.benchmarks
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_real_tables_in_another_delimiter(delimiter: str) -> None:
    folder = BENCHMARKS / "wtq" / "tables"
    if not folder.is_dir():
        pytest.skip("the benchmark folder wtq is not here")
    wrong = []
    files = sorted(folder.glob("*.csv"))
    for path in files:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=delimiter).writerows(rows)
        if detect_dialect(text.getvalue()[:SAMPLE], whole=len(text.getvalue()) <= SAMPLE).delimiter != delimiter:
            wrong.append(path.name)
    assert len(wrong) <= len(files) / 1_000, wrong
