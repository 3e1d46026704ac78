"""Units of measure: the compact QUDT table, how people print its units, and the scales next to them.

`ontologies/units.csv` holds QUDT's units, `ontologies/printed_units.csv` the spellings that decide
where a symbol alone would be ambiguous (``m``, ``t``, ``in``). Units are named by their QUDT local
name: ``KiloGM`` stands for ``unit:KiloGM``. The graph, the mapping and programs write a scale (hundredths such as
cents and basis points, thousands, millions …) as one of the letters of `SCALE_POWERS`; the numeric value next to it
has the scale applied.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, NamedTuple

from kgtable.resources import read_shipped
from kgtable.values.lexicon import printed_senses, printed_terms
from kgtable.values.text import text_cache

LONGEST_PRINTED = 60
_PLURAL_WORD = re.compile(r"(?<=[a-z]{3})s\b")
_SUPERSCRIPTS = str.maketrans({"²": "2", "³": "3", "μ": "µ", "⋅": "·", "∙": "·"})


@dataclass(frozen=True, slots=True)
class Unit:
    """A QUDT unit: local name, English label, main symbol, quantity kinds, ISO 4217 code."""

    name: str
    label: str
    symbol: str = ""
    kinds: tuple[str, ...] = ()
    currency: str = ""


class Conversion(NamedTuple):
    """The SI value of a number in a unit is (number + offset) * multiplier; units of a dimension convert."""

    dimension: str
    multiplier: str
    offset: str


def _records(name: str) -> Iterator[dict[str, str]]:
    lines = (line for line in read_shipped(name).splitlines() if not line.startswith("# "))
    yield from csv.DictReader(lines)


@cache
def units() -> dict[str, Unit]:
    """Every unit of the table by its QUDT local name.

    >>> units()["CCY_EUR"].label
    'Euro'
    """
    return {
        record["name"]: Unit(
            record["name"],
            record["label"],
            record["symbols"].split("\t")[0],
            tuple(record["kinds"].split()),
            record["currency"],
        )
        for record in _records("ontologies/units.csv")
    }


@cache
def conversion_records() -> dict[str, Conversion]:
    """QUDT local name → how the unit converts.

    >>> conversion_records()["IN"].multiplier
    '0.0254'
    """
    return {
        record["name"]: Conversion(record["dimension"], record["multiplier"], record["offset"])
        for record in _records("ontologies/units.csv")
    }


_KINDS_OF_DIMENSIONS: Final = {
    "L1I0M0H0T0D0": "Length", "L2I0M0H0T0D0": "Area", "L3I0M0H0T0D0": "Volume", "L0I0M1H0T0D0": "Mass",
    "L0I0M0H0T1D0": "Time", "L0I0M0H1T0D0": "Temperature", "L1I0M0H0T-1D0": "Velocity", "L2I0M1H0T-2D0": "Energy",
    "L2I0M1H0T-3D0": "Power", "L-1I0M1H0T-2D0": "Pressure", "L-3I0M1H0T0D0": "Density", "L0I0M0H0T-1D0": "Frequency",
    "L1I0M1H0T-2D0": "Force", "L-3I0M0H0T0D0": "NumberDensity", "L3I0M0H0T-1D0": "VolumeFlowRate",
    "L0I0M1H0T-1D0": "MassFlowRate",
}  # fmt: skip


@lru_cache(maxsize=4096)
def quantity_kind(unit: str | None) -> str | None:
    """The kind of quantity, by QUDT local name, that numbers in a unit are of; None if no general one fits.

    >>> quantity_kind("CCY_EUR"), quantity_kind("KiloM"), quantity_kind("NUM"), quantity_kind("UNITLESS")
    ('Currency', 'Length', 'Count', None)
    """
    if unit is None or unit not in units():
        return None
    if units()[unit].currency:
        return "Currency"
    if unit == "NUM":
        return "Count"
    if unit in ("PERCENT", "PERMILLE", "PPM", "PPB", "FRACTION"):
        return "DimensionlessRatio"
    if len(units()[unit].kinds) == 1:
        return units()[unit].kinds[0]
    dimension = conversion_records()[unit].dimension
    return _KINDS_OF_DIMENSIONS.get(dimension.removeprefix("A0E0")) if dimension.startswith("A0E0") else None


@cache
def currency_codes() -> dict[str, str]:
    """ISO 4217 code → QUDT local name, for the currencies that QUDT has."""
    return {unit.currency: name for name, unit in units().items() if unit.currency and name == f"CCY_{unit.currency}"}


@cache
def _printed() -> tuple[dict[str, str], dict[str, str]]:
    """Curated spellings (those for cells, those for headers as well): spelling → unit name."""
    cells: dict[str, str] = {}
    headers: dict[str, str] = {}
    for record in _records("ontologies/printed_units.csv"):
        for spelling in dict.fromkeys((record["printed"], _loose(record["printed"]))):
            headers.setdefault(spelling, record["unit"])
            if record["place"] == "cell":
                cells.setdefault(spelling, record["unit"])
    return cells, headers


@cache
def _by_symbol() -> dict[str, str]:
    """Symbols and UCUM codes → unit name; if several units share one, the one with the shortest name."""
    found: dict[str, str] = {}
    for record in sorted(_records("ontologies/units.csv"), key=lambda r: (len(r["name"]), r["name"])):
        for spelling in (*record["symbols"].split("\t"), *record["ucum"].split()):
            if spelling and spelling != "$":
                plain = spelling.translate(_SUPERSCRIPTS)
                for form in (plain, _LITRE.sub("l", plain)):
                    found.setdefault(form, record["name"])
    return found


_LITRE = re.compile(r"(?<=[/.·µmcdhn])L(?![a-zA-Z])")
"""A litre of a compound or prefixed unit, which many write with a small letter: mg/ml."""


@cache
def _by_label() -> dict[str, str]:
    """English labels, in lower case and British and American spelling → unit name."""
    found: dict[str, str] = {}
    for name, unit in units().items():
        label = unit.label.lower()
        found.setdefault(label, name)
        found.setdefault(re.sub(r"(?<=[mlt])re\b", "er", label), name)
    return found


def _loose(text: str) -> str:
    """Spelling of a word (four letters or more) without case; symbols keep theirs."""
    return text.lower() if len(text) > 3 and text.replace(" ", "").replace(".", "").isalpha() else text


def _label_forms(text: str) -> tuple[str, ...]:
    singular = _PLURAL_WORD.sub("", text.lower())
    return text.lower(), singular, singular.replace("/", " per ")


def find_printed_unit(text: str) -> str | None:
    """The unit that `text` names next to a number in a cell, or None; strict, since cells are prose too.

    Single words count only where the curated spellings have them; QUDT's own symbols count where
    they are compound (``W/m²``), its labels where they have several words.

    >>> find_printed_unit("km/h"), find_printed_unit("W/m²"), find_printed_unit("goals")
    ('KiloM-PER-HR', 'W-PER-M2', None)
    """
    if not text or len(text) > LONGEST_PRINTED:
        return None
    cells, _ = _printed()
    name = cells.get(text) or cells.get(_loose(text))
    if name is not None:
        return name
    if " " in text:
        return next((_by_label()[form] for form in _label_forms(text) if form in _by_label()), None)
    if any(sign in text for sign in "/·²³°") and any(character.isalpha() for character in text):
        return _by_symbol().get(text.translate(_SUPERSCRIPTS))
    return None


def printed_spellings() -> tuple[str, ...]:
    """Every curated spelling of a unit."""
    return tuple(_printed()[1])


def find_header_unit(text: str) -> str | None:
    """The unit whose printed spelling `text` is, in a header or next to a number; None for any other text.

    >>> find_header_unit("feet"), find_header_unit("Gamma")
    ('FT', None)
    """
    _, headers = _printed()
    return headers.get(text) or headers.get(_loose(text))


@text_cache(16_384)
def find_unit(text: str) -> Unit | None:
    """The unit that `text` names by QUDT name, symbol, UCUM code, English label or ISO 4217 code.

    >>> find_unit("kg").name, find_unit("kilograms").name, find_unit("m.s-1").name, find_unit("EUR").name
    ('KiloGM', 'KiloGM', 'M-PER-SEC', 'CCY_EUR')
    >>> find_unit("quux") is None
    True
    """
    text = text.strip()
    if not text or len(text) > LONGEST_PRINTED:
        return None
    name = (
        find_header_unit(text)
        or _by_symbol().get(text.translate(_SUPERSCRIPTS))
        or currency_codes().get(text)
        or (text if text in units() else None)
        or next((_by_label()[form] for form in _label_forms(text) if form in _by_label()), None)
    )
    return units()[name] if name else None


SCALE_POWERS: Final = {"C": -2, "T": 3, "M": 6, "B": 9, "TN": 12}
"""A scale's letters → its power of ten. T for thousand as in the thesis (section 4.4)."""

