"""Periods in cells, headers and labels: quarters, halves, fiscal years, spans of years, points in time."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kgtable.values.dates import (
    MONTH,
    MONTH_NAMES,
    MONTHS,
    Date,
    full_year,
    month_of,
    parse_date,
    parse_day_of_year,
)
from kgtable.values.text import text_cache, without_marks

LONGEST = 300
"""Longer headers and labels than this are not searched for a period."""

_YEAR = r"(?:19|20)\d{2}"
_SHORT = rf"(?:{_YEAR}|['’]?\d{{2}})"
_QUARTER = re.compile(
    rf"(?<!\w)(?:Q(?P<q1>[1-4])[ ,/-]*(?:of |FY ?)?(?P<y1>{_SHORT})"
    rf"|(?P<q2>[1-4])Q[ -]?(?:FY ?)?(?P<y2>{_SHORT})"
    rf"|(?P<y3>{_YEAR})[ /:-]?Q(?P<q3>[1-4])"
    rf"|(?P<q4>first|second|third|fourth|1st|2nd|3rd|4th) quarter(?: ended)?(?: of"
    rf"|,)?(?: fiscal)?(?: year)? (?P<y4>{_YEAR})"
    rf"|(?P<y5>{_YEAR})(?:'s|,| >)? (?P<q5>first|second|third|fourth|1st|2nd|3rd|4th) quarter)(?!\w)",
    re.IGNORECASE | re.ASCII,
)
_HALF = re.compile(
    rf"(?<!\w)(?:H(?P<h1>[12])[ ,/-]*(?P<y1>{_SHORT})|(?P<h2>[12])H[ -]?(?P<y2>{_SHORT})"
    rf"|(?P<y3>{_YEAR})[ /-]?H(?P<h3>[12])"
    rf"|(?P<h4>first|second|1st|2nd) half(?: of|,)?(?: fiscal)?(?: year)? (?P<y4>{_YEAR}))(?!\w)",
    re.IGNORECASE | re.ASCII,
)
_FISCAL = re.compile(
    rf"(?<!\w)(?:FYE?|fiscal(?: year)?|financial year)[ -]?(?:ended )?(?P<year>{_YEAR}"
    rf"|['’]?\d{{2}})(?:[/–-](?P<next>{_YEAR}|\d{{2}}))?[EA]?(?!\w)",
    re.IGNORECASE | re.ASCII,
)
_SPAN = re.compile(
    r"(?<![\w/–.,-])(?P<first>(?:1[5-9]|20)\d{2})(?: ?[-–—−/] ?| to )"
    r"(?P<last>(?:1[5-9]|20)\d{2}|\d{2})(?![\w/–-])"
)
_DAY_TEXT = (
    rf"(?:{MONTH} ?\d{{1,2}},? ?{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? {MONTH.replace('month', 'month2')},? {_YEAR})"
)
_DAY_FOUND = re.compile(rf"(?<!\w){_DAY_TEXT}(?!\w)", re.IGNORECASE | re.ASCII)
_FIGURES_FOUND = re.compile(rf"(?<![\w/.-])(?:\d{{1,2}}[/.-]\d{{1,2}}[/.-]{_YEAR}|{_YEAR}-\d{{2}}-\d{{2}})(?![\w/-])")
_D, _M, _Y = r"\d{1,2}(?:st|nd|rd|th)?", rf"(?:{MONTH_NAMES})", r"[12]\d{3}"
_DAYS = re.compile(
    rf"(?:(?P<day>{_D})(?: (?P<month>{_M})\.?)?(?:,? (?P<year>{_Y}))?"
    rf"|(?P<month_>{_M})\.? (?P<day_>{_D})(?:,? (?P<year_>{_Y}))?)"
    r"(?: ?[-–—] ?| to | through | until )"
    rf"(?:(?P<last>{_D}) (?P<last_month>{_M})\.?,? (?P<last_year>{_Y})"
    rf"|(?:(?P<last_month_>{_M})\.? )?(?P<last_>{_D}),? (?P<last_year_>{_Y}))",
    re.IGNORECASE | re.ASCII,
)
"""Days from one to another: ``16–21 January 2007``, ``Feb 24 to March 9, 2007``."""
_DAYS_OF_YEAR = re.compile(
    rf"(?:(?P<day>{_D})(?: (?P<month>{_M})\.?)?|(?P<month_>{_M})\.? (?P<day_>{_D}))"
    r"(?: ?[-–—−] ?| to | through | until )"
    rf"(?:(?P<last>{_D}) (?P<last_month>{_M})\.?|(?:(?P<last_month_>{_M})\.? )?(?P<last_>{_D}))",
    re.IGNORECASE | re.ASCII,
)
_ISO_DAYS = re.compile(r"([12]\d{3}-\d\d-\d\d)(?:/| ?[–—] ?| to )([12]\d{3}-\d\d-\d\d)")
_DAY_THEN_YEAR = re.compile(rf"(?<!\w){MONTH} (?P<day>\d{{1,2}})(?!\d)", re.IGNORECASE | re.ASCII)
_MONTH_FOUND = re.compile(rf"(?<!\w){MONTH}[ ,-]+(?P<year>{_YEAR})(?!\w)", re.IGNORECASE | re.ASCII)
_MONTH_SHORT = re.compile(
    rf"(?<!\w){MONTH}\s?[-–'’]\s?['’]?(?P<year>\d\d)(?=\s*(?:[(\[,]|$))", re.IGNORECASE | re.ASCII
)
_ISO_MONTH = re.compile(r"(?<![\w./-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?![\w./-])")
_YEAR_FOUND = re.compile(rf"(?<![\w.,$€£/–-])(?P<year>{_YEAR})(?![\w,%]|[./–-]\d)")
_MARKED_YEAR = re.compile(rf"(?P<year>{_YEAR}) ?[AEFBPaefbp](?![\w.,/-])")
"""A year that is actual, estimated, a forecast, a budget or a plan, at the start of a header: ``2024E``."""
_LENGTH = re.compile(
    r"(?<!\w)(?P<length>years?|(?:three|six|nine|twelve|3|6|9|12)[ -]months?|quarters?|(?:thirteen"
    r"|twenty-six|thirty-nine|fifty-two|13|26|39|52|53)[ -]weeks?)(?: period)?s? end(?:ed|ing)",
    re.IGNORECASE | re.ASCII,
)
_BASE_YEAR = re.compile(
    rf"\b(?:(?:constant|chained|real|base(?: year)?) \(?{_YEAR}\b|{_YEAR} prices\b|{_YEAR} ?= ?100\b)",
    re.IGNORECASE,
)
"""The year whose prices amounts are in, or that an index is based on: no period of the values."""
_LIKELY = re.compile(
    r"(?:1[5-9]|20)\d\d|\d ?[QH]|[QHFY][EY1-4]?[ ,/'’-]*(?:of |FY ?)?\d|\d\d-\d\d|[a-z]\s?[-–'’]\s?['’]?\d\d",
    re.IGNORECASE,
)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_MONTHS_OF_LENGTH = {"three": 3, "six": 6, "nine": 9, "twelve": 12, "3": 3, "6": 6, "9": 9, "12": 12}


def parse_period(text: str) -> Date | None:
    """The quarter, half, fiscal year or span of years that is the whole of `text`, or None.

    >>> parse_period("Q3 2020").lexical, parse_period("FY19").lexical, parse_period("2016-17").lexical
    ('2020-Q3', 'FY2019', '2016/2017')
    >>> parse_period("2016-12") is None
    True
    >>> parse_period("24 February – 9 March 2007").lexical, parse_period("May 5-10, 2019").lexical
    ('2007-02-24/2007-03-09', '2019-05-05/2019-05-10')
    """
    if len(text) > 40:
        return None
    plain = " ".join(text.split())
    if match := _QUARTER.fullmatch(plain):
        return _quarter(match)
    if match := _HALF.fullmatch(plain):
        return _half(match)
    if match := _FISCAL.fullmatch(plain):
        return _fiscal(match)
    if match := _SPAN.fullmatch(plain):
        return _span(match)
    if match := _DAYS.fullmatch(plain):
        return _days(match)
    if match := _ISO_DAYS.fullmatch(plain):
        return _interval(parse_date(match[1]), parse_date(match[2]))
    return None


def parse_days_of_year(text: str) -> Date | None:
    """The days of any year from one to another that are the whole of `text`, or None.

    >>> parse_days_of_year("16–21 January").lexical, parse_days_of_year("october 1 through october 31").lexical
    ('--01-16/--01-21', '--10-01/--10-31')
    >>> parse_days_of_year("5-6") is None
    True
    """
    plain = " ".join(text.split())
    match = _DAYS_OF_YEAR.fullmatch(plain) if len(plain) <= 40 else None
    if match is None:
        return None
    day, month, last, last_month = (match[name] or match[f"{name}_"] for name in ("day", "month", "last", "last_month"))
    month, last_month = month or last_month, last_month or month
    if month is None:
        return None
    first, end = parse_day_of_year(f"{day} {month}"), parse_day_of_year(f"{last} {last_month}")
    if first is None or end is None or (month == last_month and first.lexical >= end.lexical):
        return None
    return Date(f"{first.lexical}/{end.lexical}", "")


def find_period(text: str) -> str | None:
    """The period a header or label speaks of, in a form that sorts: a day, month, quarter, year or span.

    A length before the end day is kept as an ISO 8601 interval from its length: "Years Ended
    September 30, 2019" → ``P1Y/2019-09-30``, "Three months ended June 30, 2020" → ``P3M/2020-06-30``.

    >>> find_period("Years Ended September 30, 2019"), find_period("December 31, 2019")
    ('P1Y/2019-09-30', '2019-12-31')
    >>> find_period("2019 (restated)"), find_period("Q3 2020 revenue"), find_period("Revenue")
    ('2019', '2020-Q3', None)
    >>> find_period("units_2023"), find_period("2024E")
    ('2023', '2024')
    """
    if len(text) > LONGEST or not _LIKELY.search(text):
        return None
    return _found_period(text)


@text_cache(16_384)
def _found_period(text: str) -> str | None:
    plain = _BASE_YEAR.sub(" ", without_marks(" ".join(text.replace("_", " ").split())))
    for pattern, read in ((_QUARTER, _quarter), (_HALF, _half)):
        if match := pattern.search(plain):
            return read(match).lexical
    day = _find_day(plain)
    if day is not None:
        length = _LENGTH.search(plain)
        return f"{_duration(length['length'].lower())}/{day}" if length else day
    if match := _MONTH_FOUND.search(plain):
        return month_of(int(match["year"]), MONTHS[match["month"].lower()]).lexical
    if match := _MONTH_SHORT.match(plain):
        return month_of(full_year(match["year"]), MONTHS[match["month"].lower()]).lexical
    if match := _FISCAL.search(plain):
        return _fiscal(match).lexical
    for match in _SPAN.finditer(plain):
        if span := _span(match):
            return span.lexical
    if match := _ISO_MONTH.search(plain):
        return match[0]
    if match := _MARKED_YEAR.match(plain):
        return match["year"]
    years = [match["year"] for match in _YEAR_FOUND.finditer(plain)]
    return years[0] if len(set(years)) == 1 else None


def _find_day(text: str) -> str | None:
    """The one day in `text`; the month and day may be apart from the year ("December 31, 2019 2018")."""
    days = {
        date.lexical
        for pattern in (_DAY_FOUND, _FIGURES_FOUND)
        for match in pattern.finditer(text)
        if (date := parse_date(match[0].replace(",", ", ")))
    }
    if len(days) == 1:
        return days.pop()
    apart = _DAY_THEN_YEAR.search(text)
    years = {match["year"] for match in _YEAR_FOUND.finditer(text)}
    if not days and apart and len(years) == 1:
        date = parse_date(f"{apart['day']} {apart['month']} {years.pop()}")
        return date.lexical if date else None
    return None


def quarters_in(text: str) -> Iterator[tuple[str, int, int]]:
    """The quarters and halves of years in a text, each with its start and end position.

    >>> list(quarters_in("sales in the second quarter of 2023"))
    [('2023-Q2', 13, 35)]
    >>> list(quarters_in("Fiscal 2019 third quarter, first half of 2020"))
    [('2019-Q3', 7, 25), ('2020-H1', 27, 45)]
    """
    for pattern, read in ((_QUARTER, _quarter), (_HALF, _half)):
        for match in pattern.finditer(text):
            yield read(match).lexical, *match.span()


def _days(match: re.Match[str]) -> Date | None:
    """The days from one to another; month and year of the first are those of the last where it has none."""
    day, month, year, last, last_month, last_year = (
        match[name] or match[f"{name}_"] for name in ("day", "month", "year", "last", "last_month", "last_year")
    )
    last_month = last_month or month
    if last_month is None:
        return None
    return _interval(
        parse_date(f"{day} {month or last_month} {year or last_year}"),
        parse_date(f"{last} {last_month} {last_year}"),
    )


def _interval(first: Date | None, end: Date | None) -> Date | None:
    if first is None or end is None or first.lexical >= end.lexical:
        return None
    return Date(f"{first.lexical}/{end.lexical}", "", first.lexical, end.lexical)


def _duration(length: str) -> str:
    if length.startswith("year"):
        return "P1Y"
    if length.startswith("quarter"):
        return "P3M"
    first = re.split(r"[ -](?=month|week)", length)[0]
    if "week" in length:
        weeks = {"thirteen": 13, "twenty-six": 26, "thirty-nine": 39, "fifty-two": 52}
        return f"P{weeks.get(first) or int(first)}W"
    months = _MONTHS_OF_LENGTH[first]
    return "P1Y" if months == 12 else f"P{months}M"


def _months(year: int, first: int, count: int) -> tuple[str, str]:
    last = first + count - 1
    return f"{year:04d}-{first:02d}-01", f"{year:04d}-{last:02d}-{calendar.monthrange(year, last)[1]:02d}"


def _quarter(match: re.Match[str]) -> Date:
    number = next(match[f"q{form}"] for form in range(1, 6) if match[f"q{form}"]).lower()
    year = next(match[f"y{form}"] for form in range(1, 6) if match[f"y{form}"])
    quarter, calendar_year = _ORDINALS.get(number) or int(number), full_year(year.lstrip("'’"))
    return Date(f"{calendar_year}-Q{quarter}", "", *_months(calendar_year, quarter * 3 - 2, 3))


def _half(match: re.Match[str]) -> Date:
    number = next(match[f"h{form}"] for form in range(1, 5) if match[f"h{form}"]).lower()
    half = _ORDINALS.get(number) or int(number)
    year = full_year(next(match[f"y{form}"] for form in range(1, 5) if match[f"y{form}"]).lstrip("'’"))
    return Date(f"{year}-H{half}", "", *_months(year, half * 6 - 5, 6))


def _fiscal(match: re.Match[str]) -> Date:
    year = full_year(match["year"].lstrip("'’"))
    if match["next"]:
        following = full_year(match["next"]) if len(match["next"]) == 4 else year // 100 * 100 + int(match["next"])
        if following == year + 1:
            return Date(f"FY{year}/{following}", "")
    return Date(f"FY{year}", "")


def _span(match: re.Match[str]) -> Date | None:
    first, printed = int(match["first"]), match["last"]
    if len(printed) == 4:
        last = int(printed)
    else:
        last = first // 100 * 100 + int(printed)
        last += 100 if last < first else 0
        if last - first > 30 or (last != first + 1 and int(printed) <= 12):
            return None
    return Date(f"{first}/{last}", "", f"{first}-01-01", f"{last}-12-31") if last > first else None


_HEADER_ORDINALS = "(?:first|second|third|fourth|1st|2nd|3rd|4th)"
_HEADER_YEAR = r"(?:1[6-9]|20|21)\d\d"

_SPECIFIC = re.compile(
    rf"""
      (?<!\d)\d{{1,2}}[./-]\d{{1,2}}[./-](?:\d{{4}}|\d\d)(?!\d)       # 12/9/2013, 31.12.13
    | (?<!\d){_HEADER_YEAR}[./-]\d{{1,2}}(?:[./-]\d{{1,2}})?(?!\d)           # 2013-09-12, 2013-09, 2016/17
    | (?<!\d){_HEADER_YEAR}\s*[-–—/]\s*(?:{_HEADER_YEAR}|\d\d)(?!\d)                # 2016–2017
    | (?<!\w){_HEADER_YEAR}[eafpb]?(?!\w)                                    # 2013, 2024E
    | (?<!\w)(?:fy|cy)\s*[’']?(?:{_HEADER_YEAR}|\d\d)[eafpb]?(?!\w)          # FY2019, FY19
    | (?<!\w)(?:[1-4]\s?[qh]|[qh]\s?[1-4])(?:\s*[/’'-]?\s*(?:{_HEADER_YEAR}|\d\d))?(?!\w)
    | (?<!\w)(?:{_HEADER_ORDINALS}\s+quarter|quarter\s+[1-4])(?!\w)
    | (?<![^\W\d_])(?:{MONTH_NAMES})\s*\.?\s*\d{{1,2}}{_HEADER_YEAR}(?!\d)  # december 312013, the comma lost
    | (?<![^\W\d_])(?:{MONTH_NAMES})(?![^\W_])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_FILLER = re.compile(
    rf"""(?<!\w)(?:
      years?|fiscal|financial|calendar|ended|ending|ends?|as|of|at|on|in|for|the|from|to|through|thru
    | until|and|vs|period|periods|season|seasons|quarters?|months?|weeks?|days?|half|year-end
    | three|six|nine|twelve|thirteen|fifty-two|{_HEADER_ORDINALS}|\d{{1,2}}(?:st|nd|rd|th)?
    | notes?|mn|bn|000s?|thousands?|millions?|billions?|us|usd|eur|gbp|rmb|dollars?|euros?
    | restated|unaudited|audited|actual|estimated?|forecast|budget|reported
    )(?!\w)|[\W_]""",
    re.VERBOSE | re.IGNORECASE,
)
_UNIT_ONLY = re.compile(
    r"""[\s(]*(?:in\s+)?(?:(?:us|u\.s\.|rmb|usd|eur|gbp|\W)\s*){0,3}
    (?:in\s+)?(?:m|mn|bn|k|thousands?|millions?|billions?|'?000s?|dollars?|euros?|percent)?[\s).]*""",
    re.VERBOSE | re.IGNORECASE,
)


def is_temporal(path: Sequence[str]) -> bool:
    """Whether a header path says when and nothing more; a unit below the year does not count.

    >>> is_temporal(["Years Ended September 30,", "2019"])
    True
    >>> is_temporal(["2019", "£m"]), is_temporal(["2019", "Revenue"]), is_temporal(["Year"])
    (True, False, False)
    """
    return _is_temporal(tuple(path))


@lru_cache(maxsize=8_192)
def _is_temporal(path: tuple[str, ...]) -> bool:
    parts = [without_marks(part) for part in path if part.strip() and not _is_unit(part)]
    text = " ".join(parts)
    if len(text) > 200:
        return False
    rest, found = _SPECIFIC.subn(" ", text)
    return found > 0 and not _FILLER.sub("", rest)


def _is_unit(part: str) -> bool:
    return len(part) <= 40 and not part.strip().isdigit() and _UNIT_ONLY.fullmatch(part) is not None
