from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.evidence import Cell
from kgtable.answering.grounding import (
    Grounding,
    agrees,
    check,
    contains,
    decimal_string,
    number_of,
    plain,
    speaks_of_falling,
    stated_numbers,
    unit_of,
)
from kgtable.answering.reply import Draft
from tests.answering.sample import evidence


def grounded(text: str, *cells: str, calculation: str | None = None, question: str = "?") -> Grounding:
    return check(question, Draft(text, cells, calculation), evidence(question))


@pytest.mark.parametrize(
    ("text", "cells", "calculation", "value", "unit"),
    [
        ("1,500 million EUR", ["T1.r1.c2"], None, "1500000000", "CCY_EUR"),
        ("EUR 1.5 billion in 2019", ["T1.r1.c2"], None, "1500000000", "CCY_EUR"),
        ("58.3%", ["T1.r6.c1"], None, "58.3", "PERCENT"),
        ("Skarv", ["T2.r1.c0", "T2.r1.c2"], None, None, None),
        ("skarv; Fjell", ["T2.r1.c0", "T2.r2.c0"], None, None, None),
        ("25%", ["T1.r1.c1", "T1.r1.c2"], "(T1.r1.c2 - T1.r1.c1) / T1.r1.c1 * 100", "25", "PERCENT"),
        ("25%", [], "(T1.r1.c2 - T1.r1.c1) / T1.r1.c1 = 0.25", "0.25", "PERCENT"),
        ("300 million", ["T1.r1.c1", "T1.r1.c2"], "1,500 - 1,200 = 300", "300000000", "CCY_EUR"),
        ("545 million EUR", [], "T1.r3.c2 + T1.r4.c2", "545000000", "CCY_EUR"),
        ("425", [], "average(T1.r3.c1, T1.r3.c2)", "425000000", "CCY_EUR"),
        ("3", [], "count(T2.r1.c0, T2.r2.c0, T2.r3.c0)", "3", None),
        ("Yes", ["T1.r1.c1"], "T1.r1.c2 > T1.r1.c1", None, None),
        ("1999", ["T2.r2.c3"], None, None, None),
    ],
)
def test_answers_that_hold(
    text: str, cells: list[str], calculation: str | None, value: str | None, unit: str | None
) -> None:
    found = grounded(text, *cells, calculation=calculation)
    assert found.verified, found.reasons
    assert (found.value, found.unit) == (value, unit)


def test_a_fall_may_be_told_without_its_sign() -> None:
    found = grounded("It fell by 5 million EUR.", calculation="T1.r4.c2 - T1.r4.c1")
    assert found.verified, found.reasons
    assert (found.value, found.unit) == ("-5000000", "CCY_EUR")


@pytest.mark.parametrize(
    ("text", "cells", "calculation", "reason"),
    [
        ("1,500", [], None, "no cell is cited"),
        ("1,500", ["T1.r99.c2"], None, "T1.r99.c2 is cited but does not exist"),
        ("1,500", ["T7.r1.c2"], None, "T7.r1.c2 is cited but does not exist"),
        ("1,500", ["the second cell"], None, "is cited but does not exist"),
        ("1,600", ["T1.r1.c2"], None, "1,600 is in no cited cell"),
        ("1,500 thousand", ["T1.r1.c2"], None, "is in no cited cell"),
        ("955", ["T1.r5.c2"], None, "955 is in no cited cell"),
        ("311", ["T2.r1.c2"], "31 + 280", "uses 280, which is in no cited cell"),
        ("42", ["T2.r1.c2"], None, "42 is in no cited cell"),
        (
            "310 million",
            ["T1.r1.c1"],
            "T1.r1.c2 - T1.r1.c1",
            "gives 300000000, which the answer does not say",
        ),
        ("300", ["T1.r1.c1"], "T1.r1.c2 - T1.r1.c1 = 310", "gives 300000000, not 310"),
        ("300", ["T1.r1.c1"], "T1.r1.c2 - 900 - 300", "uses 900, which is in no cited cell"),
        ("1", ["T1.r1.c1"], "T1.r1.c2 / (T1.r1.c1 - T1.r1.c1)", "divides by zero"),
        ("1", ["T1.r1.c1"], "T1.r1.c2 + T2.r1.c0", "T2.r1.c0 holds no number"),
        ("1", ["T1.r1.c1"], "T1.r9.c9 + 1", "T1.r9.c9 is cited but does not exist"),
        ("2", [], "count(T2.r1.c0, T2.r1.c0)", "counts a cell twice"),
        ("1", ["T1.r1.c1"], "add the two", "cannot be checked"),
        ("Oslo", ["T2.r1.c0"], None, "'oslo' is in no cited cell"),
        ("Yes", ["T1.r1.c1"], None, "without a comparison"),
        ("No", ["T1.r1.c1"], "T1.r1.c2 > T1.r1.c1", "the comparison is true"),
    ],
)
def test_answers_that_do_not(text: str, cells: list[str], calculation: str | None, reason: str) -> None:
    found = grounded(text, *cells, calculation=calculation)
    assert not found.verified
    assert any(reason in said for said in found.reasons), found.reasons


