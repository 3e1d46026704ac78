"""Units of quantities in calculations: which convert into each other, and what products and quotients are in.

A unit is a QUDT local name (``KiloGM``, ``CCY_USD``) or a product of such in QUDT's own way of naming
(``CCY_USD-PER-KiloGM``, ``M2``); a factor that QUDT does not have (``CCY_USD-PER-SHARE``) is a kind
of its own. Conversion is exact: QUDT's multipliers as fractions, recurring ones such as 5/9 restored.
Currencies do not convert into each other, nor do months and years into days (QUDT's month is the
synodic one); a year is twelve months.

ProgramSource: QUDT 3.5 units vocabulary (conversionMultiplier, conversionOffset, hasDimensionVector).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from kgtable.errors import UnitMismatchError
from kgtable.values.decimals import EXACT, ROUNDED
from kgtable.values.units import conversion_records, units

NO_UNIT = frozenset({None, "", "UNITLESS"})
"""The mark of an unknown unit."""

COUNTS = frozenset({"NUM", "UNITLESS", "", None})
"""Units of pure numbers, which all mix with each other."""

LARGEST_EXPONENT = 400
_ONE = Fraction(1)
_POWER = re.compile(r"(?P<name>.*?[A-Za-z])(?P<power>[2-9])")
_DATA = re.compile(r"Data|Information")
_ANGLE = re.compile(r"Angle")
_CALENDAR = {"MO": Fraction(1), "YR": Fraction(12)}
_RATIOS = ("PERCENT", "PERMILLE", "PPM", "PPTH", "PPB")

Dimension = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Atom:
    """A QUDT unit: its dimension, and value_in_si = (value + offset) * multiplier."""

    dimension: Dimension
    multiplier: Fraction = _ONE
    offset: Fraction = Fraction(0)


@lru_cache(maxsize=4096)
def _atom(name: str) -> _Atom | None:
    if name in _CALENDAR:
        return _Atom((("calendar", 1),), _CALENDAR[name])
    record = conversion_records().get(name)
    unit = units().get(name)
    if record is None or unit is None:
        return None
    if unit.currency:
        return _Atom(((f"currency {unit.currency}", 1),), _exact(record.multiplier or "1"))
    if not record.multiplier:
        return _Atom(((name, 1),))
    dimension = _vector(record.dimension)
    if not dimension and any(map(_DATA.search, unit.kinds)):
        dimension = (("data", 1),)
    elif not dimension and any(map(_ANGLE.search, unit.kinds)):
        dimension = (("angle", 1),)
    return _Atom(dimension, _exact(record.multiplier), _exact(record.offset or "0"))


def _vector(text: str) -> Dimension:
    """The exponents of a QUDT dimension vector that are not zero, without D."""
    found = re.findall(r"([AELIMHT])(-?\d+(?:dot\d+)?)", text)
    return tuple((letter, int(power)) for letter, power in found if "dot" not in power and power != "0")


def _exact(text: str) -> Fraction:
    """A printed multiplier; one of thirty digits or more is the simple fraction that it rounds, if any."""
    value = Fraction(text)
    if len(text.replace(".", "").strip("0")) >= 30:
        simple = value.limit_denominator(10**9)
        if value and abs(simple - value) < abs(value) / 10**28:
            return simple
    return value


@lru_cache(maxsize=4096)
def factors_of(unit: str | None) -> tuple[tuple[str, int], ...]:
    """The factors of a unit with their powers; none for a pure number.

    >>> factors_of("CCY_USD-PER-KiloGM"), factors_of("UNITLESS")
    ((('CCY_USD', 1), ('KiloGM', -1)), ())
    """
    if unit in COUNTS or unit is None:
        return ()
    if _atom(unit) is not None:
        return ((unit, 1),)
    above, _, below = unit.partition("-PER-")
    found: dict[str, int] = {}
    for text, sign in ((above, 1), (below, -1)):
        for part in filter(None, text.split("-")):
            match = _POWER.fullmatch(part) if _atom(part) is None else None
            name, power = (match["name"], int(match["power"])) if match else (part, 1)
            if name != "NUM":
                found[name] = found.get(name, 0) + sign * power
    return tuple((name, power) for name, power in found.items() if power)


def unit_of(factors: Mapping[str, int]) -> str:
    """The name of a product of units; that of QUDT where it has one of these factors.

    >>> unit_of({"CCY_USD": 1, "CCY_EUR": -1}), unit_of({"M": 2}), unit_of({})
    ('CCY_USD-PER-CCY_EUR', 'M2', 'UNITLESS')
    """
    above = [f"{name}{power if power > 1 else ''}" for name, power in factors.items() if power > 0]
    below = [f"{name}{-power if power < -1 else ''}" for name, power in factors.items() if power < 0]
    if not above and not below:
        return "UNITLESS"
    return "-".join(above or ["NUM"]) + (f"-PER-{'-'.join(below)}" if below else "")


@lru_cache(maxsize=4096)
def dimension_of(unit: str | None) -> Dimension:
    """The dimension of a unit, as powers of base dimensions and currencies; empty for a pure number.

    >>> dimension_of("IN") == dimension_of("M"), dimension_of("CCY_USD")
    (True, (('currency USD', 1),))
    """
    total: dict[str, int] = {}
    for name, power in factors_of(unit):
        atom = _atom(name)
        for base, exponent in atom.dimension if atom else ((name, 1),):
            total[base] = total.get(base, 0) + exponent * power
    return tuple(sorted((base, power) for base, power in total.items() if power))


@lru_cache(maxsize=4096)
def multiplier_of(unit: str | None) -> Fraction:
    """The factor into coherent SI units.

    >>> multiplier_of("IN"), multiplier_of("PERCENT")
    (Fraction(127, 5000), Fraction(1, 100))
    """
    total = _ONE
    for name, power in factors_of(unit):
        atom = _atom(name)
        total *= (atom.multiplier if atom else _ONE) ** power
    return total


@lru_cache(maxsize=4096)
def offset_of(unit: str | None) -> Fraction:
    """The addend of a conversion, applied before the multiplier: temperature scales have zeros of their own."""
    factors = factors_of(unit)
    if len(factors) == 1 and factors[0][1] == 1 and (atom := _atom(factors[0][0])):
        return atom.offset
    return Fraction(0)


def is_known(unit: str) -> bool:
    """Whether it is a unit of QUDT, or a product with a factor that is.

    >>> is_known("CCY_USD-PER-SHARE"), is_known("FURLONGS-ISH")
    (True, False)
    """
    return unit in COUNTS or any(_atom(name) is not None for name, _ in factors_of(unit))


def comparable(left: str | None, right: str | None) -> bool:
    """Whether numbers in the two units can be compared and added; an unknown unit fits any.

    >>> comparable("IN", "CentiM"), comparable("CCY_USD", "CCY_EUR"), comparable("YR", "DAY")
    (True, False, False)
    """
    if left == right or left in NO_UNIT or right in NO_UNIT:
        return True
    return dimension_of(left) == dimension_of(right)


def convert(value: Decimal, unit: str | None, target: str | None) -> Decimal:
    """A number in another unit; exact if the result is finite, else to 60 digits.

    Raises `UnitMismatchError` if the units measure different things.

    >>> convert(Decimal(12), "IN", "CentiM"), convert(Decimal(212), "DEG_F", "DEG_C")
    (Decimal('30.48'), Decimal('100'))
    """
    if unit == target or unit in NO_UNIT or target in NO_UNIT:
        return value
    multiplier, addend = conversion(unit, target)
    if multiplier == 1 and not addend:
        return value
    return decimal_of(Fraction(value) * multiplier + addend)


@lru_cache(maxsize=4096)
def conversion(unit: str | None, target: str | None) -> tuple[Fraction, Fraction]:
    """Multiplier and addend from one unit to another. Raises `UnitMismatchError` if there are none.

    >>> conversion("KiloM", "M")
    (Fraction(1000, 1), Fraction(0, 1))
    """
    if not comparable(unit, target):
        raise UnitMismatchError(f"{describe(unit)} cannot be converted to {describe(target)}.")
    multiplier = multiplier_of(unit) / multiplier_of(target)
    return multiplier, offset_of(unit) * multiplier - offset_of(target)


def unit_of_sum(left: str | None, right: str | None) -> str | None:
    """The unit of a sum: the left one's, except that a count takes the unit of the other operand.

    >>> unit_of_sum("CCY_USD", "NUM"), unit_of_sum("NUM", "CCY_USD")
    ('CCY_USD', 'CCY_USD')
    """
    return right if left in COUNTS and right not in COUNTS else left


def commonest_unit(units: Iterable[str | None]) -> str | None:
    """The most frequent unit, preferring one that says something; None if there is none."""
    counts = Counter(units)
    return max(counts, key=lambda unit: (unit not in NO_UNIT, counts[unit], unit or ""), default=None)


@lru_cache(maxsize=4096)
def multiply_units(left: str | None, right: str | None, power: int = 1) -> tuple[str, Fraction]:
    """The unit of left * right**power (power 1 or -1), and the factor that the bare product still needs.

    Percentages dissolve into the factor (25 % of 80 is 20), except for one that is divided by a plain
    number or multiplied by a percentage; a unit and its like cancel.

    >>> multiply_units("CCY_USD", "CCY_USD"), multiply_units("CCY_USD", "CCY_EUR", -1)[0]
    (('CCY_USD2', Fraction(1, 1)), 'CCY_USD-PER-CCY_EUR')
    >>> multiply_units("PERCENT", "CCY_USD"), multiply_units("KiloM", "M", -1)
    (('CCY_USD', Fraction(1, 100)), ('UNITLESS', Fraction(1000, 1)))
    """
    factor = _ONE
    if power == -1 and comparable(left, right) and left not in COUNTS and right not in COUNTS:
        return "UNITLESS", multiplier_of(left) / multiplier_of(right)
    total: dict[str, int] = {}
    kept = right in COUNTS if power == -1 else right in _RATIOS
    for unit, sign, stays in ((left, 1, kept), (right, power, False)):
        for name, exponent in factors_of(unit):
            if name in _RATIOS and not stays:
                factor *= multiplier_of(name) ** (exponent * sign)
                continue
            total[name] = total.get(name, 0) + exponent * sign
    product = {name: exponent for name, exponent in total.items() if exponent}
    counted = not product and "NUM" in (left, right) and power == 1
    return ("NUM" if counted else unit_of(product)), factor


def decimal_of(value: Fraction) -> Decimal:
    """A fraction as a decimal: exact if it is finite, else to 60 digits.

    >>> decimal_of(Fraction(1, 8)), str(decimal_of(Fraction(1, 3)))[:6]
    (Decimal('0.125'), '0.3333')
    """
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    context = EXACT if rest == 1 else ROUNDED
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def describe(unit: str | None) -> str:
    """A unit for people: its English label, a currency's code, or a plain number.

    >>> describe("CCY_USD"), describe("KiloM-PER-HR"), describe(None)
    ('USD', 'kilometre per hour', 'a plain number')
    """
    if unit in COUNTS or unit is None:
        return "a plain number"
    known = units().get(unit)
    if known is not None:
        return known.currency or known.label.lower()
    above = [_worded(name, power) for name, power in factors_of(unit) if power > 0]
    below = [_worded(name, -power) for name, power in factors_of(unit) if power < 0]
    return " ".join(above or ["1"]) + (f" per {' '.join(below)}" if below else "")


def _worded(name: str, power: int) -> str:
    known = units().get(name)
    word = (known.currency or known.label.lower()) if known else name.replace("_", " ").lower()
    return f"{word}^{power}" if power > 1 else word
