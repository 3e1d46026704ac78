"""Which rows are totals of others, by what they are called and by what they add up to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from kgtable.tables.layout.cell_roles import Profile
from kgtable.tables.layout.header import filled
from kgtable.tables.layout.row_kinds import cell_of
from kgtable.tables.model import Row
from kgtable.values.numbers import NumberStyle, parse_number

LONGEST_SUM = 60
MOST_COLUMNS = 12
MOST_SUMS = 5_000
"""How many rows of a table are tried as sums; later ones are totals by name only."""
LARGEST = 30
"""Amounts of more digits than this before the point are not added up."""
FEWEST_DIGITS = 5
"""A sum is proof only if it agrees in this many digits over all columns; small counts agree by chance."""

_NAMED = re.compile(
    r"^(?:grand |sub-?\s?)?totals?\b|\b(?:sub-?)?totals?\s*(?:\([^)]*\))?[\s:*.\d]*$|^sums?$"
    r"|^(?:ins)?gesamt(?:summe)?\b|^(?:zwischen)?summe\b|^sous-total|^suma total",
    re.IGNORECASE,
)
_MAYBE = re.compile(
    r"^all\b|\b(?:total|sub-?total|gross|net|balance|aggregate|combined|consolidated|overall|sum)\b",
    re.IGNORECASE,
)
_DEDUCTED = re.compile(r"\s*(?:[-–—]\s*)?(?:less|minus|deduct)\b", re.IGNORECASE)
_STYLE = NumberStyle(ranges=False)


@dataclass(slots=True)
class Totals:
    """The total rows of a body, and for those that add up the first row they add."""

    rows: set[int] = field(default_factory=set)
    first: dict[int, int] = field(default_factory=dict)


def is_named_total(label: str) -> bool:
    """Whether a label says that its row is a total.

    >>> [is_named_total(label) for label in ("Total assets", "Sub-total", "Net sales", "Totality")]
    [True, True, False, False]
    """
    return bool(_NAMED.search(label.strip()))


def find_totals(rows: Mapping[int, Row], label_column: int, profile: Profile) -> Totals:
    """The totals among the body rows that carry values, given by grid row in order.

    A row called a total is one where the table is of numbers. Rows called net, gross or balance, and
    rows without a label, are totals if their numbers are the sum of rows right above them; amounts
    labelled "less" are taken off. Sums over totals already found take these as one amount.
    """
    columns = _summed(profile, label_column)
    totals = Totals()
    if not columns:
        return totals
    labels = {index: cell_of(row, label_column).strip() for index, row in rows.items()}
    width = max((len(row) for row in rows.values()), default=0)
    of_numbers = len(profile.numeric - {label_column}) * 2 >= width - 1
    mostly_labelled = sum(map(bool, labels.values())) >= 0.7 * len(labels)
    open_rows: list[int] = []
    amounts: dict[int, list[Decimal | None]] = {}
    tried = 0
    for index, row in rows.items():
        label = labels[index]
        named = is_named_total(label)
        if named or not label or _MAYBE.search(label):
            here = amounts[index] = [_amount(cell_of(row, column)) for column in columns]
            tried += 1
            start = None
            if tried <= MOST_SUMS:
                start = _sums_from(here, open_rows, rows, amounts, columns, labels, 1 if named else 2)
            if start is not None:
                totals.first[index] = open_rows[start]
                del open_rows[start:]
            filled_share = 1 - here.count(None) / len(here)
            by_name = named and filled_share > 0 and (of_numbers or bool(_NAMED.fullmatch(label)))
            without_name = not label and of_numbers and mostly_labelled and bool(open_rows)
            only_numbers = profile.numeric.issuperset(filled(row))
            if start is not None or by_name or (without_name and only_numbers and filled_share >= 0.5):
                totals.rows.add(index)
        open_rows.append(index)
    return totals


def adds_up_below(
    index: int, below: Sequence[int], rows: Mapping[int, Row], label_column: int, profile: Profile
) -> int:
    """How many of the rows right below a row its numbers are the sum of; 0 where they are not."""
    columns = _summed(profile, label_column)
    here = [_amount(cell_of(rows[index], column)) for column in columns]
    if _digits(here) < FEWEST_DIGITS:
        return 0
    running = [Decimal(0)] * len(columns)
    for count, row in enumerate(below[:LONGEST_SUM], 1):
        for place, column in enumerate(columns):
            running[place] += _amount(cell_of(rows[row], column)) or 0
        if count > 1 and _agree(here, running):
            return count
    return 0


def _sums_from(
    here: Sequence[Decimal | None],
    open_rows: Sequence[int],
    rows: Mapping[int, Row],
    amounts: dict[int, list[Decimal | None]],
    columns: Sequence[int],
    labels: Mapping[int, str],
    fewest: int,
) -> int | None:
    """The position in `open_rows` from which on the amounts add up to `here`."""
    if _digits(here) < FEWEST_DIGITS:
        return None
    plain, signed = [Decimal(0)] * len(columns), [Decimal(0)] * len(columns)
    deducted = False
    for count, position in enumerate(
        range(len(open_rows) - 1, max(-1, len(open_rows) - 1 - LONGEST_SUM), -1), 1
    ):
        row = open_rows[position]
        if row not in amounts:
            amounts[row] = [_amount(cell_of(rows[row], column)) for column in columns]
        less = bool(_DEDUCTED.match(labels[row]))
        deducted = deducted or less
        for place, value in enumerate(amounts[row]):
            if value is not None:
                plain[place] += value
                signed[place] += -value if less else value
        if count >= fewest and (_agree(here, plain) or (deducted and _agree(here, signed))):
            return position
    return None


def _agree(here: Sequence[Decimal | None], sums: Sequence[Decimal]) -> bool:
    """Whether every amount is its sum, up to one in its last place."""
    for value, total in zip(here, sums, strict=True):
        if value is not None and value != total:
            exponent = value.as_tuple().exponent
            if not isinstance(exponent, int) or abs(value - total) > Decimal(1).scaleb(exponent):
                return False
    return True


def _digits(amounts: Sequence[Decimal | None]) -> int:
    return sum(len(value.as_tuple().digits) for value in amounts if value)


def _summed(profile: Profile, label_column: int) -> list[int]:
    """The columns whose amounts are added up: those of numbers that are no years."""
    return sorted(profile.numeric - profile.years - {label_column})[:MOST_COLUMNS]


def _amount(text: str) -> Decimal | None:
    """The plain amount a cell prints, or None."""
    number = parse_number(text, _STYLE) if text else None
    return number.value if number is not None and abs(number.value.adjusted()) < LARGEST else None
