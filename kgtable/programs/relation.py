"""Decoded tables as typed columns: what the executor reads.

A `Relation` holds the body rows of one table, or of several that are parts of one. Each row is of a
kind (`MemberKind`): totals, "of which" lines, notes, headings and aggregates among members ("World")
are no members, and stay out unless they are asked for. Columns are typed when first used. A column's
cells are stored as codes into its different values, so that work on values is done once for each
different value and work on rows is done on arrays; a million rows are no obstacle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum, StrEnum
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz import fuzz, process

from kgtable.errors import ProgramTypeError, UnknownColumnError
from kgtable.programs.algebra import RowChoice, ValueKind
from kgtable.programs.dimensions import ROUNDED
from kgtable.programs.scalars import (
    Datum,
    duration_seconds,
    month_day,
    normal,
    quantity,
    time_datum,
    time_span,
)
from kgtable.tables.column_profile import MISSING_MARKERS, CellKind, ColumnStyle, profile_columns, type_cell
from kgtable.tables.model import Position, Table

Codes = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]

SAMPLED = 2_000
"""How many cells of a column decide on its kind and role."""

BULK_ROWS = 20_000
"""From this many rows on, columns of plain numbers are parsed as a whole."""

MOST_SUMMED_ROWS = 300
"""Longer tables are not searched for members that are sums of others."""

_SCALES = {"": 0, "ONE": 0, "T": 3, "M": 6, "B": 9, "TN": 12}
_PART = re.compile(
    r"\W*(?:of which|of that|thereof|davon|dont|including|incl\.|included in)\b", re.IGNORECASE
)
_SUMMARY = re.compile(
    r"\W*(?:(?:grand |sub-?\s?|overall )?totals?|sum|overall|average|mean|median|minimum|maximum|avg\.?|all)"
    r"(?:s|\s*[:*†‡]|\s*\(.*\)|\s+\d{4})?\s*",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\W*(?:grand |sub-?\s?)?totals?(?:\s*[:*†‡]|\s*\(.*\))?\s*", re.IGNORECASE)
_NOTE = re.compile(
    r"\s*(?:notes?|sources?|remarks?|key|legend|quelle|anmerkung)\s*[:.]|\s*[*†‡¹²³]\s*\w+ \w+", re.IGNORECASE
)
_IDENTIFIER = re.compile(
    r"(?:.*[\W_])?(?:ids?|sku|isbn|issn|ean|upc|gtin|iban|bic|codes?|zip|postcodes?|plz|phone|telephone|tel|fax"
    r"|mobile|ssn|vin|uuid|guid|barcode|identifiers?|serial)\W*(?:no|nr|number|code)?\.?"
    r"|(?:.*[\W_])?(?:order|invoice|booking|customer|account|flight|ticket|policy|serial|part|item|article"
    r"|product|employee|member|student|case|contract|shipment|loan|sale|transaction|reference|ref|document"
    r"|patent|registration|licen[cs]e|passport|jersey|squad|shirt|bib|tail|room|house|street|bus|train|route"
    r"|line|model|catalog(?:ue)?|atomic|fleet|hull|pennant|design|production|road|kit|player|card)"
    r"[\W_]*(?:no\.?|nr\.?|num|number|#|id)",
    re.IGNORECASE,
)
_INNER_ID = re.compile(r".*[a-z]I[dD]s?|.*(?<![uegvo])id", re.ASCII)
_ID_WORDS = frozenset(
    {"paid", "bid", "grid", "said", "aid", "mid", "acid", "valid", "hybrid", "solid", "rapid"}
)
_ORDINAL = re.compile(
    r"(?:.*\b)?(?:rank|ranking|rk|pos|position|place|placing|seed|pick|standing|finish)\.?|#|no\.?|nr\.?|№"
    r"|(?:rd|round|week|game|match|stage|lap|leg|heat|lane|index|chapter|episode|ep|race|event|line)\.?(?:\s*"
    r"(?:#|no\.?|number))?|(?:no\.?|number|#) in \w+",
    re.IGNORECASE,
)
_NOTES = re.compile(r"(?:foot)?notes?|ref(?:erence)?s?|remarks?|comments?", re.IGNORECASE)
_PLACE = re.compile(r"[=T#]?\d{1,6}(?:st|nd|rd|th|[.=T])?\s*", re.IGNORECASE)
_CLOCK_NAME = re.compile(
    r"\b(?:start|kick-?off|depart\w*|arriv\w*|sunrise|sunset|opens?|closes?|opening|closing|local time"
    r"|utc|gmt|air ?time|time ?slot|check.?in|check.?out)\b",
    re.IGNORECASE,
)
_SPACES = re.compile(r"[\W_]+")


class MemberKind(IntEnum):
    """What a body row is: a member; a total or average line; an "of which" line; a sum of other members;
    the heading of a group; a note or source line; blank."""

    MEMBER = 0
    TOTAL = 1
    PART = 2
    AGGREGATE = 3
    HEADING = 4
    NOTE = 5
    BLANK = 6


_CHOSEN = {
    RowChoice.MEMBERS: (MemberKind.MEMBER,),
    RowChoice.ALL: (MemberKind.MEMBER, MemberKind.TOTAL, MemberKind.PART, MemberKind.AGGREGATE),
    RowChoice.TOTALS: (MemberKind.TOTAL, MemberKind.AGGREGATE),
}


class ColumnRole(StrEnum):
    """What a column's values are for. An identifier names rows (order number, SKU, postcode): no sums, no
    extremes. An ordinal numbers or ranks them: no sums. All others are measures, times or texts: plain."""

    IDENTIFIER = "identifier"
    ORDINAL = "ordinal"
    PLAIN = "plain"


class QuantityLike(Protocol):
    """A cell's number as the graph holds it: exact, scale applied; `scale` one of ``T M B TN`` or None."""

    @property
    def value(self) -> Decimal:
        """The exact number in its unit."""
        ...

    @property
    def unit(self) -> str | None:
        """The QUDT local name of its unit."""
        ...

    @property
    def scale(self) -> str | None:
        """The scale in which it is printed."""
        ...


