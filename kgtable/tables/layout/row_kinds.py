"""The kind of each body row in the layout, and how far its label is indented."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import pairwise

from kgtable.tables.layout.cell_roles import Look, Profile, blank, is_money_or_scale, look
from kgtable.tables.layout.header import HeaderRows, filled
from kgtable.tables.model import Grid, Row

_BULLET = re.compile(r"\s*(?:[-–—•·▪◦‣]\s*(?=[^\W\d_])|(?:of which|thereof|hereof)\b)", re.IGNORECASE)


class RowKind(Enum):
    """What a body row is for the layout."""

    BLANK = "blank"
    HEADING = "heading"
    UNITS = "units"
    VALUES = "values"


def kinds_of_rows(
    grid: Grid, found: HeaderRows, body: Mapping[int, Row], label_column: int, profile: Profile
) -> dict[int, RowKind]:
    """The kind of each body row, given by grid row in order."""
    kinds = {index: _kind(grid, found, index, row, label_column, profile) for index, row in body.items()}
    _take_back_gaps(body, kinds, label_column, profile)
    return kinds


def levels_of_rows(
    grid: Grid, body: Mapping[int, Row], kinds: Mapping[int, RowKind], label_column: int
) -> dict[int, float]:
    """How far each row's label is set in: indents of the sheet, leading spaces, a dash or a bullet.

    A row without a label stands where the row above it does.
    """
    levels: dict[int, float] = {}
    before = 0.0
    for index, row in body.items():
        if kinds[index] is RowKind.BLANK:
            continue
        text = cell_of(row, label_column)
        if not blank(text):
            before = 2 * grid.indents.get((index, label_column), 0) + (1 if _BULLET.match(text) else 0)
            if text[0].isspace() and "\n" not in text:
                wide = text.expandtabs(4)
                before += len(wide) - len(wide.lstrip())
        levels[index] = before
    return levels


def label_of(row: Row, label_column: int) -> str:
    """The text that names a row: its label, or else its first text."""
    return cell_of(row, label_column).strip() or next((cell.strip() for cell in row if not blank(cell)), "")


def cell_of(row: Row, column: int) -> str:
    """A cell of a row that may be shorter."""
    return row[column] if column < len(row) else ""


def _kind(
    grid: Grid, found: HeaderRows, index: int, row: Row, label_column: int, profile: Profile
) -> RowKind:
    columns = filled(row)
    if not columns:
        return RowKind.BLANK
    texts = {row[column].strip() for column in columns}
    if len(columns) == 1:
        return _kind_of_single(grid, index, row, columns[0], label_column, profile)
    if len(texts) == 1 and grid.width > 2 and len(columns) == grid.width and look(row[0]) is Look.TEXT:
        return RowKind.HEADING
    others = [column for column in columns if column != label_column]
    header = grid.head[found.header[-1]] if found.header else ()
    if len(others) == len(columns) - 1 and _repeats(row, header, others, label_column):
        return RowKind.HEADING
    if label_column not in columns and len(texts) == 1 and _is_unit_of_numbers(row, columns[0], profile):
        return RowKind.UNITS
    return RowKind.VALUES


def _is_unit_of_numbers(row: Row, column: int, profile: Profile) -> bool:
    return column in profile.numeric and is_money_or_scale(row[column])


def _repeats(row: Row, header: Row, columns: list[int], label_column: int) -> bool:
    """Whether a row is the header again with another text over the labels, as "2018 | High | Low"."""
    same = all(column < len(header) and row[column] == header[column] for column in columns)
    return bool(columns) and same and cell_of(header, label_column).strip() != row[label_column].strip()


def _kind_of_single(
    grid: Grid, index: int, row: Row, column: int, label_column: int, profile: Profile
) -> RowKind:
    kind = look(row[column])
    if any(area.top == index and area.left == column and area.right > column for area in grid.merged):
        return RowKind.HEADING
    if grid.width < 2 or kind in (Look.NUMBER, Look.MISSING):
        return RowKind.VALUES
    if column not in (0, label_column):
        if column not in profile.numeric:
            return RowKind.VALUES
        return RowKind.UNITS if is_money_or_scale(row[column]) else RowKind.HEADING
    if grid.width == 2 and not profile.numeric - {label_column}:
        return RowKind.HEADING if row[column].rstrip().endswith(":") else RowKind.VALUES
    return RowKind.UNITS if is_money_or_scale(row[column]) else RowKind.HEADING


def _take_back_gaps(
    body: Mapping[int, Row], kinds: dict[int, RowKind], label_column: int, profile: Profile
) -> None:
    """Take a heading back, in place, that is rather a row whose values are missing.

    That is one where the order of the labels has it, or the only one of a table of texts; a colon,
    capitals or the first place in the body say that it is a heading all the same.
    """
    headings = [
        index for index, kind in kinds.items() if kind is RowKind.HEADING and len(filled(body[index])) == 1
    ]
    if not headings:
        return
    rows = [index for index, kind in kinds.items() if kind is not RowKind.BLANK]
    width = max((len(row) for row in body.values()), default=0)
    of_text = len(profile.numeric - {label_column}) * 2 < width - 1
    places = {index: place for place, index in enumerate(rows)}
    labels = [_sortable(label_of(body[index], label_column)) for index in rows]
    in_order = sum(before <= after for before, after in pairwise(labels)) >= 0.9 * (len(labels) - 1) > 6
    for index in headings:
        label, place = label_of(body[index], label_column), places[index]
        if place == 0 or label.endswith(":") or label.isupper():
            continue
        near = labels[place - 1 : place + 2]
        if len(near) < 3 or near[1] == near[0] or near[2].startswith(near[1]):
            continue
        if in_order:
            alphabetical = near[0][:1] <= near[1][:1] <= near[2][:1] and len(label) > 2
        else:
            window = labels[max(0, place - 2) : place + 3]
            alphabetical = window == sorted(set(window)) and _same_letter(near)
        if alphabetical or (of_text and len(headings) == 1):
            kinds[index] = RowKind.VALUES


def _sortable(label: str) -> str:
    """A label as lists are ordered: without accents and case."""
    letters = unicodedata.normalize("NFD", label.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _same_letter(labels: Sequence[str]) -> bool:
    return labels[0][:1].isalpha() and len({label[:1] for label in labels}) == 1
