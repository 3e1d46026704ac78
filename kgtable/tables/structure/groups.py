"""Rows that head others, and which rows they head."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice, pairwise

from kgtable.tables.model import Grid, Row
from kgtable.tables.structure.cells import Look, blank, look
from kgtable.tables.structure.header import HeaderRows, filled
from kgtable.tables.structure.profile import Profile
from kgtable.tables.structure.totals import LONGEST_SUM, Totals, adds_up_below, find_totals, is_named_total

_BULLET = re.compile(r"\s*(?:[-–—•·▪◦‣]\s*(?=[^\W\d_])|(?:of which|thereof|hereof)\b)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_EMPTY_WORDS = frozenset("total totals subtotal sub the of and in for from net gross all".split())  # noqa: SIM905


class Kind(Enum):
    """What a body row is for the layout."""

    BLANK = "blank"
    HEADING = "heading"
    UNITS = "units"
    VALUES = "values"


@dataclass(slots=True)
class _Open:
    """A row that later rows may stand under."""

    row: int
    level: float
    heading: bool
    label: str = ""
    outer: bool = False
    members: int = 0
    deeper: bool = False


@dataclass(slots=True)
class Groups:
    """The rows that head others, each member's nearest head, and the totals met on the way."""

    heads: set[int] = field(default_factory=set)
    parents: dict[int, int] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)


def find_groups(
    grid: Grid, found: HeaderRows, body: Mapping[int, Row], label_column: int, profile: Profile
) -> Groups:
    """The groups among the body rows (footnotes left out), given by grid row in order.

    A row heads others if it has a label and no values, if the following rows are indented or start
    with a dash, or if it is called a total and is the sum of the rows below it. A group ends before
    the next heading of its level, at a blank row, and with its total.
    """
    kinds = {index: _kind(grid, found, index, row, label_column, profile) for index, row in body.items()}
    _take_back_gaps(body, kinds, label_column, profile)
    values = {index: row for index, row in body.items() if kinds[index] is Kind.VALUES}
    totals = find_totals(values, label_column, profile)
    levels = _levels(grid, body, kinds, label_column)
    _lower_parts_of_totals(values, levels, totals, label_column, profile, body, kinds)
    groups = Groups(totals=totals)
    indexes = list(body)
    following = _following(indexes, kinds)
    stack: list[_Open] = []
    for index in indexes:
        kind = kinds[index]
        if kind is Kind.BLANK:
            if not (stack and stack[-1].heading and not stack[-1].members):
                stack.clear()
            continue
        if kind is Kind.UNITS:
            if stack:
                _add(groups, stack[-1], index)
            continue
        label = _label(body[index], label_column)
        level = levels[index]
        after = following[index]
        if kind is Kind.HEADING:
            outer = after is not None and kinds[after] is Kind.HEADING and levels[after] == level
            _close_for_heading(stack, level, outer)
            if stack:
                _add(groups, stack[-1], index)
            stack.append(_Open(index, level, True, label, outer))
            continue
        _close_for_values(stack, level)
        if index in totals.rows:
            _close_to_total(stack, index, label, totals)
        if stack:
            stack[-1].deeper = stack[-1].deeper or level > stack[-1].level
            _add(groups, stack[-1], index)
        if index in totals.rows:
            _close_innermost(stack, level)
        if after is not None and levels[after] > level:
            stack.append(_Open(index, level, False, label))
    return groups


def _following(indexes: Sequence[int], kinds: Mapping[int, Kind]) -> dict[int, int | None]:
    """For each row the next one that is not blank."""
    following: dict[int, int | None] = {}
    after: int | None = None
    for index in reversed(indexes):
        following[index] = after
        if kinds[index] is not Kind.BLANK:
            after = index
    return following


def _add(groups: Groups, head: _Open, row: int) -> None:
    head.members += 1
    groups.heads.add(head.row)
    groups.parents[row] = head.row


def _close_for_heading(stack: list[_Open], level: float, outer: bool) -> None:
    """Close what a heading ends: deeper groups, and those of its own level that have members.

    Where a heading stood right under another, the first stays open for the second's siblings.
    """
    while stack and (stack[-1].level > level or not stack[-1].heading):
        if stack[-1].level < level:
            return
        stack.pop()
    while stack and stack[-1].level == level and stack[-1].members:
        if stack[-1].outer and not outer and not stack[-1].deeper:
            return
        stack.pop()


def _close_for_values(stack: list[_Open], level: float) -> None:
    while stack and (
        stack[-1].level > level or (stack[-1].level == level and (not stack[-1].heading or stack[-1].deeper))
    ):
        stack.pop()


def _close_to_total(stack: list[_Open], index: int, label: str, totals: Totals) -> None:
    """Close the groups inside the one that a total is the total of."""
    start = totals.first.get(index)
    if start is not None:
        while stack and stack[-1].row >= start and stack[-1].heading:
            stack.pop()
        return
    words = _words(label)
    for depth, open_group in enumerate(reversed(stack)):
        if words and words == _words(open_group.label):
            del stack[len(stack) - depth :]
            return


def _close_innermost(stack: list[_Open], level: float) -> None:
    """Close the group that ends with a total; one whose members are indented ends by itself."""
    if stack and stack[-1].heading and stack[-1].level >= level and stack[-1].members > 1:
        stack.pop()


def _words(label: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(label.casefold()) if word not in _EMPTY_WORDS)