@dataclass(frozen=True, slots=True)
class Integers:
    """Numbers of one unit as integers times 10**exponent; only those where `valid` count."""

    mantissas: npt.NDArray[np.int64]
    exponent: int
    valid: npt.NDArray[np.bool_]
    unit: str | None
    scale: str | None

    def largest(self) -> int:
        """The largest magnitude among the mantissas."""
        return int(np.abs(self.mantissas).max(initial=0))


class ColumnData:
    """The values of a column: for each row a code into its different values, -1 where it is missing."""

    __slots__ = ("_integers", "codes", "values")

    def __init__(self, codes: Codes, values: Sequence[Datum], integers: Integers | None = None) -> None:
        self.codes, self.values = codes, values
        self._integers: Integers | bool | None = integers if integers is not None else False

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> Datum | None:
        code = self.codes[index]
        return None if code < 0 else self.values[code]

    def take(self, rows: Indices) -> ColumnData:
        """The values of some rows."""
        integers = self._integers
        if isinstance(integers, Integers):
            integers = Integers(
                integers.mantissas[rows],
                integers.exponent,
                integers.valid[rows],
                integers.unit,
                integers.scale,
            )
            return ColumnData(self.codes[rows], self.values, integers)
        return ColumnData(self.codes[rows], self.values)

    def used(self) -> list[int]:
        """The codes that occur, sorted."""
        found: list[int] = distinct(self.codes).tolist()
        return found[1:] if found and found[0] < 0 else found

    def integers(self) -> Integers | None:
        """The values as integers of one exponent, where all that are no missing ones are numbers of one
        unit and fit; else None."""
        if isinstance(self.values, Quotients):
            return None
        if isinstance(self._integers, bool):
            self._integers = _integers(self)
        return self._integers

    @classmethod
    def of(cls, values: Iterable[Datum | None]) -> ColumnData:
        """A column from a value for each row; equal values share a code.

        >>> ColumnData.of([quantity(1), None, quantity(1)]).codes.tolist()
        [0, -1, 0]
        """
        seen: dict[Datum, int] = {}
        codes = [-1 if value is None else seen.setdefault(value, len(seen)) for value in values]
        return cls(np.array(codes, dtype=np.int32), list(seen))


class Quotients(Sequence[Datum]):
    """Quotients of integers, ``above[i] / below[i] * 10**shift``, each made a value when it is looked at."""

    def __init__(
        self,
        above: npt.NDArray[np.int64],
        below: npt.NDArray[np.int64],
        shift: int,
        unit: str | None,
        scale: str | None,
    ) -> None:
        self.above, self.below, self.shift = above, below, shift
        self.unit, self.scale = unit, scale

    def __len__(self) -> int:
        return len(self.above)

    def __getitem__(self, index: int) -> Datum:  # type: ignore[override]
        quotient = ROUNDED.divide(Decimal(int(self.above[index])), Decimal(int(self.below[index])))
        return Datum(ValueKind.QUANTITY, quotient.scaleb(self.shift, ROUNDED), self.unit, self.scale)


