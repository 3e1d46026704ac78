"""Tables of one column of interest, and how its cells are read."""

from __future__ import annotations

from collections.abc import Sequence

from kgtable.tables.column_profile import CellValue, profile_columns, type_cell
from kgtable.tables.model import Column, Grid, Source, Structure, Table


def table(header: Sequence[str], *rows: Sequence[str]) -> Table:
    """A table with one header row, its first column the label."""
    grid = Grid("t", Source("t.csv"), (tuple(header), *map(tuple, rows)), len(header))
    columns = tuple(Column(index, (name,)) for index, name in enumerate(header))
    return Table(grid, Structure(columns, header=(0,), body_start=1))


def typed_column(name: str, *cells: str) -> list[CellValue]:
    """The values of a column that stands beside a label column."""
    made = table(("label", name), *((f"row {letter}", cell) for letter, cell in zip("abcdefgh", cells, strict=False)))
    style = profile_columns(made)[1]
    return [type_cell(cell, style) for cell in cells]


def kinds(name: str, *cells: str) -> list[str]:
    return [value.kind.value for value in typed_column(name, *cells)]
