"""Roles of cells in a layout (blank, number, time, unit phrase, marker), and what the cells of a column have in common.

This asks only whether a cell could stand in a header or in a body; what its value is, with unit and
scale, is decided later by the typing of values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from kgtable.tables.model import Row
from kgtable.values.dates import parse_date
from kgtable.values.numbers import MISSING_MARKERS, NumberStyle, parse_number
from kgtable.values.periods import parse_period
from kgtable.values.unit_phrases import parse_unit_phrase

LONGEST_PHRASE = 120

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_PERIOD = re.compile(
    rf"""\b(?:(?:years?|quarters?|months?|weeks?|periods?)[\s-]+(?:end(?:ed|ing|s)?|to)|as\s(?:of|at)
    |fiscal|quarters?|half[-\s]years?|FY\s?\d\d|[QH]\d\s+(?:FY)?\d\d)
    |^{_MONTH}\s+\d|(?<!\d)(?:19|20)\d\d(?!\d)""",
    re.IGNORECASE | re.VERBOSE,
)
_UNIT_TOKEN = re.compile(r"[$€£¥₹₩¢%‰]|[^\W\d_]+\$?[²³23]?|0+s?|[()\[\],/.:;'’`´\s-]+|.", re.IGNORECASE)
_SPACING = re.compile(r"[()\[\],/.:;'’`´\s-]+")
_STRONG_WORDS = """
$ € £ ¥ ₹ ₩ ¢ us$ c$ a$ hk$ nz$ s$ r$ dollar dollars euro euros pounds sterling yen pence cents
rupees yuan francs usd eur gbp jpy rmb cny chf aud cad inr sek nok dkk hkd sgd krw
hundreds thousand thousands million millions billion billions trillion trillions inthousands inmillions mm bn
000 000s % ‰ percent percentage percents pct bps
tonne tonnes tons kg kilograms grams lbs km kilometres kilometers metres meters cm miles acres hectares
km² km2 m² m2 litres liters kwh mwh gwh mw gw kcal kj
"""
_WEAK_WORDS = """
m k g l t h number numbers no unit units share shares employees mg mi ft feet ha ml sq
hours minutes seconds days weeks months years index times ratio persons people points basis
"""
_GLUE_WORDS = """
in of per and are all amount amounts figures expressed us u s canadian can cdn australian shown presented
"""
_STRONG, _WEAK, _GLUE = (frozenset(words.split()) for words in (_STRONG_WORDS, _WEAK_WORDS, _GLUE_WORDS))
_GLUED_MONEY = re.compile(r"(?:us|c|a|hk|nz|s|r)?\$(?:mm?|bn|k)?|[€£¥](?:mm?|bn|k)", re.IGNORECASE)
_EXCEPTING = ("except", "other than", "unless", "excluding", "and shares", "and number")
_EXCEPTION = re.compile(
    r"[\s,(]*(?:except|other than|unless|excluding|and shares|and number)\b.*", re.IGNORECASE | re.DOTALL
)


def is_unit(text: str) -> bool:
    """Whether a text is nothing but a unit or a scale.

    >>> [is_unit(text) for text in ("(in thousands, except per share data)", "RMB’Million", "Total")]
    [True, True, False]
    """
    return len(text) <= LONGEST_PHRASE and _unit_words(text) > 0


def is_money_or_scale(text: str) -> bool:
    """Whether a text is a unit that could not be the name of a column: "in millions", "%", "US$ '000"."""
    return len(text) <= LONGEST_PHRASE and _unit_words(text) > 1


def is_period(text: str) -> bool:
    """Whether a text speaks of a span or point of time that figures are given for.

    >>> [is_period(text) for text in ("Years ended August 31,", "2019 and 2018", "Sales")]
    [True, True, False]
    """
    return len(text) <= LONGEST_PHRASE and bool(_PERIOD.search(text))


_PERIOD_WORDS = """
years year yearly annual annually quarters quarter quarterly halves half months month monthly weeks week weekly
periods period fiscal financial calendar ended ending ends end to as of at on for the in and or from through until
till since first second third fourth last one two three four six nine twelve full current prior previous by
audited unaudited restated fy q h date dates th st nd rd
"""
_KNOWN = frozenset(_PERIOD_WORDS.split()) | _STRONG | _WEAK | _GLUE
_WORD = re.compile(r"[^\W\d_]+")
_MONTH_WORD = re.compile(rf"{_MONTH}\Z", re.IGNORECASE)


def names_something(text: str) -> bool:
    """Whether a text says more than periods and units, as a title does.

    >>> [names_something(text) for text in ("Years ended August 31,", "Profit and loss of 2023 (USD million)")]
    [False, True]
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    return sum(word not in _KNOWN and not _MONTH_WORD.match(word) for word in words) >= 1