def distinct(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The different numbers, sorted; faster than `np.unique` where most of many numbers differ.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(numbers)
    kept = np.ones(len(ordered), dtype=np.bool_)
    kept[1:] = ordered[1:] != ordered[:-1]
    return ordered[kept]


class RelationColumn:
    """A column of a relation: its header, and what its cells are (found out when first asked for)."""

    def __init__(self, relation: Relation, index: int, path: tuple[str, ...]) -> None:
        self._relation, self.index = relation, index
        self.path = tuple(" ".join(part.split()) for part in path)

    @property
    def header(self) -> str:
        """The header path as one text."""
        return " ".join(part for part in self.path if part)

    @property
    def name(self) -> str:
        """The header, or ``column 3`` (counted from 0) where there is none."""
        return self.header or f"column {self.index}"

    @property
    def kind(self) -> ValueKind:
        """The type of most of its values."""
        return self._relation.typing(self.index)[0]

    @property
    def role(self) -> ColumnRole:
        """Identifier, ordinal or plain."""
        return self._relation.typing(self.index)[1]

    @cached_property
    def units(self) -> tuple[str | None, ...]:
        """The units of the member rows' quantities, the most frequent first."""
        return self._tally(lambda datum: datum.unit)

    @cached_property
    def scale(self) -> str | None:
        """The scale in which most of its numbers are printed."""
        return next(iter(self._tally(lambda datum: datum.scale)), None)

    def __repr__(self) -> str:
        return f"RelationColumn({self.index}, {self.header!r})"

    def _tally(self, part: Callable[[Datum], str | None]) -> tuple[str | None, ...]:
        data = self._relation.data(self.index).take(self._relation.select(RowChoice.MEMBERS))
        integers = data.integers()
        if integers is not None:
            first = next((data.values[code] for code in data.codes[:SAMPLED].tolist() if code >= 0), None)
            return () if first is None else (part(first),)
        counts: dict[str | None, int] = {}
        codes, sizes = np.unique(data.codes, return_counts=True)
        for code, size in zip(codes.tolist(), sizes.tolist(), strict=True):
            if code >= 0 and isinstance(data.values[code].value, Decimal):
                found = part(data.values[code])
                counts[found] = counts.get(found, 0) + size
        return tuple(sorted(counts, key=lambda key: -counts[key]))


class Relation:
    """The body rows of a table with typed columns. Make one with `relation_of`.

    Rows are addressed by their place among the body rows (from 0); `position` gives the cell in the
    grid that holds a row's value, which for merged cells is that of the merged area.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        columns: Sequence[tuple[str, ...]],
        parts: Indices,
        grid_rows: Indices,
        kinds: npt.NDArray[np.int8],
        make: Callable[[int], tuple[ColumnData, ValueKind, ColumnRole]],
        read: Callable[[int], list[str]],
    ) -> None:
        self.tables = tuple(tables)
        self.columns = tuple(RelationColumn(self, index, path) for index, path in enumerate(columns))
        self._parts, self._grid_rows, self.kinds = parts, grid_rows, kinds
        self._make, self._read = make, cache(read)
        self._made: dict[int, tuple[ColumnData, ValueKind, ColumnRole]] = {}
        self._pseudo: dict[str, ColumnData] = {}

    @property
    def id(self) -> str:
        """The id of its (first) table."""
        return self.tables[0].id

    @property
    def title(self) -> str:
        """The caption or title of its (first) table."""
        context = self.tables[0].context
        return context.caption or context.title

    def __len__(self) -> int:
        return len(self._grid_rows)

    def select(self, choice: RowChoice) -> Indices:
        """The places of the rows that take part."""
        return np.flatnonzero(np.isin(self.kinds, [int(kind) for kind in _CHOSEN[choice]])).astype(np.int64)

    def data(self, column: int) -> ColumnData:
        """The values of a column, of rows of all kinds."""
        return self._typed(column)[0]

    def typing(self, column: int) -> tuple[ValueKind, ColumnRole]:
        """The kind and role of a column."""
        return self._typed(column)[1:]

    def pseudo(self, name: str) -> ColumnData:
        """The values of a pseudo column but ``@row``. Raises `UnknownColumnError` for another name."""
        if name not in self._pseudo:
            self._pseudo[name] = self._make_pseudo(name)
        return self._pseudo[name]

    def resolve(self, name: str | int) -> int:
        """The index of a column by header or index.

        The whole header path counts before its last level, the exact text before one that differs in
        case and signs. Raises `UnknownColumnError`, with the nearest headers, where there is none or
        where there are several.
        """
        if isinstance(name, int):
            if 0 <= name < len(self.columns):
                return name
            raise UnknownColumnError(f"Table {self.id!r} has {len(self.columns)} columns, no column {name}.")
        for reading in self._names:
            found = reading.get(name) or reading.get(_loose(name))
            if found and len(found) == 1:
                return found[0]
            if found:
                raise UnknownColumnError(
                    f"Table {self.id!r} has {len(found)} columns {name!r}.",
                    hint=f"Name one by its index: {', '.join(map(str, found))}.",
                )
        known = [column.name for column in self.columns]
        near = [
            match[0] for match in process.extract(name, known, scorer=fuzz.WRatio, limit=3) if match[1] > 50
        ]
        listed = ", ".join(map(repr, near or known[:8]))
        raise UnknownColumnError(f"Table {self.id!r} has no column {name!r}.", hint=f"Columns: {listed}.")

    def in_table(self, column: int) -> int:
        """The column of the table that a column of the relation is."""
        return column

    def narrowed(self, columns: Iterable[int]) -> Relation:
        """The same rows with some of the columns, and the one that names the rows; programs over it hold
        for the whole relation too."""
        return _NarrowRelation(self, sorted({*columns, self.label_column()}))

    def position(self, row: int, column: int) -> tuple[str, int, int]:
        """Table id, grid row and grid column of the cell that holds a row's value."""
        table = self.tables[self._parts[row]]
        place = int(self._grid_rows[row]), self.in_table(column)
        place = _merged(table).get(place, place) if table.grid.merged else place
        return table.id, *place

    def text(self, row: int, column: int) -> str:
        """The text of the cell that holds a row's value, with single spaces; "" for a blank one."""
        return " ".join(self._read(column)[row].split())

    def table_of(self, row: int) -> Table:
        """The table that a row is in."""
        return self.tables[int(self._parts[row])]

    def place(self, row: int) -> tuple[str, int]:
        """Table id and grid row of a row."""
        return self.tables[self._parts[row]].id, int(self._grid_rows[row])

    def label_column(self) -> int:
        """The column that names the rows."""
        return min(self.tables[0].structure.label_column, max(len(self.columns) - 1, 0))

    @cached_property
    def _names(self) -> tuple[dict[str, list[int]], ...]:
        """Columns by whole header, by loose header, by last level of the header."""
        readings: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        for column in self.columns:
            last = column.path[-1] if column.path else ""
            for reading, name in zip(
                readings, (column.header, _loose(column.header), _loose(last)), strict=True
            ):
                if name:
                    reading.setdefault(name, []).append(column.index)
        return readings

    def _typed(self, column: int) -> tuple[ColumnData, ValueKind, ColumnRole]:
        if column not in self._made:
            self._made[column] = self._make(column)
        return self._made[column]

    def _make_pseudo(self, name: str) -> ColumnData:
        if name == "@table":
            ids = [Datum(ValueKind.ENTITY, table.id, text=table.id) for table in self.tables]
            return ColumnData(self._parts.astype(np.int32), ids)
        if name == "@label":
            return self.data(self.label_column())
        level = name.removeprefix("@group")
        if not name.startswith("@group") or (level and not level.isdecimal()) or len(level) > 3:
            raise UnknownColumnError(
                f"There is no pseudo column {name!r}.", hint="@row, @group, @label, @table."
            )
        return ColumnData.of(self._heading(row, int(level or 0)) for row in range(len(self)))

    def _heading(self, row: int, level: int) -> Datum | None:
        """The heading above a row: of a level from 1, or the innermost one (0)."""
        table = self.tables[self._parts[row]]
        path = table.group_path(int(self._grid_rows[row]))
        if not path or level > len(path):
            return None
        head = table.grid.head
        cells = head[path[level - 1]] if path[level - 1] < len(head) else ()
        text = next((" ".join(cell.split()) for cell in cells if cell.strip()), "")
        return Datum(ValueKind.TEXT, text, text=text) if text else None

    @classmethod
    def concatenate(cls, relations: Sequence[Relation]) -> Relation:
        """The rows of several relations one after the other.

        Raises `ProgramTypeError` where their headers differ.
        """
        first = relations[0]
        headers = [tuple(_loose(column.header) for column in relation.columns) for relation in relations]
        for relation, names in zip(relations, headers, strict=True):
            if names != headers[0]:
                raise ProgramTypeError(
                    f"{first.id!r} and {relation.id!r} differ in their columns: they are not parts of one."
                )

        def make(column: int) -> tuple[ColumnData, ValueKind, ColumnRole]:
            seen: dict[Datum, int] = {}
            codes = []
            for relation in relations:
                data = relation.data(column)
                used = data.used()
                mapped = np.full(max(used, default=-1) + 2, -1, dtype=np.int32)
                for code in used:
                    mapped[code] = seen.setdefault(data.values[code], len(seen))
                codes.append(mapped[data.codes])
            return ColumnData(np.concatenate(codes), list(seen)), *first.typing(column)

        starts = np.cumsum([0, *(len(relation.tables) for relation in relations)])
        return cls(
            [table for relation in relations for table in relation.tables],
            [column.path for column in first.columns],
            np.concatenate([r._parts + start for r, start in zip(relations, starts[:-1], strict=True)]),
            np.concatenate([relation._grid_rows for relation in relations]),
            np.concatenate([relation.kinds for relation in relations]),
            make,
            lambda column: [text for relation in relations for text in relation._read(column)],
        )


class _NarrowRelation(Relation):
    """Some columns of a relation. Columns are named as in the whole one, also by their index."""

    def __init__(self, whole: Relation, columns: Sequence[int]) -> None:
        self._whole = whole
        self._kept = [column for column in columns if 0 <= column < len(whole.columns)]
        super().__init__(
            whole.tables,
            [whole.columns[column].path for column in self._kept],
            whole._parts,
            whole._grid_rows,
            whole.kinds,
            lambda column: whole._typed(self._kept[column]),
            lambda column: whole._read(self._kept[column]),
        )

    def in_table(self, column: int) -> int:
        return self._whole.in_table(self._kept[column])

    def resolve(self, name: str | int) -> int:
        found = self._whole.resolve(name)
        if found not in self._kept:
            raise UnknownColumnError(f"The column {name!r} of table {self.id!r} is left out here.")
        return self._kept.index(found)

    def label_column(self) -> int:
        label = self._whole.label_column()
        return self._kept.index(label) if label in self._kept else 0


def relation_of(
    table: Table,
    quantities: Mapping[Position, QuantityLike] | None = None,
    *,
    column_units: Mapping[int, tuple[str | None, str | None]] | None = None,
) -> Relation:
    """A table's body as a relation.

    Args:
        table: the decoded table.
        quantities: its numbers by grid position, scale applied; without them numbers are read from
            the cells alone.
        column_units: unit and scale of all numbers of a column, for tables too long for a
            number each; it holds where `quantities` has no number.
    """
    rows, grid_rows, blank = [], [], []
    for grid_row, cells in table.body():
        rows.append(cells)
        grid_rows.append(grid_row)
        blank.append(not any(map(str.strip, cells)))
    styles = profile_columns(table)
    reader = _ColumnReader(table, rows, grid_rows, styles, quantities or {}, column_units or {})
    kinds = _row_kinds(table, rows, grid_rows, blank, reader)
    return Relation(
        [table],
        [column.path for column in table.columns],
        np.zeros(len(rows), dtype=np.int64),
        np.array(grid_rows, dtype=np.int64),
        kinds,
        lambda column: reader.read(column, kinds),
        reader.texts,
    )


@dataclass(frozen=True)
class _ColumnReader:
    """Types the cells of the columns of one table."""

    table: Table
    rows: Sequence[tuple[str, ...]]
    grid_rows: Sequence[int]
    styles: Sequence[ColumnStyle]
    quantities: Mapping[Position, QuantityLike]
    column_units: Mapping[int, tuple[str | None, str | None]]

    def read(self, column: int, kinds: npt.NDArray[np.int8]) -> tuple[ColumnData, ValueKind, ColumnRole]:
        texts = self.texts(column)
        sampled = [
            row for row, kind in zip(range(len(texts)), kinds[: 4 * SAMPLED].tolist(), strict=False)
            if kind in (0, 1, 2, 3) and texts[row].strip()
        ][:SAMPLED]  # fmt: skip
        name = " ".join((self.table.columns[column].path or ("",))[-1].split())
        style = self.styles[column]
        role, durations = self._role(name, column, style, [texts[row].strip() for row in sampled], sampled)
        if not self.quantities and len(texts) >= BULK_ROWS and role is ColumnRole.PLAIN and not durations:
            bulk = _read_bulk(texts, self.column_units.get(column, (None, None)), style)
            if bulk is not None:
                return bulk, ValueKind.QUANTITY, role
        data = self._data(column, texts, style, role, durations)
        return data, _majority(data, sampled), role

    def texts(self, column: int) -> list[str]:
        """The texts of a column, those of merged areas in every cell they cover."""
        texts = [cells[column] if column < len(cells) else "" for cells in self.rows]
        if self.table.grid.merged:
            start = self.grid_rows[0] if self.grid_rows else 0
            for (row, at), (top, left) in _merged(self.table).items():
                if at == column and top >= start and row - start < len(texts):
                    cells = self.rows[top - start]
                    texts[row - start] = cells[left] if left < len(cells) else ""
        return texts

    def number(self, row: int, column: int, text: str) -> Decimal | None:
        """The number of a cell, of any column that is no identifier."""
        datum = self._datum(row, column, text, self.styles[column], ColumnRole.PLAIN, False)
        return None if datum is None else datum.number

    def _data(
        self, column: int, texts: list[str], style: ColumnStyle, role: ColumnRole, durations: bool
    ) -> ColumnData:
        seen: dict[object, int] = {}
        values: list[Datum] = []
        codes = np.empty(len(texts), dtype=np.int32)
        known = self.quantities.get
        for row, text in enumerate(texts):
            found = known((self.grid_rows[row], column))
            key = text if found is None else (text, found.value, found.unit, found.scale)
            code = seen.get(key)
            if code is None:
                datum = self._datum(row, column, text, style, role, durations)
                code = -1
                if datum is not None:
                    code = len(values)
                    values.append(datum)
                seen[key] = code
            codes[row] = code
        return ColumnData(codes, values)

    def _datum(
        self, row: int, column: int, text: str, style: ColumnStyle, role: ColumnRole, durations: bool
    ) -> Datum | None:
        plain = "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
        if not plain:
            return None
        found = self.quantities.get((self.grid_rows[row], column))
        if role is not ColumnRole.PLAIN:
            missing = found is None and plain in MISSING_MARKERS
            return None if missing else Datum(ValueKind.ENTITY, plain, text=plain)
        value = type_cell(text, style)
        if found is None and value.kind in (CellKind.EMPTY, CellKind.MISSING):
            return None
        if durations and (seconds := duration_seconds(plain)) is not None:
            return Datum(ValueKind.DURATION, seconds, "SEC", text=plain)
        if value.kind in (CellKind.DATE, CellKind.YEAR, CellKind.PERIOD) and value.lexical:
            span = time_span(value.lexical)
            return Datum(ValueKind.TEXT, plain, text=plain) if span is None else time_datum(span, plain)
        if found is not None:
            return Datum(ValueKind.QUANTITY, found.value, found.unit, found.scale, plain)
        if value.number is not None:
            unit, scale = self.column_units.get(column, (None, None))
            power = value.number.scale or _SCALES.get(scale or "", 0)
            return quantity(value.number.value.scaleb(power), value.number.unit or unit, scale, plain)
        if value.kind is CellKind.BOOLEAN:
            return Datum(ValueKind.TRUTH, value.lexical == "true", text=plain)
        span = month_day(plain)
        return Datum(ValueKind.TEXT, plain, text=plain) if span is None else time_datum(span, plain)

    def _role(
        self, name: str, column: int, style: ColumnStyle, texts: list[str], rows: list[int]
    ) -> tuple[ColumnRole, bool]:
        """The role of a column, and whether its values are durations."""
        if not texts:
            return ColumnRole.PLAIN, False
        if style.is_year or style.is_compact_date or style.is_boolean or style.is_month:
            return ColumnRole.PLAIN, False
        if _are_durations(name, style, texts):
            return ColumnRole.PLAIN, True
        integers = [int(text) for text in texts if text.isdecimal() and text.isascii() and len(text) < 19]
        whole = len(integers) >= 0.9 * len(texts)
        places = sum(_PLACE.fullmatch(text) is not None for text in texts) >= 0.8 * len(texts)
        if style.is_identifier or (
            _is_identifier_name(name) and any(any(map(str.isdigit, t)) for t in texts)
        ):
            return ColumnRole.IDENTIFIER, False
        units = {
            found.unit
            for row in rows[:50]
            if (found := self.quantities.get((self.grid_rows[row], column))) and found.unit
        }
        if units - {"UNITLESS", "NUM"}:
            return ColumnRole.PLAIN, False
        if places and _ORDINAL.fullmatch(name):
            return ColumnRole.ORDINAL, False
        runs = whole and len(integers) >= 4 and all(b - a == 1 for a, b in pairwise(integers))
        if runs and column == 0:
            return (ColumnRole.ORDINAL if integers[0] <= 1 else ColumnRole.IDENTIFIER), False
        return ColumnRole.PLAIN, False


def _is_identifier_name(name: str) -> bool:
    words = name.casefold().split()
    if _IDENTIFIER.fullmatch(name):
        return True
    return _INNER_ID.fullmatch(name) is not None and (words or [""])[-1].split("_")[-1] not in _ID_WORDS


def _are_durations(name: str, style: ColumnStyle, texts: Sequence[str]) -> bool:
    """Whether most cells are durations, and not times of a day (two figures, whole five minutes)."""
    found = [text for text in texts if duration_seconds(text) is not None]
    if style.is_clock or len(found) < 0.6 * len(texts) or _CLOCK_NAME.search(name):
        return False
    if any(text.count(":") == 2 or "." in text for text in found):
        return True
    clocks = all(int(text.split(":")[0]) < 24 and int(text[-2:]) % 5 == 0 for text in found)
    return not (clocks and any(len(text) == 5 for text in found))


def _majority(data: ColumnData, rows: Sequence[int]) -> ValueKind:
    """The kind of most values of the sampled rows; text where no kind makes up six tenths."""
    counts: dict[ValueKind, int] = {}
    for row in rows:
        datum = data[row]
        if datum is not None:
            counts[datum.kind] = counts.get(datum.kind, 0) + 1
    total = sum(counts.values())
    times = counts.get(ValueKind.DATE, 0) + counts.get(ValueKind.PERIOD, 0)
    if times >= 0.6 * total > 0:
        dates = counts.get(ValueKind.DATE, 0)
        return ValueKind.DATE if 2 * dates >= times else ValueKind.PERIOD
    best = max(counts, key=lambda kind: counts[kind], default=ValueKind.TEXT)
    return best if counts.get(best, 0) >= 0.6 * total else ValueKind.TEXT


def _row_kinds(
    table: Table,
    rows: Sequence[tuple[str, ...]],
    grid_rows: Sequence[int],
    blank: Sequence[bool],
    reader: _ColumnReader,
) -> npt.NDArray[np.int8]:
    structure = table.structure
    kinds = np.zeros(len(rows), dtype=np.int8)
    label_column = structure.label_column
    width = len(table.columns)
    for index, (grid_row, cells) in enumerate(zip(grid_rows, rows, strict=True)):
        if blank[index]:
            kinds[index] = MemberKind.BLANK
        elif grid_row in structure.groups and not _has_values(cells, label_column):
            kinds[index] = MemberKind.HEADING
        elif grid_row in structure.footnotes:
            kinds[index] = MemberKind.NOTE
        else:
            label = cells[label_column] if label_column < len(cells) else ""
            label = label if label.strip() else next((cell for cell in cells if cell.strip()), "")
            if width > 1 and _NOTE.match(label) and sum(bool(cell.strip()) for cell in cells) == 1:
                kinds[index] = MemberKind.NOTE
            elif _PART.match(label) and len(label) < 80:
                kinds[index] = MemberKind.PART
            elif (
                grid_row in structure.totals
                or _says_summary(label, index, rows, label_column)
                or _TOTAL.fullmatch(next((cell for cell in cells if cell.strip()), ""))
            ):
                kinds[index] = MemberKind.TOTAL
    if len(rows) <= MOST_SUMMED_ROWS:
        for index in _aggregates(table, rows, kinds, reader):
            kinds[index] = MemberKind.AGGREGATE
    return kinds


def _has_values(cells: tuple[str, ...], label_column: int) -> bool:
    """Whether a row that heads others has figures of its own beside its label."""
    others = [text for column, text in enumerate(cells) if column != label_column]
    return any(character.isdigit() for text in others for character in text)


def _says_summary(label: str, index: int, rows: Sequence[tuple[str, ...]], column: int) -> bool:
    """Whether a label is a word for a total or average; "All" or "Overall" only in the last or first row."""
    if len(label) > 60 or not _SUMMARY.fullmatch(label):
        return False
    strict = re.match(r"\W*(?:all|overall|mean|median|sum|minimum|maximum)\b", label, re.IGNORECASE) is None
    again = sum(column < len(row) and normal(row[column]) == normal(label) for row in rows)
    return (strict or index in (0, len(rows) - 1)) and (again == 1 or again < len(rows) / 3)


def _aggregates(
    table: Table, rows: Sequence[tuple[str, ...]], kinds: npt.NDArray[np.int8], reader: _ColumnReader
) -> list[int]:
    """Members that are the sum of other members in every additive column: ("World", "EU27", a region).

    A sum of all the others, or of neighbouring ones that make a run. Since small numbers add up by
    chance, all additive columns must agree, and together print at least eight significant figures.
    """
    members = np.flatnonzero(kinds == MemberKind.MEMBER).tolist()
    if len(members) < 3:
        return []
    columns = []
    for column in range(len(table.columns)):
        if column == table.structure.label_column or reader.styles[column].is_year:
            continue
        texts = reader.texts(column)
        numbers = [reader.number(row, column, texts[row]) for row in members]
        filled = [text for row in members if (text := texts[row].strip())]
        if sum(number is None for number in numbers) > 0.25 * len(members):
            continue
        name = " ".join((table.columns[column].path or ("",))[-1].split())
        if any("%" in text for text in filled[:20]) or "%" in name or _is_identifier_name(name):
            continue
        whole = [number or Decimal(0) for number in numbers]
        if all(b - a == 1 for a, b in pairwise(whole)):
            continue
        columns.append(whole)
    if not columns:
        return []
    found: list[int] = []
    for place, row in enumerate(members):
        figures = sum(len(str(abs(int(column[place])))) for column in columns if column[place])
        if figures >= 8 and _is_sum(columns, place, {members.index(other) for other in found}):
            found.append(row)
    return found if len(found) <= len(members) / 3 else []


def _is_sum(columns: Sequence[Sequence[Decimal]], place: int, known: set[int]) -> bool:
    """Whether the row at `place` is in each column the sum of all others, or of one run of two or more."""
    others = [i for i in range(len(columns[0])) if i != place and i not in known]
    if all(sum(column[i] for i in others) == column[place] != 0 for column in columns):
        return True
    if len(columns) < 2:
        return False
    first = columns[0]
    sums: dict[Decimal, list[int]] = {Decimal(0): [0]}
    total = Decimal(0)
    for end, i in enumerate(others, 1):
        total += first[i]
        for start in sums.get(total - first[place], ()):
            run = others[start:end]
            # A run must not jump over the row itself: what it sums stands before or after it.
            if (
                len(run) >= 2
                and not run[0] < place < run[-1]
                and all(sum(column[j] for j in run) == column[place] for column in columns[1:])
            ):
                return True
        sums.setdefault(total, []).append(end)
    return False


def _merged(table: Table) -> dict[Position, Position]:
    """The body cells that a merged area covers, and the cell that holds its text."""
    start = table.structure.body_start
    return {
        (row, column): (area.top, area.left)
        for area in table.grid.merged
        if area.top >= start and (area.bottom - area.top + 1) * (area.right - area.left + 1) < 10_000
        for row in range(area.top, area.bottom + 1)
        for column in range(area.left, area.right + 1)
    }


def _loose(name: str) -> str:
    """A header without case and signs; the header itself where nothing else is left."""
    return _SPACES.sub(" ", normal(name)).strip() or normal(name)


def _integers(data: ColumnData) -> Integers | None:
    """The column's numbers as integers of the smallest exponent, if they have one unit and fit in 62 bits."""
    used = data.used()
    exponent, unit, scale = 0, None, None
    for place, code in enumerate(used):
        datum = data.values[code]
        value = datum.value
        if not isinstance(value, Decimal) or datum.kind is not ValueKind.QUANTITY:
            return None
        if place == 0:
            unit, scale = datum.unit, datum.scale
        elif datum.unit != unit:
            return None
        elif datum.scale != scale:
            scale = None
        exponent = min(exponent, int(value.as_tuple().exponent))
    mantissas = np.zeros(max(used, default=-1) + 2, dtype=np.int64)
    if exponent < -18:
        return None
    for code in used:
        whole = int(data.values[code].value.scaleb(-exponent))  # type: ignore[union-attr]
        if abs(whole) >= 2**62:
            return None
        mantissas[code] = whole
    valid = data.codes >= 0
    return Integers(mantissas[data.codes], exponent, valid, unit, scale)


class _PlainNumbers(Sequence[Datum]):
    """The different values of a column of plain numbers, each made when it is looked at."""

    def __init__(self, texts: Sequence[str], unit: str | None, scale: str | None) -> None:
        self._texts, self._unit, self._scale = texts, unit, scale

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, index: int) -> Datum: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Datum]: ...

    def __getitem__(self, index: int | slice) -> Datum | Sequence[Datum]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        text = str(self._texts[index])
        value = Decimal(text).scaleb(_SCALES.get(self._scale or "", 0))
        return Datum(ValueKind.QUANTITY, value, self._unit, self._scale, text)


