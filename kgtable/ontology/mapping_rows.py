"""The rows of a mapping file, CSV or XLSX: reading, writing, and the canonical text of each cell.

A text that a spreadsheet would run as a formula is written as text: in XLSX by its cell type, in CSV
after an apostrophe, which is taken off again on reading, so that every text comes back as it was.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Final

from kgtable.errors import EmptyTableError, MappingError, TableError
from kgtable.ontology.naming import is_local_name, predicate_name
from kgtable.tables.model import MeasureKind, Role
from kgtable.tables.readers.encoding import UNKNOWN_ENCODING_HINT, codec_of
from kgtable.values.lexicon import VARIANTS
from kgtable.values.text import delimited_text, workbook_text
from kgtable.values.units import SCALE_POWERS, find_unit, units

NAME: Final = "column name"
ONLY_IN: Final = "only in"
INFERRED: Final = "inferred name"
"""The name of a column without a header: proposed, and editable by the user."""

ROLE: Final = "role"
KIND: Final = "measure kind"
VARIANT: Final = "variant"
EVIDENCE: Final = "evidence"
"""The evidence for role and kind, and their confidence: found by conversion, and not editable."""

EDITABLE: Final = ("predicate", "unit", "scale", "datatype", ROLE, KIND, VARIANT, "same as", INFERRED)
CONFIDENCE: Final = "confidence"
"""Confidence and evidence of an inferred name or title; empty if it is the user's."""

FIELDS: Final = (NAME, *EDITABLE, ONLY_IN, CONFIDENCE, EVIDENCE, "units found", "tables")

TABLE: Final = "table"
SPLIT: Final = "tables begin at"
"""The rows of a sheet at which its second and further tables begin; ``none`` for a sheet that is one table."""

TABLE_EDITABLE: Final = (
    "header rows", "label column", "skip rows", "note rows", "title", "unit", "scale", "encoding", SPLIT
)  # fmt: skip
INFERRED_TITLE: Final = "inferred title"
"""The title that is proposed for a table without one; what is under ``title`` is the user's."""

TABLE_FIELDS: Final = (TABLE, *TABLE_EDITABLE, INFERRED_TITLE, CONFIDENCE)
_GUARDED = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r']")
"""How a text begins that a spreadsheet would run as a formula, or that would be taken for a guarded one."""

_BOOKS: Final = (".xlsx", ".xlsm", ".ods")
_SPREADSHEET_LIMIT: Final = 32_000
NEARLY: Final = 0.65
"""How much alike a misspelt name of a mapping's column and the right one are at least."""


@dataclass(frozen=True, slots=True)
class MappingRow:
    """One row of a mapping file: the text of each of its fields, and the file and line it is in."""

    values: dict[str, str]
    path: str = ""
    line: int = 0

    def place(self, field: str) -> str:
        """The place of a cell, for messages."""
        return f"{self.path}, line {self.line}, column '{field}'"


@dataclass(frozen=True)
class MappingSheet:
    """A sheet of a mapping: one of columns, one of tables; as CSV a file of its own.

    `editable` are the fields that are a user's to fill in, `subject` is the one that says what a row is about, `needed`
    are those that the first line must name, `parsers` the readers of fields: cell text and place → canonical text.
    """

    name: str
    fields: tuple[str, ...]
    editable: tuple[str, ...]
    subject: str
    needed: tuple[str, ...]
    parsers: Mapping[str, Callable[[str, str], str]]
    widths: tuple[int, ...]
    unnamed: str
    twice: str
    """Hints for a row without a subject, and for a second row with the same subject."""

    def decisions(self, rows: Iterable[MappingRow]) -> dict[tuple[str, str], dict[str, str]]:
        """The decisions of rows, by subject."""
        return {
            self.key_of(row): decided
            for row in rows
            if (decided := {name: text for name in self.editable if (text := row.values.get(name))})
        }

    def key_of(self, row: MappingRow) -> tuple[str, str]:
        """The subject of a row, and the tables it is restricted to."""
        return row.values.get(self.subject, ""), row.values.get(ONLY_IN, "")