@lru_cache(maxsize=8_192)
def _unit_words(text: str) -> int:
    """0: not a unit; 1: only words that may name a column as well; 2: a unit."""
    strength = 0
    words = text.casefold()
    if any(word in words for word in _EXCEPTING):
        words = _EXCEPTION.sub("", words)
    for token in _UNIT_TOKEN.findall(words):
        if token in _STRONG or _GLUED_MONEY.fullmatch(token):
            strength = 2
        elif token in _WEAK:
            strength = max(strength, 1)
        elif token not in _GLUE and not _SPACING.fullmatch(token):
            return 0
    if re.fullmatch(r"\s*[0.,]+\s*", words):
        return 0
    return strength


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
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d(?:\.0)?(?:\s*(?:\((?:\d|[a-z])\)|\[\w{1,3}\]|[*†‡¹²³⁴-⁹]+|[AEPF]))?", re.ASCII)
_UNIT_LIKE = re.compile(r"[^\W\d_]{2}|[^\w\s()\[\].,*†‡]|\b[gtmlkWV]\b")
_YEAR_AND_UNIT = re.compile(r"(?:FY\s?)?(?P<year>(?:19|20)\d\d)(?:[-/–]\d{2,4})?\s*,?\s*(?P<unit>[^\d\s].*)", re.DOTALL)
_DIGIT = re.compile(r"[0-9½⅓⅔¼¾⅕-⅞]")
_THOUSANDS = re.compile(r"\D+000s?\D*")
_STYLE = NumberStyle(ranges=False, numbered_marks=True)
_COMMA = NumberStyle(ranges=False, numbered_marks=True, decimal_comma=True)


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
    if text.endswith((")", "]")) and year_with_unit(text):
        return Look.DATE
    if not _THOUSANDS.fullmatch(text) and _is_amount(text):
        return Look.NUMBER
    if is_unit(text):
        return Look.UNIT
    return Look.DATE if parse_date(text) or parse_period(text) else Look.TEXT


def year_with_unit(text: str) -> str | None:
    """The year of a text that is a year and the unit of what is given for it, else None.

    >>> year_with_unit("2023 (EUR thousand)"), year_with_unit("2024 kg"), year_with_unit("2024 monkeys")
    ('2023', '2024', None)
    """
    match = _YEAR_AND_UNIT.fullmatch(text.strip()) if len(text) <= LONGEST_PHRASE else None
    if (
        match is None
        or not _UNIT_LIKE.search(match["unit"])
        or not (is_unit(match["unit"]) or parse_unit_phrase(match["unit"].strip(" ()[]")))
    ):
        return None
    return match["year"]


def _is_amount(text: str) -> bool:
    """Whether a cell is a number: a pure one, of money or percent, perhaps with a remark in parentheses.

    A number with another unit ("12 months", "5 km") may as well be the name of a column.
    """
    number = parse_number(text, _STYLE)
    if number is None and "," in text:
        number = parse_number(text, _COMMA)
    if number is None and text.endswith(")"):
        number = parse_number(text.partition("(")[0], _STYLE)
    return number is not None and (number.unit is None or number.unit.startswith(_AMOUNT_UNITS))


NAMED_TOTAL = re.compile(
    r"^(?:grand[ -]|sub-?\s?)?totals?(?: (?:for|of|over|across|in) .*|\b)"
    r"|\b(?:sub-?)?totals?\s*(?:\([^)]*\))?[\s:*.\d]*$"
    r"|^sums?(?:\s*\([^)]*\)|\s+(?:of|over) (?:all|the)\b.*)?[\s:.]*$"
    r"|^(?:ins)?gesamt(?:summe)?\b|^(?:zwischen)?summe\b|^sous-total|^suma total"
    r"|^(?:totale|totaa?l|totaux|totales|totais|totalt|i alt|yhteensä|somme|summa|suma|razem|ogółem|łącznie|celkem"
    r"|spolu|összesen|toplam|altogether|all together|итого|всего|разом|усього"
    r"|合计|合計|总计|總計|总和|小计|小計|합계|총계|[σ∑])"
    r"(?:\s*\([^)]*\))?[\s:.]*$",
    re.IGNORECASE,
)
"""What total rows are called, by themselves or, behind a word for totals, with what they are the total of."""


