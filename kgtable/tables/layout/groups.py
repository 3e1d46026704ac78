"""Group rows: which rows are headings of others, and which rows belong to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgtable.tables.layout.cell_roles import Profile, is_named_total
from kgtable.tables.layout.header import HeaderRows
from kgtable.tables.layout.line_classes import LineReading
from kgtable.tables.layout.row_kinds import (
    RowKind,
    Totals,
    find_totals,
    kinds_of_rows,
    label_of,
    levels_of_rows,
    rows_added,
    summed_columns,
)
from kgtable.tables.layout.row_sums import LONGEST_SUM
from kgtable.tables.model import Grid, Row

_WORD = re.compile(r"[^\W\d_]{2,}")
_EMPTY_WORDS = frozenset("total totals subtotal sub the of and in for from net gross all".split())  # noqa: SIM905

DEEPEST = 24
"""Groups within groups beyond this depth are not told apart."""


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
    units: bool = False


@dataclass(slots=True)
class Groups:
    """The rows that head others, each member's nearest head, and the totals met on the way."""

    heads: set[int] = field(default_factory=set)
    parents: dict[int, int] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)


def find_groups(
    grid: Grid, found: HeaderRows, body: Mapping[int, Row], label_column: int, profile: Profile, lines: LineReading
) -> Groups:
    """The groups among the body rows (footnotes left out), given by grid row in order.

    A row heads others if it has a label and no values, if the following rows are indented or start
    with a dash, or if it is called a total and is the sum of the rows below it. A row of nothing but
    one unit heads the rows that are in it. A group ends before the next heading of its level, at a
    blank row, and with its total.
    """
    kinds = kinds_of_rows(grid, found, body, label_column, profile)
    for index, kind in kinds.items():
        if kind is RowKind.HEADING and lines.sure(index, "d"):
            kinds[index] = RowKind.VALUES
        elif kind is RowKind.VALUES and lines.sure(index, "g"):
            kinds[index] = RowKind.HEADING
    values = {index: row for index, row in body.items() if kinds[index] is RowKind.VALUES}
    totals = find_totals(values, label_column, profile)
    totals.rows |= {row for row in lines.rows("t") if row in values}
    levels = levels_of_rows(grid, body, kinds, label_column)
    _lower_parts_of_totals(values, levels, totals, label_column, profile, body, kinds)
    groups = Groups(totals=totals)
    indexes = list(body)
    following = _following(indexes, kinds)
    stack: list[_Open] = []
    for index in indexes:
        kind = kinds[index]
        if kind is RowKind.BLANK:
            if not (stack and stack[-1].heading and not stack[-1].members):
                stack.clear()
            continue
        if kind is RowKind.UNITS:
            _close_units(stack)
            if stack:
                _add(groups, stack[-1], index)
            stack.append(_Open(index, stack[-1].level if stack else levels[index], True, units=True))
            continue
        label = label_of(body[index], label_column)
        level = levels[index]
        after = following[index]
        if kind is RowKind.HEADING:
            outer = after is not None and kinds[after] is RowKind.HEADING and levels[after] == level
            _close_for_heading(stack, level, outer)
            if stack:
                _add(groups, stack[-1], index)
            if len(stack) < DEEPEST:
                stack.append(_Open(index, level, True, label, outer))
            continue
        if index in totals.rows:
            _close_deeper(stack, level)
            _close_to_total(stack, index, label, totals)
        else:
            _close_for_values(stack, level)
        if stack:
            stack[-1].deeper = stack[-1].deeper or level > stack[-1].level
            _add(groups, stack[-1], index)
        if index in totals.rows:
            _close_innermost(stack, level)
        if after is not None and levels[after] > level and len(stack) < DEEPEST:
            stack.append(_Open(index, level, False, label))
    return groups


def _following(indexes: Sequence[int], kinds: Mapping[int, RowKind]) -> dict[int, int | None]:
    """For each row the next one that is not blank."""
    following: dict[int, int | None] = {}
    after: int | None = None
    for index in reversed(indexes):
        following[index] = after
        if kinds[index] is not RowKind.BLANK:
            after = index
    return following


def _add(groups: Groups, head: _Open, row: int) -> None:
    head.members += 1
    groups.heads.add(head.row)
    groups.parents[row] = head.row


def _close_units(stack: list[_Open]) -> None:
    while stack and (stack[-1].units or not stack[-1].heading):
        stack.pop()


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


def _close_deeper(stack: list[_Open], level: float) -> None:
    """Close what is set in further than a total; it may be the total of a heading on its own level."""
    while stack and (stack[-1].level > level or (stack[-1].level == level and not stack[-1].heading)):
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
    if stack and stack[-1].units and stack[-1].members > 1:
        stack.pop()
    if stack and stack[-1].heading and stack[-1].level >= level and stack[-1].members > 1:
        stack.pop()


def _words(label: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(label.casefold()) if word not in _EMPTY_WORDS)


def _lower_parts_of_totals(
    values: Mapping[int, Row],
    levels: dict[int, float],
    totals: Totals,
    label_column: int,
    profile: Profile,
    body: Mapping[int, Row],
    kinds: Mapping[int, RowKind],
) -> None:
    """Set in the rows that a total above them is the sum of, in place."""
    indexes, columns = list(body), summed_columns(profile, label_column)
    for position, index in enumerate(indexes):
        if index not in values or index in totals.first or not is_named_total(label_of(body[index], label_column)):
            continue
        below: list[int] = []
        for after in indexes[position + 1 : position + 1 + LONGEST_SUM]:
            if kinds[after] is not RowKind.VALUES or levels[after] != levels[index] or after in totals.rows:
                break
            below.append(after)
        for row in below[: rows_added(values[index], [values[row] for row in below], columns)]:
            levels[row] += 0.5
