"""Mappings as CSV and XLSX: reading them with the place of every row, and writing them.

A text that a spreadsheet would run as a formula is written as text: in XLSX by its cell type, in CSV
behind an apostrophe, which is taken off again on reading, so that every text comes back as it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from python_calamine import CalamineError, CalamineWorkbook

from kgtable.errors import MappingError

NAME: Final = "column name"
ONLY_IN: Final = "only in"
EDITABLE: Final = ("predicate", "unit", "scale", "datatype", "same as")
FIELDS: Final = (NAME, *EDITABLE, ONLY_IN, "units found", "tables")
WIDTHS: Final = (40, 34, 16, 8, 10, 34, 20, 30, 40)

_GUARDED = re.compile(r"[=+\-@\t\r']")
_ESCAPE_LIKE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_SPREADSHEET_LIMIT: Final = 32_000


@dataclass(frozen=True, slots=True)
class MappingRow:
    """One row of a mapping file: the text of each of its fields, and the file and line it stands in."""

    values: dict[str, str]
    path: str = ""
    line: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """What the row is about: column name and the tables it is restricted to."""
        return self.values.get(NAME, ""), self.values.get(ONLY_IN, "")

    def place(self, field: str) -> str:
        """The place of a cell, for messages."""
        return f"{self.path}, line {self.line}, column '{field}'"


def read_rows(path: Path) -> list[MappingRow]:
    """The rows of a mapping file, CSV or XLSX by its suffix; rows without any text are passed over.

    Raises `MappingError` where the file cannot be read, lacks a column or names a column twice.
    """
    try:
        if path.suffix.lower() in (".xlsx", ".xlsm", ".ods"):
            lines = list(_spreadsheet_lines(path))
        else:
            lines = list(_csv_lines(path.read_bytes()))
    except (OSError, csv.Error, CalamineError, ValueError) as error:
        raise MappingError(
            f"{path.name}: the mapping cannot be read: {error}", hint="Save it as CSV or XLSX again."
        ) from error
    return list(_rows(path.name, lines))


def csv_bytes(rows: Iterable[Sequence[str]]) -> bytes:
    """The rows, in the order of `FIELDS`, as a CSV file with its header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(FIELDS)
    writer.writerows([_guard(text) for text in row] for row in rows)
    return buffer.getvalue().encode()


def xlsx_bytes(rows: Iterable[Sequence[str]]) -> bytes:
    """The rows, in the order of `FIELDS`, as a workbook of one sheet with its header."""
    from openpyxl import Workbook  # slow to import, and only a build writes workbooks
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    book = Workbook(write_only=True)
    book.properties.creator = "kgtable"
    book.properties.created = book.properties.modified = datetime(2000, 1, 1)
    sheet = book.create_sheet("ontology")
    sheet.freeze_panes = "A2"
    for letter, width in zip("ABCDEFGHI", WIDTHS, strict=True):
        sheet.column_dimensions[letter].width = width
    header = [WriteOnlyCell(sheet, field) for field in FIELDS]
    for cell in header:
        cell.font = Font(bold=True)
    sheet.append(header)
    for row in rows:
        sheet.append([_spreadsheet_cell(sheet, text) for text in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _spreadsheet_cell(sheet: Any, text: str) -> Any:
    text = _ESCAPE_LIKE.sub("_x005F_", text[:_SPREADSHEET_LIMIT])
    if _GUARDED.match(text) is None:
        return text
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, text)
    cell.data_type = "s"
    cell.quotePrefix = True
    return cell


def _guard(text: str) -> str:
    return f"'{text}" if _GUARDED.match(text) else text


def _unguard(text: str) -> str:
    return text[1:] if text[:1] == "'" and _GUARDED.match(text, 1) else text


def _csv_lines(data: bytes) -> Iterator[tuple[int, list[str]]]:
    text = _decoded(data)
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = 1
    for row in reader:
        yield line, [_unguard(cell) for cell in row]
        line = reader.line_num + 1


def _decoded(data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def _spreadsheet_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    sheet = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0)
    for line, row in enumerate(sheet.to_python(skip_empty_area=False), start=1):
        yield line, [_plain(cell) for cell in row]


def _plain(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _rows(name: str, lines: Sequence[tuple[int, list[str]]]) -> Iterator[MappingRow]:
    header = [cell.strip().casefold() for cell in lines[0][1]] if lines else []
    for field in (NAME, "predicate"):
        if header.count(field) != 1:
            fault = "has no" if field not in header else "has more than one"
            raise MappingError(
                f"{name}, line 1: the mapping {fault} column '{field}'.",
                hint=f"The first line names the columns: {', '.join(FIELDS)}.",
            )
    for line, cells in lines[1:]:
        values = {field: cell.strip() for field, cell in zip(header, cells, strict=False) if field in FIELDS}
        if not any(values.values()):
            continue
        if not values[NAME]:
            raise MappingError(
                f"{name}, line {line}, column '{NAME}': there is no column name.",
                hint="Say which column the row is about, or remove the row.",
            )
        yield MappingRow(values, name, line)
