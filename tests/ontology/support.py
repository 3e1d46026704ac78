"""Tables written down with their header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgtable.tables.model import Column, Context, Grid, Source, Structure, Table


def table(*rows: Sequence[str], header: int = 1, context: Context | None = None, **parts: Any) -> Table:
    """A table whose first rows are its header, with its corner; `parts` go to grid and structure."""
    formats: Mapping[tuple[int, int], str] = parts.pop("formats", {})
    width = max(map(len, rows))
    grid = Grid("t", Source("t.csv"), tuple(map(tuple, rows)), width, context or Context(), formats=formats)
    units = parts.get("unit_rows", frozenset())
    paths = [
        tuple(rows[row][column] for row in range(header) if row not in units and column < len(rows[row]))
        for column in range(width)
    ]
    structure = Structure(
        tuple(Column(index, path) for index, path in enumerate(paths)),
        header=tuple(range(header)),
        body_start=header,
        corner=rows[0][0] if header else "",
        **parts,
    )
    return Table(grid, structure)
