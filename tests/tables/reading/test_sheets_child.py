from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kgtable.tables.readers import calamine_worker
from kgtable.tables.readers.calamine_worker import DAMAGED
from tests.tables.reading.files import workbook_bytes


def run(path: Path, **order: object) -> tuple[int, list[Any]]:
    """The status of the program and the JSON texts it prints."""
    argument = {"path": str(path), "by_name": False, "skip": [], "memory": 4 << 30, "seconds": 60} | order
    done = subprocess.run(
        [sys.executable, "-I", calamine_worker.__file__, json.dumps(argument)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_sheets_rows_and_the_end_of_each(tmp_path: Path) -> None:
    path = tmp_path / "-ü 'x.xlsx"
    cells: dict[str, object] = {
        "A1": 'a"\u2028\n\u202e',
        "B1": 3.5,
        "C1": True,
        "A2": dt.datetime(2024, 12, 31, 13, 45),
        "B2": dt.time(1, 2),
    }
    path.write_bytes(workbook_bytes(cells))
    status, lines = run(path)
    assert status == 0
    assert lines == [
        ["Sheet", 0, []],
        ['a"\u2028\n\u202e', 3.5, True],
        [["datetime", "2024-12-31T13:45:00"], ["time", "01:02:00"], ""],
        None,
    ]
    assert run(path, skip=["Sheet"]) == (0, [])
    assert run(path, by_name=True) == (status, lines)


def test_a_workbook_without_cells(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(workbook_bytes({}))
    assert run(tmp_path / "t.xlsx") == (0, [["Sheet", 0, []], None])


@pytest.mark.parametrize("content", [b"", b"no workbook", b"PK\x03\x04" + b"\0" * 99, None])
def test_what_is_damaged_or_missing_is_told_in_one_line(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "t.xlsx").write_bytes(content)
    status, lines = run(tmp_path / "t.xlsx")
    assert status == DAMAGED
    assert len(lines) == 1
    assert lines[0]