def _read_bulk(
    texts: list[str], unit_and_scale: tuple[str | None, str | None], style: ColumnStyle
) -> ColumnData | None:
    """A long column of plain numbers, parsed as a whole; None where some cell is anything else."""
    if style.is_identifier or style.is_year or style.numbers.decimal_comma:
        return None
    unit, scale = unit_and_scale
    cells = pc.utf8_trim_whitespace(pa.array(texts, pa.string()))
    plain = pc.match_substring_regex(cells, r"^-?\d{1,15}(\.\d{1,9})?$")
    empty = pc.equal(cells, "")
    if not pc.all(pc.or_(plain, empty)).as_py():
        return None
    coded = cells.dictionary_encode()
    uniques = coded.dictionary
    point = pc.find_substring(uniques, ".")
    decimals = pc.if_else(pc.less(point, 0), 0, pc.subtract(pc.subtract(pc.utf8_length(uniques), point), 1))
    digits = int(pc.max(decimals).as_py() or 0)
    filled = pc.if_else(pc.equal(uniques, ""), "0", uniques)
    numbers = pc.cast(filled, pa.decimal128(38, digits))
    if isinstance(numbers, pa.ChunkedArray):
        numbers = numbers.combine_chunks()
    words = np.frombuffer(numbers.buffers()[1], dtype="<i8").reshape(-1, 2)
    mantissas: npt.NDArray[Any] = words[numbers.offset : numbers.offset + len(numbers), 0]
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    valid = ~empty.to_numpy(zero_copy_only=False)
    if int(np.abs(mantissas).max(initial=0)) >= 2**62:
        return None
    integers = Integers(
        mantissas[codes].astype(np.int64), _SCALES.get(scale or "", 0) - digits, valid, unit, scale
    )
    codes = np.where(valid, codes, -1).astype(np.int32)
    return ColumnData(codes, _PlainNumbers(uniques.to_pylist(), unit, scale), integers)
