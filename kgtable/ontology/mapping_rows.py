"""The rows of a mapping file, CSV or XLSX: reading, writing, and the canonical text of each cell.

A text that a spreadsheet would run as a formula is written as text: in XLSX by its cell type, in CSV
behind an apostrophe, which is taken off again on reading, so that every text comes back as it was.
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
"""What a column without a header is called: proposed, and the user's to change."""

ROLE: Final = "role"
KIND: Final = "measure kind"
VARIANT: Final = "variant"
EVIDENCE: Final = "evidence"
"""What spoke for role and kind, and how sure they are: found by conversion, and not the user's to change."""

EDITABLE: Final = ("predicate", "unit", "scale", "datatype", ROLE, KIND, VARIANT, "same as", INFERRED)
CONFIDENCE: Final = "confidence"
"""How sure an inferred name or title is, and what it was inferred from; empty where it is the user's."""

FIELDS: Final = (NAME, *EDITABLE, ONLY_IN, CONFIDENCE, EVIDENCE, "units found", "tables")
WIDTHS: Final = (40, 34, 16, 8, 10, 12, 14, 10, 34, 24, 20, 16, 24, 30, 40)

TABLE: Final = "table"
SPLIT: Final = "tables begin at"
"""The rows of a sheet at which its second and further tables begin; ``none`` for a sheet that is one table."""

TABLE_EDITABLE: Final = (
    "header rows", "label column", "skip rows", "note rows", "title", "unit", "scale", "encoding", SPLIT
)  # fmt: skip
INFERRED_TITLE: Final = "inferred title"
"""The title that is proposed for a table without one; what stands under ``title`` is the user's."""

TABLE_FIELDS: Final = (TABLE, *TABLE_EDITABLE, INFERRED_TITLE, CONFIDENCE)
TABLE_SHEET: Final = "tables"
"""The sheet of a mapping workbook that holds what is decided about tables."""

_GUARDED = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r']")
"""How a text begins that a spreadsheet would run as a formula, or that would be taken for a guarded one."""

_SPREADSHEET_LIMIT: Final = 32_000
NEARLY: Final = 0.65
"""How much alike a misspelt name of a mapping's column and the right one are at least."""


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

    def decisions(self, editable: Iterable[str]) -> dict[str, str]:
        """What the row decides in these columns of the mapping."""
        return {name: self.values[name] for name in editable if self.values.get(name)}


def read_rows(path: Path) -> list[MappingRow]:
    """The rows of a mapping file, CSV or XLSX by its suffix; rows without any text are passed over.

    Raises `MappingError` where the file cannot be read, lacks a column or names a column twice.
    """
    return list(_rows(path.name, _lines(path)))


def read_table_rows(path: Path) -> list[MappingRow]:
    """The rows of a mapping file about tables: its sheet ``tables``, or a CSV file that begins with ``table``.

    Raises `MappingError` where the file cannot be read, or names one table or pattern twice.
    """
    lines = _lines(path, TABLE_SHEET)
    if not _is_about_tables(lines):
        return []
    in_sheet = path.suffix.lower() in (".xlsx", ".xlsm", ".ods")
    return _table_rows(f"{path.name}, sheet '{TABLE_SHEET}'" if in_sheet else path.name, lines)


def _is_about_tables(lines: Sequence[tuple[int, list[str]]]) -> bool:
    return bool(lines) and [cell.strip().casefold() for cell in lines[0][1]][:1] == [TABLE]


def _check_fields(name: str, header: Sequence[str], known: Sequence[str]) -> None:
    """Refuse a name of the first line that is nearly one of the mapping's; columns of one's own may be added."""
    for cell in header:
        missing = [field for field in known if field not in header]
        near = difflib.get_close_matches(cell, missing, n=1, cutoff=NEARLY) if cell not in known else []
        if near:
            raise MappingError(f"{name}, line 1: a mapping has no column {cell!r}.", hint=f"Did you mean '{near[0]}'?")


def _table_rows(name: str, lines: Sequence[tuple[int, list[str]]]) -> list[MappingRow]:
    header = [cell.strip().casefold() for cell in lines[0][1]]
    _check_fields(name, header, TABLE_FIELDS)
    found: dict[str, MappingRow] = {}
    for line, cells in lines[1:]:
        values = {f: cell.strip() for f, cell in zip(header, cells, strict=False) if f in TABLE_FIELDS}
        if not any(values.values()):
            continue
        row = MappingRow(values, name, line)
        pattern = values[TABLE]
        if not pattern:
            raise MappingError(
                f"{row.place(TABLE)}: there is no table.",
                hint="Give a table's id, or a pattern such as sales*.",
            )
        if pattern in found:
            raise MappingError(
                f"{row.place(TABLE)}: '{pattern}' stands in line {found[pattern].line} already.",
                hint="Remove one of the two.",
            )
        canonical = {
            field: parse(text, row.place(field))
            for field, parse in TABLE_PARSERS.items()
            if (text := values.get(field, ""))
        }
        found[pattern] = MappingRow({**values, **canonical}, name, line)
    return list(found.values())


