"""What a cell looks like at first sight, as far as the layout of a table needs it.

This asks only whether a cell could stand in a header or in a body; what its value is, with unit and
scale, is decided later by the typing of values.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from kgtable.tables.dates import parse_date
from kgtable.tables.numbers import NumberStyle, parse_number
from kgtable.tables.periods import parse_period
from kgtable.tables.structure.phrases import LONGEST_PHRASE, is_unit
from kgtable.tables.typed import MISSING_MARKERS

_AMOUNT_UNITS = ("CCY_", "PERCENT", "UNITLESS", "NUM")


class Look(Enum):
    """The look of a cell: what it could be before anything about its column is known."""

    EMPTY = "empty"
    MISSING = "missing"
    NUMBER = "number"
    YEAR = "year"
    DATE = "date"
    UNIT = "unit"
    TEXT = "text"


_DASHES = re.compile(r"[$€£¥]?\s?\(?[-‐‑‒–—−]{1,3}\)?\s?%?")
_YEAR = re.compile(
    r"(?:1[5-9]|20)\d\d(?:\.0)?(?:\s*(?:\((?:\d|[a-z])\)|\[\w{1,3}\]|[*†‡]+|[AEPF]))?", re.ASCII
)
_DIGIT = re.compile(r"[0-9½⅓⅔¼¾⅕-⅞]")
_THOUSANDS = re.compile(r"\D+000s?\D*")
_STYLE = NumberStyle(ranges=False, numbered_marks=True)


def look(text: str) -> Look:
    """The look of one cell.

    >>> look("(1,234)").name, look("2019").name, look("€m").name, look("Net sales").name
    ('NUMBER', 'YEAR', 'UNIT', 'TEXT')
    """
    return _look(text) if len(text) <= LONGEST_PHRASE else Look.EMPTY if text.isspace() else Look.TEXT


@lru_cache(maxsize=65_536)
def _look(text: str) -> Look:
    text = text.strip()
    if not text:
        return Look.EMPTY
    if _DASHES.fullmatch(text) or (text in MISSING_MARKERS and text != "%"):
        return Look.MISSING
    if not _DIGIT.search(text):
        return Look.UNIT if is_unit(text) else Look.TEXT
    if _YEAR.fullmatch(text):
        return Look.YEAR
    if not _THOUSANDS.fullmatch(text) and _is_amount(text):
        return Look.NUMBER
    if is_unit(text):
        return Look.UNIT
    return Look.DATE if parse_date(text) or parse_period(text) else Look.TEXT


def _is_amount(text: str) -> bool:
    """Whether a cell is a number: a pure one, of money or percent, perhaps with a remark in parentheses.

    A number with another unit ("12 months", "5 km") may as well be the name of a column.
    """
    number = parse_number(text, _STYLE)
    if number is None and text.endswith(")"):
        number = parse_number(text.partition("(")[0], _STYLE)
    return number is not None and (number.unit is None or number.unit.startswith(_AMOUNT_UNITS))


def blank(text: str) -> bool:
    """Whether a cell holds nothing but white space."""
    return not text or text.isspace()
