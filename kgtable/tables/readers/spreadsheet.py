"""XLSX, XLS and ODS workbooks: every sheet that holds something is a table, row 0 its first row."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from lxml import etree

from kgtable.errors import EmptyTableError, TableError, UnreadableTableError
from kgtable.tables.discovery import OLE, TableFile
from kgtable.tables.limits import ReadLimits, check_archive, check_extent, read_bytes, unreadable
from kgtable.tables.model import Area, Context, Grid, Notice, Position, Row, Source
from kgtable.tables.readers.delimited import read_delimited_bytes
from kgtable.tables.readers.html import read_html
from kgtable.tables.readers.workbook_parts import SheetDetails, WorkbookParts, document_sheets
from kgtable.tables.readers.xls_formats import xls_details
from kgtable.values.decimals import scaled, shortened
from kgtable.values.number_formats import read_number_format
from kgtable.values.text import SPREADSHEET_DIGITS, sound_text, value_text

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

_Read = TypeVar("_Read")


class PasswordNeededError(ValueError):
    """The workbook is protected by a password."""


@dataclass(frozen=True, slots=True)
class SheetValues:
    """A worksheet: its name, its place among the sheets, its texts from A1 on, its merged areas."""

    name: str
    number: int
    rows: list[Row]
    merged: list[Area]


def read_sheets(path: Path, *, by_name: bool = True, skip: Collection[str] = ()) -> Iterator[SheetValues]:
    """The worksheets of an .xlsx, .xls or .ods file, empty ones among them, those to skip left out.

    `by_name` trusts the suffix, otherwise the content decides the kind of file. The library is native code: files of
    others are read in a process with bounds, see `kgtable.tables.readers.apart`.
    Raises `PasswordNeededError` for a protected file, `ValueError` for one that cannot be read.
    """
    from python_calamine import SheetTypeEnum

    workbook = _by_library(partial(_opened, path, by_name=by_name))
    for number, metadata in enumerate(workbook.sheets_metadata):
        if metadata.typ == SheetTypeEnum.WorkSheet and metadata.name not in skip:
            yield _by_library(partial(_sheet, workbook, number))


def _opened(path: Path, *, by_name: bool) -> CalamineWorkbook:
    from python_calamine import CalamineWorkbook

    if by_name and sound_text(str(path)) == str(path):  # the library takes no name that is not UTF-8
        return CalamineWorkbook.from_path(str(path))
    with path.open("rb") as stream:
        return CalamineWorkbook.from_filelike(stream)


def _sheet(workbook: CalamineWorkbook, number: int) -> SheetValues:
    sheet = workbook.get_sheet_by_index(number)
    rows = [_texts(row) for row in sheet.to_python(skip_empty_area=False)] if sheet.start else []
    areas = [Area(top, left, bottom, right) for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()]
    return SheetValues(sound_text(sheet.name), number, rows, areas)


def _by_library(read: Callable[[], _Read]) -> _Read:
    """The library's result. Raises `PasswordNeededError`, or `ValueError` for any other fault."""
    from python_calamine import PasswordError

    try:
        return read()
    except PasswordError as error:
        raise PasswordNeededError from error
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a panic in the library's Rust code is not an Exception
        raise ValueError(str(error)) from error


def _texts(values: Iterable[object]) -> Row:
    return tuple([value if type(value) is str else value_text(value, SPREADSHEET_DIGITS) for value in values])


_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_DAMAGED = "Get a complete copy, or open and save it again in a spreadsheet program."
_PARTS_FAULTS = (
    *(zipfile.BadZipFile, EOFError, KeyError, ValueError, NotImplementedError),
    *(etree.XMLSyntaxError, AttributeError, TypeError),  # the latter from entities where elements belong
)
_DEFAULT_SHEET_NAME = re.compile(r"[^\W\d]+\s*\d+")


def read_spreadsheet(file: TableFile, limits: ReadLimits) -> list[Grid]:
    """The sheets of a workbook that hold something, in the workbook's order.

    A text file under a workbook's name (programs that "export to Excel" write such) is read as what
    it is. Raises `TableError` if the file is damaged, protected, empty or beyond the limits.
    """
    try:
        with file.path.open("rb") as stream:
            start = stream.read(4096)
    except OSError as error:
        raise unreadable(file, error) from error
    if start.startswith(b"PK"):
        check_archive(file, limits)
        return _read_workbook(file, _zipped_details(file, limits), limits, by_name=file.suffix != ".xls")
    if start.startswith(OLE):
        content = read_bytes(file, limits)
        if _ENCRYPTED in content:
            raise _protected(file)
        return _read_workbook(file, xls_details(content), limits, by_name=file.suffix == ".xls")
    return _read_text(file, limits)


