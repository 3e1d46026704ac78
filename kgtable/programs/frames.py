"""Relations while a program computes them: where each row comes from, and what expressions look at."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from kgtable.programs.algebra import ColumnRef
from kgtable.programs.column_math import Mask, Vector
from kgtable.programs.provenance import CellRole, Origin, Read, RowGroups, RowTrace
from kgtable.programs.relation import ColumnData, Indices, distinct
from kgtable.programs.scalars import Datum, quantity
from kgtable.programs.types import Scope, SourceColumn


@dataclass
class Frame:
    """A relation while it is computed: for each bound table the place of each row, and computed columns."""

    scope: Scope
    size: int
    places: tuple[Indices, ...]
    computed: tuple[ColumnData, ...]
    trace: RowTrace
    ordered: bool = False
    order: tuple[npt.NDArray[np.int64], ...] = ()
    """The sort ranks of the rows, where a sort has just ordered them."""

    def take(self, rows: Indices, trace: RowTrace | None = None) -> Frame:
        """Some rows in a new order."""
        return Frame(
            self.scope,
            len(rows),
            tuple(places[rows] for places in self.places),
            tuple(column.take(rows) for column in self.computed),
            trace or RowTrace(((self.trace, rows),)),
            self.ordered,
        )

    def column(self, place: SourceColumn | int) -> ColumnData:
        """The values of a column for the rows."""
        if isinstance(place, int):
            return self.computed[place]
        bound = self.scope.sources[place.source]
        rows = self.places[place.source]
        if place.column == "@row":
            numbers = np.zeros(len(bound.relation), dtype=np.int64)
            chosen = bound.relation.select(bound.choice)
            numbers[chosen] = np.arange(1, len(chosen) + 1)
            return ColumnData.of(quantity(number, "NUM") for number in numbers[rows].tolist())
        if isinstance(place.column, str):
            return bound.relation.pseudo(place.column).take(rows)
        return bound.relation.data(place.column).take(rows)

    def columns(self) -> tuple[ColumnData, ...]:
        """All columns: computed ones, then those of the tables."""
        found = list(self.computed)
        for index, source in enumerate(self.scope.sources):
            found += [self.column(SourceColumn(index, column.index)) for column in source.relation.columns]
        return tuple(found)

    def reads_of_all(self) -> tuple[Read, ...]:
        """The cells of all columns of its tables."""
        return tuple(
            Read(source.relation, column.index, places)
            for source, places in zip(self.scope.sources, self.places, strict=True)
            for column in source.relation.columns
        )


@dataclass
class Sight:
    """The inputs of an expression during evaluation: columns of tables, and other results."""

    reads: list[Read] = field(default_factory=list)
    traces: list[RowTrace] = field(default_factory=list)

    def trace(self, frame: Frame | None, role: CellRole, origin: Origin = None) -> RowTrace:
        """A trace of what was read, in a role."""
        reads = tuple(replace(read, role=role) for read in self.reads)
        origins: list[tuple[RowTrace, Origin]] = [(trace, None) for trace in self.traces]
        if frame is not None:
            origins.insert(0, (frame.trace, origin))
        return RowTrace(tuple(origins), reads)

    def taken(self, role: CellRole, rows: Indices) -> tuple[Read, ...]:
        """What was read, for some of the rows only."""
        return tuple(
            replace(
                read,
                role=role,
                rows=read.rows[rows],
                columns=read.columns if isinstance(read.columns, int) else read.columns[rows],
            )
            for read in self.reads
        )

    def fixed(self, role: CellRole) -> tuple[Read, ...]:
        """What was read, as cells that every row of the result rests on."""
        return tuple(replace(read, role=role, aligned=False) for read in self.reads)

    def others(self) -> tuple[tuple[RowTrace, Origin], ...]:
        """The other results as origins."""
        return tuple((trace, None) for trace in self.traces)


@dataclass(frozen=True)
class GroupContext:
    """The groups for aggregates without rows of their own."""

    frame: Frame
    groups: RowGroups
    sight: Sight

    @property
    def size(self) -> int:
        return len(self.groups.starts) - 1


def look(node: ColumnRef, frame: Frame, sight: Sight) -> ColumnData:
    place = frame.scope.resolve(node)
    if isinstance(place, SourceColumn):
        relation = frame.scope.sources[place.source].relation
        column = relation.label_column() if place.column == "@label" else place.column
        if isinstance(column, int):
            sight.reads.append(Read(relation, column, frame.places[place.source]))
    return frame.column(place)


def column_of(value: Vector, size: int) -> ColumnData:
    """A value for each row, also of one for all."""
    if isinstance(value, ColumnData):
        return value
    if value is None:
        return ColumnData(np.full(size, -1, dtype=np.int32), [])
    return ColumnData(np.zeros(size, dtype=np.int32), [Datum(*value)])


def known_values(value: Vector, size: int) -> Mask:
    if isinstance(value, ColumnData):
        return value.codes >= 0
    return np.full(size, value is not None)


def concatenated(left: ColumnData, right: ColumnData) -> ColumnData:
    shifted = np.where(right.codes >= 0, right.codes + len(left.values), -1)
    return ColumnData(np.concatenate([left.codes, shifted]).astype(np.int32), [*left.values, *right.values])


def grouped_rows(numbers: Indices, wanted: Indices) -> RowGroups:
    """The rows that have each of some numbers."""
    order = np.argsort(numbers, kind="stable").astype(np.int64)
    ordered = numbers[order]
    low, high = np.searchsorted(ordered, wanted, "left"), np.searchsorted(ordered, wanted, "right")
    if len(wanted) and len(low) == len(distinct(numbers)):
        return RowGroups(order, np.append(low, high[-1]).astype(np.int64))
    counts = high - low
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    within = np.arange(int(counts.sum())) - np.repeat(starts[:-1], counts)
    return RowGroups(order[np.repeat(low, counts) + within], starts)


def with_role(reads: list[Read], role: CellRole) -> tuple[Read, ...]:
    return tuple(replace(read, role=role) for read in reads)


def shifted(reads: tuple[Read, ...], before: int, after: int) -> tuple[Read, ...]:
    """Reads of rows at some positions among others."""
    pad = np.full(before, -1, dtype=np.int64), np.full(after, -1, dtype=np.int64)
    return tuple(replace(read, rows=np.concatenate([pad[0], read.rows, pad[1]])) for read in reads)
