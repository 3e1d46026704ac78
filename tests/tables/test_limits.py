from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kgtable.errors import EmptyTableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, check_archive, content_size, read_bytes, unreadable
from tests.tables.readers.files import with_member, workbook_bytes


def file_of(path: Path, content: bytes) -> TableFile:
    path.write_bytes(content)
    return TableFile(path, path.name, path.stem)


def test_plain_and_packed_content_are_the_same(tmp_path: Path) -> None:
    plain, packed = (file_of(tmp_path / "a.csv", b"a,b\n"), file_of(tmp_path / "b.csv.gz", gzip.compress(b"a,b\n")))
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


def check(path: Path, content: bytes, limits: ReadLimits | None = None) -> None:
    path.write_bytes(content)
    check_archive(TableFile(path, path.name, path.stem), limits or ReadLimits())


def test_a_sound_archive_passes(tmp_path: Path) -> None:
    check(tmp_path / "t.xlsx", workbook_bytes({"A1": 1}))


@pytest.mark.parametrize("size", [4, 40, 400, 2_000])
def test_an_archive_cut_off_is_refused(tmp_path: Path, size: int) -> None:
    with pytest.raises(UnreadableTableError, match="damaged or cut off"):
        check(tmp_path / "t.xlsx", workbook_bytes({"A1": 1})[:size])


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    content = bytearray(workbook_bytes({"A1": 1}))
    entry = content.index(b"PK\x01\x02")
    content[entry + 8] |= 1
    with pytest.raises(UnreadableTableError, match="password"):
        check(tmp_path / "t.xlsx", bytes(content))


def test_the_sum_of_all_members_counts(tmp_path: Path) -> None:
    content = workbook_bytes({"A1": 1})
    for number in range(5):
        content = with_member(content, f"x{number}", b"\0" * 300_000)
    check(tmp_path / "t.xlsx", content, ReadLimits(max_unpacked=2_000_000))
    with pytest.raises(UnreadableTableError, match="unpack"):
        check(tmp_path / "t.xlsx", content, ReadLimits(max_unpacked=1_000_000))


@pytest.mark.parametrize(
    ("packed", "unpacked", "too_far"),
    [(10, 1_000, False), (10, 10_001, True), (1_000, 9_000, False), (10, 5_000, True), (10, 100, False)],
)
def test_bounds_of_unpacking(packed: int, unpacked: int, too_far: bool) -> None:
    limits = ReadLimits(max_unpacked=10_000, max_ratio=100, ratio_from=1_000)
    assert limits.unpacks_too_far(packed, unpacked) is too_far
