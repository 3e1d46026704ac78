"""Evidence of units in names and cells: a header, a label, a cell of a column of units, the texts of a column."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final

from kgtable.tables.model import Context, Row, Table
from kgtable.values.lexicon import ANY, is_called, printed_senses, printed_terms, senses, words_of
from kgtable.values.measures import Measure, denominator, duration_unit, find_measure
from kgtable.values.periods import is_temporal
from kgtable.values.text import without_marks
from kgtable.values.unit_phrases import UnitPhrase, parse_unit_phrase, parse_unit_text, without_exception
from kgtable.values.units import (
    KRONER,
    PLAIN_SCALES,
    POWER_NAMES,
    SIGNS,
    currency_names,
    currency_prefix,
    currency_unit,
    find_header_unit,
    is_currency_pair,
    is_supported,
)

LONGEST_TEXT: Final = 20_000
"""Characters of each text around a table that are examined."""
LOOKED_AT: Final = 400
"""How many body rows are looked at."""
UNIT_COLUMN: Final = "unit column"
_NOTHING: Final = UnitPhrase()
_UNIT_NAMES: Final = frozenset({"unit column", "unit column at end"})
_SCALE_NAMES: Final = frozenset({"scale column"})
_COUNTED: Final = frozenset({"counted unit"})
_SHARE_OF: Final = frozenset({"share of"})


@dataclass(frozen=True, slots=True)
class Clue:
    """Evidence from one name: its unit phrase, its measure, and the denominator of its values."""

    source: str
    phrase: UnitPhrase = _NOTHING
    measure: Measure | None = None
    per: str | None = None

    @property
    def is_plain_money(self) -> bool:
        """Whether it says no more than a currency or a scale."""
        return self.measure is None and self.phrase.is_money


_LEADING_YEAR = re.compile(r"(?:19|20)\d\d\s+")
_STATISTIC: Final = frozenset({"statistic"})
BASIS_POINT: Final = -2
"""The power of ten of a basis point, as of a percent."""


@lru_cache(maxsize=32_768)
def read_clue(name: str, source: str) -> Clue | None:
    """The clue in the name of a column, row or group, or None.

    >>> read_clue("Basic EPS (pence)", "row").phrase.scale, read_clue("Turnover", "row")
    (-2, None)
    """
    if len(name) < 10 and "/" in name and is_currency_pair(name):
        return Clue(source, measure=Measure.EXCHANGE)
    phrase, measure = parse_unit_text(name), find_measure(without_exception(name))
    first, _, rest = name.partition(" ")
    if phrase is None and rest and is_called(first, _STATISTIC):  # "Mean grams", "Average acres"
        phrase = parse_unit_phrase(rest)
    if phrase is None and source == "column" and " of " in name:  # "2019 tonnes of CO2e"
        phrase = parse_unit_phrase(_LEADING_YEAR.sub("", name.partition(" of ")[0]))
    if source == "row" and phrase is not None and _is_bare_word(name, phrase):
        phrase = None
    if (phrase is not None and phrase.unit == "PERCENT") or measure is Measure.PERCENT:
        hundredths = phrase is not None and phrase.unit == "PERCENT" and phrase.scale == BASIS_POINT
        phrase, measure = UnitPhrase("PERCENT", BASIS_POINT if hundredths else 0), Measure.PERCENT
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
    symbols = [word for word in label.split() if not (word.islower() or word.istitle() or word == label)]
    return label.replace(" ", "").isalpha() and phrase.unit not in map(find_header_unit, symbols)  # "GWh sold"


def names_unit(name: str, source: str) -> bool:
    """Whether a header or label itself names a unit: "GDP (current US$)"."""
    clue = read_clue(name, source)
    return clue is not None and clue.phrase.unit is not None


# Columns of numbers


def is_plain_unit(phrase: UnitPhrase | None) -> bool:
    """Whether a phrase names a unit of measure, and no currency or share."""
    return phrase is not None and phrase.unit not in (None, "PERCENT") and not phrase.is_money


def header_paths(table: Table) -> Iterator[tuple[str, ...]]:
    """The names above each column. A column without a name takes those at its left if they are only a scaled unit."""
    unit: tuple[str, ...] = ()
    for column in table.columns:
        if any(column.path) or column.index == table.structure.label_column:
            phrase = parse_unit_phrase(column.name) if column.index != table.structure.label_column else None
            unit = column.path if phrase and phrase.unit and phrase.scale is not None else ()
        yield column.path if any(column.path) else unit


def clues_of_column(path: tuple[str, ...], unit: str, printed: ColumnPrint, *, among_units: bool) -> Iterator[Clue]:
    """The clues of a column: of its unit row, then of its header path, the lowest level first.

    A year is in the lowest level only; what a higher level measures is not this column's if its cells
    print a currency, values per share apart. A short symbol is a unit `among_units` that are plain.
    """
    stated = parse_unit_phrase(unit, " ".join(path)) if unit else None
    if stated is None and among_units and (symbol := find_header_unit(unit.strip("()[]"))):
        stated = UnitPhrase(symbol)
    if stated is not None:
        percent = stated.unit == "PERCENT"
        yield Clue("column", UnitPhrase("PERCENT", 0), Measure.PERCENT) if percent else Clue("column", stated)
    elif unit and (clue := read_clue(unit, "column")):
        yield clue
    names = [name for name in path if name]
    for name in reversed(names):
        clue = read_clue(name, "column")
        if clue is None or (stated is not None and is_plain_unit(stated) and clue.measure is Measure.RATE):
            continue  # "Yield" above "kg" is what a field gives
        not_money = clue.measure not in {None, Measure.PER_SHARE}
        foreign = clue.measure is Measure.YEAR or (not_money and printed.currency is not None)
        if name is names[-1] or not foreign:
            yield clue


# Columns of units

_MICRO = re.compile(r"^u(?=(?:g|l|L|m|mol|S|W|V|A|Pa|Sv)\b)")
"""A letter that stands for the sign of a millionth: ug/L."""
_POWERS: Final = {term: int(power) for term, power in printed_terms("power of a row ").items()}
"""Scales of a row next to those in words: none, and powers of ten."""
_FIGURE = re.compile(r"[-–—(~<>≈+]*\s?\d[\d.,'’ ]*\)?")
_THOUSAND = re.compile(r"1[,.’']?000|['’]000")
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
    scales: bool = False
    """Whether it holds the scale of each row instead: ``millions``."""

    def covers(self, column: int, clue: Clue) -> bool:
        """Whether a clue from the column of units is about the numbers of a column."""
        is_money = clue.phrase.unit is not None and clue.phrase.unit.startswith("CCY_")
        return column in (self.money if is_money else self.others)


def find_unit_columns(table: Table) -> tuple[UnitColumn, ...]:
    """The columns that give units of each row's numbers, by their names and their cells.

    Where the numbers of a row are of periods, so does a column that names the measure with its unit in brackets.
    """
    structure = table.structure
    candidates = [
        column.index
        for column in table.columns
        if column.index != structure.label_column and column.path and _is_about_rows(column.path[-1])
    ]
    dated = frozenset(c.index for c in table.columns if c.index != structure.label_column and is_temporal(c.path))
    if not candidates and not dated:
        return ()
    found: list[UnitColumn] = []
    rows = [
        row
        for index, row in enumerate(table.grid.head[structure.body_start :][:LOOKED_AT], structure.body_start)
        if index not in structure.footnotes
    ]
    for index in candidates:
        texts = [row[index].strip() for row in rows if index < len(row) and row[index].strip()]
        scales = is_called(without_marks(table.columns[index].path[-1]), _SCALE_NAMES, ANY)
        read_cell = read_scale_cell if scales else read_unit_cell
        read = sum(read_cell(text) is not None for text in texts)
        if texts and read >= LEAST_READ * len(texts):
            numeric = frozenset(
                column.index for column in table.columns if column.index != index and _has_figures(rows, column.index)
            )
            covered = _beside_units(table, index, numeric - {structure.label_column})
            names = {column.index: column.name for column in table.columns}
            if members := {column for column in numeric if _are_members(names[index], names[column])}:
                covered = frozenset(members)
            found.append(
                UnitColumn(
                    index,
                    frozenset(column for column in covered if not is_supported("a count", names[column])),
                    frozenset(column for column in covered if scales or not is_supported("a currency", names[column])),
                    scales,
                )
            )
    for column in table.columns if dated and not found else ():
        if column.index not in dated and column.index != structure.label_column:
            texts = [row[column.index].strip() for row in rows if column.index < len(row)]
            texts = [text for text in dict.fromkeys(texts) if text.endswith(")")]
            if texts and sum(names_unit(text, "row") for text in texts) * 2 > len(texts):
                found.append(UnitColumn(column.index, dated, dated))
    return tuple(found)


def _are_members(name: str, other: str) -> bool:
    """Whether two columns are members of one record within each row: ``price.currency``, ``price.amount``."""
    record, point, _ = name.rpartition(".")
    return bool(point) and other.startswith(f"{record}.")


@lru_cache(maxsize=4_096)
def read_unit_cell(text: str) -> Clue | None:
    """Read a cell of a column of units: a unit, a currency with its scale, a percentage, a count.

    >>> read_unit_cell("EUR million").phrase.scale, read_unit_cell("kg").phrase.unit, read_unit_cell("Anna")
    (6, 'KiloGM', None)
    """
    text = " ".join(html.unescape(text).split())
    if is_called(text, _COUNTED, ANY):
        return Clue(UNIT_COLUMN, measure=Measure.COUNT)
    if (share := senses(text, _SHARE_OF, ANY)) and not share[0].first:  # "% of GDP"
        return Clue(UNIT_COLUMN, UnitPhrase("PERCENT", 0), Measure.PERCENT)
    text = text if "/" in text else _OF_CARBON.sub("", text)
    scale, _, rest = text.partition(" ")
    power = 3 if _THOUSAND.fullmatch(scale) else PLAIN_SCALES.get(scale.lower())
    of = read_unit_cell(rest) if rest and power else None
    if of is not None and of.phrase.scale is None:
        return replace(of, phrase=replace(of.phrase, scale=power))
    text = _MICRO.sub("µ", text)
    unit = find_header_unit(text)
    phrase = UnitPhrase(unit) if unit else parse_unit_phrase(text.strip("()[]"), text)
    if phrase is None:
        return None
    if phrase.unit == "PERCENT":
        return Clue(UNIT_COLUMN, UnitPhrase("PERCENT", 0), Measure.PERCENT)
    return Clue(UNIT_COLUMN, phrase, None, phrase.per)


def read_scale_cell(text: str) -> Clue | None:
    """Read a cell of a column of scales.

    >>> [read_scale_cell(text).phrase.scale for text in ("millions", "thousands", "units", "3", "1000")]
    [6, 3, 0, 3, 3]
    """
    plain = text.strip().lower()
    power = 3 if _THOUSAND.fullmatch(plain) else _POWERS.get(plain, PLAIN_SCALES.get(plain))
    return None if power is None else Clue(UNIT_COLUMN, UnitPhrase(None, power))


_OF_CARBON = re.compile(r" ?CO[2₂](?:[- ]?eq?\.?)?$")
"""The substance of a mass: "t CO2e"."""


def _has_figures(rows: Sequence[Row], column: int) -> bool:
    texts = [row[column].strip() for row in rows if column < len(row) and row[column].strip()]
    return bool(texts) and sum(_FIGURE.fullmatch(text) is not None for text in texts) * 2 > len(texts)


def _beside_units(table: Table, index: int, numeric: frozenset[int]) -> frozenset[int]:
    """The columns of numbers that a column of units is about.

    Those of periods where there are any; else the numbers right before it, else those right after it,
    and columns whose own name has a unit are left out.
    """
    open_columns = {
        c.index for c in table.columns if c.index in numeric and not (c.name and names_unit(c.path[-1], "column"))
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


def _is_about_rows(name: str) -> bool:
    """Whether a header is one of units or of scales: "Unit", "price.currency", "SCALAR_FACTOR"."""
    said = without_marks(name)
    if is_called(said, _UNIT_NAMES | _SCALE_NAMES, ANY):
        return True
    found = senses(said, frozenset({"unit column at end"}), ANY)
    return bool(found) and found[-1].last == len(words_of(said)) - 1


# What cells print

_NUMBER = re.compile(r"\d|[-–—]\s*$")
_PERCENT = re.compile(r"\d\s*\)?\s*%")


@dataclass(frozen=True, slots=True)
class ColumnPrint:
    """The one currency that cells of a column print, and whether its first number is a percentage.

    `krone` says that they print ``kr``, which is the currency of several countries.
    `leads_with_percent` holds only if cells print no currency and several of them print no sign either.
    """

    currency: str | None = None
    leads_with_percent: bool = False
    krone: bool = False


def column_prints(table: Table) -> tuple[ColumnPrint, ...]:
    """The printed forms of each column's cells, from the body rows of the table's head."""
    width = len(table.columns)
    currencies: list[set[str]] = [set() for _ in range(width)]
    krone = [False] * width
    first_is_percent: list[bool | None] = [None] * width
    plain = [0] * width
    percents = [0] * width
    for row in table.grid.head[table.structure.body_start :][:LOOKED_AT]:
        for column, text in enumerate(row[:width]):
            text = text.strip()
            if not text or len(text) > 40:
                continue
            currency, is_krone, is_percent = _printed(text)
            if currency is not None:
                currencies[column].add(currency)
            elif is_krone:
                krone[column] = True
            if is_percent is None:
                continue
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
            of_krone,
        )
        for found, first, bare, percent, of_krone in zip(
            currencies, first_is_percent, plain, percents, krone, strict=True
        )
    )


@lru_cache(maxsize=20_000)
def _printed(text: str) -> tuple[str | None, bool, bool | None]:
    """The currency of a cell, whether it prints krone, and whether it is a percentage: None without a figure."""
    if not _NUMBER.search(text):
        return None, False, None
    is_krone = "r" in text and _KRONE_PRINTED.search(text) is not None
    is_percent = _PERCENT.search(text) is not None if any(map(str.isdigit, text)) else None
    return _currency(text), is_krone, is_percent


_NAME_BEFORE = re.compile(r"(?:[^\W\d_]{2,12} ){1,2}(?=[$€£¥] ?\d[\d,.]*$)")
"""What precedes an amount that names its column: "high $ 17.84"."""


def _currency(text: str) -> str | None:
    """The currency a short cell prints before or after its figure."""
    start = text.lstrip("(-–—− ")
    if match := currency_prefix().match(_NAME_BEFORE.sub("", start)):
        return currency_names()[match[0]]
    for length in (3, 1):
        if start[-length:] in currency_names() and not start[: -length or None].rstrip()[-1:].isalpha():
            return currency_names()[start[-length:]]
    return None


_SIGN = re.compile(r"(?:US|A|C|HK|NZ|S|R)?\$(?=\s?\d)|[€£¥₹](?=\s?\d)|(?:RMB|EUR|USD|CHF|GBP)(?=\s?\d)")


def currency_of_texts(context: Context) -> str | None:
    """The one currency in which the texts around a table print amounts, or None."""
    found = {
        currency_unit(SIGNS.get(match[0], match[0]))
        for text in context.texts()
        for match in _SIGN.finditer(text[:LONGEST_TEXT])
    }
    return found.pop() if len(found) == 1 else None


# Signs of several countries


@cache
def _countries(sign: str) -> Mapping[str, re.Pattern[str]]:
    """ISO 4217 code → what texts name of its country, for a sign of several countries."""
    return {
        code: re.compile("|".join(map(_word_pattern, terms)))
        for code, terms in printed_senses(f"local {sign} ").items()
    }


def _word_pattern(term: str) -> str:
    if term[0] > "\u2e80":  # scripts without spaces
        return re.escape(term)
    return rf"\b{re.escape(term.removesuffix('*'))}" + ("" if term.endswith("*") else r"\b")


_LOCAL_SIGNS: Final = {
    "kr": re.compile(
        rf"\b(?P<letters>{'|'.join(word for word in KRONER if word.isalpha())})(?:\b\.?|(?=/))", re.IGNORECASE
    ),
    "¥": re.compile(r"[¥￥](?P<letters>)"),
}
LOCAL_DEFAULTS: Final = {"CCY_JPY": "¥"}
"""Currencies that a sign stands for where texts name no other country: by the sign."""
_KRONE_PRINTED = re.compile(r"\d ?kr\.?$|^[-(]?kr\.? ?\d", re.IGNORECASE)


def local_currencies(texts: Sequence[str], printed: frozenset[str] = frozenset()) -> dict[str, str]:
    """Sign → ISO 4217 code, for each sign of several countries in the texts, or `printed`, where they name one country.

    >>> local_currencies(["Prices in Norway (kr)"]), local_currencies(["Sweden and Norway, kr"])
    ({'kr': 'NOK'}, {})
    >>> local_currencies(["产品", "单价(¥)"]), local_currencies(["Price (¥)"])
    ({'¥': 'CNY'}, {})
    """
    found = {}
    for sign, pattern in _LOCAL_SIGNS.items():
        if sign in printed or any(pattern.search(text) for text in texts if sign[-1] in text.lower()):
            codes = {code for text in texts for code, country in _countries(sign).items() if country.search(text)}
            if len(codes) == 1:
                found[sign] = codes.pop()
    return found


def with_local(text: str, local: Mapping[str, str]) -> str:
    """The text with the code of a currency for a sign of several countries.

    >>> with_local("Omsetning (mkr)", {"kr": "NOK"})
    'Omsetning (NOK million)'
    """
    for sign, code in local.items():
        for match in reversed(list(_LOCAL_SIGNS[sign].finditer(text))):
            power = POWER_NAMES.get(KRONER.get(match["letters"].lower(), 0), "")
            text = f"{text[: match.start()]}{code}{power and ' '}{power}{text[match.end() :]}"
    return text
