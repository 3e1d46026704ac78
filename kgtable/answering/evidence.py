"""What an answer may stand on: the retrieved triples, their tables, and short ids to cite cells by."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Protocol

from kgtable.retrieval.result import Retrieval, ScoredTriple
from kgtable.tables.model import Position, Row, Table

_CELL_ID = re.compile(r"\[?\(?\s*T(\d{1,6})[.,]\s?r(\d{1,9})[.,]\s?c(\d{1,6})\s*\)?\]?", re.IGNORECASE)
CELL_ID = re.compile(r"\bT\d{1,6}\.r\d{1,9}\.c\d{1,6}\b")
"""A cell's short id inside a text."""

MOST_CELLS = 50_000
"""How many cells a table may have to be read as a whole for one question."""

_POWERS = {"T": 3, "M": 6, "B": 9, "TN": 12}


@dataclass(frozen=True, slots=True)
class CellQuantity:
    """A cell's number as the graph holds it: exact, scale applied; `scale` is one of ``T M B TN``."""

    value: Decimal
    unit: str | None = None
    scale: str | None = None


@dataclass(frozen=True, slots=True)
class TableFrame:
    """A table of which body rows may be missing (they are blank then), and how many it has."""

    table: Table
    body_rows: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its cells' texts, the group row above it, and its numbers by column."""

    cells: Row
    parent: int | None
    quantities: Mapping[int, CellQuantity]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A table with its numbers; `missing` is how many of its body rows were not read."""

    table: Table
    quantities: Mapping[Position, CellQuantity]
    missing: int = 0


class TableSource(Protocol):
    """Where tables and their numbers are read from: a graph, or tables in memory.

    All methods that take an id raise `GraphNotFoundError` where there is no such table.
    """

    def frame(self, id: str) -> TableFrame:
        """The table, of which only the rows above the body and the groups need be there."""
        ...

    def row(self, id: str, row: int) -> TableRow | None:
        """One row of the grid, or None where there is none."""
        ...

    def table(self, id: str) -> Table:
        """The whole table."""
        ...

    def quantities(self, id: str) -> Mapping[Position, CellQuantity]:
        """The numbers of the table's body cells by grid position."""
        ...

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI by which a cell is cited."""
        ...


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with all that is needed to cite and to check it.

    `text` is as printed; `value` exact with the scale applied; `label` names its row, `header` its column.
    """

    iri: str
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

    @property
    def power(self) -> int:
        """The power of ten that the scale stands for."""
        return _POWERS.get(self.scale or "", 0)


class Evidence:
    """A retrieval together with the tables it comes from.

    Tables are named T1, T2, … by falling score, and cells ``T1.r3.c2`` by grid row and column.
    """

    def __init__(self, retrieval: Retrieval, source: TableSource) -> None:
        self.retrieval = retrieval
        self.source = source

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The ids of all tables with a retrieved triple or a score, the best first."""
        ranked = [found.table for found in self.retrieval.tables]
        return tuple(dict.fromkeys([*ranked, *(triple.table for triple in self.retrieval.triples)]))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {table: number for number, table in enumerate(self.tables, 1)}

    @cached_property
    def _retrieved(self) -> dict[tuple[str, int, int], ScoredTriple]:
        return {(triple.table, triple.row, triple.column): triple for triple in self.retrieval.triples}

    def alias(self, table: str) -> str:
        """The short name of a table of this retrieval."""
        return f"T{self._numbers[table]}"

    def cell_id(self, table: str, row: int, column: int) -> str:
        """The short id of a cell."""
        return f"{self.alias(table)}.r{row}.c{column}"

    def resolve(self, cell_id: str) -> Cell | None:
        """The cell with this short id, or None where no such cell holds text."""
        match = _CELL_ID.fullmatch(cell_id.strip())
        if match is None:
            return None
        number, row, column = map(int, match.groups())
        if not 0 < number <= len(self.tables):
            return None
        return self.cell(self.tables[number - 1], row, column)

    def cell(self, table: str, row: int, column: int) -> Cell | None:
        """The cell at a grid position, or None where the table holds no text there."""
        frame = self.source.frame(table).table
        found = self.source.row(table, row)
        if found is None or column >= len(found.cells) or not found.cells[column].strip():
            return None
        structure = frame.structure
        body = row >= structure.body_start
        label = found.cells[structure.label_column] if structure.label_column < len(found.cells) else ""
        header = structure.columns[column].name if column < len(structure.columns) else ""
        quantity = self._quantity(table, row, column) or found.quantities.get(column)
        return Cell(
            self.source.cell_iri(table, row, column),
            table,
            row,
            column,
            found.cells[column],
            frame.grid.source.path,
            " ".join(label.split()) if body else "",
            header,
            quantity.value if quantity else None,
            quantity.unit if quantity else None,
            quantity.scale if quantity else None,
        )

    def group_path(self, table: str, row: int) -> tuple[int, ...]:
        """The group rows above a row, the outermost first."""
        found = self.source.row(table, row)
        if found is None or found.parent is None:
            return ()
        return (*self.source.frame(table).table.group_path(found.parent), found.parent)

    def excerpt(self, table: str) -> Excerpt:
        """The whole table, or of a long one the rows of which something was retrieved, the others blank."""
        frame = self.source.frame(table)
        if frame.body_rows * len(frame.table.columns) <= MOST_CELLS:
            return Excerpt(self.source.table(table), self.source.quantities(table))
        found = {
            triple.row: self.source.row(table, triple.row)
            for triple in self.retrieval.triples
            if triple.table == table
        }
        above = frame.table.grid.head
        cells = {row: known.cells for row, known in found.items() if known is not None}
        last = max([len(above) - 1, *cells])
        rows = tuple(cells.get(row) or (above[row] if row < len(above) else ()) for row in range(last + 1))
        structure = frame.table.structure
        parents = {row: known.parent for row, known in found.items() if known and known.parent is not None}
        partial = Table(
            replace(frame.table.grid, rows=rows),
            replace(structure, parents={**structure.parents, **parents}),
        )
        numbers = {
            (row, column): quantity
            for row, known in found.items()
            if known is not None
            for column, quantity in known.quantities.items()
        }
        return Excerpt(partial, numbers, frame.body_rows - len(cells))

    def _quantity(self, table: str, row: int, column: int) -> CellQuantity | None:
        triple = self._retrieved.get((table, row, column))
        if triple is None or triple.value is None or triple.unit is None:
            return None
        try:
            return CellQuantity(Decimal(triple.value), triple.unit, triple.scale)
        except InvalidOperation:
            return None
