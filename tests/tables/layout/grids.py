"""Small grids written down as text."""

from __future__ import annotations

from kgtable.tables.layout.detect import detect_structure
from kgtable.tables.model import Area, Context, Grid, Source, Structure


def grid(text: str, *, merged: tuple[Area, ...] = (), context: Context | None = None) -> Grid:
    """A grid from lines of cells divided by bars; the first line break is left out."""
    rows = tuple(tuple(cell for cell in line.split("|")) for line in text.strip("\n").split("\n"))
    return Grid("t", Source("t.csv"), rows, max(map(len, rows)), context or Context(), merged)


def structure(text: str) -> Structure:
    """The structure of such a grid."""
    return detect_structure(grid(text))
