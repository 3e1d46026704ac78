"""Units and scales in headers, captions and number formats: "in € millions", "Weight (kg)"."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from kgtable.values.measures import Measure
from kgtable.values.text import text_cache, without_marks
from kgtable.values.unit_clauses import (
    COMMON_WORDS,
    NAMES_NOT_UNITS,
    may_name_unit,
    needs_support,
    parse_clause,
    unit_of_symbol,
)
from kgtable.values.units import (
    BASIS_POINTS,
    COMMON_CODES,
    ENGLISH_WORDS,
    PLAIN_SCALES,
    currency_names,
    find_header_unit,
    find_unit,
    printed_spellings,
    units,
)

LONGEST_PHRASE = 160


@dataclass(frozen=True, slots=True)
class UnitPhrase:
    """Unit and scale that a text states; None where it states none.

    `unit` is a QUDT local name, `scale` a power of ten. `exceptions` are the measures that the scale
    does not hold for ("except per share"); `share_scale` is the scale of share counts where it is
    given apart ("dollars in millions, shares in thousands"). `per` is what a currency is per where the
    phrase says so ("€/MWh").
    """

    unit: str | None = None
    scale: int | None = None
    exceptions: frozenset[Measure] = frozenset()
    share_scale: int | None = None
    per: str | None = None

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency or open."""
        return self.unit is None or self.unit.startswith("CCY_")