SCALE_LETTERS: Final = {power: letters for letters, power in SCALE_POWERS.items()}

SCALE_NAMES: Final = {"T": "thousand", "M": "million", "B": "billion", "TN": "trillion"}
"""The scales that have one name next to every unit."""

POWER_NAMES: Final = {SCALE_POWERS[letters]: name for letters, name in SCALE_NAMES.items()}


def scale_name(scale: str | None, unit: str | None = None, *, plural: bool = False) -> str:
    """The word for a scale next to a unit (a QUDT local name), or for so many of them; empty for none.

    >>> scale_name("M"), scale_name("C", "CCY_EUR"), scale_name("C", "CCY_GBP"), scale_name("C", "PERCENT")
    ('million', 'cents', 'pence', 'basis points')
    """
    if scale == "C":
        if unit == "PERCENT":
            return "basis points"
        return "pence" if unit == "CCY_GBP" else "cents"
    name = SCALE_NAMES.get(scale or "", "")
    return f"{name}s" if name and plural else name


SIGNS: Final = printed_terms("sign ")
"""Signs and abbreviations → ISO 4217. A bare ``$`` is read as US dollars unless the table says otherwise."""

WORDS: Final = printed_terms("currency ")
"""Names of currencies in lower case → ISO 4217."""

CENTS: Final = printed_terms("hundredth ")
"""Hundredths of a currency: read as the currency with scale -2."""

