"""Units of measure: the compact QUDT table, how people print its units, and the scales beside them.

`ontologies/units.csv` holds QUDT's units, `ontologies/printed_units.csv` the spellings that decide
where a symbol alone would be ambiguous (``m``, ``t``, ``in``). Units are named by their QUDT local
name: ``KiloGM`` stands for ``unit:KiloGM``. The graph, the mapping and programs write a scale (hundredths such as
cents and basis points, thousands, millions …) as one of the letters of `SCALE_POWERS`; the numeric value beside it
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
    """The kind of quantity, by QUDT local name, that numbers in a unit are of; None where no general one fits.

    >>> quantity_kind("CCY_EUR"), quantity_kind("KiloM"), quantity_kind("NUM"), quantity_kind("UNITLESS")
    ('Currency', 'Length', 'Count', None)
    """
    if unit is None or unit not in units():
        return None
    if units()[unit].currency:
        return "Currency"
    if unit == "NUM":
        return "Count"
    if unit in ("PERCENT", "PERMILLE", "PPM", "PPB"):
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
    """Symbols and UCUM codes → unit name; of several units the one with the shortest name."""
    found: dict[str, str] = {}
    for record in sorted(_records("ontologies/units.csv"), key=lambda r: (len(r["name"]), r["name"])):
        for spelling in (*record["symbols"].split("\t"), *record["ucum"].split()):
            if spelling and spelling != "$":
                found.setdefault(spelling.translate(_SUPERSCRIPTS), record["name"])
    return found


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
    """The unit that `text` names beside a number in a cell, or None; strict, since cells are prose too.

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
    """The unit whose printed spelling `text` is, in a header or beside a number; None for any other text.

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
"""The scales that have one name beside every unit."""

POWER_NAMES: Final = {SCALE_POWERS[letters]: name for letters, name in SCALE_NAMES.items()}


def scale_name(scale: str | None, unit: str | None = None, *, plural: bool = False) -> str:
    """The word for a scale beside a unit (a QUDT local name), or for so many of them; empty for none.

    >>> scale_name("M"), scale_name("C", "CCY_EUR"), scale_name("C", "CCY_GBP"), scale_name("C", "PERCENT")
    ('million', 'cents', 'pence', 'basis points')
    """
    if scale == "C":
        if unit == "PERCENT":
            return "basis points"
        return "pence" if unit == "CCY_GBP" else "cents"
    name = SCALE_NAMES.get(scale or "", "")
    return f"{name}s" if name and plural else name


SIGNS = {
    "US$": "USD", "U.S.$": "USD", "U.S. $": "USD", "USD$": "USD", "A$": "AUD", "AU$": "AUD", "C$": "CAD",
    "CA$": "CAD", "Cdn$": "CAD", "CDN$": "CAD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD", "SG$": "SGD",
    "R$": "BRL", "NT$": "TWD", "MX$": "MXN", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "￥": "JPY",
    "CN¥": "CNY", "RMB¥": "CNY", "RMB": "CNY", "Rmb": "CNY", "₹": "INR", "Rs.": "INR", "Rs": "INR",
    "INR": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₪": "ILS", "NIS": "ILS", "zł": "PLN", "Kč": "CZK",
    "₫": "VND", "฿": "THB", "₦": "NGN", "₱": "PHP", "₴": "UAH", "＄": "USD", "Euro": "EUR", "euro": "EUR",
}  # fmt: skip
"""Signs and abbreviations → ISO 4217. A bare ``$`` is read as US dollars unless the table says otherwise."""

WORDS = {
    "dollar": "USD", "dollars": "USD", "us dollar": "USD", "us dollars": "USD", "u.s. dollars": "USD",
    "u.s. dollar": "USD", "united states dollars": "USD", "canadian dollars": "CAD",
    "australian dollars": "AUD", "hong kong dollars": "HKD", "singapore dollars": "SGD",
    "new zealand dollars": "NZD", "euro": "EUR", "euros": "EUR", "pounds sterling": "GBP", "sterling": "GBP",
    "yen": "JPY", "japanese yen": "JPY", "yuan": "CNY", "renminbi": "CNY", "rupee": "INR", "rupees": "INR",
    "indian rupees": "INR", "swiss francs": "CHF", "korean won": "KRW", "south african rand": "ZAR",
    "swedish krona": "SEK", "swedish kronor": "SEK", "norwegian kroner": "NOK", "danish kroner": "DKK",
    "rubles": "RUB", "roubles": "RUB", "new taiwan dollars": "TWD", "nt dollars": "TWD",
    "mexican pesos": "MXN", "zloty": "PLN",
    "new israeli shekels": "ILS", "brazilian reais": "BRL", "ringgit": "MYR", "malaysian ringgit": "MYR",
    "schweizer franken": "CHF", "franken": "CHF", "francs suisses": "CHF", "us-dollar": "USD",
    "dollars américains": "USD", "livres sterling": "GBP",
}  # fmt: skip
"""Names of currencies in lower case → ISO 4217."""

CENTS = {"¢": "USD", "cents": "USD", "cent": "USD", "pence": "GBP"}
"""Hundredths of a currency: read as the currency with scale -2."""

KRONER = {"kr": 0, "kr.": 0, "tkr": 3, "tkr.": 3, "mkr": 6, "mkr.": 6, "mnkr": 6, "mdkr": 9}
"""How several countries write their own currency, with the power of ten that the letters before it give."""

BASIS_POINTS = frozenset({"bp", "bps", "bp.", "bps.", "basis points", "basis point"})
"""Hundredths of a percent, which QUDT has no unit for: read as percent with scale -2."""

ENGLISH_WORDS = frozenset(
    [
        "ALL",
        "BAM",
        "BOB",
        "COP",
        "CUP",
        "ERN",
        "GEL",
        "LAK",
        "LYD",
        "MAD",
        "MOP",
        "NAD",
        "PEN",
        "SOS",
        "TOP",
        "TRY",
        "BAN",
    ]
)
"""Codes that are English words or names: not read as a currency before a number."""

_COMMON = """
USD EUR GBP JPY CNY INR CHF CAD AUD NZD SEK NOK DKK ISK HKD SGD KRW TWD BRL MXN ARS CLP COP PEN ZAR RUB UAH
TRY PLN CZK HUF RON BGN HRK ILS EGP NGN KES SAR AED QAR KWD BHD OMR THB IDR MYR PHP VND PKR BDT LKR KZT BTC
"""
COMMON_CODES = frozenset(_COMMON.split())
"""Codes that name a currency beside a number; the others are too often abbreviations of something else."""

SCALE_WORDS = {
    "hundred": 2, "hundreds": 2,
    "thousand": 3, "thousands": 3, "k": 3, "'000": 3, "’000": 3, "000": 3, "'000s": 3, "’000s": 3, "000s": 3,
    "000’s": 3, "000's": 3, "‘000": 3, "`000": 3, "‘000s": 3, "thsd": 3, "thsd.": 3, "tsd": 3, "tsd.": 3,
    "lakh": 5, "lakhs": 5, "lac": 5, "lacs": 5,
    "million": 6, "millions": 6, "mn": 6, "mln": 6, "mio": 6, "mio.": 6, "mm": 6, "mil": 6, "mil.": 6,
    "mill.": 6, "mln.": 6, "mn.": 6, "'000,000": 6, "000,000": 6,
    "crore": 7, "crores": 7, "cr": 7, "cr.": 7,
    "billion": 9, "billions": 9, "bn": 9, "bn.": 9, "bln": 9, "bil": 9, "bil.": 9, "mrd": 9, "mrd.": 9,
    "trillion": 12, "trillions": 12, "tn": 12, "trn": 12, "tln": 12,
    "tausend": 3, "milliers": 3, "millier": 3, "migliaia": 3, "duizend": 3, "tusen": 3,
    "millionen": 6, "millones": 6, "milioni": 6, "miljoen": 6, "miljoner": 6, "millioner": 6,
    "milliarden": 9, "milliards": 9, "milliard": 9, "miliardi": 9, "miljard": 9, "miljarder": 9, "milliarder": 9,
    "mld": 9, "mld.": 9, "mia": 9, "mia.": 9,
}  # fmt: skip
"""Scale words and abbreviations in lower case → power of ten, meant beside a currency or a count."""

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
    """Every sign and code → QUDT local name, for signs and codes that stand beside a number."""
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
"""What follows a name that also heads other figures: ``RM 101`` is a room, ``RM 8.50`` an amount."""
