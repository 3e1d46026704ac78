"""Numbers, units and periods as people say them: "$198.0 million", "198,000,000 US dollars", "year to 30 Sep 2024"."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, NamedTuple

from kgtable.values.decimals import scaled, shortened, with_places
from kgtable.values.units import POWER_NAMES, SCALE_LETTERS, scale_name, units

MINUS: Final = "\N{MINUS SIGN}"
JOINT: Final = "\N{NO-BREAK SPACE}"
"""Between a number and what belongs to it."""


class NumberMarks(NamedTuple):
    """The marks of a number style: before the decimals, and between groups of thousands."""

    decimal: str
    group: str

    def digits(self, english: str) -> str:
        """Digits with English marks in this style.

        >>> NumberMarks(",", ".").digits("8,200.00")
        '8.200,00'
        """
        return english.translate({ord(","): self.group, ord("."): self.decimal})


ENGLISH: Final = NumberMarks(".", ",")

_UNNAMED = frozenset({"", "UNITLESS", "NUM"})
_SIGNS = {
    "CCY_USD": "$", "CCY_EUR": "€", "CCY_GBP": "£", "CCY_JPY": "¥", "CCY_INR": "₹", "CCY_KRW": "₩",
    "CCY_ILS": "₪", "CCY_TRY": "₺", "CCY_UAH": "₴", "CCY_PHP": "₱", "CCY_THB": "฿", "CCY_GEL": "₾",
}  # fmt: skip
"""Currencies whose sign no other currency has; of those called dollar, the one that is meant without more."""

_LABELS = {
    "CCY_USD": "US dollar", "CCY_GBP": "pound sterling", "CCY_CNY": "yuan renminbi", "MI": "mile", "NUM": "",
    "UNITLESS": "", "DECADE": "decade", "PERCENT": "percent", "LB": "pound", "OZ": "ounce",
}  # fmt: skip
_SYMBOLS = {"LB": "lb"}
"""Where QUDT's symbol is not the one in use."""
_PLURALS = {"pound sterling": "pounds sterling", "foot": "feet", "inch": "inches", "euro": "euros"}
_SAME = re.compile(r"(?:yen|yuan|renminbi|won|baht|rand|ringgit|dong|hertz|siemens|lux|percent|s)$")
_SPOKEN_IN_FULL = frozenset({"YR", "MO", "WK", "DAY", "HR", "MIN", "SEC", "DECADE"})
_NAMES = frozenset({"Celsius", "Fahrenheit", "Rankine", "Reaumur"})