def read_rows(path: Path, sheet: MappingSheet) -> list[MappingRow]:
    """The rows of a sheet of a mapping file, CSV or XLSX by its suffix; rows without any text are skipped.

    A CSV file is the sheet ``tables`` where its first field is ``table``, and else that of columns.

    Raises `MappingError` if the file cannot be read, lacks a field, names a field or a row's subject twice, or where
    a cell makes no sense.
    """
    lines, in_book = _lines(path, sheet), path.suffix.lower() in _BOOKS
    header = [cell.strip().casefold() for cell in lines[0][1]] if lines else []
    if (sheet is TABLES) != (header[:1] == [TABLE]) and (sheet is TABLES or not in_book):
        return []
    name = f"{path.name}, sheet '{sheet.name}'" if in_book and sheet is TABLES else path.name
    _check_fields(name, header, sheet)
    found: dict[tuple[str, str], MappingRow] = {}
    for line, cells in lines[1:]:
        values = {field: cell.strip() for field, cell in zip(header, cells, strict=False) if field in sheet.fields}
        if not any(values.values()):
            continue
        row, subject = MappingRow(values, name, line), sheet.subject
        if not values[subject]:
            raise MappingError(f"{row.place(subject)}: there is no {subject}.", hint=sheet.unnamed)
        earlier = found.get(sheet.key_of(row))
        if earlier is not None:
            raise MappingError(
                f"{row.place(subject)}: '{values[subject]}' is already in line {earlier.line}.", hint=sheet.twice
            )
        for field, parse in sheet.parsers.items():
            if text := values.get(field, ""):
                values[field] = parse(text, row.place(field))
        found[sheet.key_of(row)] = row
    return list(found.values())


def _check_fields(name: str, header: Sequence[str], sheet: MappingSheet) -> None:
    """Refuse a name of the first line that is nearly one of the mapping's; columns of one's own may be added."""
    known = (TABLE, *sheet.fields)
    for cell in header:
        missing = [field for field in known if field not in header]
        near = difflib.get_close_matches(cell, missing, n=1, cutoff=NEARLY) if cell not in known else []
        if near:
            raise MappingError(f"{name}, line 1: a mapping has no column {cell!r}.", hint=f"Did you mean '{near[0]}'?")
    for needed in sheet.needed:
        if header.count(needed) != 1:
            fault = "has no" if needed not in header else "has more than one"
            raise MappingError(
                f"{name}, line 1: the mapping {fault} column '{needed}'.",
                hint=f"The first line names the columns: {', '.join(sheet.fields)}.",
            )


def csv_bytes(sheet: MappingSheet, rows: Iterable[Sequence[str]]) -> bytes:
    """The rows of a sheet, in the order of its fields, as a CSV file with its header."""
    return delimited_text((sheet.fields, *([_guard(text) for text in row] for row in rows))).encode()


