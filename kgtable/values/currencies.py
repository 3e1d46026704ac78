"""Currency signs, codes and words, and scale words, as tables print them."""

from __future__ import annotations

import re
from functools import cache

from kgtable.values.units import currency_codes

SIGNS = {
    "US$": "USD", "U.S.$": "USD", "U.S. $": "USD", "USD$": "USD", "A$": "AUD", "AU$": "AUD", "C$": "CAD",
    "CA$": "CAD", "Cdn$": "CAD", "CDN$": "CAD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD", "SG$": "SGD",
    "R$": "BRL", "NT$": "TWD", "MX$": "MXN", "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "￥": "JPY",
    "CN¥": "CNY", "RMB¥": "CNY", "RMB": "CNY", "Rmb": "CNY", "₹": "INR", "Rs.": "INR", "Rs": "INR",
    "INR": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY", "₪": "ILS", "NIS": "ILS", "zł": "PLN", "₫": "VND",
    "฿": "THB", "₦": "NGN", "₱": "PHP", "₴": "UAH", "＄": "USD", "Euro": "EUR", "euro": "EUR",
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
    "new israeli shekels": "ILS", "brazilian reais": "BRL",
}  # fmt: skip
"""Names of currencies in lower case → ISO 4217."""

CENTS = {"¢": "USD", "cents": "USD", "cent": "USD", "pence": "GBP"}
"""Hundredths of a currency: read as the currency with scale -2."""

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
}  # fmt: skip
"""Scale words and abbreviations in lower case → power of ten, meant beside a currency or a count."""

ATTACHED_SCALES = {"k": 3, "K": 3, "M": 6, "B": 9}
"""Letters that scale a number they are written against: ``12k``, ``5M``."""

CURRENCY_SCALES = {"k": 3, "K": 3, "m": 6, "M": 6, "b": 9, "B": 9, "t": 12, "T": 12}
"""Letters that scale a number which has a currency: ``$12m``, ``$1.2T``."""

PLAIN_SCALES = {
    word: power
    for word, power in SCALE_WORDS.items()
    if (len(word) > 3 and word.isalpha())
    or word in {"bn", "mn", "mln", "bln", "mio", "mrd", "tn", "trn", "mio."}
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
    return names


@cache
def currency_prefix() -> re.Pattern[str]:
    """Matches a currency sign or code in front of a number."""
    names = [name for name in currency_names() if name not in ENGLISH_WORDS]
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(
        "|".join(re.escape(name) + (r"(?![A-Za-z])" if name[-1].isalpha() else "") for name in longest_first)
    )