_EXCEPTION = re.compile(
    r"(?<![\s,;(])[\s,;(]*\b(?:except(?:ing|ed)?|other than|excluding|unless|but not"
    r"|where applicable|sofern|soweit|wenn nicht|außer|ausser|ausgenommen|sauf|excepté|salvo|eccetto)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PER_SHARE = re.compile(r"\bper[ -](?:\w+ ){0,2}?(?:shares?|units?|ads|item)\b|per-share", re.IGNORECASE)
_SEGMENTS = re.compile(r"\(([^()]{1,120})\)|\[([^\[\]]{1,120})\]")
_TRAILING_SIGN = re.compile(r"(?<=[\w).] )(?:US|A|C|HK|S|NZ)?[$€£¥]$|(?<=[\d)] )%$")
_ABOUT_SHARES = re.compile(
    r"\W*(?:number of )?(?:shares?|units|options)\b(?: amounts?| data| counts?| numbers)?", re.IGNORECASE
)
_BARE_SCALE = re.compile(
    r"(?:k|m|b|t|mn|mio|mln|mil|mill|bn|bln|bil|mrd|tn|trn|tln|tsd|thsd|cr|crore|lac|lakh|hundred|thousand|million"
    r"|billion|trillion)\.?",
    re.IGNORECASE,
)
_PER = re.compile(r"(?P<money>[^/]{1,30}?)(?: ?/ ?| per )(?P<per>[^\W\d_][\w ²³.]{0,24})", re.IGNORECASE)
_TEMPERATURES = {"c": "DEG_C", "f": "DEG_F", "k": "K"}
LONGEST_SYMBOL = 12
_AMOUNT_BEFORE = re.compile(r"(?:^|\s)[-+−]?\d+(?:[.,]\d+)?(?: ?[-–] ?\d+)?$")
_PERIOD_BEFORE = re.compile(r"(?:^|\W)(?:1[5-9]|2[01])\d\d(?:[-–/]\d\d(?:\d\d)?)?$|[A-Z]{1,3} ?\d\d?$")
NO_TRAILING_UNITS = frozenset(
    [
        "st",
        "pt",
        "AU",
        "au",
        "ly",
        "bar",
        "pp",
        "ft",
        "ft.",
        "in.",
        "GB",
        "MB",
        "TB",
        "KB",
        "mi.",
        "no",
        "hr",
        "PS",
        "US",
    ]
)
"""Symbols that are likelier something else at the end of a name: "Feat. ft", "Team GB", "Station St"."""
_CLAUSE_END = re.compile(r",(?!\d{3})|;| and (?=shares?\b|dollars|amounts)", re.IGNORECASE)
_DOLLARS_AND_SHARES = re.compile(r"\b(?:dollars?|amounts?) and shares?\b", re.IGNORECASE)
_MONEY_INSIDE = re.compile(
    r"(?<!\w)(?:US|A|C|HK|S|NZ|NT)?[$€£¥] ?(?:['’‘]?000s?|mm|mn|m|bn|millions?|thousands?|billions?)(?!\w)",
    re.IGNORECASE,
)
_LEADING_SIGN = re.compile(r"^((?:US|A|C|HK|S|NZ)?\$|[€£¥]) (?=[^\W\d_])")
_HUNDREDTHS_INSIDE = re.compile(r"\b(?:cents|pence)(?= per\b)", re.IGNORECASE)
_UNIT_OF_ACTION = re.compile(
    r"(?:[A-Za-z]+ ){0,2}?([A-Za-z]?[a-z]{3,}s) (?:(?!end(?:ed|ing)\b)[a-z]{2,}(?:ed|ing)|sold|flown|driven|burnt)\b"
)
"""A header that counts units of measure: "Gallons hedged", "Hours worked", "Net acres expiring"."""
_AFTER = re.compile(r"(?:,| in| en| -| –| —|:)\s+([^,:()]{1,60})$")

_UNITS_WITHOUT_A_NAME = frozenset(["mpg", "mpge", "mi/gal"])
"""Units that QUDT has none for; what stands behind them in brackets says of which kind they are."""
_LOWER_INSIDE = re.compile(r" in ([a-z]{3,6})(?= (?:for|during|at|as of|by|per) |$)")
"""A symbol in a text without capitals: "generation in gwh for the year"."""
_SYMBOL_INSIDE = re.compile(
    r"(?<!\S)(?<!per )(?<!each )(?<!\d )((?:[kMGT]W|[mgt]w|kw)h?)"
    r"(?= (?:in|at|under|from|for|during|as of|installed|sold|[a-z]{3,}ed)(?: |$))"
)
"""A symbol of power or energy that what is done with it follows: "Net MW in operation", "GWh sold"."""


@text_cache(16_384)
def parse_unit_phrase(text: str, name: str = "") -> UnitPhrase | None:
    """The unit and scale of a text that is nothing else, or None.

    `name` is what the unit is of (the column's name); it tells apart symbols such as ``m``.

    >>> phrase = parse_unit_phrase("in € millions, except per share")
    >>> phrase.unit, phrase.scale, [measure.value for measure in phrase.exceptions]
    ('CCY_EUR', 6, ['per share'])
    >>> parse_unit_phrase("m", "Height").unit, parse_unit_phrase("£m").scale, parse_unit_phrase("Total")
    ('M', 6, None)
    """
    if len(text) > LONGEST_PHRASE:
        return None
    text = " ".join(text.split())
    exceptions: frozenset[Measure] = frozenset()
    if match := _EXCEPTION.search(text):
        exceptions = _excepted(match["what"])
        text = text[: match.start()]
    elif money := _money_per(text, name):
        return money
    found, shares = UnitPhrase(), None
    for clause in _CLAUSE_END.split(text):
        if not clause.strip(" ()[]."):
            continue
        about_shares = _ABOUT_SHARES.match(clause)
        phrase = parse_clause(clause[about_shares.end() :] if about_shares else clause, name)
        if phrase is None:
            return None
        if about_shares:
            shares = phrase.scale
        else:
            found = UnitPhrase(found.unit or phrase.unit, phrase.scale if found.scale is None else found.scale)
    if found == UnitPhrase() and shares is None:
        return None
    if found.scale is None and shares is not None and _DOLLARS_AND_SHARES.search(text):
        found = UnitPhrase(found.unit, shares)
    return UnitPhrase(found.unit, found.scale, exceptions, shares)


@text_cache(16_384)
def parse_unit_text(text: str) -> UnitPhrase | None:
    """The unit and scale named within a header or label: whole, in parentheses, after a comma or "in".

    >>> parse_unit_text("Weight (kg)").unit, parse_unit_text("Revenue, $m").scale
    ('KiloGM', 6)
    >>> parse_unit_text("Wins (W)") is None
    True
    """
    if len(text) > 2 * LONGEST_PHRASE:
        return None
    if not may_name_unit(without_marks(text)) and not _is_name_with_unit(text):
        return None
    text = html.unescape(" ".join(text.split()))
    found = _unit_in(text)
    if found is None and not _SQUARE_OR_CUBE.search(text) and (plain := without_marks(text)) != text:
        return _unit_in(plain)
    return found


@text_cache(16_384)
def without_unit(text: str) -> str:
    """A header without the unit and scale that it states; empty where it says nothing else.

    Percentages and units per something stay, for they say what is measured; so does a unit that is counted.

    >>> without_unit("2018 £m"), without_unit("Sales (in millions)"), without_unit("Height in cm"), without_unit("£m")
    ('2018', 'Sales', 'Height', '')
    >>> without_unit("Change %"), without_unit("Price (€/MWh)"), without_unit("Gallons hedged")
    ('Change %', 'Price (€/MWh)', 'Gallons hedged')
    """
    stated = parse_unit_text(text)
    if stated is None or stated.per or stated.unit in ("PERCENT", "PERMILLE"):
        return text
    text = " ".join(html.unescape(text).split())
    if parse_unit_phrase(text) == stated:
        return ""
    outside = _SEGMENTS.sub(" ", text)
    text = _SEGMENTS.sub(lambda match: " " if parse_unit_phrase(match[1] or match[2], outside) else match[0], text)
    text = _MONEY_INSIDE.sub(" ", _LEADING_SIGN.sub("", text))
    for match in reversed(list(re.finditer(r"[\s_]+", text))):
        if parse_unit_phrase(text[match.end() :].replace("_", " "), text[: match.start()]) == stated:
            return _OPEN_END.sub("", text[: match.end()])
    return text.strip()


_OPEN_END = re.compile(r"(?:[\s_,;:–—-]+(?:in|en)?)?[\s_,;:–—-]+$")
"""What joins a name and its unit: "Height in", "Sales,"."""


def _is_name_with_unit(text: str) -> bool:
    """Whether a name has a unit that looks like a mark or stands in camel case."""
    if "]" in text:
        return _SYMBOL_IN_BRACKETS.search(text) is not None
    return " " not in text and _CAMEL_CASE.fullmatch(text) is not None


_SYMBOL_IN_BRACKETS = re.compile(r"\[[A-Za-z]{1,2}\]\s*$")
"""A unit that looks like a mark: "Prominence [m]"."""
_CAMEL_CASE = re.compile(r"[A-Za-z]?[a-z]+(?:[A-Z][a-z]*){1,6}")
_CAMEL_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SQUARE_OR_CUBE = re.compile(r"[^\W\d_][²³]$")
"""A raised figure behind a word that may belong to its unit: "feet²"."""


def _unit_in(text: str) -> UnitPhrase | None:
    if not _names_a_column(text) and (phrase := parse_unit_phrase(text)):
        return phrase
    if "(" in text and (unit := converted_unit(text)):
        return UnitPhrase(unit)
    outside = _SEGMENTS.sub(" ", text)
    if outside.strip().lower() in _UNITS_WITHOUT_A_NAME:
        return None
    for match in reversed(list(_SEGMENTS.finditer(text))):
        if phrase := parse_unit_phrase(match[1] or match[2], outside):
            return phrase
    if phrase := _trailing_money(outside):
        return phrase
    if inside := _HUNDREDTHS_INSIDE.search(outside):
        return parse_unit_phrase(inside[0].lower())
    if inside := _MONEY_INSIDE.search(outside):
        return parse_unit_phrase(inside[0])
    if leading := _LEADING_SIGN.match(outside):
        return parse_unit_phrase(leading[1])
    if "_" in text and " " not in text:
        return _snake_case(text)
    if _CAMEL_CASE.fullmatch(text):
        return UnitPhrase(unit) if (unit := find_header_unit(text)) else _snake_case(_CAMEL_WORD.sub("_", text))
    if phrase := _trailing_unit(outside):
        return phrase
    if (leading_noun := _UNIT_OF_ACTION.match(outside)) and (unit := find_header_unit(leading_noun[1])):
        return UnitPhrase(unit)
    if (lower := _LOWER_INSIDE.search(outside)) and (unit := _symbols_in_lower_case().get(lower[1])):
        return UnitPhrase(unit)
    symbol = _SYMBOL_INSIDE.search(outside) if "W" in outside or "w" in outside else None
    if symbol and (symbol[1].lower() != symbol[1] or outside.islower()):
        return UnitPhrase(_symbols_in_lower_case().get(symbol[1].lower()))
    after = _AFTER.search(outside.strip())
    if after is None or (
        after[0][:3] not in (" in", " en") and is_bare_scale(after[1]) and not _is_scale_word(after[1])
    ):
        return None
    return parse_unit_phrase(after[1], outside[: after.start()])


_TWO_UNITS = re.compile(r"(?:^|.*[\s,])(?P<unit>[^\s()]{1,12}) ?\((?P<other>[^()\d]{1,16})\)\W*", re.DOTALL)


def converted_unit(text: str) -> str | None:
    """The unit of a name that gives a second one of the same kind in brackets, as QUDT local name.

    >>> converted_unit("Average high °C (°F)"), converted_unit("Area km² (sq mi)"), converted_unit("Wins (W)")
    ('DEG_C', 'KiloM2', None)
    """
    match = _TWO_UNITS.fullmatch(text)
    if match is None:
        return None
    first, second = (find_header_unit(match[part].strip()) for part in ("unit", "other"))
    if first is None or second is None or first == second:
        return None
    return first if set(units()[first].kinds) & set(units()[second].kinds) else None


def is_bare_scale(text: str) -> bool:
    """Whether a text is a scale word with nothing beside it that makes it one: a currency, "in", brackets.

    >>> [is_bare_scale(text) for text in ("k", "Mio.", "bn", "million", "in millions", "(bn)", "€m", "'000")]
    [True, True, True, True, False, False, False, False]
    """
    return _BARE_SCALE.fullmatch(text.strip()) is not None


def _is_scale_word(text: str) -> bool:
    """Whether a text is a scale word in full, which is hardly a name: "Population, million"."""
    return text.strip().lower() in PLAIN_SCALES and len(text.strip(" .")) > 3


def _names_a_column(text: str) -> bool:
    """Whether the whole of a header, though it could be a unit, is likelier a name: "Year", "GB", "M"."""
    bare = text.strip(" .")
    if bare.lower() in NAMES_NOT_UNITS or is_bare_scale(bare):
        return True
    return len(bare) <= 3 and bare.isalpha() and bare.isupper() and (bare == "RM" or bare not in currency_names())


def _money_per(text: str, name: str) -> UnitPhrase | None:
    """A currency per something, of which QUDT has no unit: ``€/MWh``, ``USD per barrel``, ``ct/kWh``."""
    match = _PER.fullmatch(text.strip(" ()[]"))
    if match is None:
        return None
    per = match["per"].strip()
    if match["money"] == "ct":
        return UnitPhrase("CCY_EUR", -2, per=per)
    money = parse_clause(match["money"], name)
    if is_currency_pair(text):
        return None
    if money is None or money.unit is None or not money.unit.startswith("CCY_"):
        return None
    return UnitPhrase(money.unit, money.scale, per=per)


_PAIR = re.compile(r"([A-Z]{3}) ?/ ?([A-Z]{3})")


def is_currency_pair(text: str) -> bool:
    """Whether a text names the exchange rate of two currencies, which markets quote in the second of them.

    >>> is_currency_pair("EUR/USD"), is_currency_pair("EUR/MWh")
    (True, False)
    """
    match = _PAIR.fullmatch(text.strip(" ()[]"))
    return match is not None and {match[1], match[2]} <= COMMON_CODES


_POWER_WORD = re.compile(r"(?<=\s)(?:sq\.?|square|cu\.?|cubic)$", re.IGNORECASE)
"""A word that makes a length behind it an area or a volume: "Area sq. km"."""
_CLEAR_NAMES = {"ft": "depth|height|length|width|elevation|altitude|distance", "hr": "time|duration"}
"""Names beside which a symbol is a unit that elsewhere is likelier something else."""

NOUNS_OF_TIME = frozenset({"day", "days", "hour", "week", "year"})
_RATE_BEFORE = re.compile(r"(?:^|\s)(?:per|each|every|a|an|pro|je)$", re.IGNORECASE)


def _trailing_unit(text: str) -> UnitPhrase | None:
    """A currency code or a unit's symbol at the end of a header: ``Price USD``, ``Area km²``, ``2023 kg``."""
    name, _, last = text.strip().rpartition(" ")
    if not name or len(last) > LONGEST_SYMBOL or name.lower() in COMMON_WORDS:
        return None
    if _AMOUNT_BEFORE.search(name) and not _PERIOD_BEFORE.search(name):
        return None  # a quantity that the values are for, as in "100 m" and "55 °C"
    if last.lower() in NOUNS_OF_TIME or _RATE_BEFORE.search(name):
        return None  # what is counted in it is not time: "Passengers per day", "Match day"
    if last in COMMON_CODES:
        return None if last in ENGLISH_WORDS else UnitPhrase(currency_names().get(last))
    if money := _money_per(last, name):
        return money
    if last in _CLEAR_NAMES and re.search(_CLEAR_NAMES[last], name, re.IGNORECASE):
        return UnitPhrase(find_header_unit(last))
    if (power := _POWER_WORD.search(name)) is not None:
        unit = find_header_unit(f"{power[0]} {last}")
        return UnitPhrase(unit) if unit else None
    if last == "%" or last in NO_TRAILING_UNITS or needs_support(last) or (last.isalpha() and last.istitle()):
        return None
    if len(last) < 2 or (last.isalpha() and last.islower() and len(last) > 3):
        return None
    unit = find_header_unit(last)
    return UnitPhrase(unit) if unit is not None and unit != "PERCENT" else None


def _snake_case(text: str) -> UnitPhrase | None:
    """The unit that the last words of a name in snake case are: ``weight_kg``, ``price_usd``, ``speed_km_h``."""
    words = text.split("_")
    for count in (3, 2, 1):
        name, unit = " ".join(words[:-count]), words[-count:]
        if not name.strip() or not all(unit):
            continue
        if phrase := _snake_unit(unit, name):
            return phrase
    return None


_SCALES_OF_CODES = frozenset(["k", "m", "mn", "mm", "mio", "bn"])


def _is_plain_symbol(word: str) -> bool:
    return word.lower() == "g" or (len(word) > 1 and word.lower() in _symbols_in_lower_case())


def _snake_unit(words: Sequence[str], name: str) -> UnitPhrase | None:
    if len(words) == 1:
        word = words[0]
        lowered = word.lower()
        if name.lower().endswith((" per", " p")):  # "price_per_kg" names what a value is per
            return None
        if (before := name.rsplit(" ", 1)[-1]) != name and _is_plain_symbol(before) and _is_plain_symbol(word):
            return None  # a compound unit that is not known, rather than its last part
        if lowered in _TEMPERATURES and re.search(r"temp|therm", name, re.IGNORECASE):
            return UnitPhrase(_TEMPERATURES[lowered])
        if word.upper() in COMMON_CODES:
            return UnitPhrase(currency_names().get(word.upper()))
        if lowered in BASIS_POINTS or lowered in {"pct", "percent", "perc"}:
            return parse_unit_phrase(lowered)
        if word in NO_TRAILING_UNITS:
            clear = re.search(_CLEAR_NAMES.get(word, r"(?!)"), name, re.IGNORECASE)
            return UnitPhrase(find_header_unit(word)) if clear and find_header_unit(word) else None
        if needs_support(word) or len(word) == 1:
            unit = unit_of_symbol(word, name) or (unit_of_symbol(word.upper(), name) if len(word) == 1 else None)
            return UnitPhrase(unit) if unit else None
        unit = find_header_unit(word) or _symbols_in_lower_case().get(lowered)
        return UnitPhrase(unit) if unit and lowered not in NAMES_NOT_UNITS else None
    if words[0] == "in" and len(words) == 2:
        return parse_unit_phrase(" ".join(words), name)
    if words[0].upper() in COMMON_CODES:
        return parse_unit_phrase(" ".join((words[0].upper(), *words[1:])), name)
    if words[-1].upper() in COMMON_CODES and words[0].lower() in _SCALES_OF_CODES and len(words) == 2:
        return parse_unit_phrase(f"{words[-1].upper()} {words[0].lower()}", name)
    if words[0] == "per":
        return None
    parts = [word for word in words if word != "per"]
    joined = "/".join(parts)
    unit = find_header_unit(joined) if len(words) == 2 or "per" in words else None
    if unit is None and len(parts) == 2 and all(map(_is_plain_symbol, parts)):
        found = find_unit(joined)
        unit = found.name if found else None
    return UnitPhrase(unit) if unit else None


@cache
def _symbols_in_lower_case() -> dict[str, str]:
    """Curated symbols of three letters and more without case, where only one unit has them."""
    found: dict[str, set[str]] = {}
    for symbol in printed_spellings():
        unit = find_header_unit(symbol)
        if unit is not None and len(symbol) > 1:
            found.setdefault(symbol.lower(), set()).add(unit)
    return {symbol: units_.pop() for symbol, units_ in found.items() if len(units_) == 1}


def without_exception(text: str) -> str:
    """The text without "except …" and what follows, which names what its unit does not hold for.

    >>> without_exception("(in thousands, except percentages)")
    '(in thousands'
    """
    return _EXCEPTION.sub("", text)


def _trailing_money(text: str) -> UnitPhrase | None:
    """A currency with its scale at the end of a header: ``2019 £m``, ``Assets RMB’Million``."""
    if match := _TRAILING_SIGN.search(text):
        return parse_unit_phrase(match[0])
    words = text.split()
    for count in (1, 2):
        if len(words) > count:
            phrase = parse_unit_phrase(" ".join(words[-count:]))
            if phrase is not None and phrase.unit is not None and phrase.is_money and phrase.scale is not None:
                return phrase
    return None


def _excepted(what: str) -> frozenset[Measure]:
    """The measures that "except …" names; with none known, per-share values (the usual sense)."""
    rest, per_share = _PER_SHARE.subn(" ", what)
    lowered = rest.lower()
    found = {Measure.PER_SHARE} if per_share else set()
    if re.search(r"\b(?:shares?|options|units|stock)\b", lowered):
        found.add(Measure.SHARES)
    if re.search(r"percent|%|\brates?\b|\bratios?\b", lowered):
        found |= {Measure.PERCENT, Measure.RATIO}
    if re.search(r"employee|headcount|number|count|statistic|store|customer|operating data", lowered):
        found.add(Measure.COUNT)
    return frozenset(found)


_BRACKET_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-[0-9A-Fa-f,]*)?\]")
_QUOTED = re.compile(r'"([^"]*)"|\\(.)')
_BARE_CURRENCY = re.compile(r"[$€£¥₹]")
_SCALED_DISPLAY = re.compile(r"[0#?](?:\.[0#?]+)?,+(?![0#?])")


