"""The editable mapping: what a user decided about the columns of a name, read from CSV or XLSX.

A text that a spreadsheet would run as a formula is written as text: in XLSX by its cell type, in CSV
behind an apostrophe, which is taken off again on reading, so that every text comes back as it was.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import io
import json
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from python_calamine import CalamineError, CalamineWorkbook

from kgtable.errors import MappingError
from kgtable.ontology.naming import is_local_name, predicate_name
from kgtable.values.units import find_unit, units

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


SCALES: Final = {"none": 0, "T": 3, "M": 6, "B": 9, "TN": 12}
"""How a mapping, and the graph, write a scale → its power of ten."""

DATATYPES: Final = ("number", "text", "date", "year", "boolean", "period", "duration")

_SCALE_WORDS: Final = {
    "none": "none", "1": "none", "one": "none", "units": "none",
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
            hint="Use none, T (thousand), M (million), B (billion) or TN (trillion).",
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


PARSERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "predicate": parse_predicate,
    "unit": parse_unit,
    "scale": parse_scale,
    "datatype": parse_datatype,
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


Key: TypeAlias = tuple[str, str]
"""What a row of a mapping is about: a column name and the tables it is restricted to, or ``""``."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """What a user decided about a column; None leaves it to the generator.

    `predicate` is a local name or a full IRI, `unit` a QUDT local name, `scale` a power of ten,
    `datatype` one of `cells.DATATYPES`.
    """

    predicate: str | None = None
    unit: str | None = None
    scale: int | None = None
    datatype: str | None = None


@dataclass(frozen=True)
class UserMapping:
    """A user's decisions: column name and tables it is restricted to → canonical texts of the cells.

    A restriction is a list of table ids, separated by semicolons, in which ``*`` and ``?`` stand for
    any text and any character; a row whose restriction fits a table wins over the row without one.
    """

    edits: typing.Mapping[Key, typing.Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> UserMapping:
        """The mapping in a file, CSV or XLSX; every cell that says something is a decision.

        Raises `MappingError` with file, line and column of the first cell that makes no sense.
        """
        if not path.is_file():
            raise MappingError(f"There is no mapping {path}.", hint="Give a CSV or XLSX file.")
        return cls({row.key: decisions for row in checked(read_rows(path)) if (decisions := _decisions(row))})

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[tuple[str, ...], ColumnMapping]]]:
        found: dict[str, list[tuple[tuple[str, ...], ColumnMapping]]] = {}
        for (name, only_in), values in sorted(self.edits.items(), key=lambda item: (not item[0][1], item[0])):
            tables = tuple(filter(None, map(str.strip, only_in.split(";"))))
            found.setdefault(name, []).append((tables, _column_mapping(values)))
        return found

    def lookup(self, column_name: str, table_id: str) -> ColumnMapping | None:
        """What is decided about a column by its `display_name`, None where nothing is."""
        for tables, decision in self._by_name.get(column_name, ()):
            if not tables or any(fnmatchcase(table_id, pattern) for pattern in tables):
                return decision
        return None

    def fingerprint(self, column_names: Iterable[str], table_id: str) -> str:
        """Equal for equal decisions about a table's columns: whether it must be converted again."""
        decisions = ((name, self.lookup(name, table_id)) for name in column_names)
        told = [(name, d.predicate, d.unit, d.scale, d.datatype) for name, d in decisions if d]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest() if told else ""

    def over(self, other: UserMapping) -> UserMapping:
        """This mapping's decisions, and the other's about what this one leaves open."""
        keys = {**other.edits, **self.edits}
        return UserMapping({key: {**other.edits.get(key, {}), **self.edits.get(key, {})} for key in keys})

    def to_json(self) -> list[Any]:
        """The decisions as JSON lists."""
        return [[*key, dict(sorted(values.items()))] for key, values in sorted(self.edits.items())]

    @classmethod
    def from_json(cls, data: Iterable[Any]) -> UserMapping:
        """The inverse of `to_json`."""
        return cls({(name, only_in): dict(values) for name, only_in, values in data})


def checked(rows: Iterable[MappingRow]) -> list[MappingRow]:
    """The rows with every decision in its canonical spelling.

    Raises `MappingError` for a cell that makes no sense, and for two rows about the same columns.
    """
    seen: dict[Key, MappingRow] = {}
    for row in rows:
        if row.key in seen:
            raise MappingError(
                f"{row.place(NAME)}: '{row.key[0]}' stands in line {seen[row.key].line} already.",
                hint=f"Remove one of the two, or restrict one to some tables in column '{ONLY_IN}'.",
            )
        canonical = {
            name: parse(text, row.place(name))
            for name, parse in PARSERS.items()
            if (text := row.values.get(name, ""))
        }
        seen[row.key] = MappingRow({**row.values, **canonical}, row.path, row.line)
    return list(seen.values())


def _decisions(row: MappingRow) -> dict[str, str]:
    return {name: row.values[name] for name in EDITABLE if row.values.get(name)}


def _column_mapping(values: typing.Mapping[str, str]) -> ColumnMapping:
    scale = values.get("scale")
    return ColumnMapping(
        predicate=values.get("predicate"),
        unit=values.get("unit"),
        scale=None if scale is None else SCALES[scale],
        datatype=values.get("datatype"),
    )
