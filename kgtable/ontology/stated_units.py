"""Units, scales and currencies that texts state: signs in cells, titles, captions and the text around a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from kgtable.tables.model import Context, Table
from kgtable.values.decimals import scaled
from kgtable.values.measures import Measure, find_measure
from kgtable.values.unit_phrases import (
    UnitPhrase,
    is_bare_scale,
    parse_unit_phrase,
    parse_unit_text,
    without_exception,
)
from kgtable.values.units import (
    PLAIN_SCALES,
    SCALE_WORDS,
    SIGNS,
    currency_names,
    currency_prefix,
    currency_unit,
    may_name_unit,
)

LOOKED_AT = 400
"""How many body rows are looked at."""

_NUMBER = re.compile(r"\d|[-–—]\s*$")
_PERCENT = re.compile(r"\d\s*\)?\s*%")


@dataclass(frozen=True, slots=True)
class ColumnPrint:
    """The one currency that cells of a column print, and whether its first number is a percentage.

    `krone` says that they print ``kr``, which is the currency of several countries.
    `leads_with_percent` holds only where no cell prints a currency and several cells have no sign at all.
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
    for named in table.columns:
        if named.path and (amount := _AMOUNT_BEHIND_WORD.fullmatch(named.path[-1].strip())):
            currencies[named.index].add(currency_names()[amount["sign"]])
    for number, row in enumerate(table.grid.head[table.structure.body_start :][:LOOKED_AT]):
        for column, text in enumerate(row[:width]):
            text = text.strip()
            if not text or len(text) > 40:
                continue
            currency, is_krone, is_percent = _printed(text)
            if number == 0 and currency is None and (amount := _AMOUNT_BEHIND_WORD.fullmatch(text)):
                currency = currency_names()[amount["sign"]]
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


_KRONE_PRINTED = re.compile(r"\d ?kr\.?$|^[-(]?kr\.? ?\d", re.IGNORECASE)
_KRONE = re.compile(r"\b(?P<scale>t|m|mn|md)?kr(?:\b\.?|(?=/))", re.IGNORECASE)
_SCALES_OF_KRONE = {"t": " thousand", "m": " million", "mn": " million", "md": " billion"}
_KRONE_COUNTRIES = {
    "SEK": re.compile(r"\b(?:SEK|Sweden|Swedish|Sverige|[Ss]vensk\w*|Schweden|schwedisch\w*|Suède)\b"),
    "NOK": re.compile(r"\b(?:NOK|Norway|Norwegian|Norge|[Nn]orsk\w*|Norwegen|norwegisch\w*|Norvège)\b"),
    "DKK": re.compile(r"\b(?:DKK|Denmark|Danish|Danmark|[Dd]ansk\w*|Dänemark|dänisch\w*|Danemark)\b"),
    "ISK": re.compile(r"\b(?:ISK|Iceland|Icelandic|Ísland|[Íí]slensk\w*|Island)\b"),
}
"""By what the texts around a table show of which country its ``kr`` are."""


def krone_of_texts(texts: Iterable[str]) -> str | None:
    """The ISO 4217 code of the only country with crowns that the texts name, or None.

    >>> krone_of_texts(["Prices in Norway"]), krone_of_texts(["Sweden and Norway"])
    ('NOK', None)
    """
    found = {
        code for text in texts for code, country in _KRONE_COUNTRIES.items() if country.search(text[:LONGEST_TEXT])
    }
    return found.pop() if len(found) == 1 else None


def with_krone(text: str, code: str) -> str:
    """The text with the code of a currency for its ``kr``.

    >>> with_krone("Omsetning (mkr)", "NOK")
    'Omsetning (NOK million)'
    """
    return _KRONE.sub(lambda match: code + _SCALES_OF_KRONE.get((match["scale"] or "").lower(), ""), text)


def names_krone(text: str) -> bool:
    """Whether a text names ``kr``.

    >>> names_krone("Pris (kr)"), names_krone("Kreis")
    (True, False)
    """
    return _KRONE.search(text) is not None


