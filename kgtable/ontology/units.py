"""Units as headers, labels and captions phrase them: "in € millions, except per share", "Weight (kg)"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from kgtable.ontology.measures import Measure
from kgtable.tables.currencies import CENTS, SCALE_WORDS, WORDS, currency_names, currency_unit
from kgtable.tables.units import Unit, find_printed_unit, find_unit, units

__all__ = ["Unit", "UnitPhrase", "find_unit", "parse_unit_phrase", "parse_unit_text", "units"]

LONGEST_PHRASE = 160


@dataclass(frozen=True, slots=True)
class UnitPhrase:
    """What a text says of unit and scale; None where it says nothing.

    `unit` is a QUDT local name, `scale` a power of ten. `exceptions` are the measures that the scale
    does not hold for ("except per share"); `share_scale` is the scale of share counts where it is
    given apart ("dollars in millions, shares in thousands").
    """

    unit: str | None = None
    scale: int | None = None
    exceptions: frozenset[Measure] = frozenset()
    share_scale: int | None = None

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency or open."""
        return self.unit is None or self.unit.startswith("CCY_")


_EXCEPTION = re.compile(
    r"[\s,;(]*\b(?:except(?:ing|ed)?|other than|excluding|unless|but not"
    r"|where applicable)\b(?P<what>.*)",
    re.IGNORECASE | re.DOTALL,
)
_PER_SHARE = re.compile(r"\bper[ -](?:\w+ ){0,2}?(?:shares?|units?|ads|item)\b|per-share", re.IGNORECASE)
_SEGMENTS = re.compile(r"\(([^()]{1,120})\)|\[([^\[\]]{1,120})\]")
_TRAILING_MONEY = re.compile(r"(?<=[\w)]) (?:US|A|C|HK|S|NZ)?[$€£¥]['’‘]?(?:000s?|m|mm|bn|k|M|B|K)?$|(?<=\w) %$")
_AFTER = re.compile(r"(?:,| in| -| –| —|:)\s+([^,:()]{1,60})$")
_TOKEN = re.compile(
    r"(?P<zeros>['’‘`´]?0{3}(?:,000)?['’]?s?(?![\w]))"
    r"|(?P<sign>(?:US|A|AU|C|CA|Cdn|NZ|HK|S|SG|R|NT|MX|U\.S\. ?)?\$|[€£¥￥₹₩₽₺₪₫฿₦₱₴]|¢)"
    r"|(?P<percent>%|‰)|(?P<word>[^\W\d_](?:[\w.·/²³°^]|['’](?=s\b))*|°[CF]?|#)"
    r"|(?P<space>[\s,;:'’‘`´.()/–—-]+)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_GLUE = frozenset(
    ["in", "of", "the", "a", "all", "and", "are", "is", "as", "at", "for", "amount", "amounts", "figures", "figure", "expressed", "stated", "presented", "reported", "shown", "data", "information", "tabular", "table", "tables", "numbers", "values", "value", "unaudited", "audited", "currency", "currencies", "equivalent", "each", "approximately", "rounded", "to", "nearest", "total", "totals", "balances", "dollar-amounts", "measured", "given", "unit", "units", "thereof", "u.s", "us", "s", "american", "united", "states", "except", "otherwise", "indicated", "noted"]
)
_PREFIXED_CODE = re.compile(
    r"(?P<prefix>mm|mn|bn|mio|mrd|[kKmMtTbB])(?P<code>[A-Z]{3})|(?P<code2>[A-Z]{3})(?P<suffix>mm|mn"
    r"|bn|[kKmMbB])"
)
_MONEY_LETTERS = {"k": 3, "t": 3, "m": 6, "mm": 6, "mn": 6, "mio": 6, "b": 9, "bn": 9, "mrd": 9}
_SUPPORT = {
    "m": "height|length|width|depth|distance|elevation|altitude|diameter|radius|draft|beam|prominence|thickness"
    "|peak|mark|throw|jump|reach|span|size|relief|sea level|long|tall|high|wide|deep|level|result|best|position",
    "g": "weight|mass|protein|fat|sugar|carb|fib|sodium|salt|serving|amount",
    "t": "weight|mass|tonnage|production|displacement|load|capacity|output|emissions|catch|yield|harvest|gold|co2",
    "s": "time|duration|period|interval|latency|delay|half-life|lap",
    "h": "time|duration|hours|half-life|endurance|worked",
    "l": "volume|capacity|engine|displacement|tank|consumption|luggage|boot",
    "L": "volume|capacity|engine|displacement|tank|consumption|luggage|boot",
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
_NAMES_NOT_UNITS = frozenset(
    ["year", "month", "week", "day", "hour", "minute", "second", "point", "degree", "degrees", "foot", "number", "count", "counts", "numbers", "bar", "kilo", "x", "times", "ratio", "years"]
)


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
    found, shares = UnitPhrase(), None
    for clause in re.split(r"[,;]| and (?=shares|dollars|amounts)", text):
        if not clause.strip(" ()[]."):
            continue
        about_shares = re.match(
            r"\W*(?:number of )?(?:shares?|units|options)\b( amounts?| data| counts?| numbers)?",
            clause,
            re.IGNORECASE,
        )
        phrase = _parse_clause(clause[about_shares.end() :] if about_shares else clause, name)
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
    return UnitPhrase(found.unit, found.scale, exceptions, shares)


@lru_cache(maxsize=16_384)
def parse_unit_text(text: str) -> UnitPhrase | None:
    """The unit and scale named within a header or label: as a whole, in parentheses, after a comma or "in".

    >>> parse_unit_text("Weight (kg)").unit, parse_unit_text("Revenue, $m").scale, parse_unit_text("Δ in %").unit
    ('KiloGM', 6, 'PERCENT')
    >>> parse_unit_text("Wins (W)") is None
    True
    """
    text = " ".join(text.split())
    if len(text) > 2 * LONGEST_PHRASE:
        return None
    if text.lower().strip(" ().") not in _NAMES_NOT_UNITS and (phrase := parse_unit_phrase(text)):
        return phrase
    outside = _SEGMENTS.sub(" ", text)
    for match in reversed(list(_SEGMENTS.finditer(text))):
        if phrase := parse_unit_phrase(match[1] or match[2], outside):
            return phrase
    if match := _TRAILING_MONEY.search(outside):
        return parse_unit_phrase(match[0])
    after = _AFTER.search(outside.strip())
    return parse_unit_phrase(after[1], outside[: after.start()]) if after else None


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


def _parse_clause(clause: str, name: str) -> UnitPhrase | None:
    """One clause without exceptions: scale words, currencies, a unit, and words of glue."""
    scale: int | None = None
    unit: str | None = None
    cents = False
    words: list[str] = []
    clause = _named_currency().sub(lambda match: WORDS[match[0].lower()], clause)
    for match in _TOKEN.finditer(clause):
        printed, kind = match[0], match.lastgroup
        lowered = printed.lower()
        if kind == "other":
            return None
        if kind == "space":
            continue
        if kind == "zeros":
            scale = 6 if "," in printed else 3
        elif lowered in CENTS:
            cents = True
            unit = unit or (currency_unit(CENTS[lowered]) if lowered == "pence" else None)
        elif kind == "sign":
            unit = currency_names().get(printed.replace(" ", "")) or currency_names().get(printed) or unit
        elif kind == "percent":
            unit = "PERCENT" if printed == "%" else "PERMILLE"
        else:
            words.append(printed.rstrip("."))
    rest: list[str] = []
    for word in words:
        lowered = word.lower()
        if lowered in WORDS and (unit is None or not unit.startswith("CCY_")):
            unit = currency_unit(WORDS[lowered])
        elif lowered in WORDS:
            continue
        elif word in currency_names() and word.isupper() | (word in {"Rs", "Rmb", "Euro", "euro"}):
            unit = unit or currency_names()[word]
        elif lowered in SCALE_WORDS and len(lowered) > 1 and lowered not in {"mil", "mm", "cr"}:
            scale = SCALE_WORDS[lowered]
        elif prefixed := _PREFIXED_CODE.fullmatch(word):
            code = prefixed["code"] or prefixed["code2"]
            if code not in currency_names():
                return None
            unit, scale = (
                currency_names()[code],
                _MONEY_LETTERS[(prefixed["prefix"] or prefixed["suffix"]).lower()],
            )
        elif lowered.strip(".") not in _GLUE:
            rest.append(word)
    if rest:
        letters = "".join(rest)
        money = _money_letters(letters, unit, scale)
        if money is not None:
            scale = money
        elif unit is not None:
            return None
        else:
            unit = _physical_unit(" ".join(rest), name, whole=clause)
            if unit is None:
                return None
    if cents:
        scale = (scale or 0) - 2
    if unit is None and scale is None:
        return None
    return UnitPhrase(unit, scale)


@cache
def _named_currency() -> re.Pattern[str]:
    """Names of currencies that have several words."""
    names = sorted((name for name in WORDS if " " in name), key=lambda name: (-len(name), name))
    return re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names), re.IGNORECASE)


