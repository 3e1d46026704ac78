"""What the cells of a column print beside their figures: "$" on first row and totals, "%" on the first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgtable.tables.currencies import currency_names, currency_prefix
from kgtable.tables.model import Table

LOOKED_AT = 400
"""How many body rows are looked at."""

_NUMBER = re.compile(r"\d|[-–—]\s*$")
_PERCENT = re.compile(r"\d\s*\)?\s*%")


@dataclass(frozen=True, slots=True)
class ColumnPrint:
    """The one currency that cells of a column print, and whether its first number is a percentage.

    `leads_with_percent` holds only where no cell prints a currency and several cells have no sign at all.
    """

    currency: str | None = None
    leads_with_percent: bool = False


def column_prints(table: Table) -> tuple[ColumnPrint, ...]:
    """What each column's cells print, from the body rows of the table's head."""
    width = len(table.columns)
    currencies: list[set[str]] = [set() for _ in range(width)]
    first_is_percent: list[bool | None] = [None] * width
    plain = [0] * width
    percents = [0] * width
    for row in table.grid.head[table.structure.body_start :][:LOOKED_AT]:
        for column, text in enumerate(row[:width]):
            text = text.strip()
            if not text or len(text) > 40 or not _NUMBER.search(text):
                continue
            currency = _currency(text)
            if currency is not None:
                currencies[column].add(currency)
            if not any(character.isdigit() for character in text):
                continue
            is_percent = _PERCENT.search(text) is not None
            if first_is_percent[column] is None:
                first_is_percent[column] = is_percent
            percents[column] += is_percent
            plain[column] += not is_percent and currency is None
    return tuple(
        ColumnPrint(
            next(iter(found)) if len(found) == 1 else None,
            bool(first) and not found and percent > 1 and bare > 0,
        )
        for found, first, bare, percent in zip(currencies, first_is_percent, plain, percents, strict=True)
    )


def _currency(text: str) -> str | None:
    """The currency a short cell prints before or after its figure."""
    start = text.lstrip("(-–—− ")
    if match := currency_prefix().match(start):
        return currency_names()[match[0]]
    for length in (3, 1):
        if start[-length:] in currency_names() and not start[: -length or None].rstrip()[-1:].isalpha():
            return currency_names()[start[-length:]]
    return None
