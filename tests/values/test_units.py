from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.resources import read_shipped
from kgtable.values.measures import Measure, denominator, find_measure
from kgtable.values.numbers import parse_number
from kgtable.values.units import (
    CENTS,
    COMMON_CODES,
    ENGLISH_WORDS,
    PLAIN_SCALES,
    SCALE_WORDS,
    SIGNS,
    WORDS,
    currency_codes,
    currency_names,
    currency_prefix,
    currency_unit,
    find_printed_unit,
    find_unit,
    units,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("kg", "KiloGM"), ("Kilograms", "KiloGM"), ("m", "M"), ("t", "TONNE"), ("in", "IN"), ("h", "HR"), ("A", "A"),
        ("°C", "DEG_C"), ("Cel", "DEG_C"), ("m.s-1", "M-PER-SEC"), ("km/h", "KiloM-PER-HR"),
        ("kilometers per hour", "KiloM-PER-HR"), ("square kilometres", "KiloM2"), ("kg/m³", "KiloGM-PER-M3"),
        ("%", "PERCENT"), ("$", "CCY_USD"), ("€", "CCY_EUR"), ("¥", "CCY_JPY"), ("CHF", "CCY_CHF"),
        ("KiloGM", "KiloGM"),
    ],
)  # fmt: skip
def test_units_by_symbol_name_and_code(text: str, name: str) -> None:
    unit = find_unit(text)
    assert unit is not None
    assert unit.name == name


def test_every_printed_unit_is_in_qudt() -> None:
    lines = [line for line in read_shipped("ontologies/printed_units.csv").splitlines() if not line.startswith("# ")]
    assert len(lines) > 200
    assert {line.split(",")[1] for line in lines[1:]} <= set(units())
    assert set(currency_names().values()) <= set(units())


def test_the_table_is_whole() -> None:
    assert len(units()) > 2_500
    euro, kilogram = units()["CCY_EUR"], units()["KiloGM"]
    assert (euro.currency, euro.symbol, euro.kinds) == ("EUR", "€", ("Currency",))
    assert (kilogram.label, kilogram.symbol) == ("Kilogram", "kg")
    assert all(unit.label for unit in units().values())


@given(st.text(max_size=80))
def test_any_text_names_a_unit_of_the_table_or_none(text: str) -> None:
    unit = find_unit(text)
    assert unit is None or units()[unit.name] is unit
    printed = find_printed_unit(text)
    assert printed is None or printed in units()


def test_every_currency_that_can_be_printed_is_in_qudt() -> None:
    assert set(currency_names().values()) <= set(units())
    for code in (*SIGNS.values(), *WORDS.values(), *CENTS.values()):
        assert currency_unit(code) in units(), code
    assert {currency_unit(code) for code in COMMON_CODES & currency_codes().keys()} <= set(units())


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("US$ 5", "US$"), ("U.S. $5", "U.S. $"), ("$5", "$"), ("CHF 5", "CHF"), ("CN¥5", "CN¥"), ("Rs. 5", "Rs."),
        ("CHFx 5", None), ("usd 5", None), ("TRY 5", None), ("5 $", None), ("", None), ("\u202e$5", None),
    ],
)  # fmt: skip
def test_the_sign_before_a_number_the_longest_that_fits(text: str, sign: str | None) -> None:
    match = currency_prefix().match(text)
    assert (match and match[0]) == sign


@pytest.mark.parametrize("sign", sorted(SIGNS))
def test_a_number_after_any_sign_is_money(sign: str) -> None:
    number = parse_number(f"{sign} 5")
    assert number is not None
    assert number.unit == currency_unit(SIGNS[sign])


@pytest.mark.parametrize("word", sorted(ENGLISH_WORDS))
def test_english_words_are_no_currency_before_a_number(word: str) -> None:
    number = parse_number(f"{word} 5")
    assert number is None or not (number.unit or "").startswith("CCY_")


@pytest.mark.parametrize("word", sorted(PLAIN_SCALES))
def test_scale_words_scale_a_number(word: str) -> None:
    number = parse_number(f"12 {word}")
    assert number is not None
    assert number.scale == SCALE_WORDS[word]


NAMES = [
    ("Gross margin %", Measure.PERCENT), ("% Change", Measure.PERCENT), ("Percentage of revenue", Measure.PERCENT),
    ("Effective tax rate", Measure.RATE), ("Discount rate (1)", Measure.RATE), ("Rate (cent/word)", None),
    ("Rate (per hour)", None), ("Rate of compensation increase", Measure.RATE), ("Expected volatility", Measure.RATE),
    ("Basic earnings per share", Measure.PER_SHARE), ("Diluted EPS", Measure.PER_SHARE),
    ("Net income per common share - diluted", Measure.PER_SHARE),
    ("Weighted-average exercise price", Measure.PER_SHARE),
    ("Weighted Average Grant Date Fair Value", Measure.PER_SHARE), ("Number of shares", Measure.SHARES),
    ("Weighted average common shares outstanding", Measure.SHARES),
    ("Basic weighted average common shares outstanding", Measure.SHARES),
    ("Shares used in computing diluted earnings", Measure.SHARES), ("Number of employees", Measure.COUNT),
    ("Headcount", Measure.COUNT), ("Current ratio", Measure.RATIO), ("Interest cover (times)", Measure.RATIO),
    ("Weighted average remaining lease term (years)", Measure.DURATION), ("Expected life (in years)", Measure.DURATION),
    ("Fiscal year", Measure.YEAR),
]  # fmt: skip

AMOUNTS = [
    "", "Revenue", "Gross margin", "Income tax at statutory rate", "Foreign rate differential", "Interest rate swaps",
    "Share-based compensation", "Issuance of common shares", "5.25% senior notes", "Notes, 50 percent owned", "2019",
    "Years ended December 31,", "Total stockholders' equity", "Long-term debt", "Employee benefits",
]  # fmt: skip


@pytest.mark.parametrize(("name", "measure"), NAMES)
def test_measures(name: str, measure: Measure) -> None:
    assert find_measure(name) is measure


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_state_no_measure(name: str) -> None:
    assert find_measure(name) is None


@given(st.text(max_size=320) | st.text(alphabet="number of weighted average shares options ", max_size=300))
def test_any_name_is_read(name: str) -> None:
    find_measure(name)
    denominator(name)
