"""What a cell looks like at first sight, as far as the layout of a table needs it.

This asks only whether a cell could stand in a header or in a body; what its value is, with unit and
scale, is decided later by the typing of values.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from kgtable.tables.structure.phrases import LONGEST_PHRASE, is_unit

LONGEST_VALUE = 40


class Look(Enum):
    """The look of a cell: what it could be before anything about its column is known."""

    EMPTY = "empty"
    MISSING = "missing"
    NUMBER = "number"
    YEAR = "year"
    DATE = "date"
    UNIT = "unit"
    TEXT = "text"


_MISSING = re.compile(
    r"[$€£¥]?\s?[-‐‑‒–—−]{1,3}\s?%?|[$€£¥]?\s?\(?[-‐‑‒–—−]{1,3}\)?|\.{2,3}|…|n\.?/?a\.?|n/?m|nil|null|none|nan|#n/a",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d(?:\.0)?(?:\s*(?:\((?:\d|[a-z])\)|\[\w{1,3}\]|[*†‡]+|[AEPF]))?")
_CODES = "US|USD|EUR|GBP|CAD|AUD|CHF|JPY|CNY|RMB|INR|SEK|NOK|DKK|HKD|SGD|NZD|KRW|ZAR"
_CURRENCY = rf"(?:[A-Z]{{0,3}}\s?[$€£¥₹₩₽¢฿]|(?:{_CODES})\s?|R\$|Rs\.?)"
_NUMBER = re.compile(
    rf"""[~≈<>≤≥±+\-−–(\s]*{_CURRENCY}?[\s(+\-−–]*
    (?:\d{{1,3}}(?:[,.'’\s]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+)[\s½¼¾⅓⅔]*
    [)\s]*(?:%|‰|pts?|bps?|bn|[mkx]|[€£¥])?[)\s]*
    (?:\([^()]{{0,12}}\)|\[[^\]]{{0,4}}\]|[*†‡§^]+)*\s*[*†‡]*""",
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"^\D+000s?\D*$")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}(?:[ T].*)?|{_MONTH}\s+\d{{1,2}}(?:,?\s+\d{{4}})?"
    rf"|\d{{1,2}}\.?\s+{_MONTH}(?:\s+\d{{4}})?|{_MONTH}\s+\d{{4}}",
    re.IGNORECASE,
)


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
    if len(text) > LONGEST_VALUE:
        return Look.UNIT if is_unit(text) else Look.TEXT
    if _MISSING.fullmatch(text):
        return Look.MISSING
    if _YEAR.fullmatch(text):
        return Look.YEAR
    if _DATE.fullmatch(text):
        return Look.DATE
    if _NUMBER.fullmatch(text) and not _THOUSANDS.search(text):
        return Look.NUMBER
    return Look.UNIT if is_unit(text) else Look.TEXT


def blank(text: str) -> bool:
    """Whether a cell holds nothing but white space."""
    return not text or text.isspace()