def _read_text(file: TableFile, limits: ReadLimits) -> list[Grid]:
    content = read_bytes(file, limits)
    start = content[:4096].lower().lstrip(b"\xef\xbb\xbf \t\r\n")
    kind = "HTML" if b"<table" in start or b"<html" in start else "delimited text"
    if kind == "HTML":
        grids = read_html(file, limits)
    elif start.startswith(b"<?xml") or b"\0" in content:
        hint = "Save it again as .xlsx or .csv."
        raise UnreadableTableError("the content is not a workbook.", path=file.relative, hint=hint)
    else:
        grids = [read_delimited_bytes(content, file)]
    notice = Notice("kind", f"the file is {kind} under a workbook's name", file.relative)
    return [replace(grid, notices=(*grid.notices, notice)) for grid in grids]


def _zipped_details(file: TableFile, limits: ReadLimits) -> dict[str, SheetDetails | TableError]:
    """What the workbook says of each sheet beyond its values, or why the sheet cannot be read."""
    details: dict[str, SheetDetails | TableError] = {}
    try:
        with closing(WorkbookParts(file.path)) as parts:
            if parts.is_document:
                # the library reads all sheets of such a file at once: one beyond the limits bars it
                for name, found in document_sheets(file.path, limits.max_cells):
                    checked = _within(file, name, found, limits)
                    if isinstance(checked, TableError):
                        raise checked
                    details[name] = checked
                return details
            if parts.is_binary:
                hint = "Save it as .xlsx."
                raise UnreadableTableError("this is a binary workbook (.xlsb).", path=file.relative, hint=hint)
            for name in parts.sheets:
                try:
                    details[name] = _within(file, name, parts.details(name), limits)
                except _PARTS_FAULTS as error:
                    details[name] = _damaged(file, error, sheet=name)
    except _PARTS_FAULTS as error:
        raise _damaged(file, error) from error
    return details


def _within(
    file: TableFile, name: str, details: SheetDetails, limits: ReadLimits
) -> SheetDetails | UnreadableTableError:
    cells = (details.bottom + 1) * (details.right + 1)
    if cells <= limits.max_cells:
        try:
            check_extent(file, limits, details.bottom + 1, details.right + 1, details.filled)
        except UnreadableTableError as error:
            return error
        return details
    return UnreadableTableError(
        f"the used area has {cells:,} cells, more than {limits.max_cells:,}.",
        path=file.relative,
        sheet=sound_text(name),
        row=details.bottom,
        column=details.right,
        hint="Remove stray cells far from the table, or save the sheet as CSV.",
    )


def _read_workbook(
    file: TableFile, details: Mapping[str, SheetDetails | TableError], limits: ReadLimits, *, by_name: bool
) -> list[Grid]:
    faults = {name: fault for name, fault in details.items() if isinstance(fault, TableError)}
    grids: list[Grid] = []
    try:
        for sheet in read_sheets(file.path, by_name=by_name, skip=faults):
            detail = details.get(sheet.name)
            detail = detail if isinstance(detail, SheetDetails) else SheetDetails()
            detail.merged.extend(sheet.merged)
            grid = _grid(file, sheet, detail)
            if grid is not None:
                grids.append(grid)
    except PasswordNeededError as error:
        raise _protected(file) from error
    except ValueError as error:
        raise _damaged(file, error) from error
    return _filled(file, grids, list(faults.values()))


def _filled(file: TableFile, grids: list[Grid], faults: list[TableError]) -> list[Grid]:
    """The grids, the faults of other sheets as notices; raises `TableError` if there is no grid."""
    if not grids:
        empty = EmptyTableError("no sheet holds a cell.", path=file.relative, hint="Put a table into it.")
        raise faults[0] if faults else empty
    notices = tuple(Notice("sheet", fault.message, file.relative, fault.sheet) for fault in faults)
    return [replace(grids[0], notices=grids[0].notices + notices), *grids[1:]]


def _grid(file: TableFile, sheet: SheetValues, details: SheetDetails) -> Grid | None:
    rows = _as_shown(_as_in_sheet(_with_errors(sheet.rows, details), details.shown), details.formats)
    width = max(map(len, rows), default=0)
    if not any(map(any, rows)):
        return None
    name = sheet.name
    marked = (cell for cell in details.header_cells if cell[0] < len(rows) and cell[1] < width)
    return Grid(
        file.id,
        Source(file.relative, sheet=name, number=sheet.number, media_type=file.media_type),
        tuple(rows),
        width,
        context=Context(title="" if _DEFAULT_SHEET_NAME.fullmatch(name) else name),
        merged=_clipped(details.merged, len(rows), width),
        formats=MappingProxyType(details.formats),
        indents=MappingProxyType(details.indents),
        header_cells=frozenset(marked),
        notices=_notices(file, name, details),
    )


_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_DECIMALS = re.compile(r"\.(0+)")


def percent_text(text: str, code: str) -> str:
    """A stored share as its percent format shows it, with all of its digits; any other text as it is.

    >>> percent_text("0.025", "0.0%"), percent_text("0.5", "0%"), percent_text("0.12345", "0%")
    ('2.5%', '50%', '12.345%')
    """
    if _PLAIN_NUMBER.fullmatch(text) is None:
        return text
    value = shortened(scaled(Decimal(text), 2))
    shown = _DECIMALS.search(code.split(";")[0])
    least = len(shown[1]) if shown else 0
    digits = max(least, -int(value.as_tuple().exponent))
    return f"{value:.{digits}f}%"


