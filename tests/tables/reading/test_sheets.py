from __future__ import annotations

import datetime as dt
import io
import subprocess
from pathlib import Path

import pytest
import xlwt

from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Area
from kgtable.tables.readers.spreadsheet import SheetValues, read_sheets
from tests.tables.reading.files import workbook_bytes


def workbook() -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Ünits")
    sheet.write(0, 0, " a ")
    sheet.write(0, 1, 3.0)
    sheet.write(0, 2, True)
    for column, (value, code) in enumerate(
        [
            (dt.date(2024, 12, 31), "yyyy-mm-dd"),
            (dt.datetime(2024, 12, 31, 13, 45), "yyyy-mm-dd hh:mm"),
            (dt.time(13, 45), "hh:mm"),
        ]
    ):
        style = xlwt.XFStyle()
        style.num_format_str = code
        sheet.write(1, column, value, style)
    sheet.write_merge(2, 3, 0, 1, 0.1)
    book.add_sheet("empty")
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_sheets_texts_and_merged_areas(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(workbook())
    assert list(read_sheets(path, ReadLimits())) == [
        SheetValues(
            "Ünits",
            0,
            [(" a ", "3", "TRUE"), ("2024-12-31", "2024-12-31T13:45:00", "13:45:00"), ("0.1", "", "")],
            [Area(2, 0, 3, 1)],
        ),
        SheetValues("empty", 1, [], []),
    ]


def test_a_name_in_any_alphabet(tmp_path: Path) -> None:
    path = tmp_path / "-ü x.XLS"
    path.write_bytes(workbook())
    assert [sheet.number for sheet in read_sheets(path, ReadLimits(), skip=["Ünits"])] == [1]


def test_too_little_memory_is_an_error_not_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(workbook())
    with pytest.raises(ValueError, match="memory"):
        list(read_sheets(path, ReadLimits(max_memory=1 << 20)))


def test_the_content_tells_where_the_name_may_not(tmp_path: Path) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(workbook_bytes({"A1": "x"}))
    assert [sheet.rows for sheet in read_sheets(path, ReadLimits(), by_name=False)] == [[("x",)]]


@pytest.mark.parametrize("content", [b"", b"x" * 999, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600])
def test_what_is_no_workbook(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.xls"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\w"):
        list(read_sheets(path, ReadLimits()))


def test_a_hang_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never_end(*_: object, timeout: float, **__: object) -> None:
        raise subprocess.TimeoutExpired("child", timeout)

    monkeypatch.setattr(subprocess, "run", never_end)
    with pytest.raises(ValueError, match="took more than"):
        list(read_sheets(tmp_path / "t.xls", ReadLimits()))