def test_only_cells_that_exist_are_cited() -> None:
    found = grounded("31", "T2.r1.c2", "T2.r77.c2")
    assert [cell.text for cell in found.cells] == ["31"]
    assert not found.verified


def test_the_calculation_is_shown_with_the_result_found_here() -> None:
    assert (
        grounded("5", calculation="T1.r1.c2 - T1.r1.c1 = 5").calculation == "T1.r1.c2 - T1.r1.c1 = 300000000"
    )


def test_decimals_are_written_plainly() -> None:
    assert decimal_string(Fraction(10) ** 20) == "1" + "0" * 20
    assert decimal_string(Fraction(-1, 3)) == "-0." + "3" * 34


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


def agree(text: str, actual: float | str, power: int = 0, *, unsigned: bool = False) -> bool:
    (found,) = stated_numbers(text)
    return agrees(found, Fraction(actual), power=power, unsigned=unsigned)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("A380 and COVID-19 in 2020", ["19", "2020"]),
        ("between 1,200 and 1,500.5 million EUR", ["1,200", "1,500.5 million"]),
        ("$ 3bn (12%)", ["$ 3bn", "12%"]),
        ("from 2018–2019", ["2018", "2019"]),
        ("version 1.2.3", []),
        ("-5, −6 and (7)", ["-5", "−6", "(7)"]),
        ("3rd place", []),
    ],
)
def test_numbers_are_found_as_they_are_written(text: str, numbers: list[str]) -> None:
    assert [found.text for found in stated_numbers(text)] == numbers


@pytest.mark.parametrize(
    ("text", "actual", "power"),
    [
        ("1,200", 1_200_000_000, 6),
        ("1.2 billion", 1_200_000_000, 6),
        ("1,200 million", 1_200_000_000, 6),
        ("€1,200,000,000", 1_200_000_000, 6),
        ("about 1.3 billion", 1_250_000_001, 6),
        ("12.5%", "12.5", 0),
        ("12.5 percent", "0.125", 0),
        ("33.3%", "0.3333333", 0),
        ("-5", -5, 0),
        ("(5)", -5, 0),
        ("5 m", 5, 0),
        ("5m", 5_000_000, 0),
    ],
)
def test_numbers_that_are_the_same(text: str, actual: float | str, power: int) -> None:
    assert agree(text, actual, power)


@pytest.mark.parametrize(
    ("text", "actual", "power"),
    [
        ("1,201", 1_200_000_000, 6),
        ("1.2 million", 1_200_000_000, 6),
        ("1,200 thousand", 1_200_000_000, 6),
        ("13%", "12", 0),
        ("0", "0.4", 0),
        ("1", "1.4", 0),
        ("5", -5, 0),
        ("12%", 1200, 0),
    ],
)
def test_numbers_that_are_not(text: str, actual: float | str, power: int) -> None:
    assert not agree(text, actual, power)


def test_a_sign_may_stand_in_words() -> None:
    assert agree("5", -5, unsigned=speaks_of_falling("it fell by 5"))
    assert not speaks_of_falling("it was 5")
