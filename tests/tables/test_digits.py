from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.numbers import FRACTIONS, LARGEST_EXPONENT, MOST_PLAIN_DIGITS, read_digits, scaled


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [
        ("1,234.5 kg", "1234.5", 7),
        ("12,34,567", "1234567", 9),
        ("1 234 567,8", "1234567.8", 11),
        ("1'234", "1234", 5),
        ("1.234.567", "1234567", 9),
        ("1.234,50", "1234.50", 8),
        (".5", "0.5", 2),
        ("3 ¾", "3.75", 3),
        ("½", "0.5", 1),
        ("2 1/4 in", "2.25", 5),
        ("1.5e-3", "0.0015", 6),
        ("1.5 × 10^6", "1500000", 10),
        ("5x10⁻²", "0.05", 6),
        ("10⁹", "1000000000", 3),
        ("1,2345", "1", 1),
        ("5/2", "5", 1),
    ],
)
def test_printed_numbers(text: str, value: str, end: int) -> None:
    found = read_digits(text, 0)
    assert found is not None
    assert (found.value, found.end) == (Decimal(value), end)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "007",
        "00.5",
        "9" * (MOST_PLAIN_DIGITS + 1),
        f"1e{LARGEST_EXPONENT + 1}",
        "10⁻⁻",
        "¾¾x"[2:],
        "\u202e5",
    ],
)
def test_what_is_no_number_here(text: str) -> None:
    assert read_digits(text, 0) is None


def test_the_decimal_comma_turns_the_signs_round() -> None:
    for text, value in (("1.234,5", "1234.5"), ("1,5", "1.5"), ("1.234", "1234"), ("1 234,5", "1234.5")):
        found = read_digits(text, 0, decimal_comma=True)
        assert found is not None
        assert found.value == Decimal(value)


@given(st.decimals(0, 10**15, places=2), st.sampled_from([",", " ", "'", "’"]))
def test_a_grouped_number_is_read_as_it_was_written(value: Decimal, separator: str) -> None:
    found = read_digits(f"{value:,.2f}".replace(",", separator), 0)
    assert found is not None
    assert found.value == value
    assert found.exact


@given(st.integers(0, 10**6), st.sampled_from(sorted(FRACTIONS)))
def test_fractions_are_exact_or_say_that_they_are_not(whole: int, sign: str) -> None:
    found = read_digits(f"{whole}{sign}", 0)
    assert found is not None
    true = whole + Fraction(*FRACTIONS[sign])
    assert found.exact == (Fraction(found.value) == true)
    assert abs(Fraction(found.value) - true) < Fraction(1, 10**12)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40),
    st.integers(-12, 12),
)
def test_scaling_is_exact_and_can_be_undone(value: Decimal, power: int) -> None:
    assert scaled(scaled(value, power), -power) == value
    assert Fraction(scaled(value, power)) == Fraction(value) * Fraction(10) ** power


@given(st.text("0123456789.,' /eE^×x10⁰⁹⁻½-", max_size=30), st.integers(0, 5), st.booleans())
def test_any_text_is_read_within_its_bounds(text: str, start: int, decimal_comma: bool) -> None:
    found = read_digits(text, start, decimal_comma)
    assert found is None or start < found.end <= len(text)
    assert found is None or (found.value.is_finite() and found.value >= 0)
