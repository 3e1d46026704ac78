"""Evidence for unit and scale: names of columns, rows and groups, cells of a column, surrounding text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from kgtable.tables.model import Context, Table
from kgtable.values.currencies import SCALE_WORDS, SIGNS, currency_names, currency_prefix, currency_unit
from kgtable.values.measures import Measure, denominator, duration_unit, find_measure
from kgtable.values.periods import find_period, is_temporal
from kgtable.values.unit_phrases import UnitPhrase, parse_unit_phrase, parse_unit_text, without_exception

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
    r"(?:\s+of\s+(?:U\.S\. |US |Canadian )?(?:dollars|euros?|pounds|RMB|yen|[$€£]))?\b"
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


def _from_names(texts: Iterable[str], source: str) -> Iterator[StatedUnit]:
    for text in texts:
        if not text or len(text) > LONGEST_TEXT:
            continue
        phrase, measure = parse_unit_text(text), None
        if source in {"corner", "caption"}:
            measure = find_measure(without_exception(text))
        if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
            yield StatedUnit(UnitPhrase("PERCENT", 0), source, Measure.PERCENT)
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
        phrase = parse_unit_phrase(text.strip())
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


MOST_AMOUNTS = 200
MOST_CELLS = 2_000
LEAST_MATCHES = 2
SCALES = (0, 3, 6, 9)

_AMOUNT = re.compile(
    r"(?:[$€£¥]|RMB|USD|EUR) ?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"\s+(?P<scale>thousand|million|billion|trillion)\b",
    re.IGNORECASE,
)
_AMOUNT_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


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
            match = _AMOUNT_NUMBER.search(text) if len(text) <= 30 and "%" not in text else None
            if match is not None and len(found) < MOST_CELLS:
                found[Decimal(match[0].replace(",", ""))] = None
    return tuple(cell for cell in found if cell >= 10)


_NOTHING = UnitPhrase()


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
    return Clue(source, phrase or _NOTHING, measure, denominator(name))


def _is_bare_word(label: str, phrase: UnitPhrase) -> bool:
    """Whether a row's label is a mere word that may be a name: "Yuan", "Miles"."""
    if phrase.unit == "PERCENT" or (phrase.unit and phrase.scale) or " in " in label:
        return False
    return label.replace(" ", "").isalpha()


class TableClues:
    """The clues of one table: of its columns and groups, of its cells, and of what surrounds it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        structure = table.structure
        titles = [text for row in structure.titles for text in table.grid.head[row] if text.strip()]
        self.statements = table_statements(table.context, structure.corner, titles)
        self.prints = column_prints(table)
        units = list(self._unit_texts())
        self.columns = tuple(
            tuple(_column_clues(column.path, unit, printed)) if column.index != structure.label_column else ()
            for column, unit, printed in zip(table.columns, units, self.prints, strict=True)
        )
        self.columns_alike = len({_unit_of(clues) for clues in self.columns if clues}) <= 1
        self.temporal = frozenset(column.index for column in table.columns if is_temporal(column.path))
        self.periods = tuple(find_period(column.name) for column in table.columns)
        self.scale = next(
            (s for s in self.statements if s.phrase.scale is not None and not s.is_percent), None
        )
        if self.scale is None and not any(clue.phrase.scale for clues in self.columns for clue in clues):
            power = scale_of_amounts(table)
            self.scale = StatedUnit(UnitPhrase(None, power), "amounts in text") if power else None
        self.counts = next((s for s in self.statements if s.measure in {Measure.SHARES, Measure.COUNT}), None)
        self.share_scale = next((s for s in self.statements if s.phrase.share_scale is not None), None)
        self.percent = self._stated_percent()
        self.currency, self.currency_from = self._find_currency()

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
