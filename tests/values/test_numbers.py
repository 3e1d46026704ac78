from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.decimals import scaled
from kgtable.values.numbers import (
    FRACTIONS,
    LARGEST_EXPONENT,
    LONGEST,
    MOST_PLAIN_DIGITS,
    NumberStyle,
    parse_number,
    parse_simple,
    read_digits,
)
from kgtable.values.units import SIGNS, WORDS, currency_codes, units

COMMA = NumberStyle(decimal_comma=True)

PLAIN = [
    ("0", "0"), ("0.00", "0.00"), ("1,234.5", "1234.5"), ("1.234,5", "1234.5"), ("1.234.567", "1234567"),
    ("1 234", "1234"), ("1\u00a0234", "1234"), ("1\u2009234\u2009567", "1234567"), ("1\u202f234.5", "1234.5"),
    ("1 234 567,8", "1234567.8"), ("1'234.50", "1234.50"), ("1’234", "1234"), ("1,23,456", "123456"),
    ("(1,234)", "-1234"), ("(123 )", "-123"), ("( 0.6 )", "-0.6"), ("(14.1", "-14.1"), ("−5", "-5"), ("–5", "-5"),
    ("—5", "-5"), ("- 5", "-5"), ("+574", "574"), (".5", "0.5"), ("-0.5", "-0.5"), ("3 ¾", "3.75"), ("3¾", "3.75"),
    ("¾", "0.75"), ("3 1/2", "3.5"), ("1.5e6", "1500000"), ("2.5E-3", "0.0025"), ("3.2×10^5", "320000"),
    ("3.2 × 10⁵", "320000"), ("10⁶", "1000000"), ("-32 ( 32 )", "-32"), ("\t1,496.5 ", "1496.5"),
    ("123456789012345678", "123456789012345678"),
]  # fmt: skip

WITH_UNITS = [
    ("$ 50", "50", "CCY_USD", 0), ("$50", "50", "CCY_USD", 0), ("$ (1,234)", "-1234", "CCY_USD", 0),
    ("($1,234)", "-1234", "CCY_USD", 0), ("-$5", "-5", "CCY_USD", 0), ("$-5", "-5", "CCY_USD", 0),
    ("$ -4887 ( 4887 )", "-4887", "CCY_USD", 0), ("US$ 5", "5", "CCY_USD", 0), ("U.S. $ 5", "5", "CCY_USD", 0),
    ("A$5", "5", "CCY_AUD", 0), ("HK$ 5", "5", "CCY_HKD", 0), ("€ 1.234,50", "1234.50", "CCY_EUR", 0),
    ("12,50 €", "12.50", "CCY_EUR", 0), ("EUR 50", "50", "CCY_EUR", 0), ("50 SEK", "50", "CCY_SEK", 0),
    ("Rs. 5 crore", "5", "CCY_INR", 7), ("£24.5m", "24.5", "CCY_GBP", 6), ("$1.2bn", "1.2", "CCY_USD", 9),
    ("$1.2 trillion", "1.2", "CCY_USD", 12), ("1.2bn €", "1.2", "CCY_EUR", 9), ("1.2m€", "1.2", "CCY_EUR", 6),
    ("5 million USD", "5", "CCY_USD", 6), ("5 million dollars", "5", "CCY_USD", 6), ("25 cents", "25", "CCY_USD", -2),
    ("12 million", "12", None, 6), ("12k", "12", None, 3), ("3.2B", "3.2", None, 9), ("12.5%", "12.5", "PERCENT", 0),
    ("12.5 %", "12.5", "PERCENT", 0), ("(12.5)%", "-12.5", "PERCENT", 0), ("(12.5%)", "-12.5", "PERCENT", 0),
    ("-7.2 ( 7.2 ) %", "-7.2", "PERCENT", 0), ("-7.2% ( 7.2 % )", "-7.2", "PERCENT", 0),
    ("11% ( 11 % )", "11", "PERCENT", 0), ("( 2 ) % (  % )", "-2", "PERCENT", 0), ("≈\u00a00.8 in", "0.8", "IN", 0),
    ("(16) bps", "-16", "PERCENT", -2), ("12 percent", "12", "PERCENT", 0), ("5‰", "5", "PERMILLE", 0),
    ("12 kg", "12", "KiloGM", 0), ("12kg", "12", "KiloGM", 0), ("100 m", "100", "M", 0), ("3 m/s", "3", "M-PER-SEC", 0),
    ("5 °C", "5", "DEG_C", 0), ("−40 °F", "-40", "DEG_F", 0), ("12 km²", "12", "KiloM2", 0),
    ("5 nautical miles", "5", "MI_N", 0), ("2.5 GB", "2.5", "GigaBYTE", 0), ("3 years", "3", "YR", 0),
    ("35 km (22 mi)", "35", "KiloM", 0), ("1.8x", "1.8", "UNITLESS", 0),
]  # fmt: skip

