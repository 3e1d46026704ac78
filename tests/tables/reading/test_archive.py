from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.errors import UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, check_archive
from tests.tables.reading.files import with_member, workbook_bytes


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