_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_FIRST_DAY = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-01")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@lru_cache(maxsize=4_096)
def _shows_of_dates(code: str) -> str:
    """What a number format shows of a date: ``month`` and year, ``year`` alone; "" for any other format."""
    letters = set(_LITERAL.sub("", code.split(";")[0]).casefold()) & set("ymdhsg0#?")
    return {frozenset("ym"): "month", frozenset("y"): "year"}.get(frozenset(letters), "")


def date_text(text: str, code: str) -> str:
    """The first day of a month or year in a format that shows no day; any other text as is.

    >>> date_text("2023-01-01", "mmm-yy"), date_text("2023-01-01", "yyyy"), date_text("2023-01-31", "mmm-yy")
    ('Jan 2023', '2023', '2023-01-31')
    """
    shown = _shows_of_dates(code)
    match = _FIRST_DAY.fullmatch(text) if shown else None
    if match is None:
        return text
    if shown == "month":
        return f"{_MONTHS[int(match[2]) - 1]} {match[1]}"
    return match[1] if match[2] == "01" else text


def first_day(text: str, code: str) -> str:
    """The day, in the form of ISO 8601, that a format shows as `text`; "" for a text that `date_text` returns for none.

    >>> first_day("Jan 2023", "mmm-yy"), first_day("2023", "yyyy"), first_day("2023", "0")
    ('2023-01-01', '2023-01-01', '')
    """
    name, _, year = text.rpartition(" ")
    month = _MONTHS.index(name) + 1 if name in _MONTHS else 1
    day = f"{year}-{month:02d}-01"
    return day if day != text and date_text(day, code) == text else ""


def _as_shown(rows: list[Row], formats: Mapping[Position, str]) -> list[Row]:
    """The rows with shares in percent, and days as months and years, where their number format shows them so."""
    changed: dict[int, list[str]] = {}
    for (row, column), code in formats.items():
        if row >= len(rows) or column >= len(rows[row]):
            continue
        if "%" in code:
            shown = read_number_format(code)
            if shown is not None and shown.shift:
                cells = changed.setdefault(row, list(rows[row]))
                cells[column] = percent_text(cells[column], code)
        elif _shows_of_dates(code):
            cells = changed.setdefault(row, list(rows[row]))
            cells[column] = date_text(cells[column], code)
    return [tuple(changed.get(index, row)) for index, row in enumerate(rows)] if changed else rows


def _with_errors(rows: list[Row], details: SheetDetails) -> list[Row]:
    """The rows with the texts of cells that hold an error value (``#N/A``), which have no value."""
    if not details.errors:
        return rows
    height = max(row for row, _ in details.errors) + 1
    width = max(max(column for _, column in details.errors) + 1, max(map(len, rows), default=0))
    cells = [[*row, *[""] * (width - len(row))] for row in rows]
    cells.extend([""] * width for _ in range(height - len(rows)))
    for (row, column), text in details.errors.items():
        cells[row][column] = text
    return [tuple(row) for row in cells]


def _as_in_sheet(rows: list[Row], shown: Mapping[Position, tuple[str, str]]) -> list[Row]:
    """The rows with marks and exponents raised, and lengths of time as a clock, where the sheet shows them so."""
    changed: dict[int, list[str]] = {}
    for (row, column), (plain, text) in shown.items():
        if row < len(rows) and column < len(rows[row]) and rows[row][column] == plain:
            changed.setdefault(row, list(rows[row]))[column] = text
    return [tuple(changed.get(index, row)) for index, row in enumerate(rows)] if changed else rows


def _clipped(areas: Sequence[Area], height: int, width: int) -> tuple[Area, ...]:
    """The parts of merged areas that lie within the grid and still hold more than one cell."""
    clipped = (Area(a.top, a.left, min(a.bottom, height - 1), min(a.right, width - 1)) for a in areas)
    kept = {a for a in clipped if a.bottom >= a.top and a.right >= a.left and a.top + a.left < a.bottom + a.right}
    return tuple(sorted(kept, key=lambda a: (a.top, a.left, a.bottom, a.right)))


def _notices(file: TableFile, sheet: str, details: SheetDetails) -> tuple[Notice, ...]:
    if not details.unresolved:
        return ()
    row, column = details.unresolved[0]
    message = (
        f"formulas saved without a result are empty here ({len(details.unresolved):,} from this cell on); "
        "open and save the file in a spreadsheet program"
    )
    return (Notice("formula", message, file.relative, sheet, row, column),)


def _protected(file: TableFile) -> UnreadableTableError:
    message = "the workbook is protected by a password."
    return UnreadableTableError(message, path=file.relative, hint="Save it without one.")


def _damaged(file: TableFile, error: BaseException, sheet: str | None = None) -> UnreadableTableError:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    where = None if sheet is None else sound_text(sheet)
    return UnreadableTableError(
        f"the workbook is damaged or cut off ({sound_text(reason)}).",
        path=file.relative,
        sheet=where,
        hint=_DAMAGED,
    )
