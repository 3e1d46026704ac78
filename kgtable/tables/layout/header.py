"""The header of a table: which rows it has, and the header texts above each column.

A text that spans several columns belongs to each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgtable.tables.layout.cell_roles import (
    DEEPEST_HEADER,
    Look,
    blank,
    filled,
    is_money_or_scale,
    is_period,
    look,
)
from kgtable.tables.layout.line_classes import SURE, LineReading
from kgtable.tables.model import Area, Column, Grid, Row


@dataclass(frozen=True, slots=True)
class HeaderRows:
    """The rows above the body: titles and blank lines, header rows, and which of them hold units only.

    `stated` are first body rows that state a unit for the whole table and nothing else.
    """

    titles: tuple[int, ...] = ()
    header: tuple[int, ...] = ()
    unit_rows: frozenset[int] = frozenset()
    body_start: int = 0
    stated: tuple[int, ...] = ()


def header_of_lines(grid: Grid, lines: LineReading) -> HeaderRows:
    """The header rows: those that a file marks as such (`<th>`, a corner merged over rows), else by their classes."""
    rows = grid.head
    start = next(iter(lines.rows("gdt")), len(rows))
    header = [row for row in lines.rows("h") if row < start]
    start = header[-1] + 1 if header and start == len(rows) else start
    if not header and start in lines.kinds and len(filled(rows[start])) == 1 and lines.rows("g") in ([], [start]):
        # A first line of one cell, above lines of several, names the table and is not a row of it.
        start = next((row for row in lines.rows("gdt") if len(filled(rows[row])) > 1), start)
    if grid.header_cells:
        first = next((row for row in range(len(rows)) if row not in lines.rows("m") and filled(rows[row])), 0)
        start = _end_of_marked(grid, first)
        header = list(range(first, start))
    elif header:
        corner = max((a.bottom for a in grid.merged if a.top == header[0] and a.left == 0), default=0)
        if start <= corner < min(header[0] + DEEPEST_HEADER, len(rows)):
            header += [row for row in range(start, corner + 1) if filled(rows[row])]
            start = corner + 1
    while header and not grid.header_cells and _is_level_above(grid, header[0] - 1, lines):
        header.insert(0, header[0] - 1)
    while len(header) > 1 and not grid.header_cells and _is_beside(rows, header):
        header.pop(0)
    while header and not grid.header_cells and _is_of_body(grid, header):
        start = header.pop()
    stated = _stated_unit(rows, header[0], header[-1] + 1) if header else ()
    if stated:
        start = header.pop()
    units = frozenset(row for row in header if is_unit_row(rows[row]) or _has_units_below(rows, row, header[0]))
    if len(units) == len(header):
        units = frozenset()
    header = [row for row in range(header[0], header[-1] + 1) if row in header or filled(rows[row])] if header else []
    titles = tuple(row for row in range(start) if row not in header)
    return HeaderRows(titles, tuple(header), units, start, stated)


def _is_level_above(grid: Grid, row: int, lines: LineReading) -> bool:
    """Whether a line above the header that is not surely a title has texts of its own over most columns."""
    if lines.kinds.get(row) != "m" or lines.confidence[row] >= SURE:
        return False
    texts = [grid.head[row][column].strip() for column in filled(grid.head[row])]
    return 2 * len(texts) > grid.width and len(set(texts)) > 2


def _is_beside(rows: Sequence[Row], header: Sequence[int]) -> bool:
    """Whether the first header row is one text at the right end of the names below: a unit of the whole table."""
    columns = filled(rows[header[0]])
    right = max((column for row in header[1:] for column in filled(rows[row])), default=0)
    return len(columns) == 1 and columns[0] >= max(right, 2) and not is_period(rows[header[0]][columns[0]])


def _is_of_body(grid: Grid, header: Sequence[int]) -> bool:
    """Whether the last header row has a name and plain numbers next to it as data have, or heads what is below it.

    The latter is one text over the whole width. A row without others above or below it needs two numbers.
    """
    row = grid.head[header[-1]]
    columns = filled(row)
    lone = len(header) == 1
    if lone and (len(columns) < 3 or any(map(filled, grid.head[header[0] + 1 :]))):
        return False
    amounts = len(columns) > 1 and look(row[0]) is Look.TEXT and all(look(row[c]) is Look.NUMBER for c in columns[1:])
    return amounts or (not lone and is_one_text(row, grid.width))


_YEAR = re.compile(r"\s*(?:1[5-9]|20)\d\d\s*")


def is_one_text(row: Row, width: int) -> bool:
    """Whether one text or year is in every cell: one that was merged over the whole width."""
    same = width > 2 and len(row) == width and len(set(row)) == 1
    return same and (any(map(str.isalpha, row[0])) or bool(_YEAR.fullmatch(row[0])))


def _end_of_marked(grid: Grid, first: int) -> int:
    """The first row after those at the top whose cells are all marked as header cells."""
    end = first
    while end < min(len(grid.head), first + DEEPEST_HEADER):
        columns = filled(grid.head[end])
        if not columns or (end > first and columns == [0]) or any((end, c) not in grid.header_cells for c in columns):
            break
        end += 1
    return end


def _stated_unit(rows: Sequence[Row], first: int, end: int) -> tuple[int, ...]:
    """The last row above the figures where it holds a unit over the labels alone: "(In thousands)"."""
    last = end - 1
    if last <= first or filled(rows[last]) != [0] or not is_money_or_scale(rows[last][0]):
        return ()
    return (last,) if any(columns != [0] for columns in map(filled, rows[first:last])) else ()


def is_unit_row(row: Row) -> bool:
    """Whether a row holds units and nothing else; its first cell may also be empty or a time."""
    columns = filled(row)
    if columns == [0]:
        return is_money_or_scale(row[0])
    if columns and columns[0] == 0 and is_period(row[0]):
        columns = columns[1:]
    return bool(columns) and all(look(row[column]) is Look.UNIT for column in columns)


def _has_units_below(rows: Sequence[Row], index: int, first: int) -> bool:
    """Whether a lower header row has a name over the labels and sure units over all columns else."""
    columns = [column for column in filled(rows[index]) if column]
    return index > first and bool(columns) and all(is_money_or_scale(rows[index][column]) for column in columns)


WIDEST_CENTRED = 300


def make_columns(
    rows: Sequence[Row], found: HeaderRows, width: int, label_column: int, merged: Sequence[Area]
) -> tuple[Column, ...]:
    """One `Column` for each of `width` grid columns.

    Texts of unit rows are left out of a path unless two columns would have the same path without them.
    """
    levels = spread_header(rows, found, width, merged)
    named = [levels[row] for row in found.header if row not in found.unit_rows]
    paths = [_path(_joined_lines(named, column)) for column in range(width)]
    if label_column < width:
        paths[label_column] = tuple(part for part in paths[label_column] if not is_money_or_scale(part))
    if found.unit_rows:
        units = [levels[row] for row in found.header if row in found.unit_rows]
        counts: dict[tuple[str, ...], int] = {}
        for path in paths:
            counts[path] = counts.get(path, 0) + 1
        for column, path in enumerate(paths):
            if counts[path] > 1 and column != label_column:
                paths[column] = _path([*path, *(level[column] for level in units)])
    return tuple(Column(index, path) for index, path in enumerate(paths))


def _joined_lines(levels: Sequence[Sequence[str]], column: int) -> list[str]:
    """The texts above a column, with one that is broken over lines put together: "Per", "cent"."""
    parts: list[str] = []
    for number, level in enumerate(levels):
        text = level[column]
        goes_on = text[:1].islower() and look(text) is not Look.UNIT and level.count(text) == 1
        if number and goes_on and parts[-1] and levels[number - 1].count(levels[number - 1][column]) == 1:
            upper = parts.pop()
            text = upper + text if upper[-1] in "-/" else f"{upper} {text}"
        parts.append(text)
    return parts


def spread_header(
    rows: Sequence[Row], found: HeaderRows, width: int, merged: Sequence[Area] = ()
) -> Mapping[int, tuple[str, ...]]:
    """For each header row the text that is above each column, spanning texts repeated."""
    areas: dict[int, list[Area]] = {}
    for area in merged:
        if area.top in found.header and area.right > area.left:
            areas.setdefault(area.top, []).append(area)
    levels: dict[int, tuple[str, ...]] = {}
    bounds: set[int] = {1}
    for position, row in enumerate(found.header):
        texts = [rows[row][column].strip() if column < len(rows[row]) else "" for column in range(width)]
        own = {column for column, text in enumerate(texts) if text}
        below = [rows[lower] for lower in found.header[position + 1 :]]
        if row in areas:
            for area in areas[row]:
                for column in range(area.left, min(area.right, width - 1) + 1):
                    texts[column] = texts[area.left]
        elif row in found.unit_rows:
            _spread_right(texts, set(range(1, width)), {1})
        elif below:
            named_below = {column for lower in below for column in filled(lower) if column < width}
            _spread(texts, named_below | own, bounds, below)
        bounds |= {column for column in range(1, width) if column in own and texts[column] != texts[column - 1]}
        levels[row] = tuple(texts)
    return levels


def _spread(texts: list[str], open_columns: set[int], bounds: set[int], below: Sequence[Row]) -> None:
    """Fill the empty cells of an upper header row, in place.

    A text at the left of its columns goes on to the right until the next text or the boundary of a
    level above. If columns are left of the first text, texts are in the middle of theirs.
    """
    width = len(texts)
    own = [column for column in range(1, width) if texts[column]]
    if not own:
        if texts[0] and is_period(texts[0]):
            for column in sorted(open_columns - {0}):
                texts[column] = texts[0]
            texts[0] = ""
        return
    if len(own) == 1 and is_period(texts[own[0]]):
        periods = {column for row in below for column in _columns_of_periods(row, width)}
        if len(periods) > 1:
            open_columns &= set(range(min(periods), max(periods) + 1))
    if len(bounds) > 1 or own[0] == 1 or width > WIDEST_CENTRED or not open_columns & set(range(1, own[0])):
        _spread_right(texts, open_columns, bounds | _line_breaks(texts, below))
    elif len(own) > 1:
        _spread_centred(texts, own, open_columns)
    elif is_period(texts[own[0]]) or own[0] * 2 == width:
        for column in sorted(open_columns - {0}):
            texts[column] = texts[own[0]]
    elif own[0] < width - 1 or width == 3:
        _spread_over_alike(texts, own[0], below)


def _columns_of_periods(row: Row, width: int) -> Iterator[int]:
    """The columns that a period of a header row spans."""
    current = ""
    for column in range(1, width):
        text = row[column] if column < len(row) else ""
        current = current if blank(text) else text
        if is_period(current):
            yield column


def _spread_centred(texts: list[str], own: Sequence[int], open_columns: set[int]) -> None:
    """Spread texts that are in the middle of their columns, in place."""
    start = 1
    for place, end in zip(own, _ends_of_centred(own, max(open_columns | set(own))), strict=True):
        for column in range(start, end + 1):
            if column in open_columns:
                texts[column] = texts[place]
        start = end + 1


def _ends_of_centred(own: Sequence[int], last: int) -> tuple[int, ...]:
    """The last column of each text's share of columns 1 to `last`.

    The texts are nearest to the middles of their shares; among equally near divisions, shares are as equal
    as can be, and the first ones larger.

    >>> _ends_of_centred([2, 4], 4), _ends_of_centred([2, 5], 6)
    ((3, 4), (3, 6))
    """
    states: dict[int, tuple[float, int, tuple[int, ...]]] = {0: (0.0, 0, ())}
    for number, place in enumerate(own):
        ends = range(place, own[number + 1]) if number + 1 < len(own) else (last,)
        states = {
            end: min(
                (off + abs((start + 1 + end) / 2 - place), squares + (end - start) ** 2, (*path, -end))
                for start, (off, squares, path) in states.items()
            )
            for end in ends
        }
    return tuple(-end for end in states[last][2])


def _spread_over_alike(texts: list[str], place: int, below: Sequence[Row]) -> None:
    """Give a text, in place, to the columns on both sides that look like its own further down."""
    for columns in (range(place - 1, 0, -1), range(place + 1, len(texts))):
        for column in columns:
            if not _alike(below, place, column):
                break
            texts[column] = texts[place]


def _alike(below: Sequence[Row], column: int, other: int) -> bool:
    """Whether two columns have names of one kind in some row below: periods, units, or others."""
    for row in below:
        if max(column, other) < len(row) and not blank(row[column]) and not blank(row[other]):
            kinds = [(is_period(text), is_money_or_scale(text)) for text in (row[column], row[other])]
            return kinds[0] == kinds[1]
    return False


def _line_breaks(texts: Sequence[str], below: Sequence[Row]) -> set[int]:
    """Columns where a text does not go on, since it is the first line of its column's name.

    That is so where the text below it is the same as the one below its own left neighbour, as with
    "First", "Second" above "Quarter", "Quarter", "Total".
    """
    lower = below[0]
    breaks: set[int] = set()
    for column in range(2, min(len(texts), len(lower)) - 1):
        same_below = not blank(lower[column]) and lower[column].strip() == lower[column - 1].strip()
        if texts[column] and texts[column - 1] and same_below:
            breaks.add(column + 1)
    return breaks


def _spread_right(texts: list[str], open_columns: set[int], bounds: set[int]) -> None:
    current = ""
    for column in range(1, len(texts)):
        if texts[column]:
            current = texts[column]
        elif column in bounds:
            current = ""
        elif column in open_columns:
            texts[column] = current


def _path(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts that say something, each once in a row; what ends with a colon names its row, not the column below."""
    path: list[str] = []
    for part in parts:
        if not blank(part) and (not path or path[-1] != part):
            path.append(part)
    *above, last = path or [""]
    names_rows = bool(above) and not last.endswith(":") and all(part.endswith(":") for part in above)
    return (last,) if names_rows else tuple(path)
