from __future__ import annotations

from fractions import Fraction

import pytest

from kgtable.answering.grounding import agrees, speaks_of_falling, stated_numbers


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
