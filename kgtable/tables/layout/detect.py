"""The structure of a grid: header, label column, groups, totals, footnotes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from kgtable.tables.layout.cell_roles import blank
from kgtable.tables.layout.column_shapes import SAMPLE_ROWS, Profile, profile_rows
from kgtable.tables.layout.groups import Groups, find_groups
from kgtable.tables.layout.header import TOP_ROWS, HeaderRows, find_header
from kgtable.tables.layout.header_paths import make_columns
from kgtable.tables.layout.label_column import find_label_column, left_margin, with_margin, without_margin
from kgtable.tables.layout.notes import find_footnotes, find_marks, find_parts
from kgtable.tables.model import Grid, Structure, Table


def detect_structure(grid: Grid) -> Structure:
    """What the rows and columns of a grid are, by looking at no more than `grid.head`.

    Groups, totals and footnotes of a streamed table are not looked for: its end is not in sight.

    >>> from kgtable.tables.model import Source
    >>> rows = (("", "2019", "2018"), ("Sales", "5", "4"))
    >>> detect_structure(Grid("t", Source("t.csv"), rows, width=3)).header
    (0,)
    """
    if not grid.streamed and (top := _blank_top(grid)):
        return _lowered(detect_structure(_without_top(grid, top)), top)
    margin = left_margin(grid)
    inner = without_margin(grid, margin) if margin else grid
    profile = profile_rows(inner.head, inner.width)
    found = find_header(inner, inner.head[:TOP_ROWS], profile)
    structure = _with_columns(inner, found)
    if not grid.streamed:
        structure = _with_body(inner, structure, found, profile)
    return with_margin(structure, margin) if margin else structure


FEWEST_BLANK = 4
"""Fewer blank rows at the top of a grid than this are found with its titles."""


def _blank_top(grid: Grid) -> int:
    """How many blank rows stand above a table that begins far down its sheet; 0 if few or all are blank."""
    count = next((index for index, row in enumerate(grid.head) if not all(map(blank, row))), 0)
    return count if count >= FEWEST_BLANK else 0


def _without_top(grid: Grid, top: int) -> Grid:
    return replace(
        grid,
        rows=grid.head[top:],
        merged=tuple(replace(a, top=a.top - top, bottom=a.bottom - top) for a in grid.merged if a.top >= top),
        formats={(row - top, column): code for (row, column), code in grid.formats.items() if row >= top},
        indents={(row - top, column): level for (row, column), level in grid.indents.items() if row >= top},
        header_cells=frozenset((row - top, column) for row, column in grid.header_cells if row >= top),
    )


def _lowered(structure: Structure, top: int) -> Structure:
    """The structure of a grid whose blank rows at the top were taken off."""

    def down(rows: Iterable[int]) -> frozenset[int]:
        return frozenset(row + top for row in rows)

    return replace(
        structure,
        titles=(*range(top), *(row + top for row in structure.titles)),
        header=tuple(row + top for row in structure.header),
        unit_rows=down(structure.unit_rows),
        body_start=structure.body_start + top,
        groups=down(structure.groups),
        parents=MappingProxyType({row + top: head + top for row, head in structure.parents.items()}),
        totals=down(structure.totals),
        footnotes=down(structure.footnotes),
        of_which=down(structure.of_which),
    )


def _with_columns(grid: Grid, found: HeaderRows) -> Structure:
    """The structure as far as the first rows show it: header, columns, and the one that names rows."""
    rows = grid.head
    names = [""] * grid.width
    for row in found.header:
        for column, text in enumerate(rows[row][: grid.width]):
            names[column] = names[column] or text.strip()
    sample = [
        row for row in rows[found.body_start : found.body_start + SAMPLE_ROWS] if not all(map(blank, row))
    ]
    label_column = find_label_column(sample, grid.width, names)
    columns = make_columns(rows, found, grid.width, label_column, grid.merged)
    corner = " ".join(
        filter(
            None,
            (
                rows[row][label_column].strip()
                for row in (*found.header, *found.stated)
                if label_column < len(rows[row])
            ),
        )
    )
    return Structure(
        columns=columns,
        titles=found.titles,
        header=found.header,
        unit_rows=found.unit_rows,
        body_start=found.body_start,
        label_column=label_column,
        corner=corner,
    )


def _with_body(grid: Grid, structure: Structure, found: HeaderRows, profile: Profile) -> Structure:
    """The structure with what the body shows: groups, totals, parts of other rows, footnotes and marks."""
    body = dict(enumerate(grid.head[structure.body_start :], structure.body_start))
    footnotes = find_footnotes(body, grid.width)
    data = {index: row for index, row in body.items() if index not in footnotes}
    marks = find_marks(grid, structure.header, data.values(), footnotes)
    groups = find_groups(grid, found, data, structure.label_column, profile)
    return replace(
        structure,
        groups=frozenset(groups.heads),
        parents=MappingProxyType(groups.parents),
        totals=frozenset(groups.totals.rows),
        footnotes=footnotes,
        of_which=_with_members(find_parts(data, structure.label_column), groups),
        marks=MappingProxyType(marks),
    )


def _with_members(parts: frozenset[int], groups: Groups) -> frozenset[int]:
    """The rows that are parts of another, with those under a heading "of which"."""
    found = set(parts)
    for row, parent in sorted(groups.parents.items()):
        if parent in found:
            found.add(row)
    return frozenset(found)


def make_table(grid: Grid) -> Table:
    """The grid with its structure."""
    return Table(grid, detect_structure(grid))
