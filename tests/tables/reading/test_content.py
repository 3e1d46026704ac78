from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kgtable.errors import EmptyTableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, content_size, read_bytes, unreadable


def file_of(path: Path, content: bytes) -> TableFile:
    path.write_bytes(content)
    return TableFile(path, path.name, path.stem)


def test_plain_and_packed_content_are_the_same(tmp_path: Path) -> None:
    plain, packed = (
        file_of(tmp_path / "a.csv", b"a,b\n"),
        file_of(tmp_path / "b.csv.gz", gzip.compress(b"a,b\n")),
    )
    assert read_bytes(plain, ReadLimits()) == read_bytes(packed, ReadLimits()) == b"a,b\n"
    assert content_size(plain, ReadLimits()) == content_size(packed, ReadLimits()) == 4


def test_no_bytes_are_an_empty_table(tmp_path: Path) -> None:
    with pytest.raises(EmptyTableError, match=r"a\.csv: the file is empty"):
        read_bytes(file_of(tmp_path / "a.csv", b""), ReadLimits())


def test_unpacking_stops_at_the_limit(tmp_path: Path) -> None:
    file = file_of(tmp_path / "a.csv.gz", gzip.compress(b"x" * 10_000_000))
    with pytest.raises(UnreadableTableError, match="unpack to more than"):
        content_size(file, ReadLimits(max_unpacked=3_000_000))


def test_what_the_system_says_is_told(tmp_path: Path) -> None:
    file = TableFile(tmp_path / "a.csv", "a.csv", "a")
    assert str(unreadable(file, PermissionError(13, "Permission denied"))) == (
        "a.csv: the file cannot be read: permission denied. Check that it exists and that you may read it."
    )
    assert "ValueError" in str(unreadable(file, ValueError()))
