"""The header of a table: which rows it has, and the header texts above each column.

A text that spans several columns belongs to each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgtable.tables.layout.cell_roles import (
    DEEPEST_HEADER,
    Look,
    Profile,
    blank,
    is_money_or_scale,
    is_period,
    is_unit,
    look,
    names_something,
    shape_votes,
    year_with_unit,
)
from kgtable.tables.layout.line_classes import LineReading
from kgtable.tables.model import Area, Column, Grid, Row

MOST_TITLE_ROWS = 20
_SERIES_CELL = re.compile(r"[$€£#]?\s?(\d{1,6}(?:\.\d{1,4})?)(?:\s?[A-Za-z]{1,4}\.?)?", re.ASCII)
FEWEST_NUMBERED = 6
TOP_ROWS = MOST_TITLE_ROWS + DEEPEST_HEADER


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


def header_of_lines(grid: Grid, lines: LineReading, profile: Profile) -> HeaderRows | None:
    """The header rows by the classes of the lines; None where no line is of a body, or the header is of answers."""
    rows = grid.head
    start = next(iter(lines.rows("gdt")), None)
    if start is None:
        return None
    header = [row for row in lines.rows("h") if row < start]
    if len(header) == 1 and _repeats(rows[header[0]], rows[start:], profile):
        return None
    stated = _stated_unit(rows, header[0], header[-1] + 1) if header else ()
    if stated:
        start = header.pop()
    units = frozenset(row for row in header if is_unit_row(rows[row]) or _has_units_below(rows, row, header[0]))
    if len(units) == len(header):
        units = frozenset()
    titles = tuple(row for row in range(start) if row not in header)
    return HeaderRows(titles, tuple(header), units, start, stated)


def find_header(grid: Grid, rows: Sequence[Row], profile: Profile) -> HeaderRows:
    """The header rows of a grid whose first rows are `rows`.

    What a file says itself (`<th>` cells, merged areas) goes before what the looks of the cells say.
    """
    titles = _count_titles(grid, rows)
    titles_above = tuple(range(titles))
    if titles >= len(rows) or not filled(rows[titles]):
        return HeaderRows(titles_above, (), frozenset(), titles)
    marked = _marked_header(grid, rows, titles)
    if marked <= titles and not _starts_with_header(rows, titles, profile):
        return HeaderRows(titles_above, (), frozenset(), titles)
    end = _end_of_header(rows, titles, max(marked, titles + 1), profile, grid.width)
    stated = _stated_unit(rows, titles, end)
    end -= len(stated)
    if not stated:
        end += _blank_lines(rows[end:])
    header = tuple(range(titles, end))
    units = frozenset(row for row in header if is_unit_row(rows[row]) or _has_units_below(rows, row, titles))
    if len(units) == len(header):
        units = frozenset()
    return HeaderRows(titles_above, header, units, end, stated)


def _stated_unit(rows: Sequence[Row], first: int, end: int) -> tuple[int, ...]:
    """The last row above the figures where it holds a unit over the labels alone: "(In thousands)"."""
    last = end - 1
    if last <= first or filled(rows[last]) != [0] or not is_money_or_scale(rows[last][0]):
        return ()
    return (last,) if any(columns != [0] for columns in map(filled, rows[first:last])) else ()


def _blank_lines(rows: Sequence[Row]) -> int:
    """How many blank lines set the header off from the body: they are of the header's merged cells."""
    return next((count for count, row in enumerate(rows) if filled(row)), 0)


def filled(row: Row) -> list[int]:
    """The columns of a row that are not blank."""
    return [column for column, text in enumerate(row) if text and not text.isspace()]


def is_unit_row(row: Row) -> bool:
    """Whether a row gives units and nothing else; its first cell may be empty or a time as well."""
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


def _count_titles(grid: Grid, rows: Sequence[Row]) -> int:
    """How many rows at the top are blank or hold one text that stands above the whole table."""
    block = _metadata_block(rows)
    if block:
        return block
    first = _preamble(rows, grid.width)
    wide = {(area.top, area.left) for area in grid.merged if area.right - area.left + 1 >= grid.width}
    for index, row in enumerate(rows[first:MOST_TITLE_ROWS], first):
        columns = filled(row)
        if not columns or (index, columns[0]) in wide:
            continue
        alone = columns == [0] and grid.width > 1
        if not alone or (index, 0) in grid.header_cells:
            return index
        beneath = filled(rows[index + 1]) if index + 1 < len(rows) else []
        is_heading = is_unit(row[0]) or (is_period(row[0]) and not names_something(row[0]))
        if is_heading and beneath and beneath != [0]:
            return index
    return first


