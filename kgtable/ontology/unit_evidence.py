"""Evidence for unit and scale: names of columns, rows and groups, cells of a column, surrounding text."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from kgtable.tables.model import Context, Row, Table
from kgtable.values.currencies import (
    PLAIN_SCALES,
    SCALE_WORDS,
    SIGNS,
    currency_names,
    currency_prefix,
    currency_unit,
)
from kgtable.values.measures import Measure, denominator, duration_unit, find_measure
from kgtable.values.periods import find_period, is_temporal
from kgtable.values.text import without_marks
from kgtable.values.unit_clauses import may_name_unit
from kgtable.values.unit_phrases import (
    UnitPhrase,
    is_bare_scale,
    parse_unit_phrase,
    parse_unit_text,
    without_exception,
)
from kgtable.values.units import find_header_unit

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
    numeric = [column for column in range(width) if percents[column] or plain[column]]
    opens = len(numeric) > 1 and all(first_is_percent[column] and percents[column] == 1 for column in numeric)
    return tuple(
        ColumnPrint(
            next(iter(found)) if len(found) == 1 else None,
            bool(first) and not found and (percent > 1 or opens) and bare > 0,
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


LONGEST_TEXT = 20_000
"""Of each text around a table only this many characters are looked at."""

_CURRENCY = (
    r"(?:US ?\$|A\$|C\$|HK\$|[$€£¥₹]|USD|EUR|GBP|RMB|U\.?S\.? dollars?|dollars?|euros?|pounds(?: sterling)?"
    r"|sterling|yen)"
)
_SCALE = r"(?:hundreds|thousands|millions|billions|trillions|crores?|lakhs?)"
_PROSE = re.compile(
    rf"(?:\b(?:{_CURRENCY}|amounts?|figures|shares)(?: amounts?| values?| and shares?)? )?"
    r"(?:are |is |were |all )*(?:expressed |stated |presented |reported |shown |denominated |rounded )*"
    rf"\b(?:in|to the nearest) (?:{_CURRENCY} ?)?(?:{_SCALE}|thousand|million)"
    r"(?:\s+of\s+(?:U\.S\. |US |[A-Z][a-z]{2,}i? (?:[A-Z][a-z]+ )?)?"
    r"(?:dollars|euros?|pounds|RMB|yen|rupees|dinars|francs|rials|riyals|dirhams|pesos|kron[ae]r?|rand|won|lira|[$€£]))?\b"
    rf"(?:[,;]? ?(?:shares in {_SCALE}"
    r"|(?:and |\()?(?:except|other than|unless otherwise|excluding)[^.()]{0,100}))?",
    re.IGNORECASE,
)
_SCALES = frozenset({3, 5, 6, 7, 9, 12})
_BRACKETED = re.compile(r"\(([^()]{2,120})\)")
_PERCENT_TABLE = re.compile(
    r"\bas a percentage of\b|\bpercentages? of (?:total|net|our|revenue|sales)|\bexpressed (?:as|in) percent",
    re.IGNORECASE,
)
_SIGN = re.compile(r"(?:US|A|C|HK|NZ|S|R)?\$(?=\s?\d)|[€£¥₹](?=\s?\d)|(?:RMB|EUR|USD|CHF|GBP)(?=\s?\d)")


@dataclass(frozen=True, slots=True)
class StatedUnit:
    """A unit phrase, where it was found, and what it says that the whole table measures."""

    phrase: UnitPhrase
    source: str
    measure: Measure | None = None

    @property
    def is_percent(self) -> bool:
        """Whether the whole table is said to be in percent."""
        return self.measure is Measure.PERCENT


def table_statements(context: Context, corner: str, titles: Iterable[str]) -> tuple[StatedUnit, ...]:
    """What is stated for the table as a whole, the most specific source first."""
    found = list(_from_names((corner,), "corner"))
    found += _from_names(titles, "corner")
    found += _from_names((context.caption,), "caption")
    found += _from_names((context.title,), "title")
    found += _from_names(reversed(context.heading), "heading")
    found += _from_prose(reversed(context.before), "text before")
    found += _from_prose(context.after, "text after")
    found += _from_prose(context.paragraphs, "paragraph")
    return tuple(found)


def currency_of_texts(context: Context) -> str | None:
    """The one currency in which the texts around a table print amounts, or None."""
    found = {
        currency_unit(SIGNS.get(match[0], match[0]))
        for text in context.texts()
        for match in _SIGN.finditer(text[:LONGEST_TEXT])
    }
    return found.pop() if len(found) == 1 else None


_OPENS_FOR_ALL = re.compile(r"[(\[]|\bin ", re.IGNORECASE)
_FOR_ALL = re.compile(r"(?:.*\bin |.*\(|.*\[)?(?P<unit>[^()\[\]]{1,40}?)[)\]]?\s*", re.IGNORECASE | re.DOTALL)


def unit_for_all(context: Context, corner: str, titles: Iterable[str]) -> tuple[UnitPhrase, str] | None:
    """The unit, other than money and percent, that a text gives for the whole table: "Output in GWh".

    It stands alone, in brackets or behind "in" at the end of a title row, the caption, title or a heading,
    or makes the whole corner.
    """
    sources = (
        *((text, "corner") for text in titles),
        (context.caption, "caption"),
        (context.title, "title"),
        *((text, "heading") for text in reversed(context.heading)),
    )
    whole_corner = None
    if 0 < len(corner) <= 40 and may_name_unit(corner):
        whole_corner = parse_unit_phrase(corner.strip(" ()[]").removeprefix("in "))
    if whole_corner is not None and _is_other_unit(whole_corner):
        return whole_corner, "corner"
    for text, source in sources:
        if not 0 < len(text) <= 300 or not (_OPENS_FOR_ALL.search(text) and may_name_unit(text)):
            continue
        match = _FOR_ALL.fullmatch(text)
        phrase = parse_unit_text(f"({match['unit']})") if match else None
        if match and phrase is not None and _is_other_unit(phrase) and match["unit"].strip() != text.strip():
            return phrase, source
    return None


def _is_other_unit(phrase: UnitPhrase) -> bool:
    return (
        phrase.unit is not None
        and phrase.unit not in {"PERCENT", "YR"}
        and not phrase.unit.startswith("CCY_")
    )


_COUNTED_THINGS = re.compile(
    r"[(\[]\s*(?!(?:us |u\.s\. )?(?:dollars?|amounts?|figures|data|values?|euros?|pounds|yen|numbers|shares|all|except"
    r"|expressed|stated|presented|shown|unaudited)\b)([a-z]{3,}(?:,? (?:and )?[a-z]{3,}){0,2}) in "
    r"(thousands|millions|billions)\s*[)\]]",
    re.IGNORECASE,
)
"""What a bracket says is counted, and in what: "(cans and packs in millions)"."""


def _from_names(texts: Iterable[str], source: str) -> Iterator[StatedUnit]:
    for text in texts:
        if not text or len(text) > LONGEST_TEXT:
            continue
        phrase, measure = parse_unit_text(text), None
        if source in {"corner", "caption"}:
            measure = find_measure(without_exception(text))
        if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
            yield StatedUnit(UnitPhrase("PERCENT", 0), source, Measure.PERCENT)
        elif phrase is None and (counted := _COUNTED_THINGS.search(text)):
            yield StatedUnit(UnitPhrase(None, PLAIN_SCALES[counted[2].lower()]), source, Measure.COUNT)
        elif phrase is not None:
            counts = source == "corner" and measure in {Measure.SHARES, Measure.COUNT}
            yield StatedUnit(phrase, source, measure if counts else None)
        elif _PERCENT_TABLE.search(text):
            yield StatedUnit(UnitPhrase("PERCENT", 0), source, Measure.PERCENT)
        else:
            yield from _from_prose((text,), source)


def _from_prose(texts: Iterable[str], source: str) -> Iterator[StatedUnit]:
    """Phrases inside sentences: only in the set forms of reports, never a mere amount ("$5 million")."""
    for text in texts:
        text = text[:LONGEST_TEXT]
        phrase = None if is_bare_scale(text) else parse_unit_phrase(text.strip())
        if phrase is not None and phrase.scale in _SCALES:
            yield StatedUnit(phrase, source)
            continue
        for match in _BRACKETED.finditer(text):
            phrase = parse_unit_phrase(match[1])
            if phrase is not None and (phrase.scale in _SCALES or phrase.share_scale in _SCALES):
                yield StatedUnit(phrase, source)
        for match in _PROSE.finditer(text):
            phrase = parse_unit_phrase(match[0].strip(" ()"))
            if phrase is not None and phrase.scale:
                yield StatedUnit(phrase, source)


AMOUNTS = "amounts in text"
MOST_AMOUNTS = 200
MOST_CELLS = 2_000
LEAST_MATCHES = 2
LEAST_DIGITS = 3
LEAST_CELLS = 6
SCALES = (0, 3, 6, 9)

_AMOUNT = re.compile(
    r"(?:[$€£¥]|RMB|USD|EUR) ?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"\s+(?P<scale>thousand|million|billion|trillion)\b",
    re.IGNORECASE,
)
_AMOUNT_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def scale_of_amounts(table: Table, of_money: Callable[[], bool] = lambda: False) -> int | None:
    """The power of ten that makes cells agree with amounts in the text, or None where it is not clear.

    A cell agrees with an amount if it rounds to it at the amount's last printed digit. Amounts of fewer
    than three digits say nothing; two amounts must agree, and more than half of all that agree at any scale.
    Where none agree in a table `of_money` alone, the amounts tell by their size.
    """
    amounts = list(dict.fromkeys(_amounts(table.context)))[:MOST_AMOUNTS]
    if len(amounts) < LEAST_MATCHES:
        return None
    cells = _cells(table)
    precise = [(value, unit) for value, unit, digits in amounts if digits >= LEAST_DIGITS]
    scale = _scale_of_equals(precise, cells) if len(precise) >= LEAST_MATCHES else None
    if scale is None and of_money():
        return _scale_of_range([value for value, *_ in amounts], cells)
    return scale


def _scale_of_equals(amounts: Sequence[tuple[Decimal, Decimal]], cells: Sequence[Decimal]) -> int | None:
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


def _scale_of_range(amounts: Sequence[Decimal], cells: Sequence[Decimal]) -> int | None:
    """The one power of ten that puts the amounts of the text between the smallest and largest cell.

    A text beside a table speaks of amounts of the table's own size: "$6.2 million" beside cells from 532
    to 24,264 tells of thousands. At every other scale most amounts must lie outside. Cells with two
    decimals are prices, which no scale is meant for.
    """
    if len(amounts) < LEAST_MATCHES or len(cells) < LEAST_CELLS:
        return None
    if sum(cell.as_tuple().exponent == -2 for cell in cells) * 2 >= len(cells):
        return None
    low, high = min(cells), max(cells)
    inside = {
        scale: sum(low.scaleb(scale) <= amount <= high.scaleb(scale) for amount in amounts) / len(amounts)
        for scale in SCALES
    }
    best = max(SCALES, key=lambda scale: inside[scale])
    clear = all(share <= 0.5 for scale, share in inside.items() if scale != best)
    return best if inside[best] >= 0.9 and clear else None


def _amounts(context: Context) -> Iterator[tuple[Decimal, Decimal, int]]:
    """Amounts in full, each with the worth of its last printed digit and the number of its digits."""
    for text in context.texts():
        for match in _AMOUNT.finditer(text[:LONGEST_TEXT]):
            printed = Decimal(match["digits"].replace(",", ""))
            if len(match["digits"]) <= 20:
                power = SCALE_WORDS[match["scale"].lower()]
                shape = printed.as_tuple()
                yield printed.scaleb(power), Decimal(1).scaleb(int(shape.exponent) + power), len(shape.digits)


def _cells(table: Table) -> tuple[Decimal, ...]:
    """The distinct figures of the body's first rows, percentages left out."""
    found: dict[Decimal, None] = {}
    for row in table.grid.head[table.structure.body_start :]:
        for text in row:
            match = _AMOUNT_NUMBER.search(text) if len(text) <= 30 and "%" not in text else None
            if match is not None and len(found) < MOST_CELLS:
                found[Decimal(match[0].replace(",", ""))] = None
    return tuple(cell for cell in found if cell >= 10)


