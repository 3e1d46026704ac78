"""Several tables on one sheet: blocks set apart by blank rows and columns, or by a header between figures.

A part keeps the positions of its sheet: the cells of the other parts are left out of it, so that
references stay those of the spreadsheet and the parts laid over each other are the sheet again. Where
it is not clear that there are several tables, the sheet stays whole and a notice says so.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise, takewhile
from types import MappingProxyType
from typing import TypeVar

from kgtable.tables.layout.cell_roles import Look, blank, look, profile_rows
from kgtable.tables.layout.header import filled
from kgtable.tables.layout.line_classes import FEWEST_LINES, LineReading, read_lines
from kgtable.tables.model import Area, Grid, Notice, Position, Row
from kgtable.values.unit_phrases import parse_unit_text

MOST_CELLS = 2_000_000
"""Larger sheets are one table each."""
MOST_PARTS = 200
DEEPEST = 4
SAMPLE_ROWS = 200

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
    if not _may_hold_several(grid) and not _has_inner_header(grid):
        return [grid]
    whole = Area(0, 0, len(grid.head) - 1, grid.width - 1)
    doubts: list[Area] = []
    lines = read_lines(grid)
    areas = list(_areas(grid.head, whole, doubts, DEEPEST, lines if len(lines.kinds) >= FEWEST_LINES else None))
    areas = areas[: MOST_PARTS + 1]
    if 1 < len(areas) <= MOST_PARTS:
        return [_part(grid, area, number, areas) for number, area in enumerate(areas)]
    return [replace(grid, notices=(*grid.notices, *(_doubt(grid, area) for area in doubts[:1])))]


def _cut_at(grid: Grid, begins: Sequence[int]) -> list[Grid]:
    """The tables that a user says a sheet has; a row that no table can begin at is told of in a notice."""
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


def _doubt(grid: Grid, area: Area) -> Notice:
    return Notice(
        "tables",
        "another table may begin here; the sheet was read as one table. Give it a header of its own, or a "
        "sheet of its own",
        grid.source.path,
        grid.source.sheet,
        area.top,
        area.left,
    )


def _may_hold_several(grid: Grid) -> bool:
    """Whether a blank row or column lies between others: a quick look that most tables end with."""
    seen = gap = False
    for row in grid.head:
        if all(map(blank, row)):
            gap = seen
        elif gap:
            return True
        else:
            seen = True
    open_columns = set(range(1, grid.width - 1))
    for row in grid.head:
        if not open_columns:
            return False
        open_columns.difference_update(
            [column for column in open_columns if column < len(row) and not blank(row[column])]
        )
    return bool(open_columns)


def _areas(
    rows: Sequence[Row], area: Area, doubts: list[Area], depth: int, lines: LineReading | None
) -> Iterator[Area]:
    """The tables within an area: by the classes of the lines that go over its whole width, then by rules."""
    if depth == 0:
        yield area
        return
    parts = [area] if lines is None else _cut_lines(rows, area, lines)
    if len(parts) == 1:
        parts = _cut_rows(rows, area, doubts)
    if len(parts) == 1 and len(parts := _cut_columns(rows, area)) > 1:
        lines = None
    if len(parts) == 1:
        parts = _cut_at_headers(rows, area, doubts)
    if len(parts) == 1:
        yield area
        return
    for part in parts:
        yield from _areas(rows, part, doubts, depth - 1, lines)


def _cut_lines(rows: Sequence[Row], area: Area, lines: LineReading) -> list[Area]:
    """The area cut above each header, with the text above it, that follows the body or the notes of another table.

    A header of one cell is a heading, and one that repeats the header above without a gap goes on with its table.
    """
    starts, header, fresh = [area.top], set[Row](), set[Row]()
    begin: int | None = None
    body = False
    for row, kind in lines.kinds.items():
        if not area.top <= row <= area.bottom:
            continue
        if kind in "mh":
            begin = row if begin is None else begin
            if kind == "h":
                fresh.add(_stripped(rows[row]))
        elif kind != "n":
            gap = begin is not None and begin > 0 and not _stripped(rows[begin - 1])
            if body and begin is not None and any(len(set(line)) > 1 for line in fresh if gap or line not in header):
                starts.append(begin)
            header, fresh, begin, body = fresh or header, set[Row](), None, True
        else:
            begin, fresh = None, set[Row]()
    bounds = [*starts, area.bottom + 1]
    return [replace(area, top=top, bottom=end - 1) for top, end in pairwise(bounds)]


def _cells(rows: Sequence[Row], area: Area) -> list[Row]:
    return [row[area.left : area.right + 1] for row in rows[area.top : area.bottom + 1]]


def _cut_rows(rows: Sequence[Row], area: Area, doubts: list[Area]) -> list[Area]:
    """The area cut above each block that begins a table of its own."""
    blocks = list(_blocks(_cells(rows, area)))
    starts: list[int] = []
    table: list[_Block] = []
    captions: list[_Block] = []
    for block in blocks:
        if not block.wide:
            captions.append(block)
            continue
        if any(len(before.wide) for before in table):
            begins = _begins_table(block, table)
            if begins:
                # texts alone between two tables are the caption of the lower one, notes of the upper one
                own = _captions_of(captions, block)
                starts.append(own.top if own else block.top)
                table = []
            elif begins is None:
                doubts.append(replace(area, top=area.top + block.top))
        captions = []
        table.append(block)
    bounds = [0, *starts, area.bottom - area.top + 1]
    return [replace(area, top=area.top + top, bottom=area.top + end - 1) for top, end in pairwise(bounds)]


def _captions_of(captions: Sequence[_Block], block: _Block) -> _Block | None:
    """The texts alone nearest above a block, if no more blank rows part them from it than from what is above."""
    return captions[-1] if captions and block.top - captions[-1].bottom <= 2 else None


def _blocks(rows: Sequence[Row]) -> Iterator[_Block]:
    start: int | None = None
    for index, row in enumerate([*rows, ()]):
        if any(not blank(text) for text in row):
            start = index if start is None else start
        elif start is not None:
            held = rows[start:index]
            yield _Block(start, index - 1, held, _wide(held))
            start = None


def _wide(rows: Sequence[Row]) -> list[int]:
    """The positions of the rows that hold more than one text."""
    return [index for index, row in enumerate(rows) if len(filled(row)) > 1]


def _begins_table(block: _Block, above: Sequence[_Block]) -> bool | None:
    """Whether a block is a table of its own below the others; None where that is not clear.

    It looks no farther up than it must, for a sheet may have a hundred thousand blocks.
    """
    wide = block.wide
    first = block.rows[wide[0]]
    if len(wide) < 2 or len(list(islice(chain.from_iterable(part.wide for part in above), 2))) < 2:
        return False
    if all(len(part.rows) == 1 and len(filled(part.rows[0])) * 2 < len(filled(first)) for part in reversed(above)):
        return False  # pairs of name and value, each set apart
    header_above = next(part.rows[part.wide[0]] for part in above if part.wide)
    if _stripped(first) == _stripped(header_above):
        return True
    lower = block.rows[wide[0] :]
    width = max(map(len, lower))
    profile = profile_rows([(), *lower], width)
    header, body = profile.votes(first)
    below = [row for row in lower[1:] if len(filled(row)) > 1]
    if header and not body and profile.numeric <= {0, *filled(first)}:
        return _names_differ(first, header_above)
    if profile.numeric or body:
        return False
    upper = [row for part in above[-SAMPLE_ROWS:] for row in part.rows[-SAMPLE_ROWS:]][-SAMPLE_ROWS:]
    upper_profile = profile_rows(upper, max(map(len, upper)))
    clash = [c for c in filled(first) if c in upper_profile.numeric and _is_of_text(below, c)]
    same_extent = filled(first)[-1] == max(filled(row)[-1] for row in upper if filled(row))
    if clash and len(below) > 1:
        return True if not same_extent else None
    return False if same_extent else None


def _is_of_text(rows: Sequence[Row], column: int) -> bool:
    texts = [row[column] for row in rows if column < len(row) and not blank(row[column])]
    return bool(texts) and all(look(text) is Look.TEXT for text in texts)


def _names_differ(first: Row, header_above: Row) -> bool:
    """Whether a header says anything that the one above does not: else it heads a section of the same."""
    return bool(set(_stripped(first)) - set(_stripped(header_above)))


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


FEWEST_ROWS = 2
"""So many rows of figures stand above and below a header that no blank row sets off."""
LONGEST_NAME = 60
_DIGIT = re.compile(r"[0-9]")


def _has_inner_header(grid: Grid) -> bool:
    """Whether words interrupt the figures of all columns: a quick look that most tables end with."""
    numeric = sorted(profile_rows(grid.head, grid.width).numeric - {0})
    if not numeric:
        return False
    first = numeric[0]
    return any(
        first < len(row) and not blank(row[first]) and _DIGIT.search(row[first]) is None and _is_worded(row)
        for row in grid.head[1 + FEWEST_ROWS : len(grid.head) - FEWEST_ROWS]
    )


def _is_worded(row: Row) -> bool:
    """Whether a row begins with a name and holds others, and no figure."""
    columns = filled(row)
    return (
        len(columns) > 1
        and columns[0] == 0
        and all(look(row[column]) in (Look.TEXT, Look.UNIT) and len(row[column]) <= LONGEST_NAME for column in columns)
    )


def _cut_at_headers(rows: Sequence[Row], area: Area, doubts: list[Area]) -> list[Area]:
    """The area cut above each header between figures that no blank row sets off, with the caption above it."""
    cells = _cells(rows, area)
    starts: list[int] = []
    wide = _wide(cells)
    header = wide[0] if wide else 0
    for index in range(header + 1 + FEWEST_ROWS, len(cells) - FEWEST_ROWS):
        if not _is_worded(cells[index]):
            continue
        found = _interrupts(cells, wide, header, index)
        if found is None:
            doubts.append(replace(area, top=area.top + index))
        elif found:
            starts.append(index - 1 if _is_caption(cells, index) else index)
            header = index
    bounds = [0, *starts, area.bottom - area.top + 1]
    return [replace(area, top=area.top + top, bottom=area.top + end - 1) for top, end in pairwise(bounds)]


def _interrupts(cells: Sequence[Row], wide: Sequence[int], header: int, index: int) -> bool | None:
    """Whether a row of names between figures heads a table of its own; None where that is not clear.

    `wide` are the rows of more than one text.
    """
    row, above = cells[index], cells[header]
    columns = filled(row)
    lower = list(takewhile(lambda line: not _is_worded(line), cells[index + 1 : index + 1 + SAMPLE_ROWS]))
    lower = [line for line in lower if len(filled(line)) > 1]
    end = bisect_left(wide, index)
    upper = [cells[line] for line in wide[max(bisect_right(wide, header), end - SAMPLE_ROWS) : end]]
    if min(len(upper), len(lower)) < FEWEST_ROWS:
        return False
    names = [row[column].strip().casefold() for column in columns]
    known = {text.casefold() for text in _stripped(above)}
    covers = {column for line in lower for column in filled(line)} <= set(columns)
    if not covers or len(set(names)) < len(names) or known & set(names):
        return False
    interrupted = [c for c in columns[1:] if _is_of_figures(upper, c) and _is_of_figures(lower, c)]
    if not interrupted:
        return False
    other_extent = columns[-1] != filled(above)[-1]
    with_unit = any(parse_unit_text(row[column]) is not None for column in interrupted)
    if with_unit or other_extent or _is_caption(cells, index):
        return True
    return None if len(interrupted) > 1 else False


def _is_of_figures(rows: Sequence[Row], column: int) -> bool:
    looks = [look(row[column]) for row in rows[-SAMPLE_ROWS:] if column < len(row) and not blank(row[column])]
    figures = sum(found in (Look.NUMBER, Look.YEAR) for found in looks)
    return figures >= FEWEST_ROWS and all(found is not Look.TEXT for found in looks)


def _is_caption(cells: Sequence[Row], index: int) -> bool:
    """Whether the row above one holds nothing but a text at its left."""
    return filled(cells[index - 1]) == [0] and look(cells[index - 1][0]) is Look.TEXT


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
    """The rows of an area above its first row of several cells."""
    cells = _cells(rows, area)
    return cells[: next((index for index, row in enumerate(cells) if len(filled(row)) > 1), 0)]


def _within(items: Mapping[Position, _Item], area: Area) -> Mapping[Position, _Item]:
    return MappingProxyType({place: item for place, item in items.items() if _inside(place, area)})


def _inside(place: Position, area: Area) -> bool:
    return area.top <= place[0] <= area.bottom and area.left <= place[1] <= area.right
