"""Decoded tables as typed columns, the input of the executor.

A `Relation` holds the body rows of one table, or of several that are parts of one. Each row is of a
kind (`MemberKind`): totals, "of which" lines, notes, headings and aggregates among members ("World")
are not members, and stay out unless they are asked for. Columns are typed when first used. A column's
cells are stored as codes into its different values, so that work on values is done once for each
different value and work on rows is done on arrays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from enum import IntEnum
from functools import cache, cached_property
from itertools import chain
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process

from kgtable.errors import ProgramTypeError, UnknownColumnError
from kgtable.graph.table_content import CellContent
from kgtable.programs.algebra import RowChoice, ValueKind
from kgtable.programs.scalars import Datum, normal
from kgtable.tables.model import Meaning, Position, Role, Table
from kgtable.values.unit_phrases import without_unit

Codes = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int64]
StoredColumn: TypeAlias = tuple[Codes, Sequence[CellContent]]
"""For each row the number of its cell among the distinct ones in the graph; -1 for a blank one."""

SAMPLED = 2_000
"""Number of cells that decide a column's kind and role."""

_SPACES = re.compile(r"[\W_]+")


class MemberKind(IntEnum):
    """Kind of a body row: a member; a total, statistic or change; an "of which" line; the heading of a group; a note
    or source line; blank."""

    MEMBER = 0
    TOTAL = 1
    PART = 2
    HEADING = 3
    NOTE = 4
    BLANK = 5


_CHOSEN = {
    RowChoice.MEMBERS: (MemberKind.MEMBER,),
    RowChoice.ALL: (MemberKind.MEMBER, MemberKind.TOTAL, MemberKind.PART),
    RowChoice.TOTALS: (MemberKind.TOTAL,),
}


NAMING = frozenset({Role.IDENTIFIER, Role.ORDINAL})
"""Roles whose values name or number rows and are not quantities, even if they are numbers."""

_Made = TypeVar("_Made")


class ColumnData:
    """The values of a column: for each row a code into its different values, -1 where it is missing."""

    __slots__ = ("_kept", "codes", "values")

    def __init__(self, codes: Codes, values: Sequence[Datum]) -> None:
        self.codes, self.values = codes, values
        self._kept: dict[object, Any] = {}

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> Datum | None:
        code = self.codes[index]
        return None if code < 0 else self.values[code]

    def take(self, rows: Indices) -> ColumnData:
        """The values of some rows."""
        taken = ColumnData(self.codes[rows], self.values)
        taken._kept = self._kept
        return taken

    def kept(self, make: Callable[[Sequence[Datum]], _Made]) -> _Made:
        """A function's result on the values, computed once for this column and those taken from it."""
        if make not in self._kept:
            self._kept[make] = make(self.values)
        return cast(_Made, self._kept[make])

    def used(self) -> list[int]:
        """The codes that occur, sorted."""
        found: list[int] = distinct(self.codes).tolist()
        return found[1:] if found and found[0] < 0 else found

    @classmethod
    def of(cls, values: Iterable[Datum | None]) -> ColumnData:
        """A column from a value for each row; equal values share a code.

        >>> from kgtable.programs.scalars import quantity
        >>> ColumnData.of([quantity(1), None, quantity(1)]).codes.tolist()
        [0, -1, 0]
        """
        seen: dict[Datum, int] = {}
        codes = [-1 if value is None else seen.setdefault(value, len(seen)) for value in values]
        return cls(np.array(codes, dtype=np.int32), list(seen))


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
    """A column of a relation: its header, and the types of its cells (computed lazily)."""

    def __init__(self, relation: Relation, index: int, path: tuple[str, ...]) -> None:
        self._relation, self.index = relation, index
        self.path = tuple(" ".join(part.split()) for part in path)

    @property
    def header(self) -> str:
        """The header path as one text."""
        return " ".join(part for part in self.path if part)

    @property
    def name(self) -> str:
        """The header, or ``column 3`` (counted from 0) if there is none."""
        return self.header or f"column {self.index}"

    @property
    def kind(self) -> ValueKind:
        """The type of most of its values."""
        return self._relation.typing(self.index)[0]

    @property
    def meaning(self) -> Meaning:
        """Its meaning, decided at conversion."""
        return self._relation.typing(self.index)[1]

    @property
    def role(self) -> Role:
        """Its role."""
        return self.meaning.role

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
        counts: dict[str | None, int] = {}
        codes, sizes = np.unique(data.codes, return_counts=True)
        for code, size in zip(codes.tolist(), sizes.tolist(), strict=True):
            if code >= 0 and isinstance(data.values[code].value, Decimal):
                found = part(data.values[code])
                counts[found] = counts.get(found, 0) + size
        return tuple(sorted(counts, key=lambda key: -counts[key]))


