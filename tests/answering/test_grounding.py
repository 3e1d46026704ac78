"""Whether a text says what was computed: numbers with unit, scale, sign and rounding, and words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.grounding import (
    Facts,
    agrees,
    check_text,
    plain,
    speaks_of_falling,
    speaks_of_rising,
    stated_numbers,
)
from kgtable.programs.algebra import ValueKind
from kgtable.programs.scalars import Datum, quantity, time_datum, time_span, truth

REVENUE = quantity(Decimal("1562000000"), "CCY_USD", "M", "1,562.0")
FALL = quantity(Decimal("-50000000"), "CCY_EUR", "M")
COUNT = quantity(2, "NUM")
SKARV = Datum(ValueKind.TEXT, "Skarv", text="Skarv")
FJELL = Datum(ValueKind.TEXT, "Fjell", text="Fjell")
DAY = time_datum(time_span("2024-03-05"), "5 March 2024")  # type: ignore[arg-type]
TIME = Datum(ValueKind.DURATION, Decimal(3725), "SEC")


def faults(text: str, *results: Datum, question: str = "?", texts: tuple[str, ...] = ()) -> list[str]:
    return check_text(text, Facts(results, (), texts), question).faults


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("1,562.0", [REVENUE]), ("1,562.0 million", [REVENUE]), ("$1,562.0 million", [REVENUE]),
        ("USD 1.56 billion", [REVENUE]), ("1,562 million US dollars", [REVENUE]), ("-50 million EUR", [FALL]),
        ("It fell by 50 million EUR", [FALL]), ("a decrease of €50 million", [FALL]), ("2", [COUNT]), ("two", [COUNT]),
        ("25%", [quantity(Decimal(25), "PERCENT")]), ("25%", [quantity(Decimal("0.25"), "UNITLESS")]),
        ("7.5%", [quantity(Decimal("7.5471"), "PERCENT")]), ("58 cm", [quantity(Decimal("0.58"), "M")]),
        ("Skarv", [SKARV]), ("skarv and FJELL", [SKARV, FJELL]), ("5 March 2024", [DAY]), ("2024-03-05", [DAY]),
        ("1:02:05", [TIME]), ("Yes", [truth(True)]), ("no", [truth(False)]),
        ("yes", [Datum(ValueKind.TRUTH, True, text="yes")]),
    ],
)  # fmt: skip
def test_texts_that_say_the_result(text: str, results: list[Datum]) -> None:
    assert faults(text, *results) == []


@pytest.mark.parametrize(
    ("text", "results", "reason"),
    [
        ("€1,562.0 million", [REVENUE], "€1,562.0 million is in no cited cell: the result is 1,562.0 million USD."),
        ("1,562.0 million kg", [REVENUE], "1,562.0 million kg is in no cited cell"),
        ("1,562.0 thousand", [REVENUE], "is in no cited cell"), ("1,563", [REVENUE], "is in no cited cell"),
        ("1,562.0%", [REVENUE], "is in no cited cell"),
        ("50 million EUR", [FALL], "50 million EUR is in no cited cell: the result is -50 million EUR."),
        ("It rose by 50 million", [FALL], "is in no cited cell"),
        ("31 EUR", [quantity(31, "NUM")], "is in no cited cell"),
        ("25 USD", [quantity(25, "CCY_USD2")], "is in no cited cell"),
        ("1.2 USD", [quantity(Decimal("1.2"), "CCY_USD-PER-CCY_EUR")], "is in no cited cell"),
        ("12.5%", [quantity(Decimal("12.5"), "UNITLESS")], "is in no cited cell"),
        ("0.0755%", [quantity(Decimal("7.55"), "PERCENT")], "is in no cited cell"),
        ("Fjell", [SKARV], "The result is 'Skarv', which the answer does not say."),
        ("Skarv", [SKARV, FJELL], "The result is 'Fjell'"), ("Skarv in Oslo", [SKARV], "'Oslo' is in no cited cell."),
        ("not Skarv", [SKARV], "The answer says 'not'"), ("31 and 32", [quantity(31, "NUM")], "32 is in no cited cell"),
        ("some", [COUNT], "The result is 2, which the answer does not say."),
        ("6 March 2024", [DAY], "which the answer does not say"),
        ("No", [truth(True)], "The comparison is true, but the answer is No."),
        ("perhaps", [truth(True)], "neither yes nor no"), ("x " * 300, [COUNT], ""),
    ],
)  # fmt: skip
def test_texts_that_do_not(text: str, results: list[Datum], reason: str) -> None:
    found = faults(text, *results)
    assert any(reason in fault for fault in found), found
    assert found


def test_numbers_of_labels_and_headers_may_stand_beside_the_result() -> None:
    assert faults("1,562.0 million in 2019", REVENUE, texts=("2019",)) == []
    assert faults("1,562.0 million in 2018", REVENUE, texts=("2019",))
    assert faults("31 ships", quantity(31, "NUM"), question="How many ships?") == []
    assert faults("31 days", quantity(31, "NUM"), question="How many days?") == []
    assert faults("31 days", quantity(31, "NUM"))


@given(st.text(max_size=300), st.text(max_size=50))
def test_no_text_is_too_odd_to_be_checked(text: str, question: str) -> None:
    check_text(text, Facts([REVENUE, SKARV, DAY], [COUNT], ("2019",)), question)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Café  au-lait!", "cafe au lait"), ("ＡＢＣ ½", "abc 1 2"), ("<b>x</b>", "b x b"), ("\u202e", ""),
        ("STRASSE ß", "strasse ss"),
    ],
)  # fmt: skip
def test_texts_are_compared_without_case_accents_and_signs(text: str, folded: str) -> None:
    assert plain(text) == folded
    assert plain(folded) == folded


def agree(text: str, actual: float | str, power: int = 0, *, unit: str | None = None, unsigned: bool = False) -> bool:
    (found,) = stated_numbers(text)
    return agrees(found, Fraction(actual), power=power, unit=unit, unsigned=unsigned)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("A380 and COVID-19 in 2020", ["19", "2020"]),
        ("between 1,200 and 1,500.5 million EUR", ["1,200", "1,500.5 million"]), ("$ 3bn (12%)", ["$ 3bn", "12%"]),
        ("from 2018–2019", ["2018", "2019"]), ("version 1.2.3", []), ("-5, −6 and (7)", ["-5", "−6", "(7)"]),
        ("3rd place", []), ("-$5 million and $-6", ["-$5 million", "$-6"]),
    ],
)  # fmt: skip
def test_numbers_are_found_as_they_are_written(text: str, numbers: list[str]) -> None:
    assert [found.text for found in stated_numbers(text)] == numbers


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("€5", "CCY_EUR"), ("US$5", "CCY_USD"), ("5 million euros", "CCY_EUR"), ("CHF 5", "CCY_CHF"),
        ("5 kg", "KiloGM"), ("12-year", "YR"), ("5 ships", None), ("5 in 2019"[:4], None), ("and 5", None),
        ("5%", None),
    ],
)  # fmt: skip
def test_units_are_read_beside_numbers(text: str, unit: str | None) -> None:
    assert next(iter(stated_numbers(text))).unit == unit


@pytest.mark.parametrize(
    ("text", "actual", "power", "unit"),
    [
        ("1,200", 1_200_000_000, 6, None), ("1.2 billion", 1_200_000_000, 6, None),
        ("1,200 million", 1_200_000_000, 6, "CCY_EUR"), ("€1,200,000,000", 1_200_000_000, 6, "CCY_EUR"),
        ("about 1.3 billion", 1_250_000_001, 6, None), ("12.5%", "12.5", 0, "PERCENT"),
        ("12.5 percent", "0.125", 0, None), ("33.3%", "0.3333333", 0, "UNITLESS"), ("-5", -5, 0, None),
        ("(5)", -5, 0, None), ("5 m", 5, 0, None), ("5m", 5_000_000, 0, None), ("90 cm", "0.9", 0, "M"),
        ("$5", 5, 0, "CCY_CAD"),
    ],
)  # fmt: skip
def test_numbers_that_are_the_same(text: str, actual: float | str, power: int, unit: str | None) -> None:
    assert agree(text, actual, power, unit=unit)


@pytest.mark.parametrize(
    ("text", "actual", "power", "unit"),
    [
        ("1,201", 1_200_000_000, 6, None), ("1.2 million", 1_200_000_000, 6, None),
        ("1,200 thousand", 1_200_000_000, 6, None), ("13%", "12", 0, "PERCENT"), ("12.5%", "0.125", 0, "PERCENT"),
        ("12%", "12", 0, "CCY_EUR"), ("0", "0.4", 0, None), ("1", "1.4", 0, None), ("5", -5, 0, None),
        ("-5", 5, 0, None), ("€5", 5, 0, "CCY_USD"), ("€5", 5, 0, None), ("5 kg", 5, 0, "M"),
    ],
)  # fmt: skip
def test_numbers_that_are_not(text: str, actual: float | str, power: int, unit: str | None) -> None:
    assert not agree(text, actual, power, unit=unit)


def test_a_minus_may_stand_in_words_and_no_other_sign() -> None:
    assert agree("5", -5, unsigned=speaks_of_falling("it fell by 5"))
    assert not agree("-5", 5, unsigned=True)
    assert not speaks_of_falling("it was 5, a change")
    assert speaks_of_rising("revenue grew")
    assert not speaks_of_rising("the rows of the enterprise")
