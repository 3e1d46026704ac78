"""Group rows: which rows are headings of others, and which rows belong to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kgtable.tables.layout.cell_roles import blank, cell_of, filled, is_named_total, label_of
from kgtable.tables.layout.header import is_one_text
from kgtable.tables.layout.line_classes import SURE, LineReading
from kgtable.tables.model import Grid, Row

_BULLET = re.compile(r"\s*(?:[-–—•·▪◦‣]\s*(?=[^\W\d_])|(?:of which|thereof|hereof)\b)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")
_EMPTY_WORDS = frozenset("total totals subtotal sub the of and in for from net gross all".split())  # noqa: SIM905

LEAST_SORTED = 6
"""Number of rows from which alphabetical order shows that none of them heads others."""
DEEPEST = 24
"""Nested groups beyond this depth are not distinguished."""


@dataclass(slots=True)
class _Open:
    """A row that later rows may be under."""

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
    totals: set[int] = field(default_factory=set)


def find_groups(
    grid: Grid, header: Sequence[int], body: Mapping[int, Row], label_column: int, lines: LineReading
) -> Groups:
    """The groups among the body rows (footnotes left out), given by grid row in order.

    A row heads others if it has a label and no values, if the following rows are indented or start
    with a dash, or if it is called a total and is the sum of the rows below it. A row of nothing but
    one unit heads the rows that are in it. A group ends before the next heading of its level, at a
    blank row, and with its total.
    """
    headings = {row for row in lines.rows("gh") if row in body}
    names = grid.head[header[-1]][1:] if header else ()
    headings |= {
        row for row, cells in body.items() if is_one_text(cells, grid.width) or (any(names) and cells[1:] == names)
    }
    if any(filled(body[row]) == [label_column] for row in headings):  # so are those of the lines not looked at
        headings |= {row for row in body if row not in lines.kinds and filled(body[row]) == [label_column]}
    totals = {row for row in lines.rows("t") if row in body}
    totals |= {row for row in lines.sums if row in body and is_named_total(cell_of(body[row], label_column) or "total")}
    levels = _levels_of_rows(grid, body, label_column)
    for row in totals:
        members = lines.sums.get(row, ())
        if members and members[0] > row and all(levels.get(member) == levels[row] for member in members):
            levels.update((member, levels[row] + 0.5) for member in members)
    groups = Groups(totals=totals)
    indexes = list(body)
    following = _following(indexes, levels)
    unsure = {row for row, sure in lines.confidence.items() if sure < SURE and row in body}
    headings |= _longer_labels({row for row in unsure if filled(body[row]) == [label_column]}, body, label_column)
    headings -= _without_values(headings, unsure, body, levels, label_column)
    stack: list[_Open] = []
    for index in indexes:
        if index not in levels:
            if not (stack and stack[-1].heading and not stack[-1].members):
                stack.clear()
            continue
        label = label_of(body[index], label_column)
        level = levels[index]
        after = following[index]
        if index in headings:
            outer = after in headings and levels[after] == level
            _close_for_heading(stack, level, outer)
            if stack:
                _add(groups, stack[-1], index)
            if len(stack) < DEEPEST:
                stack.append(_Open(index, level, True, label, outer))
            continue
        if index in totals:
            _close_deeper(stack, level)
            _close_to_total(stack, label, lines.sums.get(index, ()), index)
        else:
            _close_for_values(stack, level)
        if stack:
            stack[-1].deeper = stack[-1].deeper or level > stack[-1].level
            _add(groups, stack[-1], index)
        if index in totals:
            _close_innermost(stack, level)
        if after is not None and levels[after] > level and len(stack) < DEEPEST:
            stack.append(_Open(index, level, False, label))
    return groups


def _longer_labels(rows: set[int], body: Mapping[int, Row], label_column: int) -> set[int]:
    """Those of some rows whose labels have more words than that of any row with values."""
    others = (label_of(cells, label_column) for cells in body.values() if len(filled(cells)) > 1)
    longest = max((len(label.split()) for label in others), default=0) if rows else 0
    return {row for row in rows if len(label_of(body[row], label_column).split()) > longest}


def _without_values(
    headings: set[int], unsure: set[int], body: Mapping[int, Row], levels: Mapping[int, float], label_column: int
) -> set[int]:
    """The headings that are members without a value: all that are in alphabetical order, and one between members.

    That one is not surely a heading: it ends without a colon, is as short as the labels of members, and is neither
    below a blank row nor above rows that are set in.
    """
    alone = {row for row in headings if filled(body[row]) == [label_column]}
    labels = [label_of(body[row], label_column).casefold() for row in levels]
    if len(labels) > LEAST_SORTED and all(one < other for one, other in pairwise(labels)):
        return alone
    if len(alone) != 1 or not alone <= unsure:
        return set()
    [row] = alone
    around = [levels.get(row - 1), levels[row], levels.get(row + 1)]
    told = label_of(body[row], label_column).endswith(":") or len(set(around)) > 1 or {row - 1, row + 1} & headings
    return set() if told or _longer_labels(alone, body, label_column) else alone


def _levels_of_rows(grid: Grid, body: Mapping[int, Row], label_column: int) -> dict[int, float]:
    """How far each row's label is set in: indents of the sheet, leading spaces, a dash or a bullet.

    A row without a label has the place of the row above it.
    """
    levels: dict[int, float] = {}
    before = 0.0
    for index, row in body.items():
        if not filled(row):
            continue
        text = cell_of(row, label_column)
        if not blank(text):
            before = 2 * grid.indents.get((index, label_column), 0) + (1 if _BULLET.match(text) else 0)
            if text[0].isspace() and "\n" not in text:
                wide = text.expandtabs(4)
                before += len(wide) - len(wide.lstrip())
        levels[index] = before
    return levels


def _following(indexes: Sequence[int], levels: Mapping[int, float]) -> dict[int, int | None]:
    """For each row the next one that is not blank."""
    following: dict[int, int | None] = {}
    after: int | None = None
    for index in reversed(indexes):
        following[index] = after
        if index in levels:
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


def _close_deeper(stack: list[_Open], level: float) -> None:
    """Close what is set in further than a total; it may be the total of a heading on its own level."""
    while stack and (stack[-1].level > level or (stack[-1].level == level and not stack[-1].heading)):
        stack.pop()


def _close_to_total(stack: list[_Open], label: str, members: Sequence[int], total: int) -> None:
    """Close the groups inside the one that a total is the total of."""
    if members and members[0] < total:
        while stack and stack[-1].row >= members[0] and stack[-1].heading:
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