def csv_bytes(rows: Iterable[Sequence[str]], fields: Sequence[str] = FIELDS) -> bytes:
    """The rows, in the order of `fields`, as a CSV file with its header."""
    return delimited_text((fields, *([_guard(text) for text in row] for row in rows))).encode()


def xlsx_bytes(rows: Iterable[Sequence[str]], tables: Iterable[Sequence[str]] = ()) -> bytes:
    """A workbook with a sheet of columns, in the order of `FIELDS`, and one of tables, of `TABLE_FIELDS`."""
    from openpyxl import Workbook  # slow to import, and only a build writes workbooks
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font

    book = Workbook(write_only=True)
    book.properties.creator = "kgtable"
    book.properties.created = book.properties.modified = datetime(2000, 1, 1)
    sheet = book.create_sheet("ontology")
    sheet.freeze_panes = "A2"
    for letter, width in zip("ABCDEFGHIJKLMNO", WIDTHS, strict=True):
        sheet.column_dimensions[letter].width = width
    about_tables = book.create_sheet(TABLE_SHEET)
    about_tables.freeze_panes = "A2"
    for letter, field in zip("ABCDEFGHIJKL", TABLE_FIELDS, strict=True):
        about_tables.column_dimensions[letter].width = 40 if field in (TABLE, "title", INFERRED_TITLE) else 16
    for filled, fields, lines in ((sheet, FIELDS, rows), (about_tables, TABLE_FIELDS, tables)):
        header = [WriteOnlyCell(filled, field) for field in fields]
        for cell in header:
            cell.font = Font(bold=True)
        filled.append(header)
        for line in lines:
            filled.append([_spreadsheet_cell(filled, text) for text in line])
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


def _lines(path: Path, sheet: str | None = None) -> list[tuple[int, list[str]]]:
    """The lines of a mapping file by number; of a workbook those of a sheet. Raises `MappingError`."""
    try:
        if path.suffix.lower() in (".xlsx", ".xlsm", ".ods"):
            return list(_spreadsheet_lines(path, sheet))
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


def _rows(name: str, lines: Sequence[tuple[int, list[str]]]) -> Iterator[MappingRow]:
    header = [cell.strip().casefold() for cell in lines[0][1]] if lines else []
    _check_fields(name, header, (TABLE, *FIELDS))
    for needed in (NAME, "predicate"):
        if header.count(needed) != 1:
            fault = "has no" if needed not in header else "has more than one"
            raise MappingError(
                f"{name}, line 1: the mapping {fault} column '{needed}'.",
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


def parse_role(text: str, place: str) -> str:
    """The name of a role. Raises `MappingError`."""
    return _one_of(text, [role.value for role in Role], "role", place)


def parse_kind(text: str, place: str) -> str:
    """The name of a kind of measure. Raises `MappingError`."""
    return _one_of(text, [kind.value for kind in MeasureKind], "kind of measure", place)


def parse_variant(text: str, place: str) -> str:
    """The name of a variant of a measure. Raises `MappingError`."""
    return _one_of(text, sorted(VARIANTS), "variant", place)


def _one_of(text: str, names: Sequence[str], what: str, place: str) -> str:
    found = {name.casefold(): name for name in names}.get(text.removeprefix("kgt:").casefold())
    if found is None:
        raise MappingError(f"{place}: {text!r} is not a {what}.", hint=f"Use one of: {', '.join(names)}.")
    return found


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
                f"{place}: {text!r} are no rows.",
                hint="Count from 1 as a spreadsheet does: 1, or 1-2; 7, or none.",
            )
        parts.append(match[1] if match[2] is None else f"{match[1]}-{match[2]}")
    return "; ".join(parts)


def row_indexes(text: str) -> tuple[int, ...]:
    """The 0-based rows of what `parse_row_list` gave.

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
    "unit": parse_unit,
    "scale": parse_scale,
    "datatype": parse_datatype,
    ROLE: parse_role,
    KIND: parse_kind,
    VARIANT: parse_variant,
    INFERRED: _as_it_stands,
}
"""The reader of each column of a mapping that says what to do: cell text and place → canonical text."""


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


def is_table_file(path: Path) -> bool:
    """Whether a CSV file is about tables: its first column is ``table``."""
    return _is_about_tables(list(_csv_lines(path.read_bytes()))[:1])


def checked(rows: Iterable[MappingRow]) -> list[MappingRow]:
    """The rows with every decision in its canonical spelling.

    Raises `MappingError` for a cell that makes no sense, and for two rows about the same columns.
    """
    seen: dict[tuple[str, str], MappingRow] = {}
    for row in rows:
        if row.key in seen:
            raise MappingError(
                f"{row.place(NAME)}: '{row.key[0]}' stands in line {seen[row.key].line} already.",
                hint=f"Remove one of the two, or restrict one to some tables in column '{ONLY_IN}'.",
            )
        canonical = {
            name: parse(text, row.place(name)) for name, parse in PARSERS.items() if (text := row.values.get(name, ""))
        }
        seen[row.key] = MappingRow({**row.values, **canonical}, row.path, row.line)
    return list(seen.values())