@dataclass(frozen=True, slots=True)
class FormatUnit:
    """The unit a format shows, the power of ten it names, and what the stored value is multiplied with."""

    unit: str | None = None
    scale: int | None = None
    shift: int = 0


@lru_cache(maxsize=4_096)
def read_number_format(code: str) -> FormatUnit | None:
    """The unit and scale of a number format code, or None where it shows neither.

    A percent format stores 0.125 for 12.5 %: `shift` is 2. Thousands hidden by a trailing comma are in
    the stored value: no scale.

    >>> read_number_format("0.0%").shift, read_number_format('#,##0 "kg"').unit
    (2, 'KiloGM')
    >>> read_number_format('[$€-407] #,##0').unit, read_number_format("#,##0.00") is None
    ('CCY_EUR', True)
    """
    section = code.split(";")[0]
    bracketed = _BRACKET_CURRENCY.search(section)
    literals = [(match[1] or match[2] or "").strip() for match in _QUOTED.finditer(section)]
    bare = _QUOTED.sub("", _BRACKET_CURRENCY.sub("", section))
    if "%" in bare:
        return FormatUnit("PERCENT", 0, 2)
    unit = currency_names().get(bracketed[1].strip()) if bracketed else None
    if unit is None and (sign := _BARE_CURRENCY.search(bare)):
        unit = currency_names()[sign[0]]
    scale: int | None = None
    for literal in filter(None, literals):
        phrase = _phrase(literal, unit)
        if phrase is not None:
            unit = unit or phrase.unit
            scale = phrase.scale if scale is None else scale
    if scale is not None and _SCALED_DISPLAY.search(bare):
        scale = None
    return FormatUnit(unit, scale) if unit or scale is not None else None


def _phrase(literal: str, unit: str | None) -> UnitPhrase | None:
    """What a quoted text says: behind a currency a letter is a scale, else it may be a short symbol."""
    if unit is not None and unit.startswith("CCY_"):
        return parse_unit_phrase(f"{unit.removeprefix('CCY_')} {literal}")
    return parse_unit_phrase(literal) or parse_unit_phrase(literal, "height time weight capacity")