def xlsx_bytes(*sheets: tuple[MappingSheet, Iterable[Sequence[str]]]) -> bytes:
    """A workbook of sheets with their rows, each in the order of its fields."""
    from openpyxl import Workbook  # slow to import, and only a build writes workbooks
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    book = Workbook(write_only=True)
    book.properties.creator = "kgtable"
    book.properties.created = book.properties.modified = datetime(2000, 1, 1)
    for sheet, rows in sheets:
        filled = book.create_sheet(sheet.name)
        filled.freeze_panes = "A2"
        for letter, width in zip(ascii_uppercase, sheet.widths, strict=False):
            filled.column_dimensions[letter].width = width
        header = [WriteOnlyCell(filled, field) for field in sheet.fields]
        for cell in header:
            cell.font = Font(bold=True)
        filled.append(header)
        for row in rows:
            filled.append([_spreadsheet_cell(filled, text) for text in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def _spreadsheet_cell(sheet: Any, text: str) -> Any:
    text = workbook_text(text[:_SPREADSHEET_LIMIT])
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


def _lines(path: Path, sheet: MappingSheet) -> list[tuple[int, list[str]]]:
    """The lines of a mapping file by number; of a workbook those of the first sheet, or that of tables."""
    try:
        if path.suffix.lower() in _BOOKS:
            return list(_spreadsheet_lines(path, sheet.name if sheet is TABLES else None))
        return list(_csv_lines(path.read_bytes()))
    except (OSError, csv.Error, ValueError) as error:
        raise MappingError(
            f"{path.name}: the mapping cannot be read: {error}", hint="Save it as CSV or XLSX again."
        ) from error


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


def _spreadsheet_lines(path: Path, name: str | None = None) -> Iterator[tuple[int, list[str]]]:
    # large libraries, and only an edited workbook is read
    from kgtable.tables.discovery import find_files
    from kgtable.tables.limits import ReadLimits
    from kgtable.tables.readers.apart import read_apart

    path.stat()
    try:
        grids = read_apart(find_files([path])[0], ReadLimits()).grids
    except EmptyTableError:
        return
    except TableError as error:
        raise ValueError(error.message) from error
    found = [grid for grid in grids if name is None or grid.source.sheet == name]
    for line, row in enumerate(found[0].head if found else (), start=1):
        yield line, list(row)


SCALES: Final = {"none": 0, **SCALE_POWERS}
"""How a mapping, and the graph, write a scale → its power of ten."""

DATATYPES: Final = ("number", "text", "date", "year", "boolean", "period", "duration")

_SCALE_WORDS: Final = {
    "none": "none", "1": "none", "one": "none", "units": "none",
    "c": "C", "cent": "C", "cents": "C", "pence": "C", "hundredths": "C", "0.01": "C",
    "t": "T", "k": "T", "thousand": "T", "thousands": "T", "1000": "T", "000": "T", "000s": "T",
    "m": "M", "mn": "M", "mm": "M", "million": "M", "millions": "M", "1000000": "M",
    "b": "B", "bn": "B", "billion": "B", "billions": "B", "1000000000": "B",
    "tn": "TN", "trillion": "TN", "trillions": "TN", "1000000000000": "TN",
}  # fmt: skip
_DATATYPE_WORDS: Final = {
    **{name: name for name in DATATYPES},
    "numeric": "number", "quantity": "number", "decimal": "number", "integer": "number", "float": "number",
    "double": "number", "int": "number", "string": "text", "str": "text", "identifier": "text", "id": "text",
    "gyear": "year", "datetime": "date", "bool": "boolean",
}  # fmt: skip
_IRI = re.compile(r"https?://[^\s<>\"{}|^`\\]+")
_UNIT_NAMESPACE: Final = "http://qudt.org/vocab/unit/"


def parse_predicate(text: str, place: str) -> str:
    """A local name, with or without ``ex:``, or a full IRI. Raises `MappingError`."""
    name = text.removeprefix("ex:")
    if is_local_name(name) or _IRI.fullmatch(text):
        return name
    raise MappingError(
        f"{place}: {text!r} cannot be the name of a predicate.",
        hint=f"Use letters, digits and underscores, such as {predicate_name([text], 0)}, or a full http IRI.",
    )


def parse_unit(text: str, place: str) -> str:
    """The QUDT local name of a unit given by name, IRI, symbol, code or label. Raises `MappingError`."""
    if text.casefold() in ("none", "unitless"):
        return "UNITLESS"
    name = text.removeprefix("unit:").removeprefix(_UNIT_NAMESPACE)
    if name in units():
        return name
    unit = find_unit(name)
    if unit is not None:
        return unit.name
    raise MappingError(f"{place}: {text!r} is not a unit of QUDT 3.5.", hint=_unit_hint(name))


_PER = re.compile(r"\s*(?:/|\bper\b)\s*")
_LONGEST_PER = 40


def parse_column_unit(text: str, place: str) -> str:
    """A unit as `parse_unit` takes it, or one per something that QUDT does not have, as ``l/100 km`` → ``L/100 km``.

    Raises `MappingError`.
    """
    unit, *rest = _PER.split(text, maxsplit=1)
    try:
        return parse_unit(text, place)
    except MappingError:
        per = " ".join(rest).strip()
        if not per or len(per) > _LONGEST_PER or find_unit(unit) is None:
            raise
        return f"{parse_unit(unit, place)}/{per}"


def parse_scale(text: str, place: str) -> str:
    """One of `SCALES`, by its mark, its word or its number. Raises `MappingError`."""
    try:
        return _SCALE_WORDS[re.sub(r"(?<=\d)[, ](?=\d{3})", "", text.casefold()).strip("'’ ")]
    except KeyError:
        raise MappingError(
            f"{place}: {text!r} is not a scale.",
            hint="Use none, C (cents), T (thousand), M (million), B (billion) or TN (trillion).",
        ) from None


def parse_datatype(text: str, place: str) -> str:
    """One of `DATATYPES`, by its name or that of an XML Schema datatype. Raises `MappingError`."""
    word = text.removeprefix("xsd:").rsplit("#", 1)[-1].casefold()
    try:
        return _DATATYPE_WORDS[word]
    except KeyError:
        raise MappingError(
            f"{place}: {text!r} is not a datatype.", hint=f"Use one of: {', '.join(DATATYPES)}."
        ) from None


def _one_of(what: str, names: Sequence[str]) -> Callable[[str, str], str]:
    """The reader of one of some names."""
    known = {name.casefold(): name for name in names}

    def parse(text: str, place: str) -> str:
        found = known.get(text.removeprefix("kgt:").casefold())
        if found is None:
            raise MappingError(f"{place}: {text!r} is not a {what}.", hint=f"Use one of: {', '.join(names)}.")
        return found

    return parse


_ROW_RANGE = re.compile(r"(\d{1,7})(?:\s*[-–:]\s*(\d{1,7}))?")


def parse_encoding(text: str, place: str) -> str:
    """The codec of an encoding's name. Raises `MappingError`."""
    codec = codec_of(text)
    if codec is None:
        raise MappingError(f"{place}: {text!r} is not an encoding.", hint=UNKNOWN_ENCODING_HINT)
    return codec


def parse_row_list(text: str, place: str) -> str:
    """Rows as a spreadsheet counts them, from 1: ``1-2; 7``, or ``none``. Raises `MappingError`."""
    if text.casefold() in ("none", "0"):
        return "none"
    parts: list[str] = []
    for part in re.split(r"[;,]", text):
        match = _ROW_RANGE.fullmatch(part.strip())
        if match is None or int(match[1]) < 1 or (match[2] and int(match[2]) < int(match[1])):
            raise MappingError(
                f"{place}: {text!r} are not rows.",
                hint="Count from 1 as a spreadsheet does: 1, or 1-2; 7, or none.",
            )
        parts.append(match[1] if match[2] is None else f"{match[1]}-{match[2]}")
    return "; ".join(parts)


def row_indexes(text: str) -> tuple[int, ...]:
    """The 0-based rows of what `parse_row_list` returned.

    >>> row_indexes("1-2; 7"), row_indexes("none")
    ((0, 1, 6), ())
    """
    found: set[int] = set()
    for part in () if text in ("", "none") else text.split(";"):
        first, _, last = part.strip().partition("-")
        found.update(range(int(first) - 1, int(last or first)))
    return tuple(sorted(found))


def _as_it_stands(text: str, place: str) -> str:
    return text


TABLE_PARSERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "header rows": parse_row_list,
    "label column": _as_it_stands,
    "skip rows": parse_row_list,
    "note rows": parse_row_list,
    "title": _as_it_stands,
    "unit": parse_unit,
    "scale": parse_scale,
    "encoding": parse_encoding,
    SPLIT: parse_row_list,
}
"""The reader of each column of what is decided about tables."""

PARSERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "predicate": parse_predicate,
    "unit": parse_column_unit,
    "scale": parse_scale,
    "datatype": parse_datatype,
    ROLE: _one_of("role", [role.value for role in Role]),
    KIND: _one_of("kind of measure", [kind.value for kind in MeasureKind]),
    VARIANT: _one_of("variant", sorted(VARIANTS)),
    INFERRED: _as_it_stands,
}
"""The reader of each column of a mapping that says what to do: cell text and place → canonical text."""


