"""Rows out of a whole table."""

from __future__ import annotations

from collections.abc import Mapping

from kgtable.answering.evidence import Quantity, TableRow
from kgtable.tables.model import Position, Table


def body_rows(table: Table) -> int:
    """How many rows of the body are no groups."""
    return sum(row not in table.structure.groups for row, _ in table.body())


def row_of(table: Table, row: int, quantities: Mapping[Position, Quantity]) -> TableRow | None:
    """One row of a whole table with its numbers, or None where there is none."""
    if not 0 <= row < len(table.grid.head):
        return None
    cells = table.grid.head[row]
    found = ((column, quantities.get((row, column))) for column in range(len(cells)))
    numbers = {column: number for column, number in found if number is not None}
    return TableRow(cells, table.structure.parents.get(row), numbers)