_NOTHING = UnitPhrase()
MAPPING = "mapping"


@dataclass(frozen=True, slots=True)
class Clue:
    """What one name says: its unit phrase, what it measures, what its values are per."""

    source: str
    phrase: UnitPhrase = _NOTHING
    measure: Measure | None = None
    per: str | None = None

    @property
    def is_plain_money(self) -> bool:
        """Whether it says no more than a currency or a scale."""
        return self.measure is None and self.phrase.is_money


@lru_cache(maxsize=32_768)
def read_clue(name: str, source: str) -> Clue | None:
    """The clue in the name of a column, row or group, or None.

    >>> read_clue("Basic EPS (pence)", "row").phrase.scale, read_clue("Turnover", "row")
    (-2, None)
    """
    phrase, measure = parse_unit_text(name), find_measure(without_exception(name))
    if source == "row" and phrase is not None and _is_bare_word(name, phrase):
        phrase = None
    if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
        phrase, measure = UnitPhrase("PERCENT", 0), Measure.PERCENT
    if phrase is None and measure is None:
        return None
    if measure is Measure.DURATION and (phrase is None or phrase.unit is None):
        phrase = UnitPhrase(duration_unit(name))
    per = phrase.per if phrase is not None and phrase.per else denominator(name)
    return Clue(source, phrase or _NOTHING, measure, per)


