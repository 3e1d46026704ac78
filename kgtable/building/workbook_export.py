"""Tables as an .xlsx workbook: numbers and dates as such, in the number formats they were read with.

A cell is a number, a share or a date only if reading the workbook again yields the same text; every
other cell is text, which no spreadsheet program runs as a formula.
"""

from __future__ import annotations

import datetime
import io
import math
import re
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import IO, Any

from kgtable.errors import UsageError
from kgtable.tables.model import Grid, Table, spreadsheet_reference
from kgtable.tables.readers.spreadsheet import date_text, first_day, percent_text
from kgtable.values.decimals import scaled
from kgtable.values.text import SPREADSHEET_DIGITS, number_text, value_text, workbook_text

MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 1_048_576, 16_384, 32_767
LONGEST_SHEET_NAME = 31
_NOT_IN_A_SHEET_NAME = re.compile("[\\[\\]:*?/\\\\'\x00-\x1f\ud800-\udfff\ufffe\uffff]")
_FIGURE = re.compile(r"-?[0-9]{1,16}(?:\.[0-9]{1,16})?")
_SHARE = re.compile(r"(-?[0-9]{1,16}(?:\.[0-9]{1,16})?)%")
_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_CREATED = datetime.datetime(2000, 1, 1)
_SAVED_AT = re.compile(rb"(?<=W3CDTF\">)[0-9TZ:.-]+(?=</dcterms:modified>)")


def write_workbook(tables: Iterable[Table], handle: IO[bytes]) -> None:
    """Write tables as the sheets of a workbook, named after their ids; the same tables yield the same bytes.

    Raises `UsageError` for a table that is larger than a sheet can be.
    """
    from openpyxl import Workbook  # slow to import, and only this export needs it

    book = Workbook(write_only=True)
    book.properties.creator = "kgtable"
    book.properties.created = book.properties.modified = _CREATED
    saved = io.BytesIO()
    try:
        _write_sheets(book, tables)
        book.save(saved)
    except BaseException:
        # Otherwise each sheet reports an error of its own when it is thrown away.
        for sheet in list[Any](book.worksheets):
            with suppress(Exception):
                sheet.close()
                sheet._writer.cleanup()
        raise
    _write_undated(saved, handle)


def _write_sheets(book: Any, tables: Iterable[Table]) -> None:
    taken: set[str] = set()
    for table in tables:
        sheet = book.create_sheet(_sheet_name(table.id, taken))
        for area in table.grid.merged:
            first = spreadsheet_reference(area.top, area.left)
            sheet.merged_cells.add(f"{first}:{spreadsheet_reference(area.bottom, area.right)}")
        for index, row in enumerate(table.grid.rows):
            _check(table, index, row)
            sheet.append([_cell(sheet, text, table.grid, index, column) for column, text in enumerate(row)])


def _sheet_name(id: str, taken: set[str]) -> str:
    """A name for a sheet that differs from all others, ignoring case."""
    bare = _NOT_IN_A_SHEET_NAME.sub("_", id)
    name = bare[:LONGEST_SHEET_NAME] or "_"
    number = 1
    while name.casefold() in taken:
        number += 1
        name = f"{bare[: LONGEST_SHEET_NAME - len(str(number)) - 1]}~{number}"
    taken.add(name.casefold())
    return name


def _check(table: Table, index: int, row: tuple[str, ...]) -> None:
    if index >= MOST_ROWS or len(row) > MOST_COLUMNS or any(len(text) > LONGEST_CELL for text in row):
        raise UsageError(
            f"Table {table.id!r} does not fit a sheet: row {index + 1:,} is beyond {MOST_ROWS:,} rows,"
            f" {MOST_COLUMNS:,} columns or {LONGEST_CELL:,} characters a cell.",
            hint="Export it as csv.",
        )


def _cell(sheet: Any, text: str, grid: Grid, row: int, column: int) -> Any:
    """The content of a workbook cell for a text; nothing for an empty one without a format."""
    from openpyxl.cell import WriteOnlyCell

    code = grid.formats.get((row, column), "")
    if not text and not code:
        return None
    value: Any = typed_value(text, code)
    cell = WriteOnlyCell(sheet, workbook_text(text) if value is None else value)
    if code:
        cell.number_format = code
    if value is None and text:
        cell.data_type = "s"
        if text[0] in "=+-@'\t\r":
            cell.quotePrefix = True
    return cell


def typed_value(text: str, code: str) -> int | float | datetime.date | datetime.time | None:
    """The number, share, date or time of a cell that reads back as `text`, in a number format; None for text.

    >>> typed_value("1234.5", ""), typed_value("2.5%", "0.0%"), typed_value("007", ""), typed_value("=1+1", "")
    (1234.5, 0.025, None, None)
    >>> typed_value("2024-05-01", "dd.mm.yyyy"), typed_value("2024-05-01", "")
    (datetime.date(2024, 5, 1), None)
    >>> typed_value("May 2024", "mmm-yy")
    datetime.date(2024, 5, 1)
    """
    if match := _SHARE.fullmatch(text):
        share = _number(number_text(float(scaled(Decimal(match[1]), -2)), SPREADSHEET_DIGITS))
        shown = None if share is None else percent_text(number_text(share, SPREADSHEET_DIGITS), code)
        return share if "%" in _QUOTED.sub("", code) and shown == text else None
    if "%" in _QUOTED.sub("", code):
        return None
    if re.search("[dmyhs]", _QUOTED.sub("", code.lower())) is None:
        return _number(text)
    return _moment(first_day(text, code) or text, text, code)


def _number(text: str) -> int | float | None:
    if _FIGURE.fullmatch(text) is None:
        return None
    try:
        value = float(Decimal(text))
    except (InvalidOperation, OverflowError):
        return None
    if not math.isfinite(value) or number_text(value, SPREADSHEET_DIGITS) != text:
        return None
    return int(value) if value.is_integer() else value


def _moment(text: str, shown: str, code: str) -> datetime.date | datetime.time | None:
    """The date, time or both that a text in the form of ISO 8601 is, where a format shows it as it is read back."""
    for read in (datetime.date.fromisoformat, datetime.datetime.fromisoformat, datetime.time.fromisoformat):
        try:
            value = read(text)
        except ValueError:
            continue
        year = getattr(value, "year", 2000)
        sound = value_text(value) == text and date_text(text, code) == shown
        return value if sound and 1901 <= year <= 9999 else None
    return None


def _write_undated(saved: IO[bytes], handle: IO[bytes]) -> None:
    """Write a package again without the times at which its parts were written, and it was saved."""
    with zipfile.ZipFile(saved) as source, zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            part = source.read(name)
            if name == "docProps/core.xml":  # saving has put the time of the day there
                part = _SAVED_AT.sub(_CREATED.strftime("%Y-%m-%dT%H:%M:%SZ").encode(), part)
            target.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