def _metadata_block(rows: Sequence[Row]) -> int:
    """The length of a block of narrow rows at the top that a blank row sets off from a wider table."""
    sizes = [len(filled(row)) for row in rows]
    for index in range(1, min(len(rows) - 1, MOST_TITLE_ROWS)):
        if sizes[index] == 0 and sizes[index + 1] > 0:
            table = max(sizes[index + 1 :])
            if table > 2 and max(sizes[:index]) * 2 < table and sizes[index + 1] * 2 >= table:
                return index + 1
    return 0


NARROW = 2
"""Cells that a title, a link, a number of the table or a pair of name and value take up."""


def _preamble(rows: Sequence[Row], width: int) -> int:
    """The rows above a wide table that hold few cells each and end with a blank row or a unit of its own.

    A header's upper row that names few columns stands right above the next one instead.
    """
    if width <= 2 * NARROW:
        return 0
    end = 0
    for index, row in enumerate(rows[:MOST_TITLE_ROWS]):
        columns = filled(row)
        if len(columns) > NARROW:
            break
        if not columns or (len(columns) == 1 and columns != [0] and is_money_or_scale(row[columns[0]])):
            end = index + 1
    return end if end and filled(rows[0]) else 0


def _marked_header(grid: Grid, rows: Sequence[Row], first: int) -> int:
    """The row after the header as marked by `<th>` cells and merged areas; `first` if there are none."""
    end = first
    if grid.header_cells:
        while end < min(len(rows), first + DEEPEST_HEADER):
            columns = filled(rows[end])
            if not columns or not all((end, column) in grid.header_cells for column in columns):
                break
            if end > first and columns == [0]:
                break
            end += 1
    for area in grid.merged:
        if area.top == first and area.bottom > first and area.bottom - first < DEEPEST_HEADER:
            end = max(end, area.bottom + 1)
    return min(end, len(rows))


def _starts_with_header(rows: Sequence[Row], first: int, profile: Profile) -> bool:
    """Whether the first row is a header: tables have one unless their first row looks like the others."""
    row = rows[first]
    votes = (profile.votes(row), shape_votes(row, rows[first + 1 :], profile))
    header, body = (sum(vote) for vote in zip(*votes, strict=True))
    if header >= body:
        return bool(header) or not _repeats(row, rows[first + 1 :], profile)
    if header and row and 0 in profile.numeric and look(row[0]) in (Look.TEXT, Look.UNIT):
        return True
    if header and _is_numbering(row):
        return True
    if _has_years_with_units(row, rows[first + 1 :], profile):
        return True
    series = _longest_series(row)
    if series and max(map(_longest_series, rows[first + 1 :]), default=0) < series:
        return header + series >= body - series
    return False


FEWEST_REPEATED = 4
"""Rows for each different text of a column from which its texts are answers or codes."""


def _repeats(row: Row, below: Sequence[Row], profile: Profile) -> bool:
    """Whether all texts of a row are among the few that their columns hold again and again: NO above YES and NO."""
    columns = [column for column in filled(row) if column not in profile.numeric]
    for column in columns:
        texts = [line[column].strip() for line in below if column < len(line) and not blank(line[column])]
        if row[column].strip() not in texts or len(set(texts)) * FEWEST_REPEATED > len(texts):
            return False
    return bool(columns)


def _has_years_with_units(row: Row, below: Sequence[Row], profile: Profile) -> bool:
    """Whether all cells above numbers are years with a unit ("2024 EUR"), of which the rows below have few."""
    columns = [column for column in filled(row) if column in profile.numeric and column]
    if not columns or not all(look(row[column]) is Look.YEAR or year_with_unit(row[column]) for column in columns):
        return False
    texts = [line[column] for line in below for column in columns if column < len(line) and not blank(line[column])]
    return sum(year_with_unit(text) is not None for text in texts) * 2 < len(texts)


def _is_numbering(row: Row) -> bool:
    """Whether the whole numbers of a row are those of columns numbered through, in whatever order."""
    numbers = [int(text) for cell in row if (text := cell.strip()).isascii() and text.isdigit() and len(text) < 4]
    if len(numbers) < FEWEST_NUMBERED or len(set(numbers)) < len(numbers):
        return False
    return max(numbers) - min(numbers) < 1.5 * len(numbers)


