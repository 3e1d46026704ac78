"""Tables that do not begin in the first column: an empty margin is taken off and put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeVar

from kgtable.tables.model import Area, Column, Grid, Position, Structure
from kgtable.tables.structure.cells import blank

SAMPLE_ROWS = 300

_Item = TypeVar("_Item")


def left_margin(grid: Grid) -> int:
    """How many columns at the left hold nothing in the first rows of a grid; 0 where all are blank."""
    margin = grid.width
    for row in grid.head[:SAMPLE_ROWS]:
        margin = min(margin, next((column for column, text in enumerate(row) if not blank(text)), margin))
        if margin == 0:
            break
    return margin if margin < grid.width else 0


def without_margin(grid: Grid, margin: int) -> Grid:
    """The first rows of a grid without its left columns."""
    return replace(
        grid,
        rows=tuple(row[margin:] for row in grid.head),
        width=grid.width - margin,
        merged=tuple(
            Area(area.top, area.left - margin, area.bottom, area.right - margin)
            for area in grid.merged
            if area.left >= margin
        ),
        formats=_shifted(grid.formats, margin),
        indents=_shifted(grid.indents, margin),
        header_cells=frozenset(
            (row, column - margin) for row, column in grid.header_cells if column >= margin
        ),
    )


def with_margin(structure: Structure, margin: int) -> Structure:
    """The structure of a grid whose left columns were taken off."""
    columns = (
        *(Column(index) for index in range(margin)),
        *(replace(column, index=column.index + margin) for column in structure.columns),
    )
    return replace(structure, columns=columns, label_column=structure.label_column + margin)


def _shifted(items: Mapping[Position, _Item], margin: int) -> Mapping[Position, _Item]:
    return MappingProxyType(
        {(row, column - margin): item for (row, column), item in items.items() if column >= margin}
    )
