"""The kind of each body row (heading of a group, member, total), and how far its label is indented.

Totals are known by what they are called and by what they add up to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import cache
from itertools import pairwise

from kgtable.tables.layout.cell_roles import (
    NAMED_TOTAL,
    Look,
    Profile,
    blank,
    is_money_or_scale,
    is_named_total,
    look,
)
from kgtable.tables.layout.header import HeaderRows, filled
from kgtable.tables.layout.row_sums import CALLED_FIGURES, MOST_COLUMNS, Amounts, count_added, figures, nest
from kgtable.tables.model import Grid, Row
from kgtable.values.dates import parse_date
from kgtable.values.numbers import NumberStyle, parse_number
from kgtable.values.text import without_accents

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


def _kind(grid: Grid, found: HeaderRows, index: int, row: Row, label_column: int, profile: Profile) -> RowKind:
    columns = filled(row)
    if not columns:
        return RowKind.BLANK
    texts = {row[column].strip() for column in columns}
    if len(columns) == 1:
        return _kind_of_single(grid, index, row, columns[0], label_column, profile)
    if len(texts) == 1 and grid.width > 2 and len(columns) == grid.width and look(row[0]) in (Look.TEXT, Look.YEAR):
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


def _kind_of_single(grid: Grid, index: int, row: Row, column: int, label_column: int, profile: Profile) -> RowKind:
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


def _take_back_gaps(body: Mapping[int, Row], kinds: dict[int, RowKind], label_column: int, profile: Profile) -> None:
    """Take a heading back, in place, that is rather a row whose values are missing.

    That is one where the order of the labels has it, or the only one of a table of texts; a colon,
    capitals or the first place in the body say that it is a heading all the same.
    """
    headings = [index for index, kind in kinds.items() if kind is RowKind.HEADING and len(filled(body[index])) == 1]
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
    return without_accents(label.casefold(), "NFD")


def _same_letter(labels: Sequence[str]) -> bool:
    return labels[0][:1].isalpha() and len({label[:1] for label in labels}) == 1


MOST_SUMS = 5_000
"""How many rows of a table are tried as sums; later ones are totals by name only."""
LARGEST = 30
"""Amounts of more digits than this before the point are not added up."""

_MAYBE = re.compile(
    r"^all\b|\b(?:total|sub-?total|gross|net|balance|aggregate|combined|consolidated|overall|sum|together)\b",
    re.IGNORECASE,
)
_DEDUCTED = re.compile(r"\s*(?:[-–—]\s*)?(?:less|minus|deduct)\b", re.IGNORECASE)
_STYLE = NumberStyle(ranges=False)


@dataclass(slots=True)
class Totals:
    """The total rows of a body, and for those that add up the first row they add."""

    rows: set[int] = field(default_factory=set)
    first: dict[int, int] = field(default_factory=dict)


def find_totals(rows: Mapping[int, Row], label_column: int, profile: Profile) -> Totals:
    """The totals among the body rows that carry values, given by grid row in order.

    A row called a total is one where the table is of numbers, unless words describe it as they do members. Rows
    called net, gross or balance, and rows without a label, are totals if they sum the rows right above them
    (`row_sums.nest`); amounts labelled "less" are taken off.
    """
    columns = summed_columns(profile, label_column)
    totals = Totals()
    if not columns:
        return totals
    labels = {index: cell_of(row, label_column).strip() for index, row in rows.items()}
    width = max((len(row) for row in rows.values()), default=0)
    of_numbers = len(profile.numeric - {label_column}) * 2 >= width - 1
    mostly_labelled = sum(map(bool, labels.values())) >= 0.7 * len(labels)
    named = {index for index, label in labels.items() if is_named_total(label)}
    called = [index for index, label in labels.items() if index in named or not label or _MAYBE.search(label)]
    amounts = cache(lambda index: amounts_of(rows[index], columns))
    less = {index for index, label in labels.items() if _DEDUCTED.match(label)} if called else set()

    def signed(index: int) -> Amounts:
        own = amounts(index)
        return [value and -value for value in own] if index in less else own

    members = (amounts, signed) if less else (amounts,)
    sums, _ = nest(rows, *members, called=set(called[:MOST_SUMS]), named=named)
    totals.first = {index: added[0] for index, added in sums.items()}
    for index in called:
        row, label = rows[index], labels[index]
        here = amounts(index)
        filled_share = 1 - here.count(None) / len(here)
        by_name = index in named and filled_share > 0 and (of_numbers or bool(NAMED_TOTAL.fullmatch(label)))
        by_name = by_name and not _is_described(row, label_column, profile)
        without_name = not label and of_numbers and mostly_labelled and index != next(iter(rows))
        only_numbers = profile.numeric.issuperset(filled(row))
        if index in sums or by_name or (without_name and only_numbers and filled_share >= 0.5):
            totals.rows.add(index)
    return totals


def _is_described(row: Row, label_column: int, profile: Profile) -> bool:
    """Whether the cells behind the label describe it as they do members."""
    places = (column for column in filled(row) if column > label_column and column not in profile.numeric)
    return describe_a_member(cell_of(row, column) for column in places)


def describe_a_member(texts: Iterable[str]) -> bool:
    """Whether words or dates stand in two cells: a total has no properties of its own.

    >>> describe_a_member(["Mira Voss", "2024-01-30"]), describe_a_member(["EUR", "", "12"])
    (True, False)
    """
    return sum(any(map(str.isalpha, text)) or parse_date(text) is not None for text in texts) >= 2


def rows_added(total: Row, rows: Sequence[Row], columns: Sequence[int]) -> int:
    """How many of `rows`, from the first on and two at least, add up to `total`; 0 where they do not.

    >>> rows_added(("All", "30,500"), [("Some", "20,000"), ("More", "10,500"), ("Rest", "7")], [1])
    2
    """
    own = amounts_of(total, columns)
    return count_added(own, (amounts_of(row, columns) for row in rows)) if figures(own) >= CALLED_FIGURES else 0


def amounts_of(row: Row, columns: Sequence[int]) -> Amounts:
    """The plain amounts that a row prints in columns."""
    return [_amount(cell_of(row, column)) for column in columns]


def summed_columns(profile: Profile, label_column: int) -> list[int]:
    """The columns whose amounts are added up: those of numbers that are no years."""
    return sorted(profile.numeric - profile.years - {label_column})[:MOST_COLUMNS]


def _amount(text: str) -> Decimal | None:
    """The plain amount a cell prints, or None."""
    number = parse_number(text, _STYLE) if text else None
    return number.value if number is not None and abs(number.value.adjusted()) < LARGEST else None