_OPENS_UNIT = re.compile(r" in | per ", re.IGNORECASE)


def _is_bare_word(label: str, phrase: UnitPhrase) -> bool:
    """Whether a row's label is a mere word that may be a name: "Yuan", "Miles"."""
    if phrase.unit == "PERCENT" or (phrase.unit and phrase.scale) or _OPENS_UNIT.search(label):
        return False
    return label.replace(" ", "").isalpha()


_UNIT_COLUMN = re.compile(
    r"(?:units?|unit of measure(?:ment)?|measure(?:ment)? units?|uom|einheit(?:en)?|ma(?:ß|ss)einheit|unit[ée]s?|unidad"
    r"|currency|currencies|ccy|währung|devise|valuta)",
    re.IGNORECASE,
)
_COUNTED_NOUN = re.compile(
    r"(?:#|no\.?|nos\.?|numbers?|counts?|persons?|people|heads?|employees|pieces?|pcs\.?|pc\.?|units?|items?|stück|stk\.?|each"
    r"|ea\.?|personen)",
    re.IGNORECASE,
)
_MONEY_NAME = re.compile(
    r"price|cost|amount due|salary|wage|fee\b|revenue|sales|turnover|budget|preis|kosten|umsatz|betrag|lohn",
    re.IGNORECASE,
)
_COUNT_NAME = re.compile(
    r"piece|qty|quantity|count|number|stock|units|stück|menge|anzahl|year|rank|age\b", re.IGNORECASE
)
_SUMMARY_NAME = re.compile(
    r"(?:grand |sub-?)?totals?|sum|average|mean|median|gesamt|summe|all", re.IGNORECASE
)
_FIGURE = re.compile(r"[-–—(~<>≈+]*\s?\d[\d.,'’ ]*\)?")
LEAST_READ = 0.7
"""A column of units has a unit in at least this share of its cells."""


