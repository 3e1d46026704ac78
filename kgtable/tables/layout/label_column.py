"""The column that names the rows, and an empty margin to its left."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import TypeVar

from kgtable.tables.layout.cell_roles import Look, blank, cell_of, look
from kgtable.tables.model import Area, Column, Grid, Position, Row, Structure

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
        header_cells=frozenset((row, column - margin) for row, column in grid.header_cells if column >= margin),
    )


def with_margin(structure: Structure, margin: int) -> Structure:
    """The structure of a grid whose left columns were taken off."""
    columns = (
        *(Column(index) for index in range(margin)),
        *(replace(column, index=column.index + margin) for column in structure.columns),
    )
    shared = tuple(replace(area, left=area.left + margin, right=area.right + margin) for area in structure.shared)
    return replace(structure, columns=columns, label_column=structure.label_column + margin, shared=shared)


def _shifted(items: Mapping[Position, _Item], margin: int) -> Mapping[Position, _Item]:
    return MappingProxyType({(row, column - margin): item for (row, column), item in items.items() if column >= margin})


ALIKE = 0.7
"""A column names its rows if at least this share of its texts differ."""
FILLED = 0.7
"""A first column with fewer texts than this names groups of rows that share a cell."""
MOST_SHARED = 4
"""So many columns hold texts for the rows below."""
LONGEST_RANK = 4
"""Ranks of those who did not finish are short words: DNF, Ret, NC."""

_RANK_NAME = re.compile(
    r"#|№|n[or°º]\.?|num(?:ber)?\.?|rank(?:ing)?|rk\.?|pos(?:ition)?\.?|place|s(?:\.|r\.?|l\.?)?\s*no\.?|index|row",
    re.IGNORECASE,
)
_KEY_NAME = re.compile(r"(?:.*[_\s-])?id|[A-Za-z]*[a-z]I[dD]|uid", re.IGNORECASE)
_NAMING = re.compile(
    r"(?:.*\b|.*_|^)(?:full)?(?:name|title|player|artist|driver|rider|athlete|swimmer|nation|country|team|club|school"
    r"|city|song|film|episode|candidate|company|model|station|author|winner|party|opponents?)s?\b.*",
    re.IGNORECASE | re.DOTALL,
)
_RUNNING = re.compile(r"[#=T]?\s*\d{1,6}(?:\.0)?[.):=]?(?:st|nd|rd|th)?\s*(?:\(\d+\)|\[\w+\]|[*†‡])?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}(?:\.0)?", re.ASCII)


def find_label_column(rows: Sequence[Row], width: int, names: Sequence[str]) -> int:
    """The column whose text names a row; `rows` is a sample of the body, `names` the header texts.

    The first column as in the thesis, unless it is blank, a mere rank or running number, or a key of
    numbers, or unless its cells span rows that the second column names. Else the first textual column
    right of it whose texts mostly differ, or a column of dates if that precedes and the textual
    one is not called by a word for names.
    """
    if not rows or width < 2:
        return 0
    first = [text for row in rows if not blank(text := cell_of(row, 0))]
    if 0 < len(first) < FILLED * len(rows):
        return 1 if _names_lines([(cell_of(row, 0), cell_of(row, 1)) for row in rows]) else 0
    is_key = bool(_KEY_NAME.fullmatch(names[0])) and all(_WHOLE.fullmatch(text.strip()) for text in first)
    if not is_key and not _is_mere_number(first, names[0]):
        return 0
    dated: int | None = None
    next_best: list[tuple[float, int]] = []
    for column in range(1, width):
        texts = [text for row in rows if not blank(text := cell_of(row, column))]
        if not texts:
            continue
        looks = [look(text) for text in texts]
        differing = len(set(texts)) / len(texts)
        if dated is None and looks.count(Look.DATE) * 2 >= len(rows) and differing >= 0.9:
            dated = column
        if looks.count(Look.TEXT) * 2 < len(rows):
            continue
        named = bool(_NAMING.fullmatch(names[column]))
        if differing >= (ALIKE if named or not is_key else 0.9):
            return column if named or dated is None or is_key else dated
        next_best.append((-differing, column))
    if is_key:
        return 0
    return dated if dated is not None else min(next_best)[1] if next_best else 0


def _names_lines(rows: Sequence[tuple[str, str]]) -> bool:
    """Whether nearly every row has words of its own in the second cell; under years, within each year."""
    times = all(blank(first) or look(first) in (Look.YEAR, Look.DATE) for first, _ in rows)
    block = 0
    named: set[tuple[int, str]] = set()
    for first, second in rows:
        block += times and not blank(first)
        if look(second) is Look.TEXT:
            named.add((block, second))
    return len(named) >= 0.9 * len(rows)


FEWEST_BLOCKS = 2
"""Blocks of lines with one key, at least, whose first lines may hold for the others."""


def find_shared(body: Mapping[int, Row]) -> tuple[Area, ...]:
    """The cells of the first columns that hold for blank ones below them, as a year or a region that heads a block.

    `body` are the body rows that are members, by grid row in order. Such a column is filled in the first row, mostly
    blank below, and holds words or years only; where it is filled, so is mostly the one right of it, and the column
    after them is filled in every row. Elsewhere, the cells that only the first row of each block of one key fills.
    """
    return _heading_blocks(body) or tuple(_on_first_lines(body))


def _heading_blocks(body: Mapping[int, Row]) -> tuple[Area, ...]:
    columns: list[dict[int, str]] = []
    for column in range(MOST_SHARED + 1):
        texts = {row: cells[column] for row, cells in body.items() if not blank(cell_of(cells, column))}
        columns.append(texts)
        if not texts or len(texts) >= FILLED * len(body):
            break
    *shared, names = columns
    if not shared or len(names) < len(body):
        return ()
    first = next(iter(body))
    for texts, right in pairwise(columns):
        looks = {look(text) for text in texts.values()}
        if first not in texts or not looks <= {Look.TEXT, Look.YEAR, Look.DATE}:
            return ()
        if len(texts.keys() - right.keys()) * 4 > len(texts):
            return ()
    return tuple(area for column in range(len(shared)) for area in _blocks(body, shared[: column + 1]))


def _on_first_lines(body: Mapping[int, Row]) -> Iterator[Area]:
    """The areas of words, years and dates on the first of several lines of one key, as those of an order.

    The key is the first column that is filled in every row; in a column with such cells no other line has one.
    """
    width = max(map(len, body.values()), default=0)
    key = next((c for c in range(min(width, 2)) if not any(blank(cell_of(cells, c)) for cells in body.values())), None)
    if key is None:
        return
    runs = [list(rows) for _, rows in groupby(body, key=lambda row: body[row][key])]
    first = {rows[0] for rows in runs}
    blocks = [(rows[0], rows[-1]) for rows in runs if len(rows) > 1 and rows[-1] - rows[0] == len(rows) - 1]
    if len(blocks) < FEWEST_BLOCKS or len({body[row][key] for row in first}) < len(runs):
        return
    for column in range(key + 1, width):
        texts = {row: cells[column] for row, cells in body.items() if not blank(cell_of(cells, column))}
        if texts.keys() == first and {look(text) for text in texts.values()} <= {Look.TEXT, Look.YEAR, Look.DATE}:
            yield from (Area(top, column, bottom, column) for top, bottom in blocks)


def _blocks(body: Iterable[int], filled: Sequence[Container[int]]) -> Iterator[Area]:
    """The areas below the cells of the last of some columns, each as far as no cell of these is filled.

    They end at rows that are not members, too.
    """
    texts, column = filled[-1], len(filled) - 1
    top: int | None = None
    before = -2
    for row in (*body, -2):
        if row != before + 1 or any(row in rows for rows in filled):
            if top is not None and before > top:
                yield Area(top, column, before, column)
            top = row if row in texts else None
        before = row


def _is_mere_number(texts: Sequence[str], name: str) -> bool:
    """Whether a first column, given its texts that are not blank, only counts the rows or holds nothing."""
    if not texts:
        return True
    stripped = [text.strip() for text in texts]
    running = [int(re.sub(r"\D.*", "", text.lstrip("#=T "))) for text in stripped if _RUNNING.fullmatch(text)]
    if _RANK_NAME.fullmatch(name):
        short = sum(len(text) <= LONGEST_RANK for text in stripped)
        return len(running) * 2 >= len(texts) or (short == len(texts) and len(running) * 4 >= len(texts))
    if len(running) < 0.9 * len(texts) or len(running) < 3:
        return False
    steps = sum(after - before == 1 for before, after in pairwise(running))
    return running[0] in (0, 1) and steps >= 0.9 * (len(running) - 1)