def _longest_series(row: Row) -> int:
    """How many cells side by side go on in equal steps, as years and running numbers in a header do.

    Three are a series, five where the steps are not equal but all go one way; else the answer is 0.
    """
    best = 0
    numbers = [_whole_number(text) for text in row]
    for start, number in enumerate(numbers):
        if number is None or (start and numbers[start - 1] is not None):
            continue
        run = [number]
        for after in numbers[start + 1 :]:
            if after is None:
                break
            run.append(after)
        steps = [after - before for before, after in pairwise(run)]
        equal = len(set(steps)) == 1 and 0 < abs(steps[0]) <= 10
        one_way = bool(steps) and (min(steps) > 0 or max(steps) < 0)
        if (equal and len(run) > 2) or (one_way and len(run) > 4):
            best = max(best, len(run))
    return best


def _whole_number(text: str) -> float | None:
    """The number a cell starts with, after a currency sign perhaps."""
    match = _SERIES_CELL.fullmatch(text.strip())
    return float(match[1]) if match else None


def _end_of_header(rows: Sequence[Row], first: int, end: int, profile: Profile, width: int) -> int:
    """The row after the last header row, at least `end`."""
    while end < min(len(rows), first + DEEPEST_HEADER) and _continues_header(rows, first, end, profile, width):
        end += 1
    return end


def _continues_header(rows: Sequence[Row], first: int, index: int, profile: Profile, width: int) -> bool:
    """Whether a row below the first header row is one more of them."""
    row = rows[index]
    columns = filled(row)
    if not columns or _repeats(row, rows[index + 1 :], profile):
        return False
    header, body = profile.votes(("", *row[1:]))
    if is_unit_row(row):
        return body == 0
    complete = _complete(rows[first:index], width)
    if columns == [0] or (len(columns) == 1 and complete and not row[columns[0]].lstrip().startswith("(")):
        return False
    if body or not header:
        return False
    if index + 1 < len(rows) and len(filled(rows[index + 1])) > 1 and is_unit_row(rows[index + 1]):
        return True
    open_corner = all(blank(above[0]) for above in rows[first:index] if above)
    if blank(row[0]) or look(row[0]) is Look.UNIT:
        only_above_numbers = all(column in profile.numeric for column in columns if column)
        return not complete or (only_above_numbers and header * 2 >= len(profile.numeric))
    if complete and all(look(row[column]) is Look.YEAR for column in columns if column):
        return False
    return not complete or open_corner


def _complete(above: Sequence[Row], width: int) -> bool:
    """Whether the last header row that is not of units names every column right of the first."""
    for row in reversed(above):
        if not is_unit_row(row):
            return len(row) >= width and not any(blank(text) for text in row[1:width])
    return False


WIDEST_CENTRED = 300


def make_columns(
    rows: Sequence[Row], found: HeaderRows, width: int, label_column: int, merged: Sequence[Area]
) -> tuple[Column, ...]:
    """One `Column` for each of `width` grid columns.

    Texts of unit rows are left out of a path unless two columns would have the same path without them.
    """
    levels = spread_header(rows, found, width, merged)
    named = [levels[row] for row in found.header if row not in found.unit_rows]
    paths = [_path([level[column] for level in named]) for column in range(width)]
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


def spread_header(
    rows: Sequence[Row], found: HeaderRows, width: int, merged: Sequence[Area] = ()
) -> Mapping[int, tuple[str, ...]]:
    """For each header row the text that stands above each column, spanning texts repeated."""
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
    level above. Where columns stand left of the first text, texts are in the middle of theirs.
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
    """The columns that a period of a header row stands over."""
    current = ""
    for column in range(1, width):
        text = row[column] if column < len(row) else ""
        current = current if blank(text) else text
        if is_period(current):
            yield column


def _spread_centred(texts: list[str], own: Sequence[int], open_columns: set[int]) -> None:
    """Spread texts that stand in the middle of their columns, in place."""
    start = 1
    for place, end in zip(own, _ends_of_centred(own, max(open_columns | set(own))), strict=True):
        for column in range(start, end + 1):
            if column in open_columns:
                texts[column] = texts[place]
        start = end + 1


def _ends_of_centred(own: Sequence[int], last: int) -> tuple[int, ...]:
    """The last column of each text's share of columns 1 to `last`.

    The texts stand nearest to the middles of their shares; of divisions as near, shares are as equal
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
    """The parts that say something, each once in a row."""
    path: list[str] = []
    for part in parts:
        if not blank(part) and (not path or path[-1] != part):
            path.append(part)
    return tuple(path)
