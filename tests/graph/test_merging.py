from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kgtable.building.assembly import merge_shares
from kgtable.building.catalogue import FileRecord
from kgtable.building.convert import ConversionJob, ConversionOptions, run_job
from kgtable.graph.terms import Share
from kgtable.tables.discovery import find_files

ROWS = "".join(f"item {row},{row * 7 - 20},{row}%,$ {row} million\n" for row in range(20))


@pytest.fixture
def records(tmp_path: Path) -> list[list[FileRecord]]:
    """Two files, each converted whole, then in three shares."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(f"Name,Amount,Share,Cost\n{ROWS}-,,,\n", encoding="utf-8")
    found = []
    for file in find_files([tmp_path]):
        shares = [Share(), *(Share(part, 3) for part in range(3))]
        jobs = [ConversionJob((file,), ("digest",), tmp_path / "out", share) for share in shares]
        found.append([run_job(job, ConversionOptions()).records[0] for job in jobs])
    return found


def test_the_shares_of_a_file_make_the_record_of_the_whole(records: list[list[FileRecord]]) -> None:
    for whole, *shares in records:
        assert merge_shares(shares) == (whole,)
        assert shares[0] != whole


def test_files_stay_in_the_order_they_begin(records: list[list[FileRecord]]) -> None:
    (one, *of_one), (two, *of_two) = records
    assert merge_shares([*of_two, *of_one]) == (two, one)
    assert merge_shares([one, two]) == (one, two)
    assert merge_shares([]) == ()


def test_a_share_that_cannot_be_read_spoils_the_file(records: list[list[FileRecord]]) -> None:
    _, first, second, third = records[0]
    broken = replace(second, tables=(), error="one.csv: it broke off")
    for shares in ([first, broken, third], [broken, second, third], [first, second, broken]):
        (merged,) = merge_shares(shares)
        assert (merged.tables, merged.error) == ((), "one.csv: it broke off")