_LARGEST_MANTISSA = 10_000
_SAID_DECIMALS = 3
_IN_FULL = 6
"""Up to this power of ten, a number that cannot be said by a scale's name without rounding is said in full."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def unit_name(unit: str | None, *, plural: bool = False) -> str:
    """A unit's English name; empty if it has none to say, the name itself where QUDT does not know it.

    >>> unit_name("CCY_USD", plural=True), unit_name("KiloM"), unit_name("DEG_C", plural=True)
    ('US dollars', 'kilometre', 'degrees Celsius')
    >>> unit_name("UNITLESS"), unit_name("KiloM-PER-HR", plural=True), unit_name("CCY_JPY", plural=True)
    ('', 'kilometres per hour', 'Japanese yen')
    """
    if unit is None or unit in _UNNAMED:
        return ""
    known = units().get(unit)
    if unit in _LABELS:
        name = _LABELS[unit]
    elif known is None:
        return unit
    elif known.currency:
        words = known.label.split()
        name = " ".join([*words[:-1], words[-1].lower()])
    else:
        name = " ".join(word if word in _NAMES else word.lower() for word in known.label.split())
    return _plural(name) if plural else name


def _plural(name: str) -> str:
    if name in _PLURALS:
        return _PLURALS[name]
    for divider in (" per ", " (", ", "):
        head, found, rest = name.partition(divider)
        if found:
            return f"{_plural(head)}{found}{rest}"
    if name.startswith("degree "):
        return f"degrees {name.removeprefix('degree ')}"
    return name if _SAME.search(name) else f"{name}s"


def unit_symbol(unit: str | None) -> str:
    """The sign or short word that is next to a number; empty if there is none to say.

    >>> unit_symbol("CCY_EUR"), unit_symbol("CCY_CAD"), unit_symbol("KiloW-HR"), unit_symbol("MIN"), unit_symbol("LB")
    ('€', 'CAD', 'kWh', 'minutes', 'lb')
    """
    if unit is None or unit in _UNNAMED:
        return ""
    if unit in _SIGNS:
        return _SIGNS[unit]
    if unit.startswith("CCY_"):
        return unit.removeprefix("CCY_")
    if unit in _SPOKEN_IN_FULL:
        return unit_name(unit, plural=True)
    known = units().get(unit)
    if known is None:
        return unit
    symbol = _SYMBOLS.get(unit, known.symbol)
    return symbol.replace("W·h", "Wh").strip() or unit_name(unit, plural=True)


def spoken_number(
    value: Decimal,
    unit: str | None = None,
    *,
    power: int = 0,
    decimals: int | None = None,
    style: NumberMarks = ENGLISH,
) -> str:
    """A number with unit and scale as one says it.

    Args:
        value: exact, with the scale applied.
        unit: its QUDT local name.
        power: the scale it is printed in; kept if that makes a number that people say.
        decimals: as many as are printed, for a number said in that scale.
        style: the marks of decimals and thousands.

    Returns:
        The text; it begins with "about" where digits were left out.

    >>> spoken_number(Decimal(198000000), "CCY_USD", power=6, decimals=1).replace(JOINT, " ")
    '$198.0 million'
    >>> spoken_number(Decimal(812400000), "CCY_EUR", power=3, decimals=0).replace(JOINT, " ")
    '€812.4 million'
    >>> spoken_number(Decimal("12.5"), "PERCENT"), spoken_number(Decimal(-3776), "M").replace(JOINT, " ")
    ('12.5%', '−3,776 m')
    >>> spoken_number(Decimal("43.3333333333")), spoken_number(Decimal(1), "HR").replace(JOINT, " ")
    ('about 43.33', '1 hour')
    >>> spoken_number(Decimal("7496012"), "CCY_USD"), spoken_number(Decimal("1431300000")).replace(JOINT, " ")
    ('$7,496,012', '1,431.3 million')
    """
    size = value.copy_abs()
    is_said = power and size and 1 <= scaled(size, -power) < _LARGEST_MANTISSA
    chosen = power if is_said else _power_of(size)
    mantissa = scaled(size, -chosen)
    rounded = _rounded(mantissa, scaled=bool(chosen))
    kept = decimals if decimals is not None and chosen == power else None
    if decimals is not None and rounded != mantissa and chosen != power:  # a printed number is not rounded
        chosen, mantissa = power, scaled(size, -power)
        rounded, kept = mantissa, max(decimals, _decimals(mantissa))
    if kept is not None and kept >= _decimals(mantissa):
        digits = f"{mantissa:,.{kept}f}"
    else:
        said = rounded if rounded != mantissa else _plain(mantissa)
        cents = not chosen and (unit or "").startswith("CCY_") and _decimals(said) == 1
        digits = f"{said:,.2f}" if cents else f"{said:,f}"
    digits = style.digits(digits)
    about = "" if rounded == mantissa or kept == _decimals(mantissa) else "about "
    if chosen < 0:
        sign = MINUS if value < 0 else ""
        return f"{about}{sign}{digits}{JOINT}{scale_name(SCALE_LETTERS[chosen], unit)}"
    words = digits if not chosen else f"{digits}{JOINT}{POWER_NAMES[chosen]}"
    return f"{about}{_with_unit(words, unit, negative=value < 0, one=size == 1)}"


def _with_unit(digits: str, unit: str | None, *, negative: bool, one: bool) -> str:
    sign = MINUS if negative else ""
    symbol = unit_symbol(unit)
    if not symbol:
        return f"{sign}{digits}"
    if unit is not None and unit.startswith("CCY_"):
        return f"{sign}{symbol}{digits}" if unit in _SIGNS else f"{sign}{symbol}{JOINT}{digits}"
    if symbol in ("%", "°", "′", "″"):
        return f"{sign}{digits}{symbol}"
    return f"{sign}{digits}{JOINT}{unit_name(unit) if one and unit in _SPOKEN_IN_FULL else symbol}"


def exact_number(value: Decimal, unit: str | None = None, style: NumberMarks = ENGLISH) -> str:
    """The whole number with the unit's full name.

    >>> exact_number(Decimal("198000000"), "CCY_USD"), exact_number(Decimal(1), "KiloM")
    ('198,000,000 US dollars', '1 kilometre')
    """
    sign = MINUS if value < 0 else ""
    name = unit_name(unit, plural=value.copy_abs() != 1)
    return f"{sign}{style.digits(f'{_plain(value.copy_abs()):,f}')} {name}".rstrip()


def _power_of(size: Decimal) -> int:
    """The power of ten by which a number is said: millions and more by name, where that leaves few decimals."""
    fitting = [power for power in (12, 9, 6) if size >= Decimal(10) ** power]
    for power in fitting:
        mantissa = scaled(size, -power)
        if mantissa < _LARGEST_MANTISSA and _decimals(mantissa) <= _SAID_DECIMALS:
            return power
    large = bool(fitting) and fitting[0] > _IN_FULL and scaled(size, -fitting[0]) < _LARGEST_MANTISSA
    return fitting[0] if large else 0


def _rounded(mantissa: Decimal, *, scaled: bool) -> Decimal:
    """At most three decimals next to a scale, else four; longer ones are shortened."""
    if _decimals(mantissa) <= (_SAID_DECIMALS if scaled else 4):
        return mantissa
    if mantissa >= 1:
        return with_places(mantissa, 2)
    return with_places(mantissa, 2 - mantissa.adjusted())


def _decimals(number: Decimal) -> int:
    exponent = _plain(number).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _plain(number: Decimal) -> Decimal:
    short = shortened(number)
    exponent = short.as_tuple().exponent
    return with_places(short, 0) if isinstance(exponent, int) and 0 < exponent < 28 else short


_DURATION = re.compile(r"P(\d+)([YMW])")
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_PART = re.compile(r"(\d{4})-([QH])([1-4])")
_MONTH = re.compile(r"(\d{4})-(\d\d)")


def spoken_period(period: str) -> str:
    """A period of the graph (see `kgtable.values.periods.find_period`) in words.

    >>> spoken_period("P1Y/2024-09-30"), spoken_period("P3M/2020-06-30"), spoken_period("2019-Q3")
    ('year to 30 Sep 2024', '3 months to 30 Jun 2020', 'Q3 2019')
    >>> spoken_period("2019-12-31"), spoken_period("FY2019/2020"), spoken_period("2019-09")
    ('31 Dec 2019', 'fiscal year 2019/20', 'Sep 2019')
    """
    length, slash, end = period.partition("/")
    if slash and (duration := _DURATION.fullmatch(length)):
        number, kind = int(duration[1]), {"Y": "year", "M": "month", "W": "week"}[duration[2]]
        span = kind if number == 1 else f"{number} {kind}s"
        return f"{span} to {spoken_period(end)}"
    if period.startswith("FY"):
        return f"fiscal year {_years(period.removeprefix('FY'))}"
    if match := _DAY.fullmatch(period):
        return f"{int(match[3])} {_month(match[2])} {match[1]}"
    if match := _PART.fullmatch(period):
        return f"{match[2]}{match[3]} {match[1]}"
    if match := _MONTH.fullmatch(period):
        return f"{_month(match[2])} {match[1]}"
    return _years(period)


def _years(text: str) -> str:
    first, slash, last = text.partition("/")
    if slash and first.isdigit() and last.isdigit() and len(first) == len(last) == 4:
        return f"{first}/{last[2:]}" if int(last) == int(first) + 1 else f"{first}–{last}"
    return text


def _month(number: str) -> str:
    return _MONTHS[int(number) - 1] if 1 <= int(number) <= 12 else number