_AMOUNT_BEHIND_WORD = re.compile(r"[^\W\d_]{2,12}(?: [^\W\d_]{2,12})? (?P<sign>[$€£¥]) ?\d[\d,.]*")
"""The first amount of a column behind the column's name: "high $ 17.84"."""


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
    """A unit phrase stated for a whole table, its source, and the measure that it implies."""

    phrase: UnitPhrase
    source: str
    measure: Measure | None = None

    @property
    def is_percent(self) -> bool:
        """Whether the whole table is said to be in percent."""
        return self.measure is Measure.PERCENT


def table_statements(
    context: Context, corner: str, titles: Iterable[str], notes: Iterable[str] = ()
) -> tuple[StatedUnit, ...]:
    """Statements for the table as a whole, the most specific source first; `notes` are those below its rows."""
    found = list(_from_names((corner,), "corner"))
    found += _from_names(titles, "corner")
    found += _from_names((context.caption,), "caption")
    found += _from_names((context.title,), "title")
    found += _from_names(reversed(context.heading), "heading")
    found += _from_prose(reversed(context.before), "text before")
    found += _from_notes(notes)
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


_OPENS_FOR_ALL = re.compile(r"[(\[]|\b(?:in|en) ", re.IGNORECASE)
_PERIOD_BEHIND = re.compile(
    r"(?:,\s*|\s*\()(?:(?:FY|Q[1-4]|H[12]|from|to|and|\d{4}|\d\d(?=\)|$))[\s–—/-]*){1,5}\)?[\s.:]*$",
    re.IGNORECASE,
)
"""The years that a caption ends with: "Output in GWh (2019–2021)"."""
_ENDS_FOR_ALL = re.compile(
    r".*\(\s*(?P<all>(?:all |the )?(?:numbers?|figures?|amounts|values|data) )?(?:are )?in (?P<unit>[^()]{1,40}?)"
    r"\s*\)[\s.:]*",
    re.IGNORECASE | re.DOTALL,
)
"""How a sentence right above a table ends that gives its unit: "… by segment (numbers in years):"."""
_LONGEST_CAPTION = 60
_MOST_BEHIND = 3
"""Words that may stand behind a unit and say of what it is: "thousand tonnes carbon equivalent"."""
_FOR_ALL = re.compile(r"(?:.*\b(?:in|en) |.*\(|.*\[)?(?P<unit>[^()\[\]]{1,40}?)[)\]]?\s*", re.IGNORECASE | re.DOTALL)


def unit_for_all(context: Context, corner: str, titles: Iterable[str]) -> tuple[UnitPhrase, str] | None:
    """The unit, other than money and percent, that a text gives for the whole table: "Output in GWh".

    It stands alone, in brackets or behind "in" at the end of a title row, the caption, title or a heading,
    makes the whole corner or a line below a title; or it ends the text right above the table.
    """
    titles = list(titles)
    for line in titles[1:]:
        alone = _unit_alone(line.strip(" ()[]"), titles[0]) if may_name_unit(line) else None
        if alone is not None and is_other_unit(alone):
            return alone, "corner"
    sources = (
        *((text, "corner") for text in titles),
        (context.caption, "caption"),
        (context.title, "title"),
        *((text, "heading") for text in reversed(context.heading)),
    )
    whole_corner = None
    if 0 < len(corner) <= 40 and may_name_unit(corner):
        whole_corner = parse_unit_phrase(corner.strip(" ()[]").removeprefix("in "))
    if whole_corner is not None and is_other_unit(whole_corner):
        return whole_corner, "corner"
    for text, source in sources:
        text = _PERIOD_BEHIND.sub("", text) if len(text) <= 300 else text
        if not 0 < len(text) <= 300 or not (_OPENS_FOR_ALL.search(text) and may_name_unit(text)):
            continue
        match = _FOR_ALL.fullmatch(text)
        phrase = parse_unit_text(f"({match['unit']})") if match else None
        if match and phrase is None:
            phrase = parse_unit_phrase(match["unit"], text[: match.start("unit")])
        if match and phrase is not None and is_other_unit(phrase) and match["unit"].strip() != text.strip():
            return phrase, source
    above = context.before or context.paragraphs
    found = _unit_at_end(above[-1][-300:]) if above else None
    return (found, "text before") if found else None