KRONER: Final = {letters: int(power) for letters, power in printed_terms("crown ").items()}
"""How several countries write their own currency, with the power of ten that the letters before it give."""

BASIS_POINTS: Final = frozenset(printed_terms("basis point"))
"""Hundredths of a percent, which QUDT has no unit for: read as percent with scale -2."""

ENGLISH_WORDS: Final = frozenset(printed_terms("word like a code"))
"""Codes that are English words or names: not read as a currency before a number."""

COMMON_CODES: Final = frozenset(printed_terms("common code"))
"""Codes that name a currency next to a number; the others are too often abbreviations of something else."""

SCALE_WORDS: Final = {word: int(power) for word, power in printed_terms("scale ").items() if power.isdecimal()}
"""Scale words and abbreviations in lower case → power of ten, meant next to a currency or a count."""

ATTACHED_SCALES = {"k": 3, "K": 3, "M": 6, "B": 9}
"""Letters that scale a number they are written against: ``12k``, ``5M``."""

CURRENCY_SCALES = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "t": 12, "T": 12}
"""Letters that scale a number which has a currency: ``$12m``, ``$1.2T``."""

PLAIN_SCALES = {
    word: power
    for word, power in SCALE_WORDS.items()
    if (len(word) > 3 and word.isalpha()) or word in {"bn", "mn", "mln", "bln", "mio", "mrd", "tn", "trn", "mio."}
}
"""Scale words that scale any number in a cell: ``12 million``, ``3bn``."""


def currency_unit(code: str) -> str:
    """The QUDT local name of an ISO 4217 code.

    >>> currency_unit("EUR")
    'CCY_EUR'
    """
    return f"CCY_{code}"


@cache
def currency_names() -> dict[str, str]:
    """Every sign and code → QUDT local name, for signs and codes that occur next to a number."""
    known = currency_codes()
    names = {code: known[code] for code in sorted(COMMON_CODES & known.keys())}
    names.update({sign: currency_unit(code) for sign, code in SIGNS.items() if code in known})
    return names | {"RM": currency_unit("MYR")}


@cache
def currency_prefix() -> re.Pattern[str]:
    """Matches a currency sign or code in front of a number."""
    names = [name for name in currency_names() if name not in ENGLISH_WORDS]
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(
        "|".join(
            re.escape(name) + _BEHIND_NAMES.get(name, r"(?![A-Za-z])" if name[-1].isalpha() else "")
            for name in longest_first
        )
    )


_BEHIND_NAMES = {"RM": r"(?= ?(?:\d{1,3}(?:,\d{3})+|\d+\.\d\d)(?!\d))"}
"""The figures after a name that also heads other figures: ``RM 101`` is a room, ``RM 8.50`` an amount."""


