"""Units and scales in headers, captions and number formats: "in € millions", "Weight (kg)"."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from kgtable.values.currencies import (
    BASIS_POINTS,
    CENTS,
    COMMON_CODES,
    ENGLISH_WORDS,
    PLAIN_SCALES,
    SCALE_WORDS,
    WORDS,
    currency_names,
    currency_unit,
)
from kgtable.values.measures import Measure
from kgtable.values.units import Unit, find_header_unit, find_unit, printed_spellings, units

_LENGTHS = (
    "height|length|width|depth|distance|elevation|altitude|diameter|radius|draft|beam|prominence|thickness|peak|mark"
    "|throw|jump|reach|span|size|relief|sea level|long|tall|high|wide|deep|level|result|best|position"
)
_VOLUMES = "volume|capacity|engine|displacement|tank|consumption|luggage|boot"
_MASSES = "weight|mass|tonnage|production|displacement|load|capacity|output|emissions|catch|yield|harvest|co2"
_BORNE_OUT_BY = {
    "m": _LENGTHS,
    "g": "weight|mass|protein|fat|sugar|carb|fib|sodium|salt|serving|amount",
    "t": _MASSES,
    "s": "time|duration|period|interval|latency|delay|half-life|lap",
    "h": "time|duration|hours|half-life|endurance|worked",
    "l": _VOLUMES,
    "L": _VOLUMES,
    "W": "power|output|tdp|watt|erp|consumption",
    "A": "current|amp",
    "V": "volt",
    "K": "temp|point",
    "N": "force|thrust|load",
    "J": "energy|heat|work",
    "in": "height|length|width|depth|diameter|rain|snow|precipitation|size|thickness|wheel|calib|bore|stroke",
    "min": "time|duration|length|minutes|interval|played|running",
    "nm": "wavelength|process|node|size|length|range|distance",
}
_NAMES = """
year years month week day hour minute second point points degree degrees foot number numbers count counts
bar kilo x times ratio
"""
_COMMON_WORDS = frozenset(["in", "a", "of", "and", "the", "per", "by", "with", "for", "at", "to", "as", "on"])
NAMES_NOT_UNITS = frozenset(_NAMES.split())
"""Words that, alone in a header, name what the column holds and not its unit."""


_SIGN = re.compile(r"[(\[$＄€£¥￥₹₩₽₺₪₫฿₦₱₴¢%‰°℃℉²³/·µμ_]|000|[A-Z]{3}")
_WORD = re.compile(r"[^\W\d_]+")


def may_name_unit(text: str) -> bool:
    """Whether a text has a sign or a word that a unit phrase could have: a cheap look before a close one.

    >>> may_name_unit("Sales, net"), may_name_unit("Sales in millions")
    (False, True)
    """
    return _SIGN.search(text) is not None or not _unit_words().isdisjoint(_WORD.findall(text.lower()))


@cache
def _unit_words() -> frozenset[str]:
    """Every word of units, currencies and scales, in lower case."""
    texts = [
        *printed_spellings(),
        *SCALE_WORDS,
        *WORDS,
        *currency_names(),
        *CENTS,
        *BASIS_POINTS,
        *_BORNE_OUT_BY,
    ]
    texts += [unit.label for unit in units().values()]
    words = {word for text in texts for word in _WORD.findall(text.lower())}
    singular = words | {word.replace("tre", "ter") for word in words}
    return frozenset(singular | {f"{word}s" for word in singular}) - _COMMON_WORDS


def needs_support(symbol: str) -> bool:
    """Whether a symbol is a unit only beside a name that bears it out, as ``m`` beside "Height"."""
    return symbol in _BORNE_OUT_BY


def unit_of_symbol(text: str, name: str) -> str | None:
    """The QUDT local name of the unit that `text` is, for a column or row called `name`; None if it is none.

    >>> unit_of_symbol("m", "Height"), unit_of_symbol("m", "Votes"), unit_of_symbol("km/h", "")
    ('M', None, 'KiloM-PER-HR')
    """
    if needs_support(text):
        found = find_unit(text) if re.search(_BORNE_OUT_BY[text], name, re.IGNORECASE) else None
        return found.name if found else None
    if len(text) == 1 and text.isalpha():
        return None
    if text.lower() in NAMES_NOT_UNITS:
        return None
    printed = find_header_unit(text)
    if printed is not None:
        return printed
    found = find_unit(text)
    return None if found is None or found.currency or text.isalpha() else found.name


_TOKEN = re.compile(
    r"(?P<zeros>(?:['’‘`´]|(?<!\d)1[,.]?)?0{3}(?:,000)?['’]?s?(?![\w,.]))"
    r"|(?P<power>(?<![\w.,])10 ?(?:(?:\^|\*\*) ?\d{1,2}|[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,2})(?!\w))"
    r"|(?P<sign>(?:US|A|AU|C|CA|Cdn|NZ|HK|S|SG|R|NT|MX|U\.S\. ?)?\$|(?:CN|RMB)¥|[€£¥￥＄₹₩₽₺₪₫฿₦₱₴]|¢)"
    r"|(?P<percent>%|‰)|(?P<word>[^\W\d_](?:[\w.·/²³°^]|['’](?=s\b))*|°[CF]?|#)"
    r"|(?P<space>[\s,;:'’‘`´.()/×–—-]+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_GLUE_WORDS = """
