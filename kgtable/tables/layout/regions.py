"""Several tables on one sheet: blocks set apart by blank rows and columns, or by a header between figures.

A part keeps the positions of its sheet: the cells of the other parts are left out of it, so that
references stay those of the spreadsheet and the parts laid over each other are the sheet again. Where
it is not clear that there are several tables, the sheet stays whole and a notice says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from kgtable.tables.layout.cell_roles import Look, blank, filled, look
from kgtable.tables.layout.line_classes import DOUBTFUL, LineReading, read_lines
from kgtable.tables.model import Area, Grid, Notice, Position, Row

MOST_CELLS = 2_000_000
"""Larger sheets are one table each."""
MOST_PARTS = 200
DEEPEST = 4
SAMPLE_ROWS = 200

_DIGITS = re.compile(r"[0-9]+")
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows that no blank row interrupts, within some columns of a sheet."""

    top: int
    bottom: int
    rows: Sequence[Row]
    wide: Sequence[int]
    """The positions of its rows that hold more than one text."""


def split_regions(grid: Grid, begins: Sequence[int] | None = None) -> list[Grid]:
    """The tables of a sheet, from the top and the left; the grid itself where there is one.

    `begins` are the rows at which a user says that its second and further tables begin; None has them found.
    """
    if begins is not None:
        return _cut_at(grid, begins)
    if grid.streamed or len(grid.head) * grid.width > MOST_CELLS:
        return [grid]
    whole = Area(0, 0, len(grid.head) - 1, grid.width - 1)
    areas = list(_areas(grid.head, whole, DEEPEST, read_lines(grid)))[: MOST_PARTS + 1]
    if not 1 < len(areas) <= MOST_PARTS:
        return [grid]
    return [_part(grid, area, number, areas) for number, area in enumerate(areas)]


def _cut_at(grid: Grid, begins: Sequence[int]) -> list[Grid]:
    """The tables that a user says a sheet has; a row that no table can begin at is reported in a notice."""
    end = 1 if grid.streamed else len(grid.head)
    beyond = [row + 1 for row in begins if not 0 < row < end]
    if beyond:
        fault = (
            f"no table can begin at row {beyond[0]}: {'the file is too large' if grid.streamed else 'not a lower row'}"
        )
        grid = replace(grid, notices=(*grid.notices, Notice("tables", fault, grid.source.path, grid.source.sheet)))
    tops = (0, *(row for row in begins if 0 < row < end), end)
    areas = [Area(top, 0, below - 1, grid.width - 1) for top, below in pairwise(tops)]
    return [grid] if len(areas) == 1 else [_part(grid, area, number, areas) for number, area in enumerate(areas)]


def _areas(rows: Sequence[Row], area: Area, depth: int, lines: LineReading | None) -> Iterator[Area]:
    """The tables within an area: by the classes of the lines that go over its whole width, then by blank columns."""
    parts = [area] if lines is None else _cut_lines(rows, area, lines)
    if len(parts) == 1 and len(parts := _cut_columns(rows, area)) > 1:
        lines = None
    if depth == 0 or len(parts) == 1:
        yield area
        return
    for part in parts:
        yield from _areas(rows, part, depth - 1, lines)


def _cut_lines(rows: Sequence[Row], area: Area, lines: LineReading) -> list[Area]:
    """The area cut above each header, with the text above it, that follows the body or the notes of another table.

    A header of one cell is a heading. One that repeats the header above continues its table if it is right
    below the data; set off, it begins a table, also with another text over the labels, against the trees if need be. So
    does a line of names that is set off, and wider than all above it or between numbers; one that stood among the data
    never does.
    """
    starts, known, fresh, data = [area.top], set[Row](), list[int](), set[Row]()
    begin, last, widest = None, -1, 0
    for row, kind in lines.kinds.items():
        if not area.top <= row <= area.bottom:
            continue
        line = _stripped(rows[row])
        set_off = 0 <= last < row - 1
        wider = len(line) > max(widest, 1) and not any(map(_DIGITS.search, line))
        names = wider or (len(line) >= max(widest, 2) and _heads_numbers(rows, row, last))
        doubtful = lines.confidence[row] < DOUBTFUL and len(line) < widest and any(map(_DIGITS.search, line))
        heads = (kind == "h" and not doubtful) or (set_off and (names or _comes_again(line, known)))
        if kind == "m" or (heads and line not in data):
            begin = row if begin is None else begin
            fresh += [row] if kind != "m" else []
        elif kind == "n":
            begin, fresh = None, []
        else:
            header = {_stripped(rows[other]) for other in fresh}
            wide = [line for line in header if len(set(line)) > 1]
            if begin is not None and last >= 0 and wide and (last < fresh[0] - 1 or not known.issuperset(wide)):
                starts.append(begin)
                widest = 0
            known, fresh, begin, last = header or known, [], None, row
            data.add(line)
            widest = max([widest, len(line), *map(len, header)])
    bounds = [*starts, area.bottom + 1]
    return [replace(area, top=top, bottom=end - 1) for top, end in pairwise(bounds)]


