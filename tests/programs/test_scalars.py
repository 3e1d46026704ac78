from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import EvaluationError, ProgramTypeError, UnitMismatchError
from kgtable.programs.algebra import Function, Operator, Relator, ValueKind
from kgtable.programs.scalars import (
    Datum,
    apply,
    calculate,
    compare,
    key_of,
    quantity,
    sort_key,
    text_of,
    time_datum,
    time_span,
)

NUMBERS = st.decimals(-(10**12), 10**12, places=4)
LENGTHS = st.sampled_from(["M", "CentiM", "IN", "FT", "KiloM", "MilliM"])


def time(lexical: str) -> Datum:
    span = time_span(lexical)
    assert span is not None
    return time_datum(span)


def text(value: str) -> Datum:
    return Datum(ValueKind.TEXT, value, text=value)


@given(st.lists(st.tuples(NUMBERS, LENGTHS), min_size=2, max_size=5))
def test_order_and_comparison_agree(values: list[tuple[Decimal, str]]) -> None:
    data = sorted((quantity(number, unit) for number, unit in values), key=sort_key)
    for left, right in pairwise(data):
        assert compare(Relator.LESS_OR_EQUAL, left, right)
        assert compare(Relator.EQUAL, left, right) == (key_of(left) == key_of(right))


@pytest.mark.parametrize(
    ("left", "relator", "right", "holds"),
    [
        (time("2024-03-05"), Relator.EQUAL, time("2024"), True),
        (time("2024-03-05"), Relator.EQUAL, time("2024-Q1"), True),
        (time("2024-03-05"), Relator.GREATER, time("2023"), True),
        (time("2024-03-05"), Relator.GREATER, time("2024"), False), (time("2013"), Relator.LESS, quantity(2014), True),
        (time("2024-03-05"), Relator.EQUAL, text("5 March 2024"), True),
        (text("Weißhorn¹"), Relator.EQUAL, text("weißhorn"), True), (text("42"), Relator.EQUAL, quantity(42), True),
        (text("1,200"), Relator.GREATER, text("300"), True), (text("IT"), Relator.LESS, quantity(3), False),
        (text("New  York"), Relator.CONTAINS, text("new york"), True),
        (Datum(ValueKind.TRUTH, True), Relator.EQUAL, text("yes"), True),
    ],
)  # fmt: skip
def test_comparisons_across_types(left: Datum, relator: Relator, right: Datum, holds: bool) -> None:
    assert compare(relator, left, right) is holds


def test_arithmetic_of_times() -> None:
    assert calculate(Operator.SUBTRACT, time("2024-11-04"), time("2024-09-16"))[1:3] == (49, "DAY")
    assert calculate(Operator.SUBTRACT, time("2013"), time("2009"))[1:3] == (4, "YR")
    assert text_of(calculate(Operator.ADD, time("2013"), quantity(1))) == "2014"
    with pytest.raises(ProgramTypeError):
        calculate(Operator.MULTIPLY, time("2013"), quantity(2))
    with pytest.raises(EvaluationError):
        calculate(Operator.ADD, time("9999"), quantity(1))


@pytest.mark.parametrize(
    ("function", "value", "index", "expected"),
    [
        (Function.NUMBER, "4x100 m relay", 2, "100"), (Function.YEAR, "31 Dec. 2024", 1, "2024"),
        (Function.MONTH, "2024-03-05", 1, "3"), (Function.YEAR_MONTH, "5 March 2024", 1, "2024-03"),
        (Function.YEAR_QUARTER, "2024-12-31", 1, "2024-Q4"), (Function.YEAR_QUARTER, "2024", 1, None),
        (Function.WEEKDAY, "2024-03-05", 1, "2"), (Function.WEEKDAY_NAME, "2024-03-05", 1, "Tuesday"),
        (Function.WEEKDAY_NAME, "2024-03", 1, None), (Function.ITEMS, "Mac, Windows and Linux", 1, "3"),
        (Function.ITEM, "Mac, Windows", 2, "Windows"), (Function.START, "1998-2004", 1, "1998"),
        (Function.END, "1998-2004", 1, "2004"), (Function.SPAN, "1998-2004", 1, "6"), (Function.LENGTH, "Oslo", 1, "4"),
        (Function.YEAR, "no date", 1, None),
    ],
)  # fmt: skip
def test_parts_of_texts(function: Function, value: str, index: int, expected: str | None) -> None:
    found = apply(function, text(value), index)
    assert (None if found is None else text_of(found)) == expected


def test_bounds() -> None:
    with pytest.raises(EvaluationError, match="zero"):
        calculate(Operator.PERCENT_CHANGE, quantity(0), quantity(5))
    with pytest.raises(EvaluationError, match="beyond"):
        calculate(Operator.POWER, quantity(10), quantity(100000))
    with pytest.raises(UnitMismatchError, match="EUR cannot be added to USD"):
        calculate(Operator.ADD, quantity(1, "CCY_USD"), quantity(1, "CCY_EUR"))


def test_seasons_come_one_after_the_other() -> None:
    first, second = time("1995/1996"), time("1996/1997")
    assert compare(Relator.LESS, first, second)
    assert not compare(Relator.LESS, second, first)
    assert compare(Relator.EQUAL, first, text("1995-96"))


def test_days_without_a_year_sort_and_have_parts() -> None:
    may, september = time("3 May"), time("September 12")
    assert compare(Relator.LESS, may, september)
    month = apply(Function.MONTH, september)
    assert month is not None
    assert month.value == 9
    assert apply(Function.YEAR, september) is None
    with pytest.raises(ProgramTypeError, match="without a year"):
        calculate(Operator.SUBTRACT, september, may)


def test_the_two_parts_of_a_cell() -> None:
    cell = text("Clippard (14)")
    parts = [apply(function, cell) for function in (Function.MAIN, Function.ASIDE)]
    assert [part.value for part in parts if part] == ["Clippard", 14]
    assert apply(Function.ASIDE, text("plain")) is None


@pytest.mark.parametrize("exponent", [3, 399, -399])
def test_powers_of_numbers_with_many_digits_are_rounded(exponent: int) -> None:
    base = Decimal("1." + "0" * 900 + "1")
    value = calculate(Operator.POWER, quantity(base), quantity(exponent)).value
    assert isinstance(value, Decimal)
    assert len(value.as_tuple().digits) <= 60
    assert calculate(Operator.POWER, quantity(3), quantity(300)).value == Decimal(3**300)
    assert calculate(Operator.POWER, quantity(2), quantity(-300)).value == Decimal(f"{5**300}E-300")