TEXTS = [
    "1,234,56", "5 % kg",
    "", " ", "-", "$", "%", "a", "007", "$05", "1.2.3", "192.168.0.1", "555-1234", "1/2", "3–1", "2-1", 
    "1,2", "12 (3)", "12 (12)", "312 pp",
    "12 monkeys", "3 goals", "TOP 10", "1st", "#5", "No. 1", "12A", "5 A", "3B", "5s",
    "1, 2", "2016-17", "(3) (4)", "$ 5 $", "5 % %", "((5))", "-(5)-", "--5", "5-",  "1e", "e5", "1e400",
    "1" * 19, "1" * 10_000, "(" * 100, "1 2", "12 34", "90s", "+", "1 million people", "∞", "²", "¾ ¾",
    "10:30",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), PLAIN)
def test_plain_numbers(text: str, value: str) -> None:
    number = parse_number(text)
    assert number is not None
    assert number.value == Decimal(value)
    assert (number.unit, number.scale, number.upper, number.marks) == (None, 0, None, ())


@pytest.mark.parametrize(("text", "value", "unit", "scale"), WITH_UNITS)
def test_numbers_with_units(text: str, value: str, unit: str | None, scale: int) -> None:
    style = COMMA if text == "12,50 €" else NumberStyle()
    number = parse_number(text, style)
    assert number is not None
    assert (number.value, number.unit, number.scale) == (Decimal(value), unit, scale)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_no_numbers(text: str) -> None:
    assert parse_number(text) is None


@pytest.mark.parametrize(
    ("text", "lower", "upper", "unit"),
    [
        ("1–2", "1", "2", None), ("1 - 2", "1", "2", None), ("5 to 10", "5", "10", None),
        ("$5 - $10", "5", "10", "CCY_USD"), ("5-10 kg", "5", "10", "KiloGM"), ("5% - 10%", "5", "10", "PERCENT"),
        ("1,000–2,000", "1000", "2000", None),
    ],
)  # fmt: skip
def test_ranges(text: str, lower: str, upper: str, unit: str | None) -> None:
    number = parse_number(text)
    assert number is not None
    assert (number.value, number.upper, number.unit) == (Decimal(lower), Decimal(upper), unit)
    assert parse_number(text, NumberStyle(ranges=False)) is None


@pytest.mark.parametrize(
    ("text", "marks"),
    [("12[3]", ("[3]",)), ("5*", ("*",)), ("5†‡", ("†", "‡")), ("5¹", ("¹",)), ("5 (a)", ("(a)",)), ("5% *", ("*",))],
)
def test_footnote_marks(text: str, marks: tuple[str, ...]) -> None:
    number = parse_number(text)
    assert number is not None
    assert number.marks == marks
    assert number.value in {5, 12}


def test_marks_that_the_column_allows() -> None:
    assert parse_number("12.3E") is None
    marked = parse_number("12.3E", NumberStyle(letter_marks=True))
    assert marked is not None
    assert (marked.value, marked.marks) == (Decimal("12.3"), ("E",))
    numbered = parse_number("24.5 (1)", NumberStyle(numbered_marks=True))
    assert numbered is not None
    assert (numbered.value, numbered.marks) == (Decimal("24.5"), ("(1)",))
    negative = parse_number("(1)", NumberStyle(numbered_marks=True))
    assert negative is not None
    assert negative.value == -1


@pytest.mark.parametrize(
    "text", ["~40", "≈ 40", "c. 40", "ca. 40", "about 40", "< 40", "≥40", "approximately 40", "40+"]
)
def test_approximate(text: str) -> None:
    number = parse_number(text)
    assert number is not None
    assert (number.value, number.approximate) == (40, True)


def test_decimal_comma() -> None:
    for text, value in [("1.234", "1234"), ("1,5", "1.5"), ("-0,25", "-0.25"), ("1 234,5", "1234.5"), ("1.29", "1.29")]:
        number = parse_number(text, COMMA)
        assert number is not None
        assert number.value == Decimal(value)
    assert parse_number("1,5") is None