COLUMNS: Final = MappingSheet(
    "ontology", FIELDS, EDITABLE, NAME, (NAME, "predicate"), PARSERS,
    (40, 34, 16, 8, 10, 12, 14, 10, 34, 24, 20, 16, 24, 30, 40),
    "Say which column the row is about, or remove the row.",
    f"Remove one of the two, or restrict one to some tables in column '{ONLY_IN}'.",
)  # fmt: skip
TABLES: Final = MappingSheet(
    "tables", TABLE_FIELDS, TABLE_EDITABLE, TABLE, (), TABLE_PARSERS,
    tuple(40 if field in (TABLE, "title", INFERRED_TITLE) else 16 for field in TABLE_FIELDS),
    "Give a table's id, or a pattern such as sales*.", "Remove one of the two.",
)  # fmt: skip


def _unit_hint(name: str) -> str:
    folded: dict[str, str] = {}
    for unit in units().values():
        folded.setdefault(unit.name.casefold(), unit.name)
        folded.setdefault(unit.label.casefold(), unit.name)
    near = difflib.get_close_matches(name.casefold(), folded, n=6, cutoff=0.6)
    close = list(dict.fromkeys(folded[match] for match in near))[:3]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    return "Use a QUDT unit name such as CCY_USD, PERCENT or KiloGM; https://qudt.org lists them all."
