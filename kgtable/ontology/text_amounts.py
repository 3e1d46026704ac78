"""A table's scale from amounts that its text repeats: "income of $24.2 million" beside a cell "24,193"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from kgtable.tables.currencies import SCALE_WORDS
from kgtable.tables.model import Context, Table

LONGEST_TEXT = 20_000
MOST_AMOUNTS = 200
MOST_CELLS = 2_000
LEAST_MATCHES = 2
SCALES = (0, 3, 6, 9)

_AMOUNT = re.compile(
    r"(?:[$€£¥]|RMB|USD|EUR) ?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"\s+(?P<scale>thousand|million|billion|trillion)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def scale_of_amounts(table: Table) -> int | None:
    """The power of ten that makes cells agree with amounts in the text, or None where it is not clear.

    A cell agrees with an amount if it rounds to it at the amount's last printed digit. Amounts of fewer
    than three digits say nothing; two amounts must agree, and more than half of all that agree at any scale.
    """
    amounts = list(dict.fromkeys(_amounts(table.context)))[:MOST_AMOUNTS]
    if len(amounts) < LEAST_MATCHES:
        return None
    cells = _cells(table)
    votes = Counter(
        scale
        for value, unit in amounts
        for scale in SCALES
        if any(abs(cell.scaleb(scale) - value) * 2 <= unit for cell in cells)
    )
    if not votes:
        return None
    scale, count = min(votes.items(), key=lambda item: (-item[1], item[0]))
    return scale if count >= LEAST_MATCHES and 2 * count > sum(votes.values()) else None


def _amounts(context: Context) -> Iterator[tuple[Decimal, Decimal]]:
    """Amounts in full, each with the worth of its last printed digit."""
    for text in context.texts():
        for match in _AMOUNT.finditer(text[:LONGEST_TEXT]):
            printed = Decimal(match["digits"].replace(",", ""))
            if len(printed.as_tuple().digits) >= 3 and len(match["digits"]) <= 20:
                power = SCALE_WORDS[match["scale"].lower()]
                exponent = printed.as_tuple().exponent
                yield printed.scaleb(power), Decimal(1).scaleb(int(exponent) + power)


def _cells(table: Table) -> tuple[Decimal, ...]:
    """The distinct figures of the body's first rows, percentages left out."""
    found: dict[Decimal, None] = {}
    for row in table.grid.head[table.structure.body_start :]:
        for text in row:
            match = _NUMBER.search(text) if len(text) <= 30 and "%" not in text else None
            if match is not None and len(found) < MOST_CELLS:
                found[Decimal(match[0].replace(",", ""))] = None
    return tuple(cell for cell in found if cell >= 10)
