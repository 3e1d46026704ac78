from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import UnitMismatchError
from kgtable.programs.algebra import Operator
from kgtable.programs.dimensions import comparable, convert, describe, dimension_of, multiply_units
from kgtable.programs.scalars import calculate, quantity
from kgtable.values.units import units

NUMBERS = st.decimals(-(10**12), 10**12, places=4)
LENGTHS = st.sampled_from(["M", "CentiM", "IN", "FT", "KiloM", "MilliM"])


@given(NUMBERS, LENGTHS, LENGTHS)
def test_conversion_there_and_back_compares_equal(value: Decimal, unit: str, other: str) -> None:
    there = convert(value, unit, other)
    assert abs(Fraction(convert(there, other, unit)) - Fraction(value)) < Fraction(1, 10**30)


def test_what_does_not_convert() -> None:
    assert not comparable("CCY_EUR", "CCY_USD")
    assert not comparable("MO", "DAY")
    assert not comparable("KiloGM", "M")
    assert comparable("YR", "MO")
    assert convert(Decimal(2), "YR", "MO") == 24
    assert convert(Decimal(-40), "DEG_C", "DEG_F") == -40
    with pytest.raises(UnitMismatchError, match="kilogram cannot be converted to metre"):
        convert(Decimal(1), "KiloGM", "M")


def test_units_of_products_and_quotients() -> None:
    assert multiply_units("CCY_USD", "CCY_USD")[0] == "CCY_USD2"
    assert multiply_units("CCY_USD", "CCY_EUR", -1)[0] == "CCY_USD-PER-CCY_EUR"
    assert multiply_units("CCY_USD", "CCY_USD", -1) == ("UNITLESS", 1)
    assert multiply_units("CCY_USD-PER-KiloGM", "KiloGM")[0] == "CCY_USD"
    assert describe("CCY_USD-PER-CCY_EUR") == "USD per EUR"
    quarter = calculate(Operator.MULTIPLY, quantity(25, "PERCENT"), quantity(Decimal("5283.3")))
    assert quarter.value == Decimal("1320.825")
    assert calculate(Operator.DIVIDE, quantity(135, "PERCENT"), quantity(2)).unit == "PERCENT"


def test_every_unit_has_a_dimension_and_converts_to_itself() -> None:
    for name in units():
        dimension_of(name)
        assert convert(Decimal(7), name, name) == 7
