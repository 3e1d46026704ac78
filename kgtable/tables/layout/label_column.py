"""The column that names the rows, and an empty margin to its left."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import TypeVar

from kgtable.tables.layout.cell_roles import Look, blank, look
from kgtable.tables.layout.row_kinds import cell_of
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
    return replace(structure, columns=columns, label_column=structure.label_column + margin)


def _shifted(items: Mapping[Position, _Item], margin: int) -> Mapping[Position, _Item]:
    return MappingProxyType({(row, column - margin): item for (row, column), item in items.items() if column >= margin})


ALIKE = 0.7
"""A column names its rows if at least this share of its texts differ."""
FILLED = 0.7
"""A first column with fewer texts than this names groups of rows that share a cell."""
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
    right of it whose texts mostly differ, or a column of dates if that stands before and the textual
    one is not called by a word for names.
    """
    if not rows or width < 2:
        return 0
    first = [text for row in rows if not blank(text := cell_of(row, 0))]
    if 0 < len(first) < FILLED * len(rows):
        return 1 if _names_all([cell_of(row, 1) for row in rows]) else 0
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


def _names_all(texts: Sequence[str]) -> bool:
    """Whether nearly every row has a text of its own here."""
    wordy = {text for text in texts if look(text) is Look.TEXT}
    return len(wordy) >= 0.9 * len(texts)


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
