from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.evidence import Cell
from kgtable.answering.grounding import contains, decimal_string, number_of, plain, unit_of

CELL = Cell("http://e/", "t", 1, 1, "1,200", "t.csv")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**20), max_value=10**20))
def test_decimals_come_back_plain(value: Decimal) -> None:
    text = decimal_string(Fraction(value))
    assert Decimal(text) == value
    assert "E" not in text
    assert not text.endswith(".")


def test_endless_fractions_have_34_digits() -> None:
    assert decimal_string(Fraction(2, 3)) == "0." + "6" * 33 + "7"
    assert decimal_string(Fraction(0)) == "0"
    assert decimal_string(Fraction(-1, 8)) == "-0.125"
    assert decimal_string(Fraction(10**30)) == "1" + "0" * 30


@pytest.mark.parametrize(
    ("text", "value", "number"),
    [
        ("1,200", None, Fraction(1200)),
        ("$ 1.2 million", None, Fraction(1_200_000)),
        ("(3)", None, Fraction(-3)),
        ("five", None, None),
        ("", None, None),
        ("five", Decimal("0.1"), Fraction(1, 10)),
    ],
)
def test_the_number_of_a_cell_is_the_graphs_or_its_texts(
    text: str, value: Decimal | None, number: Fraction | None
) -> None:
    assert number_of(replace(CELL, text=text, value=value)) == number


def test_units_that_say_something() -> None:
    assert unit_of(replace(CELL, unit="CCY_EUR")) == "CCY_EUR"
    assert (
        unit_of(CELL) == unit_of(replace(CELL, unit="NUM")) == unit_of(replace(CELL, unit="UNITLESS")) == ""
    )


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Café  au-lait!", "cafe au lait"),
        ("ＡＢＣ ½", "abc 1 2"),
        ("<b>x</b>", "b x b"),
        ("\u202e", ""),
        ("STRASSE ß", "strasse ss"),
    ],
)
def test_texts_are_compared_without_case_accents_and_signs(text: str, folded: str) -> None:
    assert plain(text) == folded
    assert plain(folded) == folded


def test_parts_are_whole_words() -> None:
    assert contains("net income of 2019", "income of")
    assert not contains("net income", "come")
    assert contains("net", "net")