@lru_cache(maxsize=20_000)
def is_named_total(label: str) -> bool:
    """Whether a label says that its row is a total.

    >>> [is_named_total(label) for label in ("Total assets", "Sub-total", "Net sales", "Totality")]
    [True, True, False, False]
    """
    return bool(NAMED_TOTAL.search(label.strip()))


def blank(text: str) -> bool:
    """Whether a cell holds nothing but white space."""
    return not text or text.isspace()


SAMPLE_ROWS = 100
DEEPEST_HEADER = 8


@dataclass(frozen=True, slots=True)
class Profile:
    """Which columns are numeric below, and which of these hold years."""

    numeric: frozenset[int]
    years: frozenset[int]

    def votes(self, row: Row) -> tuple[int, int]:
        """How many cells of a row speak for a header and how many for the body.

        Only numeric columns vote: a text above numbers names them, a number among numbers is one more.
        """
        header = body = 0
        for column, text in enumerate(row):
            if column not in self.numeric:
                continue
            kind = look(text)
            if kind is Look.EMPTY:
                continue
            if kind in (Look.NUMBER, Look.MISSING) or (kind is Look.YEAR and column in self.years):
                body += 1
            else:
                header += 1
        return header, body


def profile_rows(rows: Sequence[Row], width: int) -> Profile:
    """The profile of a table's columns, from the rows that are surely below its header.

    Small tables are judged by their lower half, others by up to 100 rows below the deepest header; notes
    at the end, rows of one text each, are no part of that half.
    """
    start = min(DEEPEST_HEADER, _height(rows) // 2)
    numbers, years, others = [0] * width, [0] * width, [0] * width
    for row in rows[start : start + SAMPLE_ROWS]:
        for column, text in enumerate(row):
            kind = look(text)
            if kind is Look.NUMBER:
                numbers[column] += 1
            elif kind is Look.YEAR:
                years[column] += 1
            elif kind not in (Look.EMPTY, Look.MISSING):
                others[column] += 1
    numeric = frozenset(column for column in range(width) if 0 < numbers[column] + years[column] >= others[column])
    return Profile(numeric, frozenset(column for column in numeric if years[column] > numbers[column]))


def _height(rows: Sequence[Row]) -> int:
    """How many rows there are without those at the end that are blank or hold one text with letters."""
    last = len(rows)
    while last > 2 and _is_aside(rows[last - 1]):
        last -= 1
    return last if last > 2 else len(rows)


def _is_aside(row: Row) -> bool:
    texts = [text for text in row if not blank(text)]
    return not texts or (len(texts) == 1 and any(map(str.isalpha, texts[0])))


SHAPE_ROWS = 60
LONGEST_SHAPE = 24
MOST_COLUMNS = 200

_DIGITS = re.compile(r"[0-9]+")


def shape_of(text: str) -> str:
    """What a text looks like: a date, or itself with every number as a 9; nothing if it is long.

    >>> shape_of("3.42 m"), shape_of("31 Dec. 2024")
    ('9.9 m', 'date')
    """
    text = text.strip()
    if len(text) > LONGEST_SHAPE:
        return ""
    return Look.DATE.value if look(text) is Look.DATE else _DIGITS.sub("9", text)


def shape_votes(row: Row, below: Sequence[Row], profile: Profile) -> tuple[int, int]:
    """How many cells of a row speak for a header and how many for the body by their shape.

    Columns vote that are not numeric and where at least four of five cells below have one shape with
    digits: a cell of another shape is of a header, one of the same is of the body.
    """
    columns = [column for column in range(min(len(row), MOST_COLUMNS)) if column not in profile.numeric]
    if not any(_DIGITS.search(row[column][:LONGEST_SHAPE]) for column in columns):
        return 0, 0
    header = body = 0
    for column in columns:
        texts = [line[column] for line in below[:SHAPE_ROWS] if column < len(line) and not blank(line[column])]
        counts = Counter(map(shape_of, texts))
        shape, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
        if count * 5 < len(texts) * 4 or not (shape == Look.DATE.value or "9" in shape):
            continue
        same = shape_of(row[column]) == shape
        body += same
        header += not same and not blank(row[column])
    return header, body