class Relation:
    """The body rows of a table with typed columns. Made by `table_relation.relation_of`.

    Rows are addressed by their place among the body rows (from 0); `position` returns the cell in the
    grid that holds a row's value, which for merged cells is that of the merged area.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        columns: Sequence[tuple[str, ...]],
        parts: Indices,
        grid_rows: Indices,
        kinds: npt.NDArray[np.int8],
        make: Callable[[int], tuple[ColumnData, ValueKind, Meaning]],
        stored: Callable[[int], StoredColumn],
    ) -> None:
        self.tables = tuple(tables)
        self.columns = tuple(RelationColumn(self, index, path) for index, path in enumerate(columns))
        self._parts, self._grid_rows, self.kinds = parts, grid_rows, kinds
        self._make, self.stored = make, cache(stored)
        self._made: dict[int, tuple[ColumnData, ValueKind, Meaning]] = {}
        self._pseudo: dict[str, ColumnData] = {}
        self.kept: dict[type, Any] = {}
        """What others make of the relation and keep for as long as it lives, by its type."""
        self.predicates: tuple[str, ...] = ()
        """The IRIs of the table's columns in its graph."""
        self.blank: tuple[int, ...] = ()
        """Grid rows of the body without cells, where they are not among the rows."""

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

    def typing(self, column: int) -> tuple[ValueKind, Meaning]:
        """The kind of values, and the meaning, of a column."""
        return self._typed(column)[1:]

    def pseudo(self, name: str) -> ColumnData:
        """The values of a pseudo column other than ``@row``. Raises `UnknownColumnError` for another name."""
        if name not in self._pseudo:
            self._pseudo[name] = self._make_pseudo(name)
        return self._pseudo[name]

    def resolve(self, name: str | int) -> int:
        """The index of a column by header or index.

        The whole header path counts before its last level, the exact text before one that differs in
        case and signs. Raises `UnknownColumnError`, with the nearest headers, if there is none or
        there are several.
        """
        if isinstance(name, int):
            if 0 <= name < len(self.columns):
                return name
            raise UnknownColumnError(f"Table {self.id!r} has {len(self.columns)} columns, no column {name}.")
        for reading in chain(self._names, self._names_without_units):
            found = reading.get(name) or reading.get(_loose(name))
            if found and len(found) == 1:
                return found[0]
            if found:
                raise UnknownColumnError(
                    f"Table {self.id!r} has {len(found)} columns {name!r}.",
                    hint=f"Name one by its index: {', '.join(map(str, found))}.",
                )
        known = [column.name for column in self.columns]
        near = [match[0] for match in process.extract(name, known, scorer=fuzz.WRatio, limit=3) if match[1] > 50]
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
        place = merged_cells(table).get(place, place) if table.grid.merged or table.structure.shared else place
        return table.id, *place

    @property
    def parts(self) -> Indices:
        """For each row the number of its table among `tables`."""
        return self._parts

    def text(self, row: int, column: int) -> str:
        """The text of the cell that holds a row's value, with single spaces; "" for a blank one."""
        codes, cells = self.stored(column)
        return " ".join(cells[codes[row]].text.split()) if codes[row] >= 0 else ""

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
    def observed_at(self) -> int | None:
        """The column of times at which the rows were observed: it names the rows, or those of one label differ in it.

        A time next to a label of its own, such as the year of a foundation, says something about what the row names.
        """
        label = self.label_column()
        times = [column.index for column in self.columns if column.role is Role.TIME]
        if not times or label in times:
            return label if times else None
        labels = self.data(label).codes
        repeated = len(distinct(labels[labels >= 0])) <= 0.6 * int((labels >= 0).sum())
        return times[0] if times[0] == 0 or repeated else None

    @cached_property
    def _names(self) -> tuple[dict[str, list[int]], ...]:
        """Columns by whole header, by loose header, by last level of the header."""
        readings: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        for column in self.columns:
            last = column.path[-1] if column.path else ""
            for reading, name in zip(readings, (column.header, _loose(column.header), _loose(last)), strict=True):
                if name:
                    reading.setdefault(name, []).append(column.index)
        return readings

    @property
    def _names_without_units(self) -> Iterator[dict[str, list[int]]]:
        """Columns by the last level of the header without the unit that it states: "Price" for "Price (CHF)"."""
        reading: dict[str, list[int]] = {}
        for column in self.columns:
            last = column.path[-1] if column.path else ""
            if name := _loose(without_unit(last) or last.partition("(")[0]):
                reading.setdefault(name, []).append(column.index)
        yield reading

    def _typed(self, column: int) -> tuple[ColumnData, ValueKind, Meaning]:
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
            raise UnknownColumnError(f"There is no pseudo column {name!r}.", hint="@row, @group, @label, @table.")
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

        Raises `ProgramTypeError` if their headers differ.
        """
        first = relations[0]
        headers = [tuple(_loose(column.header) for column in relation.columns) for relation in relations]
        for relation, names in zip(relations, headers, strict=True):
            if names != headers[0]:
                raise ProgramTypeError(
                    f"{first.id!r} and {relation.id!r} differ in their columns: they are not parts of one."
                )

        def make(column: int) -> tuple[ColumnData, ValueKind, Meaning]:
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

        def stored(column: int) -> StoredColumn:
            codes: list[Codes] = []
            cells: list[CellContent] = []
            for numbers, contents in (relation.stored(column) for relation in relations):
                codes.append(np.where(numbers >= 0, numbers + len(cells), -1).astype(np.int32))
                cells += contents
            return np.concatenate(codes), cells

        starts = np.cumsum([0, *(len(relation.tables) for relation in relations)])
        return cls(
            [table for relation in relations for table in relation.tables],
            [column.path for column in first.columns],
            np.concatenate([r._parts + start for r, start in zip(relations, starts[:-1], strict=True)]),
            np.concatenate([relation._grid_rows for relation in relations]),
            np.concatenate([relation.kinds for relation in relations]),
            make,
            stored,
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
            lambda column: whole.stored(self._kept[column]),
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


def merged_cells(table: Table) -> dict[Position, Position]:
    """The body cells whose text is in another one: those of a merged area, and those that share the cell above."""
    start = table.structure.body_start
    return {
        (row, column): (area.top, area.left)
        for area in (*table.structure.shared, *table.grid.merged)
        if area.top >= start and (area.bottom - area.top + 1) * (area.right - area.left + 1) < 10_000
        for row in range(area.top, area.bottom + 1)
        for column in range(area.left, area.right + 1)
    }


def _loose(name: str) -> str:
    """A header without case and signs; the header itself where nothing else is left."""
    return _SPACES.sub(" ", normal(name)).strip() or normal(name)
