"""Evidence for an answer: the retrieved triples, their tables, and short ids to cite cells by."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import chain, islice
from typing import Any, Protocol

from kgtable.graph.table_content import CellContent
from kgtable.graph.table_decoder import DecodedTable, TableFrame, TableRow
from kgtable.index.inferred.relations import TableRelations
from kgtable.retrieval.result import Retrieval
from kgtable.tables.model import Position, Table
from kgtable.values.units import SCALE_POWERS

_TEXT_ID = re.compile(r"\[?\(?\s*T(\d{1,6})\.(title|note)(?:\.(\d{1,4}))?\s*\)?\]?", re.IGNORECASE)
_CELL_ID = re.compile(r"\[?\(?\s*T(\d{1,6})[.,]\s?r(\d{1,9})[.,]\s?c(\d{1,6})\s*\)?\]?", re.IGNORECASE)
CELL_ID = re.compile(r"\bT\d{1,6}\.r\d{1,9}\.c\d{1,6}\b")
"""A cell's short id inside a text."""

SURE_TABLES = 2
"""Number of tables that count as likely with any score, along with those that join them."""

MOST_TABLES = 20
LEAST_SHARE = 0.02
"""Tables with a smaller share of the best one's score only share words with the question."""

MOST_FURTHER = 5
FURTHER_SHARE = 0.005
"""The same for a table that is named without its rows."""