def _heads_numbers(rows: Sequence[Row], row: int, last: int) -> bool:
    """Whether a line without figures has names where the line above the gap and the one below it have numbers."""
    below = rows[row + 1] if row + 1 < len(rows) else ()
    names = filled(rows[row])
    if any(_DIGITS.search(rows[row][column]) for column in names):
        return False
    both = (cells for cells in (rows[last], below) if len(cells) > max(names, default=0))
    numbers = [{column for column in names if look(cells[column]) is Look.NUMBER} for cells in both]
    return len(numbers) == 2 and bool(numbers[0] & numbers[1])


def _comes_again(line: Row, known: Iterable[Row]) -> bool:
    """Whether a line is a header again, with other numbers or another text over the labels."""
    return any(
        _without_digits(line) == _without_digits(other) or (len(line) > 2 and line[1:] == other[1:]) for other in known
    )


def _without_digits(line: Row) -> Row:
    """The texts of a header with other years or numbers; for a line without letters, nothing that another one has."""
    return tuple(_DIGITS.sub("9", text) for text in line) if any(map(str.isalpha, "".join(line))) else line


def _cells(rows: Sequence[Row], area: Area) -> list[Row]:
    return [row[area.left : area.right + 1] for row in rows[area.top : area.bottom + 1]]


def _stripped(row: Row) -> tuple[str, ...]:
    return tuple(text.strip() for text in row if not blank(text))


def _cut_columns(rows: Sequence[Row], area: Area) -> list[Area]:
    """The area cut at blank columns where both sides are tables: labels, a header, figures or texts."""
    cells = _cells(rows, area)
    width = area.right - area.left + 1
    used = {column for row in cells for column in filled(row)}
    groups: list[list[int]] = []
    for column in range(width):
        if column in used:
            if groups and groups[-1][-1] == column - 1:
                groups[-1].append(column)
            else:
                groups.append([column])
    if len(groups) < 2 or not all(_is_table(cells, group) for group in groups):
        return [area]
    return [replace(area, left=area.left + group[0], right=area.left + group[-1]) for group in groups]


def _is_table(rows: Sequence[Row], columns: Sequence[int]) -> bool:
    """Whether neighbouring columns are a table: at least two, named by a header, the first one of labels."""
    part = [row[columns[0] : columns[-1] + 1] for row in rows]
    part = [row for row in part if len(filled(row)) > 1]
    if len(columns) < 2 or len(part) < 2:
        return False
    labels = [row[0] for row in part[1 : SAMPLE_ROWS + 1] if not blank(row[0])]
    texts = sum(look(text) in (Look.TEXT, Look.DATE) for text in labels)
    named = len(filled(part[0])) == len(columns) and all(look(text) is not Look.NUMBER for text in part[0])
    return named and bool(labels) and texts * 5 >= 4 * len(labels)


def _part(grid: Grid, area: Area, number: int, areas: Sequence[Area]) -> Grid:
    """One table of a sheet, cut out: without what is above or left of it, and without the other tables."""
    rows = tuple(
        ("",) * min(area.left, len(row)) + row[area.left : area.right + 1] if index >= area.top else ()
        for index, row in enumerate(grid.head[: area.bottom + 1])
    )
    first = areas[0]
    context = grid.context
    if number and _same_header(grid.head, first, area):
        above = _shared_texts(grid.head, first, area)
        context = replace(context, heading=(*context.heading, *above))
    return replace(
        grid,
        source=replace(grid.source, number=number),
        rows=rows,
        width=max(map(len, rows)),
        context=context,
        merged=tuple(a for a in grid.merged if area.top <= a.top <= area.bottom and area.left <= a.left <= area.right),
        formats=_within(grid.formats, area),
        indents=_within(grid.indents, area),
        header_cells=frozenset(place for place in grid.header_cells if _inside(place, area)),
        notices=grid.notices if number == 0 else (),
    )


def _same_header(rows: Sequence[Row], first: Area, area: Area) -> bool:
    one, other = _header_of(rows, first), _header_of(rows, area)
    return one[1:] == other[1:] and bool(one[1:])


def _header_of(rows: Sequence[Row], area: Area) -> tuple[str, ...]:
    return next((_stripped(row) for row in _cells(rows, area) if len(filled(row)) > 1), ())


def _shared_texts(rows: Sequence[Row], first: Area, area: Area) -> tuple[str, ...]:
    """The texts above the first table that hold for another one as well.

    These are all of them where the other has no caption of its own; else those that a blank row sets off.
    """
    above = _rows_above(rows, first)
    if any(map(_stripped, _rows_above(rows, area))):
        last_blank = max((index for index, row in enumerate(above) if not _stripped(row)), default=0)
        above = above[:last_blank]
    return tuple(text for row in above for text in _stripped(row))


def _rows_above(rows: Sequence[Row], area: Area) -> list[Row]:
    cells = _cells(rows, area)
    return cells[: next((index for index, row in enumerate(cells) if len(filled(row)) > 1), 0)]


def _within(items: Mapping[Position, _Item], area: Area) -> Mapping[Position, _Item]:
    return MappingProxyType({place: item for place, item in items.items() if _inside(place, area)})


def _inside(place: Position, area: Area) -> bool:
    return area.top <= place[0] <= area.bottom and area.left <= place[1] <= area.right
