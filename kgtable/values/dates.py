"""Dates, months, times and periods of single cells, as typed lexical forms."""

from __future__ import annotations

import calendar
import datetime
import re
from enum import StrEnum
from typing import NamedTuple

from kgtable.values.text import text_cache

LONGEST = 60
"""Cells with more characters than this are never dates."""

MONTHS = {
    name: number
    for number in range(1, 13)
    for name in (calendar.month_name[number].lower(), calendar.month_abbr[number].lower())
} | {"sept": 9}
MONTH_NAMES = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
"""A pattern of the months' names and abbreviations."""
MONTH = rf"(?P<month>{MONTH_NAMES})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[12]\d{3})"
_WEEKDAY = r"(?:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?,? )?"


class Order(StrEnum):
    """Which of day and month comes first in numeric dates."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"


class Date(NamedTuple):
    """A date or period: its lexical form, its datatype (``""`` for a period), first and last day."""

    lexical: str
    datatype: str
    start: str = ""
    end: str = ""


_WRITTEN = tuple(
    re.compile(_WEEKDAY + pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        rf"{MONTH} {_DAY},? ?{_YEAR}",
        rf"{_DAY}(?: of)? {MONTH},? {_YEAR}",
        rf"{_DAY}[-/. ]?{MONTH}[-/. ,]{{0,2}}(?P<year>[12]\d{{3}}|\d{{2}})",
        rf"{_YEAR}[-/. ]{MONTH}[-/. ]{_DAY}",
    )
)
_MONTH_YEAR = re.compile(
    rf"{MONTH}(?:,? |-|/)(?P<year>[12]\d{{3}})|(?P<year2>[12]\d{{3}}) {MONTH.replace('month', 'month2')}",
    re.IGNORECASE | re.ASCII,
)
_ISO = re.compile(
    r"(?P<year>[12]\d{3})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})"
    r"(?:[T ](?P<hour>\d{2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>\.\d{1,9})?)?"
    r" ?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_FIGURES = re.compile(r"(?P<first>\d{1,2})(?P<sign>[-/.])(?P<second>\d{1,2})(?P=sign)(?P<year>[12]\d{3}|\d{2})")
_DAY_NAME = re.compile(
    r"(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|(?:mon|tues|wednes|thurs|fri|satur|sun)day)[.,]{0,2} "
    r"(?=\d|[a-z]{3,9}\.? \d)",
    re.IGNORECASE,
)
_CLOCK = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))? ?(?P<half>[ap])\.?m\.?",
    re.IGNORECASE | re.ASCII,
)
_DURATION = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<hours>\d{1,4}):)?(?P<minutes>\d{1,4}):(?P<seconds>[0-5]\d(?:\.\d{1,6})?)",
    re.ASCII,
)
_WORDED = re.compile(
    r"(?:(?P<days>\d{1,5}) ?d(?:ays?)?)?,? ?(?:(?P<hours>\d{1,5}) ?h(?:rs?|ours?)?\.?)?,? ?"
    r"(?:(?P<minutes>\d{1,5}) ?(?:m|mins?|minutes?|′|')\.?)?,? ?(?:(?P<seconds>\d{1,5}(?:\.\d{1,6})?) ?(?:s|secs?|seconds?|″|\")\.?)?",  # noqa: E501
    re.IGNORECASE | re.ASCII,
)
_DAY_OF_YEAR = re.compile(
    r"(?:[a-z]{3,9}day,?\s|(?:mon|tue|wed|thu|fri|sat|sun)\.?,?\s)?\s*"
    rf"(?:{MONTH}\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?{MONTH.replace('month', 'month2')})",
    re.IGNORECASE | re.ASCII,
)
_BEFORE_SERIALS, _FIRST_SERIAL, _LAST_SERIAL, _SERIAL_FIGURES = datetime.date(1899, 12, 30), 20_000, 73_050, 5
_COMPACT = re.compile(r"((?:1[5-9]|20)[0-9]{2})([0-9]{2})([0-9]{2})")
_PLAUSIBLE = re.compile(r"\d")


@text_cache(16_384)
def parse_date(text: str, order: Order = Order.MONTH_FIRST) -> Date | None:
    """The date, month, date-time or time of day that is the whole of `text`, or None.

    `order` decides dates of figures where both numbers could be the month. Two-digit years mean
    1970-2069. A bare year is not a date here: whether 2013 is one is for the column to say.

    >>> parse_date("31 Dec. 2024").lexical, parse_date("12/31/2024").lexical
    ('2024-12-31', '2024-12-31')
    >>> parse_date("December 2019")[:2]
    ('2019-12', 'xsd:gYearMonth')
    >>> parse_date("Mon 03.03.2025").lexical
    '2025-03-03'
    >>> parse_date("31/02/2024") is None
    True
    """
    if len(text) > LONGEST or not _PLAUSIBLE.search(text):
        return None
    plain = _DAY_NAME.sub("", " ".join(text.split()))
    if match := _ISO.fullmatch(plain):
        return _from_iso(match)
    if match := _FIGURES.fullmatch(plain):
        return _from_figures(match, order)
    for pattern in _WRITTEN:
        if match := pattern.fullmatch(plain):
            return _day(full_year(match["year"]), MONTHS[match["month"].lower()], int(match["day"]))
    if match := _MONTH_YEAR.fullmatch(plain):
        year, month = match["year"] or match["year2"], match["month"] or match["month2"]
        return month_of(int(year), MONTHS[month.lower()])
    if match := _CLOCK.fullmatch(plain):
        return _from_clock(match)
    return None


def parse_duration(text: str) -> str | None:
    """The span of time that is the whole of `text`, as an ``xsd:dayTimeDuration``, or None.

    Figures with one colon are minutes and seconds.

    >>> parse_duration("1:04:20"), parse_duration("57:45"), parse_duration("2h 10m")
    ('PT1H4M20S', 'PT57M45S', 'PT2H10M')
    >>> parse_duration("9:75") is None
    True
    """
    plain = " ".join(text.split())
    if not plain or len(plain) > LONGEST:
        return None
    if match := _DURATION.fullmatch(plain):
        if match["hours"] and int(match["minutes"]) > 59:
            return None
        parts = (0, int(match["hours"] or 0), int(match["minutes"]), match["seconds"])
        return ("-" if match["sign"] == "-" else "") + _duration_text(*parts)
    match = _WORDED.fullmatch(plain)
    if match is None or not any(match.groups()):
        return None
    return _duration_text(
        int(match["days"] or 0), int(match["hours"] or 0), int(match["minutes"] or 0), match["seconds"] or "0"
    )


def _duration_text(days: int, hours: int, minutes: int, seconds: str) -> str:
    hours, minutes = hours + minutes // 60, minutes % 60
    rest = f"{int(seconds.partition('.')[0])}{seconds[seconds.find('.') :].rstrip('0').rstrip('.') if '.' in seconds else ''}"  # noqa: E501
    clock = "".join(
        f"{part}{letter}" for part, letter in ((hours, "H"), (minutes, "M"), (rest, "S")) if part not in (0, "0")
    )
    day = f"{days}D" if days else ""
    return f"P{day}T{clock}" if clock else f"P{day}" if day else "PT0S"


def parse_day_of_year(text: str) -> Date | None:
    """The day of any year that is the whole of `text`, or None.

    >>> parse_day_of_year("September 12").lexical, parse_day_of_year("Sat, 3 May").lexical
    ('--09-12', '--05-03')
    >>> parse_day_of_year("May 32") is None
    True
    """
    match = _DAY_OF_YEAR.fullmatch(text.strip())
    if match is None:
        return None
    month, day = MONTHS[(match["month"] or match["month2"]).lower()], int(match["day"] or match["day2"])
    if not 1 <= day <= calendar.monthrange(2000, month)[1]:
        return None
    return Date(f"--{month:02d}-{day:02d}", "xsd:gMonthDay")


def parse_compact_date(text: str) -> Date | None:
    """The day that eight figures print (``20241231``), or a spreadsheet's number of it (``45292``), or None.

    Only a column of dates prints them so. The numbers count days from 1900 on; those of 1954 to 2099 are read.

    >>> parse_compact_date("20241231").lexical, parse_compact_date("20241331"), parse_compact_date("45292").lexical
    ('2024-12-31', None, '2024-01-01')
    """
    plain = text.strip()
    if len(plain) == _SERIAL_FIGURES and plain.isdecimal() and _FIRST_SERIAL <= int(plain) <= _LAST_SERIAL:
        day = _BEFORE_SERIALS + datetime.timedelta(days=int(plain))
        return _day(day.year, day.month, day.day)
    match = _COMPACT.fullmatch(plain)
    return _day(int(match[1]), int(match[2]), int(match[3])) if match else None


def figures_of(text: str) -> tuple[int, int] | None:
    """The two leading numbers of a date of figures (``12/31/2024`` → 12, 31), or None.

    >>> figures_of("12/31/2024")
    (12, 31)
    """
    match = _FIGURES.fullmatch(text.strip())
    return (int(match["first"]), int(match["second"])) if match else None


def full_year(printed: str) -> int:
    """The year meant by two or four printed digits.

    >>> full_year("19"), full_year("85"), full_year("1885")
    (2019, 1985, 1885)
    """
    year = int(printed)
    if len(printed) > 2:
        return year
    return year + (2000 if year < 70 else 1900)


def month_of(year: int, month: int) -> Date:
    """A month as a date with its first and last day."""
    last = calendar.monthrange(year, month)[1]
    lexical = f"{year:04d}-{month:02d}"
    return Date(lexical, "xsd:gYearMonth", f"{lexical}-01", f"{lexical}-{last:02d}")


def _day(year: int, month: int, day: int) -> Date | None:
    try:
        lexical = datetime.date(year, month, day).isoformat()
    except ValueError:
        return None
    return Date(lexical, "xsd:date", lexical, lexical)


def _from_iso(match: re.Match[str]) -> Date | None:
    date = _day(int(match["year"]), int(match["month"]), int(match["day"]))
    if date is None or match["hour"] is None:
        return date
    if match["sign"] != "-" or int(match["hour"]) > 23 or int(match["minute"]) > 59 or int(match["second"] or 0) > 59:
        return None
    zone = match["zone"] or ""
    if len(zone) == 5:
        zone = f"{zone[:3]}:{zone[3:]}"
    if zone not in {"", "Z"} and (int(zone[1:3]) > 13 or int(zone[4:]) > 59):
        return None
    clock = f"{match['hour']}:{match['minute']}:{match['second'] or '00'}{match['fraction'] or ''}"
    return Date(f"{date.lexical}T{clock}{zone}", "xsd:dateTime", date.lexical, date.lexical)


def _from_figures(match: re.Match[str], order: Order) -> Date | None:
    if len(match["year"]) == 2 and not _clearly_a_date(match):
        return None
    first, second, year = int(match["first"]), int(match["second"]), full_year(match["year"])
    month_first = order is Order.MONTH_FIRST and match["sign"] != "."
    attempts = ((first, second), (second, first)) if month_first else ((second, first), (first, second))
    return next((date for month, day in attempts if (date := _day(year, month, day))), None)


def _clearly_a_date(match: re.Match[str]) -> bool:
    """With a two-digit year, dots and dashes also print versions (1.2.10) and records (10-6-12)."""
    first, second = match["first"], match["second"]
    if match["sign"] == "/":
        return True
    padded = first[0] == "0" or second[0] == "0"
    return len(first) == len(second) == 2 and (padded or match["sign"] == ".")


def _from_clock(match: re.Match[str]) -> Date | None:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if not 1 <= hour <= 12 or minute > 59 or second > 59:
        return None
    hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    return Date(f"{hour:02d}:{minute:02d}:{second:02d}", "xsd:time")
