"""The header texts above each column, spanning texts spread over the columns they cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgtable.tables.model import Area, Column, Row
from kgtable.tables.structure.cells import blank
from kgtable.tables.structure.header import HeaderRows, filled
from kgtable.tables.structure.phrases import is_money_or_scale, is_period


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
        bounds |= own
        levels[row] = tuple(texts)
    return levels


def _spread(texts: list[str], open_columns: set[int], bounds: set[int], below: Sequence[Row]) -> None:
    """Fill the empty cells of an upper header row, in place.

    A text goes on to the right until the next text or the boundary of a level above. Texts that stand
    in the middle of equal blocks of columns cover the block to their left as well.
    """
    width = len(texts)
    own = [column for column in range(1, width) if texts[column]]
    if not own:
        if texts[0] and is_period(texts[0]):
            for column in sorted(open_columns - {0}):
                texts[column] = texts[0]
            texts[0] = ""
        return
    if len(bounds) == 1 and own[0] > 1 and not any(column in open_columns for column in range(1, own[0])):
        pass
    elif len(bounds) == 1 and own[0] > 1 and (width - 1) % len(own) == 0:
        block = (width - 1) // len(own)
        if all(1 + block * number <= column <= block * (number + 1) for number, column in enumerate(own)):
            for number, column in enumerate(own):
                for place in range(1 + block * number, 1 + block * (number + 1)):
                    if place in open_columns:
                        texts[place] = texts[column]
            return
    only_periods = len(own) == 1 and is_period(texts[own[0]])
    if only_periods:
        periods = {column for row in below for column in filled(row) if is_period(row[column])}
        if periods:
            open_columns = (open_columns & periods) | set(own)
    _spread_right(texts, open_columns, bounds)


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
