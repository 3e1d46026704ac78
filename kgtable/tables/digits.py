"""The digits of a printed number: separators, exponents, fractions. Signs and units are not their matter.

All patterns are linear: at each position one alternative at most can go on.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal
from typing import NamedTuple

LARGEST_EXPONENT = 308
"""Powers of ten beyond this are not taken for numbers."""

MOST_PLAIN_DIGITS = 18
"""A longer run of digits without separators is an identifier."""

FRACTIONS = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8),
}  # fmt: skip
_EXACT = Context(prec=100_000)
_FRACTION_SIGNS = "".join(FRACTIONS)

_POINT = re.compile(
    r"""(?:
        (?P<dotted>
            \d{1,3}(?:\.\d{3})+,\d+ | \d{1,3}(?:\.\d{3}){2,}(?!\d) | \d{1,3}(?:[ ]\d{3})+,\d{1,2}(?!\d)
        )
      | (?P<grouped>
            \d{1,3}(?:,\d{3})+(?!\d) | \d{1,2}(?:,\d{2})+,\d{3}(?!\d)
          | \d{1,3}(?:[ ]\d{3})+(?!\d) | \d{1,3}(?:['’]\d{3})+(?!\d)
        )(?:\.\d+)?
      | (?P<plain>\d+)(?:\.\d+)?
      | \.\d+
    )""",
    re.VERBOSE,
)
_COMMA = re.compile(
    r"""(?:
        (?P<grouped>\d{1,3}(?:\.\d{3})+(?!\d) | \d{1,3}(?:[ ]\d{3})+(?!\d) | \d{1,3}(?:['’]\d{3})+(?!\d))
        (?:,\d+)?
      | (?P<plain>\d+)(?:,\d+)?
    )""",
    re.VERBOSE,
)
_EXPONENT = re.compile(
    r"[eE]([+-]?\d{1,4})(?![\w.])|\s?[x×·*]\s?10(?:\^?([+-]?\d{1,4})|([⁺⁻]?[⁰¹²³⁴-⁹]{1,4}))(?![\w.])"
)
_FRACTION = re.compile(rf"[ ]?([{_FRACTION_SIGNS}])|[ ](\d{{1,2}})/(\d{{1,3}})(?![\d/])")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")


class Digits(NamedTuple):
    """An unsigned number: its value, whether that is exact, where it ends, whether it is a bare integer."""

    value: Decimal
    end: int
    exact: bool = True
    bare: bool = False


def read_digits(text: str, start: int, decimal_comma: bool = False) -> Digits | None:
    """The unsigned number that begins at `start`, or None.

    Zero-padded integers (``007``) and runs of more than 18 digits are identifiers: None.

    >>> read_digits("1,234.5 kg", 0).value
    Decimal('1234.5')
    >>> read_digits("3 ¾", 0).value
    Decimal('3.75')
    >>> read_digits("1.234,5", 0, decimal_comma=True).value
    Decimal('1234.5')
    """
    match = (_COMMA if decimal_comma else _POINT).match(text, start)
    if match is None:
        fraction = _FRACTION.match(text, start)
        if fraction is None or fraction[1] is None:
            return None
        return _add_fraction(Decimal(0), *FRACTIONS[fraction[1]], fraction.end())
    printed = match[0]
    plain = match["plain"]
    if plain is not None and (len(plain) > MOST_PLAIN_DIGITS or (plain[0] == "0" and len(plain) > 1)):
        return None
    if not decimal_comma and match["dotted"]:
        digits = _without(printed, " .").replace(",", ".")
    elif decimal_comma:
        digits = _without(printed, " '’.").replace(",", ".")
    else:
        digits = _without(printed, " '’,")
    value, end = Decimal(digits), match.end()
    if plain == printed or (not decimal_comma and match["grouped"] == printed):
        fraction = _FRACTION.match(text, end)
        if fraction is not None:
            above, below = FRACTIONS.get(fraction[1]) or (int(fraction[2]), int(fraction[3]))
            if 0 < above < below:
                return _add_fraction(value, above, below, fraction.end())
    return _with_exponent(text, value, end, bare=plain == printed)


def _with_exponent(text: str, value: Decimal, end: int, bare: bool) -> Digits | None:
    exponent = _EXPONENT.match(text, end)
    if exponent is None:
        if value == 10 and bare and text[end : end + 1] in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻" and text[end:]:
            return _power_of_ten(text, end)
        return Digits(value, end, bare=bare)
    power = int(exponent[1] or exponent[2] or exponent[3].translate(_SUPERSCRIPTS))
    if abs(power) > LARGEST_EXPONENT:
        return None
    return Digits(scaled(value, power), exponent.end())


def _power_of_ten(text: str, start: int) -> Digits | None:
    end = start
    while end < len(text) and text[end] in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻":
        end += 1
    try:
        power = int(text[start:end].translate(_SUPERSCRIPTS))
    except ValueError:
        return None
    return Digits(Decimal(1).scaleb(power), end) if abs(power) <= LARGEST_EXPONENT else None


def _add_fraction(whole: Decimal, above: int, below: int, end: int) -> Digits:
    value = whole + Decimal(above) / Decimal(below)
    numerator, denominator = value.as_integer_ratio()
    exact = numerator * below == denominator * (int(whole) * below + above)
    return Digits(value, end, exact=exact)


def scaled(value: Decimal, power: int) -> Decimal:
    """`value` times ten to `power`, exactly, however many digits it has.

    >>> scaled(Decimal("1.25"), 3)
    Decimal('1.25E+3')
    """
    return value.scaleb(power, _EXACT)


def _without(text: str, characters: str) -> str:
    for character in characters:
        text = text.replace(character, "")
    return text