@dataclass(frozen=True, slots=True)
class UnitColumn:
    """A column whose cells give the unit of their row: its index, and the columns that units are for.

    `money` are the columns that take a currency, `others` those that take any other unit.
    """

    index: int
    money: frozenset[int]
    others: frozenset[int]

    def covers(self, column: int, clue: Clue) -> bool:
        """Whether a clue from the column of units is about the numbers of a column."""
        is_money = clue.phrase.unit is not None and clue.phrase.unit.startswith("CCY_")
        return column in (self.money if is_money else self.others)


def find_unit_column(table: Table) -> UnitColumn | None:
    """The column that gives the unit of each row's numbers, by its name and its cells; None without one."""
    structure = table.structure
    candidates = [
        column.index
        for column in table.columns
        if column.index != structure.label_column
        and column.path
        and _UNIT_COLUMN.fullmatch(without_marks(column.path[-1]).strip())
    ]
    if not candidates:
        return None
    rows = [
        row
        for index, row in enumerate(table.grid.head[structure.body_start :][:LOOKED_AT], structure.body_start)
        if index not in structure.footnotes
    ]
    for index in candidates:
        texts = [row[index].strip() for row in rows if index < len(row) and row[index].strip()]
        read = sum(read_unit_cell(text) is not None for text in texts)
        if texts and read >= LEAST_READ * len(texts):
            numeric = frozenset(
                column.index
                for column in table.columns
                if column.index != index and _has_figures(rows, column.index)
            )
            covered = _beside_units(table, index, numeric - {structure.label_column})
            names = {column.index: column.name for column in table.columns}
            return UnitColumn(
                index,
                frozenset(column for column in covered if not _COUNT_NAME.search(names[column])),
                frozenset(column for column in covered if not _MONEY_NAME.search(names[column])),
            )
    return None