def _cell(row: Row, column: int) -> str:
    return row[column] if column < len(row) else ""


def _label(row: Row, label_column: int) -> str:
    return _cell(row, label_column).strip() or next((cell.strip() for cell in row if not blank(cell)), "")


def _kind(grid: Grid, found: HeaderRows, index: int, row: Row, label_column: int, profile: Profile) -> Kind:
    columns = filled(row)
    if not columns:
        return Kind.BLANK
    texts = {row[column].strip() for column in columns}
    if len(columns) == 1:
        return _kind_of_single(grid, index, row, columns[0], label_column, profile)
    if len(texts) == 1 and grid.width > 2 and len(columns) == grid.width and look(row[0]) is Look.TEXT:
        return Kind.HEADING
    others = [column for column in columns if column != label_column]
    header = grid.head[found.header[-1]] if found.header else ()
    if len(others) == len(columns) - 1 and _repeats(row, header, others, label_column):
        return Kind.HEADING
    if all(look(row[column]) is Look.UNIT for column in others) and others[0] in profile.numeric:
        return Kind.UNITS
    return Kind.VALUES


def _repeats(row: Row, header: Row, columns: list[int], label_column: int) -> bool:
    """Whether a row is the header again with another text over the labels, as "2018 | High | Low"."""
    same = all(column < len(header) and row[column] == header[column] for column in columns)
    return bool(columns) and same and _cell(header, label_column).strip() != row[label_column].strip()


def _kind_of_single(
    grid: Grid, index: int, row: Row, column: int, label_column: int, profile: Profile
) -> Kind:
    kind = look(row[column])
    if any(area.top == index and area.left == column and area.right > column for area in grid.merged):
        return Kind.HEADING
    if grid.width < 2 or kind in (Look.NUMBER, Look.MISSING):
        return Kind.VALUES
    if column not in (0, label_column):
        if column not in profile.numeric:
            return Kind.VALUES
        return Kind.UNITS if kind is Look.UNIT else Kind.HEADING
    if grid.width == 2 and not profile.numeric - {label_column}:
        return Kind.HEADING if row[column].rstrip().endswith(":") else Kind.VALUES
    return Kind.UNITS if kind is Look.UNIT else Kind.HEADING


def _take_back_gaps(
    body: Mapping[int, Row], kinds: dict[int, Kind], label_column: int, profile: Profile
) -> None:
    """Take a heading back, in place, that is rather a row whose values are missing.

    That is one where the order of the labels has it, or the only one of a table of texts; a colon,
    capitals or the first place in the body say that it is a heading all the same.
    """
    headings = [
        index for index, kind in kinds.items() if kind is Kind.HEADING and len(filled(body[index])) == 1
    ]
    rows = [index for index, kind in kinds.items() if kind is not Kind.BLANK]
    width = max((len(row) for row in body.values()), default=0)
    of_text = len(profile.numeric - {label_column}) * 2 < width - 1
    places = {index: place for place, index in enumerate(rows)}
    labels = [_sortable(_label(body[index], label_column)) for index in rows]
    in_order = sum(before <= after for before, after in pairwise(labels)) >= 0.9 * (len(labels) - 1) > 6
    for index in headings:
        label, place = _label(body[index], label_column), places[index]
        if place == 0 or label.endswith(":") or label.isupper():
            continue
        near = labels[place - 1 : place + 2]
        alphabetical = len(near) == 3 and near[0] < near[1] < near[2] and (in_order or _same_letter(near))
        if alphabetical or (of_text and len(headings) == 1):
            kinds[index] = Kind.VALUES


def _sortable(label: str) -> str:
    """A label as lists are ordered: without accents and case."""
    letters = unicodedata.normalize("NFD", label.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _same_letter(labels: Sequence[str]) -> bool:
    return labels[0][:1].isalpha() and len({label[:1] for label in labels}) == 1


def _levels(
    grid: Grid, body: Mapping[int, Row], kinds: Mapping[int, Kind], label_column: int
) -> dict[int, float]:
    """How far each row's label is set in: indents of the sheet, leading spaces, a dash or a bullet.

    A row without a label stands where the row above it does.
    """
    levels: dict[int, float] = {}
    before = 0.0
    for index, row in body.items():
        if kinds[index] is Kind.BLANK:
            continue
        text = _cell(row, label_column)
        spaces = len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip())
        indent = 2 * grid.indents.get((index, label_column), 0) + (spaces if "\n" not in text else 0)
        if text.strip():
            before = indent + (1 if _BULLET.match(text) else 0)
        levels[index] = before
    return levels


def _lower_parts_of_totals(
    values: Mapping[int, Row],
    levels: dict[int, float],
    totals: Totals,
    label_column: int,
    profile: Profile,
    body: Mapping[int, Row],
    kinds: Mapping[int, Kind],
) -> None:
    """Set in the rows that a total above them is the sum of, in place."""
    indexes = list(body)
    for position, index in enumerate(indexes):
        if (
            index not in values
            or index in totals.first
            or not is_named_total(_label(body[index], label_column))
        ):
            continue
        below: list[int] = []
        for after in islice(indexes, position + 1, position + 1 + LONGEST_SUM):
            if kinds[after] is not Kind.VALUES or levels[after] != levels[index] or after in totals.rows:
                break
            below.append(after)
        for row in below[: adds_up_below(index, below, values, label_column, profile)]:
            levels[row] += 0.5
