"""Roles of cells in a layout (blank, number, time, unit phrase, marker), and what the cells of a column have in common.

This decides only whether a cell could be in a header or in a body; what its value is, with unit and
scale, is decided later by the typing of values.
"""

from __future__ import annotations

import re
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
"""What total rows are called, by themselves or, after a word for totals, with what they are the total of."""


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


def filled(row: Row) -> list[int]:
    """The columns of a row that are not blank."""
    return [column for column, text in enumerate(row) if text and not text.isspace()]


def label_of(row: Row, label_column: int) -> str:
    """The text that names a row: its label, or else its first text."""
    return cell_of(row, label_column).strip() or next((cell.strip() for cell in row if not blank(cell)), "")


def cell_of(row: Row, column: int) -> str:
    """A cell of a row that may be shorter."""
    return row[column] if column < len(row) else ""


DEEPEST_HEADER = 8