@pytest.mark.parametrize(
    ("text", "signed"),
    [("574.00", "+574.00"), ("(1,234.5)", "-1,234.5"), ("−5", "-5"), ("0", "0"), ("$ 50", "+50"), ("1–2", "+1–2")],
)
def test_signed(text: str, signed: str) -> None:
    number = parse_number(text)
    assert number is not None
    assert number.signed == signed


def test_thirds_are_approximate() -> None:
    number = parse_number("3 ⅓")
    assert number is not None
    assert number.approximate


def test_every_currency_is_a_qudt_unit() -> None:
    for code in (*SIGNS.values(), *WORDS.values()):
        assert currency_codes()[code] in units()


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**17), max_value=10**17, places=4))
def test_printed_decimals_come_back_exactly(value: Decimal) -> None:
    for text in (f"{value:f}", f"{value:,f}", f"$ {abs(value):,f}", f"{value:,f} kg"):
        number = parse_number(text)
        assert number is not None
        assert abs(number.value) == abs(value)
    in_parentheses = parse_number(f"({abs(value):,f})")
    assert in_parentheses is not None
    assert in_parentheses.value == -abs(value)


@given(st.integers(min_value=0, max_value=10**70), st.integers(min_value=0, max_value=10**30))
def test_many_digits_are_exact(whole: int, part: int) -> None:
    number = parse_number(f"(1,{whole % 1000:03d},{part % 1000:03d}.{whole})")
    assert number is not None
    assert str(number.value) == f"-1{whole % 1000:03d}{part % 1000:03d}.{whole}"


@given(st.text(max_size=LONGEST + 10))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for style in (NumberStyle(), COMMA, NumberStyle(numbered_marks=True, letter_marks=True)):
        number = parse_number(text, style)
        assert number is None or number.value.is_finite()


@given(st.text(alphabet="0123456789.,()$€%-–+ eE[]*×⁶½/~kmb\u00a0²", max_size=LONGEST))
def test_number_like_text_is_parsed_or_refused(text: str) -> None:
    number = parse_number(text)
    assert number is None or (number.value.is_finite() and number.signed)
    simple = parse_simple(text)
    assert simple is None or simple == number


@pytest.mark.parametrize("piece", ["1", "1,", "(", " ", "1 ", ",111", "[1]", "*", "-", "$", "1e", "(a)", "¹", "½", "x"])
def test_long_repetitions_end(piece: str) -> None:
    for length in (LONGEST, 1_000_000):
        for tail in ("", "!", ")"):
            parse_number((piece * length)[:length] + tail)


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [
        ("1,234.5 kg", "1234.5", 7), ("12,34,567", "1234567", 9), ("1 234 567,8", "1234567.8", 11),
        ("1'234", "1234", 5), ("1.234.567", "1234567", 9), ("1.234,50", "1234.50", 8), (".5", "0.5", 2),
        ("3 ¾", "3.75", 3), ("½", "0.5", 1), ("2 1/4 in", "2.25", 5), ("1.5e-3", "0.0015", 6),
        ("1.5 × 10^6", "1500000", 10), ("5x10⁻²", "0.05", 6), ("10⁹", "1000000000", 3), ("1,2345", "1", 1),
        ("5/2", "5", 1),
    ],
)  # fmt: skip
def test_printed_numbers(text: str, value: str, end: int) -> None:
    found = read_digits(text, 0)
    assert found is not None
    assert (found.value, found.end) == (Decimal(value), end)


@pytest.mark.parametrize(
    "text",
    ["", "x", "007", "00.5", "9" * (MOST_PLAIN_DIGITS + 1), f"1e{LARGEST_EXPONENT + 1}", "10⁻⁻", "¾¾x"[2:], "\u202e5"],
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


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40), st.integers(-12, 12))
def test_scaling_is_exact_and_can_be_undone(value: Decimal, power: int) -> None:
    assert scaled(scaled(value, power), -power) == value
    assert Fraction(scaled(value, power)) == Fraction(value) * Fraction(10) ** power


@given(st.text("0123456789.,' /eE^×x10⁰⁹⁻½-", max_size=30), st.integers(0, 5), st.booleans())
def test_any_text_is_read_within_its_bounds(text: str, start: int, decimal_comma: bool) -> None:
    found = read_digits(text, start, decimal_comma)
    assert found is None or start < found.end <= len(text)
    assert found is None or (found.value.is_finite() and found.value >= 0)