@lru_cache(maxsize=4_096)
def read_unit_cell(text: str) -> Clue | None:
    """What a cell of a column of units says: a unit, a currency with its scale, a percentage, a count.

    >>> read_unit_cell("EUR million").phrase.scale, read_unit_cell("kg").phrase.unit, read_unit_cell("Anna")
    (6, 'KiloGM', None)
    """
    text = " ".join(html.unescape(text).split())
    if _COUNTED_NOUN.fullmatch(text):
        return Clue(UNIT_COLUMN, measure=Measure.COUNT)
    unit = find_header_unit(text)
    phrase = UnitPhrase(unit) if unit else parse_unit_phrase(text.strip("()[]"), text)
    if phrase is None and is_bare_scale(text):
        return None
    if phrase is None:
        return None
    if phrase.unit == "PERCENT":
        return Clue(UNIT_COLUMN, UnitPhrase("PERCENT", 0), Measure.PERCENT)
    return Clue(UNIT_COLUMN, phrase, None, phrase.per)


UNIT_COLUMN = "unit column"


def _has_figures(rows: Sequence[Row], column: int) -> bool:
    texts = [row[column].strip() for row in rows if column < len(row) and row[column].strip()]
    return bool(texts) and sum(_FIGURE.fullmatch(text) is not None for text in texts) * 2 > len(texts)


def _beside_units(table: Table, index: int, numeric: frozenset[int]) -> frozenset[int]:
    """The columns of numbers that a column of units is about.

    Those of periods where there are any; else the numbers right before it, else those right after it,
    and columns whose own name has a unit are left out.
    """
    open_columns = {
        c.index for c in table.columns if c.index in numeric and not (c.name and _own_unit(c.path[-1]))
    }
    dated = {c.index for c in table.columns if c.index in open_columns and is_temporal(c.path)}
    if dated:
        return frozenset(dated)
    for step in (-1, 1):
        run: set[int] = set()
        column = index + step
        while column in numeric:
            run.add(column)
            column += step
        if run & open_columns:
            return frozenset(run & open_columns)
    return frozenset(open_columns)


def _own_unit(name: str) -> bool:
    phrase = parse_unit_text(name)
    return phrase is not None and phrase.unit is not None


_KINDS_OF_MONEY = re.compile(
    r"\b(?:expenditures?|expenses?|spending|spend|costs?|budget|outlays?|payments?|revenues?|sales|turnover|income"
    r"|receipts|funding|investments?|ausgaben|kosten|umsatz)\b[^.]{0,40}\b(?:by|per|nach)\b",
    re.IGNORECASE,
)
"""The name of a table whose rows are kinds of an amount: "Expenditure by type"."""
_COUNTED_EXPRESSLY = re.compile(r"\b(?:numbers?|counts?|headcount|quantity|no\.?)\b|#", re.IGNORECASE)


