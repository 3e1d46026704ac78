"""Units of measure in headers: which symbols count at once, and which need a name that bears them out."""

from __future__ import annotations

import re
from functools import cache

from kgtable.tables.currencies import BASIS_POINTS, CENTS, SCALE_WORDS, WORDS, currency_names
from kgtable.tables.units import find_header_unit, find_unit, printed_spellings, units

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


_SIGN = re.compile(r"[(\[$＄€£¥￥₹₩₽₺₪₫฿₦₱₴¢%‰°℃℉²³/·µμ]|000|[A-Z]{3}")
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