class TableSource(Protocol):
    """Protocol of a source of tables and their numbers: a graph, or tables in memory.

    All methods that take an id raise `GraphNotFoundError` if there is no such table.
    """

    def frame(self, id: str) -> TableFrame:
        """The table; only the rows above the body and the groups need be present."""
        ...

    def row(self, id: str, row: int) -> TableRow | None:
        """One row of the grid, or None if there is none."""
        ...

    def rows(self, id: str, rows: Iterable[int]) -> Mapping[int, TableRow]:
        """The existing rows of the grid among these, by number."""
        ...

    def fetch(self, wanted: Mapping[str, Collection[int]]) -> object:
        """Prefetch the frames of these tables and these rows of them in one batch."""
        ...

    def table(self, id: str) -> Table:
        """The whole table."""
        ...

    def decoded(self, id: str) -> DecodedTable:
        """The whole table with the values of its cells and the meaning of its rows and columns."""
        ...

    def quantities(self, id: str) -> Mapping[Position, CellContent]:
        """The numbers of the table's body cells by grid position."""
        ...

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI by which a cell is cited: its own node, or that of its row if it is only a literal."""
        ...


@dataclass(frozen=True, slots=True)
class Citation:
    """A cell that an answer rests on: IRI, table id, grid position, text as printed, file.

    The IRI is that of the cell's own node (numbers, header cells), or of its row, which says a text by
    `predicate` (an IRI; empty above the body): it is a subject in the graph either way.
    `unit` is a QUDT local name, `scale` one of ``T M B TN``; `label` names the row, `header` the column; `value` is the
    exact number, with the scale applied.
    """

    cell: str
    table: str
    row: int
    column: int
    text: str
    file: str
    label: str = ""
    header: str = ""
    value: Decimal | None = None
    unit: str | None = None
    scale: str | None = None
    predicate: str = ""
    per: str | None = None
    """The denominator of the unit, such as a share, if QUDT has no such unit."""

    @property
    def power(self) -> int:
        """The power of ten that the scale stands for."""
        return SCALE_POWERS.get(self.scale or "", 0)

    def to_json(self) -> dict[str, Any]:
        """The object of the ``ask --json`` contract."""
        names = ("cell", "table", "row", "column", "text", "file")
        return {name: getattr(self, name) for name in names}


class Evidence:
    """A retrieval together with the tables it comes from.

    Tables are named T1, T2, … by falling score, the likely ones first, and cells ``T1.r3.c2`` by grid row and column.
    """

    def __init__(
        self, retrieval: Retrieval, source: TableSource, relations: Callable[[], TableRelations] | None = None
    ) -> None:
        """`relations` returns the joins that the graph states, on demand."""
        self.retrieval = retrieval
        self.source = source
        self._relations = relations
        self.most = MOST_TABLES
        """Tables that may be shown."""

    @cached_property
    def relations(self) -> TableRelations:
        """The joins and unions of the graph's tables; none if unknown."""
        return TableRelations() if self._relations is None else self._relations()

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The ids of all tables with a retrieved triple or a score, the best first."""
        ranked = [found.table for found in self.retrieval.tables]
        return tuple(dict.fromkeys([*ranked, *(found.table for found in self.retrieval.addresses)]))

    def best(self, count: int) -> Evidence:
        """The same evidence with only the `count` best tables."""
        found = Evidence(self.retrieval, self.source, self._relations)
        found.tables, found.most = self.tables[:count], count
        return found

    @cached_property
    def likely(self) -> tuple[str, ...]:
        """The tables worth showing, the best first: near the best one's score, or joined with it."""
        scores = {found.table: found.score for found in self.retrieval.tables}
        least = LEAST_SHARE * max(scores.values(), default=0.0)
        joined = set(chain.from_iterable(map(self.relations.neighbours, self.tables[:SURE_TABLES])))
        ranked = enumerate(self.tables[: self.most])
        return tuple(id for n, id in ranked if n < SURE_TABLES or scores.get(id, least) >= least or id in joined)

    @cached_property
    def further(self) -> tuple[str, ...]:
        """The tables after the likely ones that are worth naming."""
        scores = {found.table: found.score for found in self.retrieval.tables}
        least = FURTHER_SHARE * max(scores.values(), default=0.0)
        others = (id for id in self.tables[: self.most] if id not in self.likely and scores.get(id, least) >= least)
        return tuple(islice(others, MOST_FURTHER))

    @cached_property
    def named(self) -> tuple[str, ...]:
        """All tables in the order of their short names: T1 is the first."""
        return tuple(dict.fromkeys((*self.likely, *self.further, *self.tables)))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {table: number for number, table in enumerate(self.named, 1)}

    def alias(self, table: str) -> str:
        """The short name of a table of this retrieval."""
        return f"T{self._numbers[table]}"

    def cell_id(self, table: str, row: int, column: int) -> str:
        """The short id of a cell."""
        return f"{self.alias(table)}.r{row}.c{column}"

    def resolve(self, cell_id: str) -> Citation | None:
        """The cell with this short id, or None if no such cell holds text."""
        match = _CELL_ID.fullmatch(cell_id.strip()) or _TEXT_ID.fullmatch(cell_id.strip())
        if match is None or not 0 < int(match[1]) <= len(self.named):
            return None
        table = self.named[int(match[1]) - 1]
        if match.re is _CELL_ID:
            return self.cell(table, int(match[2]), int(match[3]))
        return self._text_cell(table, 0 if match[2].casefold() == "title" else int(match[3] or 1))

    def _text_cell(self, table: str, note: int) -> Citation | None:
        """The first cell of a table's title above its header, or of one of its notes by number; None if it has none."""
        structure = self.source.table(table).structure if note else self.source.frame(table).table.structure
        rows = sorted(structure.footnotes)[note - 1 : note] if note else structure.titles
        width = self.source.frame(table).table.grid.width
        cells = (self.cell(table, row, column) for row in rows for column in range(width))
        return next(filter(None, cells), None)

    def cell(self, table: str, row: int, column: int) -> Citation | None:
        """The cell at a grid position, or None if the table holds no text there."""
        frame = self.source.frame(table).table
        found = self.source.row(table, row)
        if found is None or column >= len(found.cells) or not found.cells[column].strip():
            return None
        structure = frame.structure
        body = row >= structure.body_start
        label = found.cells[structure.label_column] if structure.label_column < len(found.cells) else ""
        header = structure.columns[column].name if column < len(structure.columns) else ""
        quantity = found.quantity(column)
        predicates = self.source.frame(table).predicates if body else ()
        return Citation(
            self.source.cell_iri(table, row, column),
            table,
            row,
            column,
            found.cells[column],
            frame.grid.source.path,
            " ".join(label.split()) if body else "",
            header,
            quantity.number if quantity else None,
            quantity.unit if quantity else None,
            quantity.scale if quantity else None,
            predicates[column] if column < len(predicates) else "",
            quantity.per if quantity else None,
        )

    def group_path(self, table: str, row: int) -> tuple[int, ...]:
        """The group rows above a row, the outermost first."""
        found = self.source.row(table, row)
        if found is None or found.parent is None:
            return ()
        return (*self.source.frame(table).table.group_path(found.parent), found.parent)
