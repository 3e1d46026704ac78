"""What of a long table in another engine is known without reading it: a bounded part of its rows.

The engine counts and groups; what is fetched are the first rows, those that are no members (totals, notes), and for
each column that is asked for one row for each different text and each unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pyoxigraph as ox

from kgtable.graph.paged_columns import PagedColumns
from kgtable.graph.sparql_text import with_values
from kgtable.graph.store import TripleStore
from kgtable.graph.table_content import CellContent, ColumnSource
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import RDFS
from kgtable.resources import read_shipped
from kgtable.tables.model import Table

MOST_SPECIAL = 1_000
"""Rows that are no members, or have no label, of a table that is known by a part of its rows."""

MOST_DIFFERENT = 3_000
"""Different texts of a column of which each is fetched; a query cannot list more."""


@dataclass(frozen=True)
class ColumnSketch:
    """Rows that show what a column holds: each different text, and each unit and scale of its numbers.

    With `has_numbers` these are not all of its different cells.
    """

    rows: tuple[int, ...]
    has_numbers: bool


class TableSample:
    """A bounded part of one long table, which says what the whole holds; what was read is kept.

    Methods and attributes raise what the store's queries raise.
    """

    def __init__(self, reader: TableReader, store: TripleStore, id: str) -> None:
        self._reader, self._store, self._id = reader, store, id
        self._graph = str(ox.NamedNode(reader.names.table_iri(id)))
        self._cells: dict[int, dict[int, CellContent | None]] = {}
        self._sketches: dict[int, ColumnSketch | None] = {}

    @cached_property
    def frame(self) -> Table:
        """The table without the rows of its body; which are totals and notes is known."""
        return self._reader.marked_frame(self._id)

    @cached_property
    def special_rows(self) -> tuple[int, ...] | None:
        """Rows with cells that may be no members; None where there are too many, or only all rows would tell.

        A row without a label is called by its first cell: beyond the second column of labels, any column may hold it.
        """
        structure = self.frame.structure
        predicates = [f"{RDFS}label"]
        if structure.label_column == 1:
            predicates.append(self._predicate(0))
        if structure.label_column > 1 or self._unlabelled is None:
            return None
        found = set(self._unlabelled) | structure.totals | structure.footnotes
        for predicate in predicates:
            numbers = self._numbers("marked-labels", self._graph, str(ox.NamedNode(predicate)))
            if len(numbers) > MOST_SPECIAL:
                return None
            found.update(numbers)
        return tuple(sorted(found - set(self.blank_rows))) if len(found) <= MOST_SPECIAL else None

    @cached_property
    def blank_rows(self) -> tuple[int, ...]:
        """The rows of the body without any cell, where `special_rows` are known."""
        unlabelled = self._unlabelled or ()
        found = self._reader.rows(self._id, unlabelled)
        return tuple(row for row in unlabelled if row not in found or not any(found[row].cells))

    @cached_property
    def size(self) -> int:
        """How many rows of the body have cells."""
        return self._reader.frame(self._id).body_rows - len(self.blank_rows)

    def sketch(self, column: int) -> ColumnSketch | None:
        """The rows that show what a column holds.

        None where its cells must all be read: more different texts than a query can list, numbers of several units or
        scales, ranges.
        """
        if column not in self._sketches:
            self._sketches[column] = self._read_sketch(column)
        return self._sketches[column]

    def source(self, first: int, more: Iterable[int]) -> ColumnSource:
        """The columns of so many first rows, the last one, those that are no members, and some more."""
        start = self.frame.structure.body_start
        body = range(start, start + self._reader.frame(self._id).body_rows)
        blank = set(self.blank_rows)
        last = next((row for row in reversed(body) if row not in blank), start)
        rows = {*body[:first], last, *(self.special_rows or ()), *more} - blank
        return PagedColumns(self._read, sorted(rows), len(self._reader.frame(self._id).predicates))

    def numbers(self, query: str) -> Iterator[list[int]]:
        """The solutions of a query that gives integers."""
        solutions = self._store.query(query)
        assert isinstance(solutions, ox.QuerySolutions)
        for found in solutions:
            yield [_number(found[name.value]) for name in solutions.variables]

    def _read(self, column: int, rows: Sequence[int]) -> list[CellContent | None]:
        known = self._cells.setdefault(column, {})
        new = [row for row in rows if row not in known]
        known.update(zip(new, self._reader.column(self._id, column, new), strict=True))
        return [known[row] for row in rows]

    @cached_property
    def _unlabelled(self) -> tuple[int, ...] | None:
        found = self._numbers("unlabelled-rows", self._graph)
        start = self.frame.structure.body_start
        return tuple(row for row in found if row >= start) if len(found) <= MOST_SPECIAL else None

    def _read_sketch(self, column: int) -> ColumnSketch | None:
        predicate = str(ox.NamedNode(self._predicate(column)))
        units = list(self._found("column-units", self._graph, predicate))
        # An aggregate over nothing may give a row of nothing.
        units = [found for found in units if found["unit"] is not None]
        if len(units) > 1 or any(_number(found["ranges"]) for found in units):
            return None
        texts = list(self._found("column-texts", self._graph, predicate, str(column)))
        if len(texts) > MOST_DIFFERENT:
            return None
        firsts = (found["first"] for found in chain(units, texts))
        rows = {_number(first) for first in firsts if first is not None}
        return ColumnSketch(tuple(sorted(rows)), bool(units))

    def _predicate(self, column: int) -> str:
        return self._reader.frame(self._id).predicates[column]

    def _numbers(self, name: str, *values: str) -> list[int]:
        return [_number(found["number"]) for found in self._found(name, *values)]

    def _found(self, name: str, *values: str) -> Iterator[ox.QuerySolution]:
        query = with_values(read_shipped(f"queries/remote/{name}.rq"), [values])
        solutions = self._store.query(query)
        assert isinstance(solutions, ox.QuerySolutions)
        yield from solutions


def _number(term: object) -> int:
    assert isinstance(term, ox.Literal)
    return int(term.value)