x in of the a all and are is as at for to each s u.s us american united states amount amounts figure figures
value values number numbers unit units total totals balances data information table tables tabular expressed
stated presented reported shown given measured rounded nearest approximately equivalent currency currencies
unaudited audited thereof except otherwise indicated noted
"""
_GLUE = frozenset(_GLUE_WORDS.split())
_PREFIXED_CODE = re.compile(
    r"(?P<before>mm|mn|bn|mio|mrd|[kKmMtTbB])(?P<code>[A-Z]{3})|(?P<code2>[A-Z]{3})(?P<after>mm|mn|bn|[kKmMbB])"
)
_LETTERS_OF_MONEY = {"k": 3, "t": 3, "m": 6, "mm": 6, "mn": 6, "mio": 6, "b": 9, "bn": 9, "mrd": 9}
_LETTERS_ALONE = {"k": 3, "M": 6, "mil": 6}
_PEOPLE_OR_MONEY = re.compile(
    r"population|inhabitants|people|revenue|sales|income|profit|budget|cost|turnover|gross|assets",
    re.IGNORECASE,
)
_NEED_MORE_LETTERS = frozenset({"mil", "mm", "cr"})


class Clause(NamedTuple):
    """A unit (QUDT local name) and a power of ten, each None where the clause has none."""

    unit: str | None = None
    scale: int | None = None


def parse_clause(clause: str, name: str = "") -> Clause | None:
    """What a clause says of unit and scale, or None where it says anything else.

    `name` is what the unit is of; it tells apart symbols such as ``m``.

    >>> parse_clause("Amounts in US$ thousands")
    Clause(unit='CCY_USD', scale=3)
    >>> parse_clause("million tonnes"), parse_clause("cash in millions")
    (Clause(unit='TONNE', scale=6), None)
    >>> parse_clause("10^24 kg"), parse_clause("× 10³ m³")
    (Clause(unit='KiloGM', scale=24), Clause(unit='M3', scale=3))
    """
    stripped = clause.strip(" ()[]")
    if stripped.startswith("/") or stripped in ENGLISH_WORDS:
        return None
    if needs_support(stripped):
        unit = unit_of_symbol(stripped, name)
        if unit is None and stripped == "m" and _PEOPLE_OR_MONEY.search(name):
            return Clause(None, 6)
        return None if unit is None else Clause(unit)
    read = _Reader()
    if named := _named_currency().search(clause):
        read.unit = _currencies_of_several_words()[named[0].lower()]
        clause = f"{clause[: named.start()]} {clause[named.end() :]}"
    for match in _TOKEN.finditer(clause):
        if match.lastgroup == "other":
            return None
        read.token(match[0], match.lastgroup or "")
    return read.finish(name)


class _Reader:
    """Takes the tokens of a clause and puts them together."""

    def __init__(self) -> None:
        self.unit: str | None = None
        self.scale: int | None = None
        self.hundredths = 0
        self.rest: list[str] = []

    def token(self, printed: str, kind: str) -> None:
        """One token: a sign, a scale, a word."""
        if kind == "zeros":
            self.scale = 6 if printed.count("0") > 3 else 3
        elif kind == "power":
            digits = printed.removeprefix("10").lstrip(" ^*").translate(_SUPERSCRIPTS)
            self.scale = (self.scale or 0) + int(digits)
        elif kind == "sign" and printed not in CENTS:
            names = currency_names()
            self.unit = names.get(printed.replace(" ", "")) or names.get(printed) or self.unit
        elif kind == "percent":
            self.unit = "PERCENT" if printed == "%" else "PERMILLE"
        elif kind in {"word", "sign"}:
            self._word(printed.rstrip("."))

    def _word(self, word: str) -> None:
        lowered = word.lower()
        names = currency_names()
        if lowered in CENTS:
            self.hundredths = -2
            if lowered == "pence":
                self.unit = currency_unit(CENTS[lowered])
        elif lowered in BASIS_POINTS:
            self.hundredths, self.unit = -2, "PERCENT"
        elif lowered in WORDS:
            self.unit = self.unit or currency_unit(WORDS[lowered])
        elif word in names and (word.isupper() or word in {"Rs", "Rmb"}):
            self.unit = self.unit or names[word]
        elif len(lowered) > 1 and lowered in SCALE_WORDS and lowered not in _NEED_MORE_LETTERS:
            self.scale = SCALE_WORDS[lowered]
        elif (prefixed := _PREFIXED_CODE.fullmatch(word)) and (
            prefixed["code"] or prefixed["code2"]
        ) in names:
            self.unit = names[prefixed["code"] or prefixed["code2"]]
            self.scale = _LETTERS_OF_MONEY[(prefixed["before"] or prefixed["after"]).lower()]
        elif lowered.startswith("in") and lowered[2:] in PLAIN_SCALES:  # "inmillions", where a space was lost
            self.scale = PLAIN_SCALES[lowered[2:]]
        elif lowered not in _GLUE:
            self.rest.append(word)

    def finish(self, name: str) -> Clause | None:
        """The clause, or None where words are left that say something else."""
        if self.rest and not self._take_rest(self.rest, name):
            return None
        if self.hundredths:
            self.scale = (self.scale or 0) + self.hundredths
        return None if self.unit is None and self.scale is None else Clause(self.unit, self.scale)

    def _take_rest(self, rest: Sequence[str], name: str) -> bool:
        letters = "".join(rest)
        if self.scale is None:
            money = self.unit is not None and self.unit.startswith("CCY_")
            scale = _LETTERS_OF_MONEY.get(letters.lower()) if money else None
            if self.unit is None:
                scale = _LETTERS_ALONE.get(letters)
            if scale is not None:
                self.scale = scale
                return True
        if self.unit is not None:
            return False
        self.unit = unit_of_symbol(" ".join(rest), name)
        return self.unit is not None


@cache
def _currencies_of_several_words() -> dict[str, str]:
    """Names of currencies that have several words, in lower case, also in the plural → QUDT local name."""
    found = {name: currency_unit(code) for name, code in WORDS.items() if " " in name}
    for name, unit in units().items():
        label = unit.label.lower()
        if unit.currency and re.fullmatch(r"[a-z]+(?: [a-z]+)+", label):
            found.setdefault(label, name)
            found.setdefault(f"{label}s", name)
    return found


@cache
def _named_currency() -> re.Pattern[str]:
    names = sorted(_currencies_of_several_words(), key=lambda name: (-len(name), name))
    return re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names), re.IGNORECASE)


__all__ = [
    "Unit",
    "UnitPhrase",
    "find_unit",
    "parse_unit_phrase",
    "parse_unit_text",
    "units",
    "without_exception",
]

LONGEST_PHRASE = 160


@dataclass(frozen=True, slots=True)
class UnitPhrase:
    """What a text says of unit and scale; None where it says nothing.

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
    r"|where applicable)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PER_SHARE = re.compile(r"\bper[ -](?:\w+ ){0,2}?(?:shares?|units?|ads|item)\b|per-share", re.IGNORECASE)
