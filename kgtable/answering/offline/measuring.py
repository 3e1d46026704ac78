"""What an extreme or a comparison is measured by: which column, and a row's value in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from kgtable.answering.offline import english
from kgtable.answering.offline.linking import HINTED_AT, Linking
from kgtable.answering.offline.view import KEYS
from kgtable.answering.offline.words import stems

_NEXT_WORDS = 3
_NEXT_TO_IT = 1.0
"""How much it speaks for a column to be named right after the adjective: the highest *attendance*."""

_NAMED_ENOUGH = 0.3
_ROUNDING = Decimal("0.02")
"""How far a total may be from the sum of its parts, some of which are withheld or rounded."""


def value(linking: Linking, row: int, column: int | None) -> Decimal | None:
    """A row's number, time or duration in the column; without a column its place in the table."""
    if column is None:
        return Decimal(row)
    view = linking.view
    time = view.time(row, column)
    if time is not None:
        digits = re.sub(r"\D", "", time)[:8].ljust(8, "0")
        return Decimal(digits) if digits else None
    number = view.number(row, column)
    return view.duration(row, column) if number is None else number


def ranked(linking: Linking, rows: tuple[int, ...], column: int) -> list[tuple[Decimal, int]]:
    """The rows by the column's value, the least first; of equal ones the first in the table wins."""
    found = [(known, row) for row in rows if (known := value(linking, row, column)) is not None]
    return sorted(found, key=lambda item: (item[0], -item[1] * linking.question.direction))


def sums_the_others(numbers: Mapping[int, Decimal], column: int) -> bool:
    """Whether the column's number is about the sum of the others, as a total is that bears no such name."""
    found = numbers[column]
    return abs(sum(numbers.values(), Decimal(0)) - 2 * found) <= abs(found) * _ROUNDING


def order_column(linking: Linking) -> int | None:
    """The column of dates or years, the best named; None where the rows' own order has to do."""
    view, scores = linking.view, linking.column_scores()
    timed = [column for column in view.columns if view.time_share(column) > 0.6]
    return max(timed, key=lambda column: (scores[column], -column), default=None)


def size_column(linking: Linking, exclude: int | None = None) -> int | None:
    """The column of sizes that is meant: named, or hinted at by the adjective, or the only one."""
    named = named_size_column(linking, exclude)
    if named is not None:
        return named
    view = linking.view
    sized = [
        column
        for column in view.columns
        if view.numeric_share(column) > 0.6
        and column != exclude
        and not view.numbers_rows(column)
        and view.time_share(column) < 0.6
    ]
    totals = [column for column in sized if view.is_total(column)]
    return totals[0] if totals else sized[0] if len(sized) == 1 else None


def named_size_column(linking: Linking, exclude: int | None = None) -> int | None:
    """The column of sizes that the question names, best of all right after its adjective, or hints at.

    One whose cells are asked for is taken only where its name follows the adjective.
    """
    view, scores = linking.view, linking.column_scores()
    hints, after = linking.question.hinted, _after_the_adjective(linking)
    asked = linking.asked_columns
    rated = [
        (
            scores[column]
            + HINTED_AT * bool(view.headers[column] & hints)
            + _NEXT_TO_IT * (bool(view.headers[column] & after) - (column in asked)),
            -column,
        )
        for column in view.columns
        if column != exclude and _sizes(linking, column, hints)
    ]
    best = max(rated, default=None)
    return -best[1] if best is not None and best[0] > _NAMED_ENOUGH else None


def _sizes(linking: Linking, column: int, hints: frozenset[str]) -> bool:
    view = linking.view
    if KEYS & view.headers[column] and not KEYS & linking.question.content:
        return False
    if view.numeric_share(column) > 0.6:
        return view.time_share(column) < 0.6 or bool(view.headers[column] & hints)
    return view.duration_share(column) > 0.6


def _after_the_adjective(linking: Linking) -> frozenset[str]:
    """The words that follow the question's superlative."""
    found = english.any_of("most", "least").search(linking.question.text)
    return frozenset(stems(linking.question.text[found.end() :])[:_NEXT_WORDS]) if found else frozenset()