def _money_letters(letters: str, unit: str | None, scale: int | None) -> int | None:
    """The scale meant by letters beside a currency: ``£m``, ``$B``, ``T€``, ``$mm``; ``k`` and ``M`` alone."""
    if scale is not None:
        return None
    if unit is not None and unit.startswith("CCY_"):
        return _MONEY_LETTERS.get(letters.lower())
    if unit is None and letters in {"k", "M", "mil", "mm"}:
        return {"k": 3, "M": 6, "mil": 6}.get(letters)
    return None


def _physical_unit(text: str, name: str, whole: str) -> str | None:
    """The unit that the words name beside a scale word or alone."""
    support = _SUPPORT.get(text)
    if support is not None:
        if re.search(support, name, re.IGNORECASE):
            found = find_unit(text)
            return found.name if found else None
        return None
    if len(text) == 1 and text.isalpha():
        return None
    printed = find_printed_unit(text) or find_printed_unit(text.replace(" ", ""))
    if printed is not None:
        return printed
    found = find_unit(text)
    if found is None or found.currency:
        return None
    return found.name if text.lower() not in _NAMES_NOT_UNITS and _is_curated(text) else None


def _is_curated(text: str) -> bool:
    """Symbols of letters alone are too often abbreviations of something else."""
    return not text.replace(" ", "").isalpha() or (len(text) > 4 and text.lower() not in {"point", "points"})