_SEGMENTS = re.compile(r"\(([^()]{1,120})\)|\[([^\[\]]{1,120})\]")
_TRAILING_SIGN = re.compile(r"(?<=[\d)] )(?:(?:US|A|C|HK|S|NZ)?[$€£¥]|%)$")
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
_AMOUNT_BEFORE = re.compile(r"(?:^|\s)[-+−]?\d+(?:[.,]\d+)?$")
_PERIOD_BEFORE = re.compile(r"(?:^|\W)(?:1[5-9]|2[01])\d\d$|[A-Z]{1,3} ?\d\d?$")
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
_LEADING_SIGN = re.compile(r"((?:US|A|C|HK|S|NZ)?\$|[€£¥]) (?=[^\W\d_])")
_HUNDREDTHS_INSIDE = re.compile(r"\b(?:cents|pence)(?= per\b)", re.IGNORECASE)
_UNIT_OF_ACTION = re.compile(r"([A-Za-z]?[a-z]{3,}s) (?:(?!ended)[a-z]{2,}ed|sold|flown|driven|burnt)\b")
"""A header that counts units of measure: "Gallons hedged", "Hours worked"."""
_AFTER = re.compile(r"(?:,| in| -| –| —|:)\s+([^,:()]{1,60})$")


@lru_cache(maxsize=16_384)
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
            found = UnitPhrase(
                found.unit or phrase.unit, phrase.scale if found.scale is None else found.scale
            )
    if found == UnitPhrase() and shares is None:
        return None
    if found.scale is None and shares is not None and _DOLLARS_AND_SHARES.search(text):
        found = UnitPhrase(found.unit, shares)
    return UnitPhrase(found.unit, found.scale, exceptions, shares)


