"""Unit symbols and unit words, and the unit and scale that one clause of a phrase names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from kgtable.values.units import (
    BASIS_POINTS,
    CENTS,
    ENGLISH_WORDS,
    KRONER,
    PLAIN_SCALES,
    SCALE_WORDS,
    WORDS,
    currency_names,
    currency_unit,
    find_header_unit,
    find_unit,
    printed_spellings,
    units,
)

_LENGTHS = (
    "height|length|width|depth|distance|elevation|altitude|diameter|radius|draft|beam|prominence|thickness|peak|mark"
    "|throw|jump|reach|span|size|relief|sea level|long|tall|high|wide|deep|level|result|best|position"
    "|höhe|länge|breite|tiefe|strecke|distanz|entfernung|durchmesser|dicke|hauteur|longueur|largeur|profondeur"
    "|diamètre|épaisseur|altura|anchura|altezza|lunghezza|larghezza"
)
_VOLUMES = (
    r"volume|\bvol\b|capacity|engine|displacement|tank|consumption|luggage|boot"
    "|volumen|inhalt|verbrauch|contenance"
)
_MASSES = (
    "weight|mass|tonnage|production|displacement|load|capacity|output|emissions|catch|yield|harvest|co[2₂]"
    "|gewicht|masse|menge|ernte|ausstoß|ladung|fracht|poids|quantité|récolte|émissions|peso"
)
_LOADS = "cargo|freight|waste|recycl|crop|haul|ore\\b|grain|coal|shipped|handled|sold|stock|quantity"
_BORNE_OUT_BY = {
    "m": _LENGTHS,
    "g": "weight|mass|protein|fat|sugar|carb|fib|sodium|salt|serving|amount"
    "|gewicht|masse|eiweiß|fett|zucker|salz|poids|matières grasses|sucre|protéines|peso",
    "t": f"{_MASSES}|{_LOADS}",
    "s": r"time|dur(?:ation)?\b|period|interval|latency|delay|half-life|lap|dauer|zeit|durée|temps"
    r"|\d ?[-–] ?\d+ ?(?:km/h|kph|mph)|\d k?m\s*$",
    "h": r"time|dur(?:ation)?\b|hours|half-life|endurance|worked|overtime|charging|\bsun\b|sunshine|daylight|lifetime"
    r"|dauer|zeit\b|durée|temps",
    "l": _VOLUMES,
    "L": _VOLUMES,
    "W": "power|output|tdp|watt|erp|consumption|leistung|puissance",
    "A": "current|amp",
    "V": "volt|spannung|tension",
    "K": "temp|point",
    "N": "force|thrust|load",
    "J": "energy|heat|work",
    "in": "height|length|width|depth|diameter|rain|snow|precipitation|size|thickness|wheel|calib|bore|stroke",
    "min": r"time|dur(?:ation)?\b|length|minutes|interval|played|running"
    r"|\b(?:break|delay|wait|walk|drive|ride|journey|trip|commut|pause)|dauer|zeit\b|durée|temps",
    "nm": "wavelength|process|node|size|length|range|distance",
}
_OTHERWISE = {"kt": ("speed|wind|gust|knots?|velocity", "KN")}
"""Symbols that are another unit where a name bears it out: knots of wind, elsewhere kilotonnes."""
_NAMES = """
year years month week day hour minute second point points degree degrees foot number numbers count counts
bar kilo x times ratio
"""
COMMON_WORDS = frozenset(["in", "a", "of", "and", "the", "per", "by", "with", "for", "at", "to", "as", "on"])
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
        *KRONER,
        *_EURO_CENT,
        *_BORNE_OUT_BY,
        *(f"{scale}{unit}" for scale in _ROMAN_SCALES for unit in _FUELS),
    ]
    texts += [unit.label for unit in units().values()]
    words = {word for text in texts for word in _WORD.findall(text.lower())}
    singular = words | {word.replace("tre", "ter") for word in words}
    return frozenset(singular | {f"{word}s" for word in singular}) - COMMON_WORDS


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
    names, other = _OTHERWISE.get(text, ("", ""))
    if other and re.search(names, name, re.IGNORECASE):
        return other
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
unaudited audited thereof except otherwise indicated noted current constant nominal ht ttc netto brutto
en de di von der beträge angaben werte alle montants kr kr.
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


_PRICES_OF = re.compile(r"\b(?:constant|chained|real) (?:(?:1[89]|20)\d\d )(?:prices? )?", re.IGNORECASE)
"""The year whose prices amounts are in, which is no part of their unit: "constant 2015 US$"."""
_THOUSANDS_IN_SPANISH = re.compile(r"\b(?:en )?miles de\b|\ben miles\b", re.IGNORECASE)
_ELIDED = re.compile(r"\b[dl]['’](?=[^\W\d_])", re.IGNORECASE)
"""What stands before a French or Italian word: "millions d'euros"."""
_EURO_CENT = frozenset({"ct", "Ct", "ct.", "Ct.", "in ct", "in Ct"})
_PRICES = re.compile(r"prei[sn]|price|kosten|cost|tarif|gebühr|entgelt|vergütung", re.IGNORECASE)
"""Names beside which ``ct`` is the cent, elsewhere a carat."""
_SCALED_SYMBOLS = frozenset({"t", "l", "L"})
"""Symbols that a power of ten in figures beside them bears out: "1000 t"."""
_FUEL = re.compile(r"(?P<scale>mm|[mbt])(?P<unit>boe|cfe?|btu|bbls?)")
_FUELS = {"boe": "NUM", "cfe": "NUM", "cf": "FT3", "btu": "BTU_IT", "bbl": "BBL", "bbls": "BBL"}
_ROMAN_SCALES = {"m": 3, "mm": 6, "b": 9, "t": 12}
"""In units of oil and gas an m is the Roman thousand: ``MMbbl`` are million barrels, ``Mcf`` thousand cubic feet."""


class Clause(NamedTuple):
    """A unit (QUDT local name) and a power of ten, each None where the clause has none."""

    unit: str | None = None
    scale: int | None = None


_SERIAL_NUMBER = re.compile(r"(?<!\w)[A-Za-z]{1,2}[-‐–]1[,.’']?000(?!\w)")
"""The number of a thing, as "A-1000", and no scale."""


def parse_clause(clause: str, name: str = "") -> Clause | None:
    """Parse a clause as unit and scale; None where it says anything else.

    `name` is what the unit is of; it tells apart symbols such as ``m``.

    >>> parse_clause("Amounts in US$ thousands")
    Clause(unit='CCY_USD', scale=3)
    >>> parse_clause("million tonnes"), parse_clause("cash in millions")
    (Clause(unit='TONNE', scale=6), None)
    >>> parse_clause("10^24 kg"), parse_clause("× 10³ m³")
    (Clause(unit='KiloGM', scale=24), Clause(unit='M3', scale=3))
    """
    stripped = clause.strip(" ()[]")
    if stripped in _EURO_CENT and _PRICES.search(name):
        return Clause(currency_unit("EUR"), -2)
    if stripped.startswith("/") or stripped in ENGLISH_WORDS or _SERIAL_NUMBER.search(stripped):
        return None
    if not needs_support(stripped) and needs_support(shorter := stripped.rstrip(".").lower()):
        stripped = shorter if stripped.endswith(".") and len(shorter) > 2 else stripped
    if needs_support(stripped):
        unit = unit_of_symbol(stripped, name)
        if unit is None and stripped == "m" and _PEOPLE_OR_MONEY.search(name):
            return Clause(None, 6)
        return None if unit is None else Clause(unit)
    read = _Reader()
    clause = _THOUSANDS_IN_SPANISH.sub(" thousand ", _ELIDED.sub(" ", _PRICES_OF.sub(" ", clause)))
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
        elif (prefixed := _PREFIXED_CODE.fullmatch(word)) and (prefixed["code"] or prefixed["code2"]) in names:
            self.unit = names[prefixed["code"] or prefixed["code2"]]
            self.scale = _LETTERS_OF_MONEY[(prefixed["before"] or prefixed["after"]).lower()]
        elif lowered.startswith("in") and lowered[2:] in PLAIN_SCALES:  # "inmillions", where a space was lost
            self.scale = PLAIN_SCALES[lowered[2:]]
        elif KRONER.get(lowered):
            self.scale = KRONER[lowered]
        elif match := _FUEL.fullmatch(lowered):
            self.unit, self.scale = _FUELS[match["unit"]], _ROMAN_SCALES[match["scale"]]
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
        if self.unit is None and self.scale in {3, 6} and letters in _SCALED_SYMBOLS:
            self.unit = find_header_unit(letters)
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
