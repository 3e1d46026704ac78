from __future__ import annotations

from decimal import Decimal

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtable.programs.algebra import AggregateFunction, Operator, Relator
from kgtable.programs.column_math import aggregate, calculate_vectors, combine_keys, compare_vectors, ranks
from kgtable.programs.relation import ColumnData, distinct
from kgtable.programs.scalars import Datum, calculate, compare, quantity

SIZE = 64
NUMBERS = st.none() | st.integers(-50, 50).map(lambda n: quantity(Decimal(n) / 4, "KiloGM"))
COLUMNS = st.lists(NUMBERS, min_size=SIZE, max_size=SIZE)
RELATORS = st.sampled_from([relator for relator in Relator if relator.value[0] in "<>=!"])


@given(st.lists(st.none() | st.decimals(-(10**9), 10**9, places=3), min_size=1))
def test_sums_over_whole_numbers_are_those_of_decimals(numbers: list[Decimal | None]) -> None:
    data = ColumnData.of(None if number is None else quantity(number, "KiloGM") for number in numbers)
    rows, bounds = np.arange(len(numbers)), np.array([0, len(numbers)])
    (total,) = aggregate(AggregateFunction.SUM, data, rows, bounds)
    known = [number for number in numbers if number is not None]
    assert (None if total is None else total.value) == (sum(known) if known else None)


@given(COLUMNS, RELATORS, st.integers(-60, 60), st.sampled_from(["KiloGM", "GM", None]))
def test_columns_compare_as_single_values_do(
    values: list[Datum | None], relator: Relator, number: int, unit: str | None
) -> None:
    bound = quantity(Decimal(number) / 4, unit)
    holds, fails = compare_vectors(relator, ColumnData.of(values), bound, SIZE)
    expected = [None if value is None else compare(relator, value, bound) for value in values]
    assert holds.tolist() == [found is True for found in expected]
    assert fails.tolist() == [found is False for found in expected]


@given(COLUMNS, COLUMNS, st.sampled_from([Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE]))
def test_columns_calculate_as_single_values_do(
    left: list[Datum | None], right: list[Datum | None], operator: Operator
) -> None:
    right = [None if value is None or not value.number else value for value in right]
    found = calculate_vectors(operator, ColumnData.of(left), ColumnData.of(right))
    assert isinstance(found, ColumnData)
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        expected = None if a is None or b is None else calculate(operator, a, b)
        value = found[row]
        assert (value and (value.number, value.unit)) == (expected and (expected.number, expected.unit))


@given(COLUMNS)
def test_totals_and_ranks(values: list[Datum | None]) -> None:
    data = ColumnData.of(values)
    rows, bounds = np.arange(SIZE), np.array([0, SIZE], dtype=np.int64)
    numbers = sorted(value.number for value in values if value and value.number is not None)
    for function, expected in (
        (AggregateFunction.SUM, sum(numbers) if numbers else None),
        (AggregateFunction.MIN, numbers[0] if numbers else None),
        (AggregateFunction.MAX, numbers[-1] if numbers else None),
    ):
        (found,) = aggregate(function, data, rows, bounds)
        assert (found and found.number) == expected
    order = [row for row in np.argsort(ranks(data), kind="stable").tolist() if values[row] is not None]
    assert [values[row].number for row in order] == numbers  # type: ignore[union-attr]


def test_combinations_are_numbered_in_order_of_appearance() -> None:
    first, second = np.array([5, 5, 0, 5]), np.array([1, -1, 1, 1])
    numbers, rows = combine_keys([first, second], 4)
    assert (numbers.tolist(), rows.tolist()) == ([0, 1, 2, 0], [0, 1, 2])


def test_a_number_without_unit_ranks_among_those_of_the_columns_unit() -> None:
    column = ColumnData.of([quantity(82, "PERCENT"), quantity(43), quantity(60, "PERCENT")])
    assert ranks(column).tolist() == [2, 0, 1]


@given(st.lists(st.integers(-5, 5)))
def test_distinct_numbers_are_sorted(numbers: list[int]) -> None:
    assert distinct(np.array(numbers, dtype=np.int64)).tolist() == sorted(set(numbers))