COMMON_WORDS: Final = frozenset(printed_terms("small word"))
NAMES_NOT_UNITS: Final = frozenset(printed_terms("name and no unit"))
"""Words that, alone in a header, name what the column holds and not its unit."""
NOT_AT_END: Final = frozenset(printed_terms("no unit at end"))
"""Symbols that are likelier something else at the end of a name: "Feat. ft", "Team GB", "Station St"."""
_SUPPORT: Final = printed_senses("supports ")
"""Symbols that are units only next to a name that has one of these: ``m`` next to "Height"."""
_FUELS: Final = printed_terms("fuel ")
_ROMAN_SCALES: Final = {"m": 3, "mm": 6, "b": 9, "t": 12}
"""In units of oil and gas an m is the Roman thousand: ``MMbbl`` are million barrels, ``Mcf`` thousand cubic feet."""
_FUEL = re.compile(rf"(?P<scale>mm|[mbt])(?P<unit>{'|'.join(_FUELS)})")
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
    texts = [*printed_spellings(), *SCALE_WORDS, *WORDS, *currency_names(), *CENTS, *BASIS_POINTS, *KRONER, *_SUPPORT]
    texts += [f"{scale}{unit}" for scale in _ROMAN_SCALES for unit in _FUELS]
    texts += [unit.label for unit in units().values()]
    words = {word for text in texts for word in _WORD.findall(text.lower())}
    singular = words | {word.replace("tre", "ter") for word in words}
    return frozenset(singular | {f"{word}s" for word in singular}) - COMMON_WORDS


def needs_support(symbol: str) -> bool:
    """Whether a symbol is a unit only next to a name that bears it out, as ``m`` next to "Height"."""
    return symbol in _SUPPORT


def is_supported(symbol: str, name: str) -> bool:
    spaced = f" {_NO_LETTERS.sub(' ', name.lower())} "
    return any(term in spaced for term in _SUPPORT.get(symbol, ()))


_NO_LETTERS = re.compile(r"[\s_,;:()\[\]]+")


def unit_of_symbol(text: str, name: str) -> str | None:
    """The QUDT local name of the unit that `text` is, for a column or row called `name`; None for any other text.

    >>> unit_of_symbol("m", "Height"), unit_of_symbol("m", "Votes"), unit_of_symbol("km/h", "")
    ('M', None, 'KiloM-PER-HR')
    """
    if needs_support(text):
        found = find_unit(text) if is_supported(text, name) else None
        return found.name if found else None
    if (len(text) == 1 and text.isalpha()) or text.lower() in NAMES_NOT_UNITS:
        return None
    if text == "kt" and is_supported("kt of wind", name):
        return "KN"
    if (printed := find_header_unit(text)) is not None:
        return printed
    found = find_unit(text)
    return None if found is None or found.currency or text.isalpha() else found.name


def fuel_unit(word: str) -> tuple[str, int] | None:
    """The unit of oil or gas, and its power of ten, that a word in small letters is.

    >>> fuel_unit("mmbbl"), fuel_unit("mcf"), fuel_unit("barrel")
    (('BBL', 6), ('FT3', 3), None)
    """
    match = _FUEL.fullmatch(word)
    return (_FUELS[match["unit"]], _ROMAN_SCALES[match["scale"]]) if match else None


@cache
def symbols_in_lower_case() -> dict[str, str]:
    """Curated symbols of two letters and more without case, where only one unit has them."""
    found: dict[str, set[str]] = {}
    for symbol in printed_spellings():
        unit = find_header_unit(symbol)
        if unit is not None and len(symbol) > 1:
            found.setdefault(symbol.lower(), set()).add(unit)
    return {symbol: names.pop() for symbol, names in found.items() if len(names) == 1}


_TWO_UNITS = re.compile(r"(?:^|.*[\s,])(?P<unit>[^\s()]{1,12}) ?\((?P<other>[^()\d]{1,16})\)\W*", re.DOTALL)


def converted_unit(text: str) -> str | None:
    """The unit of a name with a second one of the same kind in brackets, as QUDT local name.

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


_PAIR = re.compile(r"([A-Z]{3}) ?/ ?([A-Z]{3})")


def is_currency_pair(text: str) -> bool:
    """Whether a text names the exchange rate of two currencies, which markets quote in the second of them.

    >>> is_currency_pair("EUR/USD"), is_currency_pair("EUR/MWh")
    (True, False)
    """
    match = _PAIR.fullmatch(text.strip(" ()[]"))
    return match is not None and {match[1], match[2]} <= COMMON_CODES