class TableClues:
    """The clues of one table: of its columns and groups, of its cells, and of what surrounds it."""

    def __init__(self, table: Table, decided: UnitPhrase | None = None) -> None:
        """`decided` is what a user's mapping says of the whole table; it goes before what texts say."""
        self._table = table
        structure = table.structure
        titles = [text for row in structure.titles for text in table.grid.head[row] if text.strip()]
        corners = [table.grid.head[row][structure.label_column : structure.label_column + 1]
                   for row in structure.header]  # fmt: skip
        if len(corners) > 1:
            titles += [text for cells in corners for text in cells if text.strip()]
        self.statements = table_statements(table.context, structure.corner, titles)
        if decided is not None and decided != _NOTHING:
            self.statements = (StatedUnit(decided, MAPPING), *self.statements)
        self.prints = column_prints(table)
        units = list(self._unit_texts())
        self.columns = tuple(
            tuple(_column_clues(column.path, unit, printed)) if column.index != structure.label_column else ()
            for column, unit, printed in zip(table.columns, units, self.prints, strict=True)
        )
        self.columns_alike = len({_unit_of(clues) for clues in self.columns if clues}) <= 1
        self.temporal = frozenset(column.index for column in table.columns if is_temporal(column.path))
        self.periods = tuple(find_period(column.name) for column in table.columns)
        dated = any(p for i, p in enumerate(self.periods) if i != structure.label_column)
        self.corner_period = None if dated else find_period(structure.corner)
        self.scale = next(
            (s for s in self.statements if s.phrase.scale is not None and not s.is_percent), None
        )
        if self.scale is None and not any(clue.phrase.scale for clues in self.columns for clue in clues):
            power = scale_of_amounts(table, self._is_of_money)
            self.scale = StatedUnit(UnitPhrase(None, power), AMOUNTS) if power else None
        self.counts = next((s for s in self.statements if s.measure in {Measure.SHARES, Measure.COUNT}), None)
        self.share_scale = next((s for s in self.statements if s.phrase.share_scale is not None), None)
        self.percent = self._stated_percent()
        self.currency, self.currency_from = self._find_currency()
        stated = unit_for_all(table.context, structure.corner, titles)
        if decided is not None and _is_other_unit(decided):
            stated = decided, MAPPING
        self.unit: UnitPhrase | None
        self.unit, self.unit_from = stated if stated else (None, "")
        self.unit_covers = self._covered_by_unit() if stated else frozenset[int]()
        self.unit_column = find_unit_column(table)
        context = table.context
        named = (context.caption, context.title, *context.heading, structure.corner, *titles)
        self._kinds_of_money = any(map(_KINDS_OF_MONEY.search, named))
        self._units_of_rows: dict[str, Clue | None] = {}

    def of_row(self, label: str) -> Clue | None:
        """What the label of a row says of its numbers; where amounts are given by kind, "Staff" is a kind."""
        clue = read_clue(label, "row")
        if (
            self._kinds_of_money
            and clue is not None
            and clue.measure is Measure.COUNT
            and self.currency is not None
            and not _COUNTED_EXPRESSLY.search(label)
        ):
            return None
        return clue

    def of_unit_column(self, cells: Row) -> Clue | None:
        """What the column of units says of a row."""
        if self.unit_column is None or self.unit_column.index >= len(cells):
            return None
        text = cells[self.unit_column.index]
        if text not in self._units_of_rows:
            if len(self._units_of_rows) > LOOKED_AT:
                self._units_of_rows.clear()
            self._units_of_rows[text] = read_unit_cell(text)
        return self._units_of_rows[text]

    def _covered_by_unit(self) -> frozenset[int]:
        """The columns that the unit of the whole table is of: those of periods, else all without a unit."""
        label = self._table.structure.label_column
        open_columns = {index for index, clues in enumerate(self.columns) if index != label and not clues}
        if self.unit_from != "corner":  # which is as near to the cells as a sign in another row
            open_columns -= {index for index, printed in enumerate(self.prints) if printed.currency}
        dated = self.temporal & open_columns
        if dated:
            totals = {c.index for c in self._table.columns if c.path and _SUMMARY_NAME.fullmatch(c.path[-1])}
            return frozenset(dated | (totals & open_columns))
        if any(clue.phrase.unit is not None for clues in self.columns for clue in clues):
            return frozenset()
        return frozenset(open_columns)

    def of_groups(self, row: int) -> tuple[Clue, ...]:
        """The clues of the groups above a row, the innermost first."""
        found = (read_clue(self.label_of(group), "group") for group in reversed(self._table.group_path(row)))
        return tuple(clue for clue in found if clue is not None)

    def label_of(self, row: int) -> str:
        """The text that names a row of the table's head: of its label column, else its first text."""
        if row >= len(self._table.grid.head):
            return ""
        cells, label = self._table.grid.head[row], self._table.structure.label_column
        if label < len(cells) and cells[label].strip():
            return cells[label].strip()
        return next((text.strip() for text in cells if text.strip()), "")

    def _unit_texts(self) -> Iterator[str]:
        """For each column the text of the rows of units above it.

        A text covers the columns up to the next text or to a column whose name is a unit itself; one that
        stands alone in its row covers all columns.
        """
        structure = self._table.structure
        named = [bool(column.path and parse_unit_phrase(column.path[-1])) for column in structure.columns]
        found: list[list[str]] = []
        for row in sorted(structure.unit_rows):
            texts = [
                "" if c == structure.label_column else t.strip()
                for c, t in enumerate(self._table.grid.head[row])
            ]
            single = "".join(texts) if sum(map(bool, texts)) == 1 else ""
            for column, text in enumerate(texts):
                before = texts[column - 1] if column and not (column < len(named) and named[column]) else ""
                texts[column] = single or text or before
            found.append(texts)
        for column in range(len(structure.columns)):
            yield " ".join(texts[column] for texts in found if column < len(texts)).strip()

    def _is_of_money(self) -> bool:
        """Whether cells or headers print a currency, and no column or row is of counts or prices."""
        named = [clue for clues in self.columns for clue in clues]
        labels = (
            find_measure(self.label_of(row)) for row in range(min(len(self._table.grid.head), LOOKED_AT))
        )
        measures = {clue.measure for clue in named} | set(labels)
        money = any(printed.currency for printed in self.prints) or any(
            clue.phrase.unit is not None and clue.phrase.is_money for clue in named
        )
        return money and measures.isdisjoint({Measure.PER_SHARE, Measure.SHARES, Measure.COUNT})

    def _stated_percent(self) -> StatedUnit | None:
        """The statement that the whole table is in percent, unless one as near gives a scale."""
        percent = next((s for s in self.statements if s.is_percent), None)
        return None if percent is None or (self.scale and self.scale.source == percent.source) else percent

    def _find_currency(self) -> tuple[str | None, str]:
        for statement in self.statements:
            if statement.phrase.unit is not None and statement.phrase.unit.startswith("CCY_"):
                return statement.phrase.unit, statement.source
        found = {printed.currency for printed in self.prints if printed.currency}
        found |= {
            clue.phrase.unit
            for clues in self.columns
            for clue in clues
            if clue.phrase.unit is not None and clue.phrase.unit.startswith("CCY_")
        }
        if found:
            return (found.pop(), "column cells") if len(found) == 1 else (None, "")
        text = currency_of_texts(self._table.context)
        return (text, "text") if text else (None, "")


def _column_clues(path: tuple[str, ...], unit: str, printed: ColumnPrint) -> Iterator[Clue]:
    """The clues of a column: of its unit row, then of its header path, the lowest level first.

    A year stands in the lowest level only; what a higher level measures is not this column's if its cells
    print a currency, values per share apart.
    """
    stated = parse_unit_phrase(unit, " ".join(path)) if unit else None
    if stated is not None:
        percent = stated.unit == "PERCENT"
        yield Clue("column", UnitPhrase("PERCENT", 0), Measure.PERCENT) if percent else Clue("column", stated)
    elif unit and (clue := read_clue(unit, "column")):
        yield clue
    names = [name for name in path if name]
    for name in reversed(names):
        clue = read_clue(name, "column")
        if clue is None:
            continue
        not_money = clue.measure not in {None, Measure.PER_SHARE}
        foreign = clue.measure is Measure.YEAR or (not_money and printed.currency is not None)
        if name is names[-1] or not foreign:
            yield clue


def _unit_of(clues: tuple[Clue, ...]) -> tuple[str | None, Measure | None]:
    return clues[0].phrase.unit, clues[0].measure