@lru_cache(maxsize=16_384)
def parse_unit_text(text: str) -> UnitPhrase | None:
    """The unit and scale named within a header or label: whole, in parentheses, after a comma or "in".

    >>> parse_unit_text("Weight (kg)").unit, parse_unit_text("Revenue, $m").scale
    ('KiloGM', 6)
    >>> parse_unit_text("Wins (W)") is None
    True
    """
    if len(text) > 2 * LONGEST_PHRASE or not may_name_unit(text):
        return None
    text = html.unescape(" ".join(text.split()))
    if not _names_a_column(text) and (phrase := parse_unit_phrase(text)):
        return phrase
    if "(" in text and (unit := converted_unit(text)):
        return UnitPhrase(unit)
    outside = _SEGMENTS.sub(" ", text)
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
    if phrase := _trailing_unit(outside):
        return phrase
    if (leading_noun := _UNIT_OF_ACTION.match(outside)) and (unit := find_header_unit(leading_noun[1])):
        return UnitPhrase(unit)
    after = _AFTER.search(outside.strip())
    if after is None or (" in" not in after[0] and is_bare_scale(after[1])):
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


def _names_a_column(text: str) -> bool:
    """Whether the whole of a header, though it could be a unit, is likelier a name: "Year", "GB", "M"."""
    bare = text.strip(" .")
    if bare.lower() in NAMES_NOT_UNITS or is_bare_scale(bare):
        return True
    return len(bare) <= 3 and bare.isalpha() and bare.isupper() and bare not in currency_names()


def _money_per(text: str, name: str) -> UnitPhrase | None:
    """A currency per something, of which QUDT has no unit: ``€/MWh``, ``USD per barrel``, ``ct/kWh``."""
    match = _PER.fullmatch(text.strip(" ()[]"))
    if match is None:
        return None
    per = match["per"].strip()
    if match["money"] == "ct":
        return UnitPhrase("CCY_EUR", -2, per=per)
    money = parse_clause(match["money"], name)
    if money is None or money.unit is None or not money.unit.startswith("CCY_"):
        return None
    return UnitPhrase(money.unit, money.scale, per=per)


NOUNS_OF_TIME = frozenset({"day", "days", "hour", "week", "year"})
_RATE_BEFORE = re.compile(r"(?:^|\s)(?:per|each|every|a|an|pro|je)$", re.IGNORECASE)


def _trailing_unit(text: str) -> UnitPhrase | None:
    """A currency code or a unit's symbol at the end of a header: ``Price USD``, ``Area km²``, ``2023 kg``."""
    name, _, last = text.strip().rpartition(" ")
    if not name or len(last) > LONGEST_SYMBOL or name.lower() in _COMMON_WORDS:
        return None
    if _AMOUNT_BEFORE.search(name) and not _PERIOD_BEFORE.search(name):
        return None  # a quantity that the values are for, as in "100 m" and "55 °C"
    if last.lower() in NOUNS_OF_TIME or _RATE_BEFORE.search(name):
        return None  # what is counted in it is not time: "Passengers per day", "Match day"
    if last in COMMON_CODES:
        return None if last in ENGLISH_WORDS else UnitPhrase(currency_names().get(last))
    if money := _money_per(last, name):
        return money
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


def _snake_unit(words: Sequence[str], name: str) -> UnitPhrase | None:
    if len(words) == 1:
        word = words[0]
        lowered = word.lower()
        if lowered in _TEMPERATURES and re.search(r"temp|therm", name, re.IGNORECASE):
            return UnitPhrase(_TEMPERATURES[lowered])
        if word.upper() in COMMON_CODES:
            return UnitPhrase(currency_names().get(word.upper()))
        if lowered in BASIS_POINTS or lowered in {"pct", "percent", "perc"}:
            return parse_unit_phrase(lowered)
        if word in NO_TRAILING_UNITS:
            return None
        if needs_support(word) or len(word) == 1:
            unit = unit_of_symbol(word, name) or (
                unit_of_symbol(word.upper(), name) if len(word) == 1 else None
            )
            return UnitPhrase(unit) if unit else None
        unit = find_header_unit(word) or _symbols_in_lower_case().get(lowered)
        return UnitPhrase(unit) if unit and lowered not in NAMES_NOT_UNITS else None
    if words[0] == "in" and len(words) == 2:
        return parse_unit_phrase(" ".join(words), name)
    if words[0].upper() in COMMON_CODES:
        return parse_unit_phrase(" ".join((words[0].upper(), *words[1:])), name)
    joined = "/".join(word for word in words if word != "per")
    unit = find_header_unit(joined) if len(words) == 2 or "per" in words else None
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
            if (
                phrase is not None
                and phrase.unit is not None
                and phrase.is_money
                and phrase.scale is not None
            ):
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
