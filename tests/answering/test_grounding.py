from __future__ import annotations

from fractions import Fraction

import pytest

from kgtable.answering.grounding import Grounding, check, decimal_string
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
