"""A cell's text as a typed value: number, date, year, period, boolean, missing, or text.

`profile_columns` looks at a table once and decides per column what no cell alone can tell;
`type_cell` then types each cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kgtable.tables.columns import ColumnStyle, profile_columns
from kgtable.tables.dates import Date, parse_compact_date, parse_date
from kgtable.tables.numbers import Number, NumberStyle, parse_elaborate, parse_number, parse_simple
from kgtable.tables.periods import parse_period
from kgtable.tables.typed import MISSING_MARKERS, Kind, Value

__all__ = [
    "MISSING_MARKERS",
    "ColumnStyle",
    "Kind",
    "NumberStyle",
    "Value",
    "has_simple_numbers",
    "profile_columns",
    "type_cell",
    "type_unlike_simple",
]

CACHED_CELLS = 4096
"""How many typed cells a column style remembers."""

_EMPTY = Value(Kind.EMPTY)
_MISSING = Value(Kind.MISSING)
_TEXT = Value(Kind.TEXT)
_BOOLEANS = {"yes": "true", "true": "true", "no": "false", "false": "false"}
_WITH_DIGIT = re.compile(r"[0-9½⅓⅔¼¾⅕-⅞]")
_DATED = re.compile(
    r"[0-9][-/.][0-9]|[12][0-9]{3}|[0-9]:[0-9]|[QHqhFf][Yy1-4][ '’]?[0-9]{2}|[0-9][QHqh]|['’][0-9]{2}"
    r"|[a-z]-[0-9]{2}"
)
_DATE_OPENING = re.compile(
    r"\s*(?:[^A-Za-z]|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun"
    r"|q[1-4]|h[12]|fy|fiscal|financial|first|second|third|fourth)",
    re.IGNORECASE,
)
"""How every date and period begins that is the whole of a cell."""

_YEAR = re.compile(r"([12][0-9]{3})(?:\s?(?:\[[^\[\]]{1,20}\]|[*†‡§#^¹²³]))*")
_MONTH = re.compile(r"[12][0-9]{3}-(?:0[1-9]|1[0-2])")
_CLOCK = re.compile(r"(?:[01][0-9]|2[0-3]):[0-5][0-9]")
_MARKS = re.compile(r"(?:\s?(?:\[[^\[\]]{1,20}\]|[*†‡§]))+$")


def type_cell(text: str, style: ColumnStyle) -> Value:
    """The typed value of a cell; what cannot be typed is text.

    >>> style = ColumnStyle()
    >>> type_cell("$ 1,234", style).number.value
    Decimal('1234')
    >>> type_cell("31 Dec. 2024", style).lexical, type_cell("n/a", style).kind.value
    ('2024-12-31', 'missing')
    >>> type_cell("2013", ColumnStyle(is_year=True)).datatype
    'xsd:gYear'
    """
    value = style.cache.get(text)
    if value is None:
        value = _type(text, style)
        if len(style.cache) < CACHED_CELLS:
            style.cache[text] = value
    return value


def has_simple_numbers(style: ColumnStyle) -> bool:
    """Whether every cell that `numbers.read_simple` understands is that number in a column of this style."""
    unlike = style.is_year or style.is_identifier or style.is_compact_date or style.numbers.decimal_comma
    return not unlike


def type_unlike_simple(text: str, style: ColumnStyle) -> Value:
    """As `type_cell`, for a text that is no simple number in a column of simple numbers, without a memory."""
    return _type_other(text, style, parse_elaborate)


def _type(text: str, style: ColumnStyle) -> Value:
    if style.is_compact_date and (day := parse_compact_date(text)):
        return Value(Kind.DATE, None, day.lexical, day.datatype)
    if not has_simple_numbers(style):
        return _type_other(text, style, parse_number)
    number = parse_simple(text)
    return type_unlike_simple(text, style) if number is None else Value(Kind.NUMBER, number)


def _type_other(text: str, style: ColumnStyle, parse: Callable[[str, NumberStyle], Number | None]) -> Value:
    if not text:
        return _EMPTY
    if len(text) < 12:
        stripped = text.strip()
        if not stripped or stripped in MISSING_MARKERS:
            return _MISSING
        if style.is_boolean and stripped.lower() in _BOOLEANS:
            return Value(Kind.BOOLEAN, None, _BOOLEANS[stripped.lower()], "xsd:boolean")
    if not _WITH_DIGIT.search(text):
        return _TEXT if text.strip() else _MISSING
    if style.is_identifier:
        return _TEXT
    if style.is_year and (match := _YEAR.fullmatch(text.strip())):
        return Value(Kind.YEAR, None, match[1], "xsd:gYear")
    if (
        len(text) <= 60
        and _DATE_OPENING.match(text)
        and _DATED.search(text)
        and (dated := _type_date(text, style))
    ):
        return dated
    number = parse(text, style.numbers)
    return Value(Kind.NUMBER, number) if number is not None else _TEXT


def _type_date(text: str, style: ColumnStyle) -> Value | None:
    plain = _MARKS.sub("", text.strip())
    if style.is_clock and _CLOCK.fullmatch(plain):
        return Value(Kind.DATE, None, f"{plain}:00", "xsd:time")
    if style.is_month and (month := _MONTH.fullmatch(plain)):
        return Value(Kind.DATE, None, month[0], "xsd:gYearMonth")
    date = parse_date(plain, style.date_order)
    if date is not None:
        return Value(Kind.DATE, None, date.lexical, date.datatype)
    period: Date | None = parse_period(plain) if style.numbers.ranges or "/" not in plain else None
    return None if period is None else Value(Kind.PERIOD, None, period.lexical)