def _unit_alone(line: str, name: str) -> UnitPhrase | None:
    """The unit of a line that is nothing else, or a scale and a unit with what is measured behind them."""
    words = line.split()
    for count in range(len(words), max(len(words) - _MOST_BEHIND, 1) - 1, -1):
        phrase = parse_unit_phrase(" ".join(words[:count]), name)
        if phrase is not None:
            return phrase if count == len(words) or (phrase.scale and phrase.unit) else None
    return None


def _unit_at_end(text: str) -> UnitPhrase | None:
    """The unit that the text right above a table ends with, in brackets, or in a line that is like a caption."""
    text = _PERIOD_BEHIND.sub("", text.strip(" *_"))
    match = _ENDS_FOR_ALL.fullmatch(text)
    if match is None and len(text) <= _LONGEST_CAPTION and " in " in text and not text.rstrip().endswith("."):
        match = _FOR_ALL.fullmatch(text.rstrip(" :"))
    phrase = parse_unit_text(f"({match['unit']})") if match else None
    if match and phrase is None and match["unit"].strip().lower() == "years":
        phrase = UnitPhrase("YR")
    if match is None or phrase is None:
        return None
    of_all = phrase.unit == "YR" and bool(match.groupdict().get("all"))
    return phrase if of_all or is_other_unit(phrase) else None


def is_other_unit(phrase: UnitPhrase) -> bool:
    """Whether a phrase names a unit other than a currency, a percentage or years."""
    return phrase.unit is not None and phrase.unit not in {"PERCENT", "YR"} and not phrase.unit.startswith("CCY_")


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
        if source in {"corner", "caption", "note"}:
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


_UNIT_NOTE = re.compile(r"\s*(?:units?|einheit|unité|unidad|unità)\s*:\s*(?P<unit>\S.{0,60})", re.IGNORECASE)
"""A note that gives the unit of all: "Unit: % of GDP"."""

_OF_ALL = re.compile(
    r"\s*(?:notes?: *)?(?:all )?(?:amounts|figures|values|prices"
    r"|(?:alle )?(?:angaben|beträge|werte|preise)|montants|chiffres)\b",
    re.IGNORECASE,
)


def _from_notes(texts: Iterable[str]) -> Iterator[StatedUnit]:
    for text in texts:
        if match := _UNIT_NOTE.fullmatch(text.rstrip()):
            yield from _from_names((match["unit"],), "note")
            continue
        for part in re.split(r"[;.](?:\s|$)", text[:LONGEST_TEXT]):
            phrase = parse_unit_text(part) if _OF_ALL.match(part) else None
            if phrase is not None and phrase.is_money:
                yield StatedUnit(phrase, "note")
        yield from _from_prose((text,), "note")


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
        if any(abs(scaled(cell, scale) - value) * 2 <= unit for cell in cells)
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
        scale: sum(scaled(low, scale) <= amount <= scaled(high, scale) for amount in amounts) / len(amounts)
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
                yield scaled(printed, power), scaled(Decimal(1), int(shape.exponent) + power), len(shape.digits)


def _cells(table: Table) -> tuple[Decimal, ...]:
    """The distinct figures of the body's first rows, percentages left out."""
    found: dict[Decimal, None] = {}
    for row in table.grid.head[table.structure.body_start :]:
        for text in row:
            match = _AMOUNT_NUMBER.search(text) if len(text) <= 30 and "%" not in text else None
            if match is not None and len(found) < MOST_CELLS:
                found[Decimal(match[0].replace(",", ""))] = None
    return tuple(cell for cell in found if cell >= 10)
