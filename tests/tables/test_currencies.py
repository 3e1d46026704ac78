from __future__ import annotations

import pytest

from kgtable.values.currencies import (
    CENTS,
    COMMON_CODES,
    ENGLISH_WORDS,
    PLAIN_SCALES,
    SCALE_WORDS,
    SIGNS,
    WORDS,
    currency_names,
    currency_prefix,
    currency_unit,
)
from kgtable.values.numbers import parse_number
from kgtable.values.units import currency_codes, units


def test_every_currency_that_can_be_printed_is_in_qudt() -> None:
    assert set(currency_names().values()) <= set(units())
    for code in (*SIGNS.values(), *WORDS.values(), *CENTS.values()):
        assert currency_unit(code) in units(), code
    assert {currency_unit(code) for code in COMMON_CODES & currency_codes().keys()} <= set(units())


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("US$ 5", "US$"),
        ("U.S. $5", "U.S. $"),
        ("$5", "$"),
        ("CHF 5", "CHF"),
        ("CN¥5", "CN¥"),
        ("Rs. 5", "Rs."),
        ("CHFx 5", None),
        ("usd 5", None),
        ("TRY 5", None),
        ("5 $", None),
        ("", None),
        ("\u202e$5", None),
    ],
)
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
