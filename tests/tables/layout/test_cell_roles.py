from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.layout.cell_roles import (
    DEEPEST_HEADER,
    LONGEST_SHAPE,
    SAMPLE_ROWS,
    Look,
    Profile,
    is_money_or_scale,
    is_period,
    look,
    profile_rows,
    shape_of,
    shape_votes,
)
from tests.tables.layout.grids import grid


def profile(text: str) -> Profile:
    found = grid(text)
    return profile_rows(found.head, found.width)


def test_numeric_columns_and_those_of_years() -> None:
    found = profile("Name|Founded|Sales|Note\nx|1999|5|a\ny|2001|—|b\nz|2010|7|c")
    assert found == Profile(frozenset({1, 2}), frozenset({1}))


def test_as_many_numbers_as_texts_are_enough_gaps_count_for_nothing() -> None:
    assert profile("h|h\nh|h\nh|h\n1|x\nx|y\n|—").numeric == {0}
    assert profile("h|h\nx|y\nx|—").numeric == frozenset()


def test_the_upper_half_of_small_tables_is_not_looked_at() -> None:
    assert profile("1|1\n2|2\nx|3\ny|4").numeric == {1}


def test_long_tables_are_judged_below_the_deepest_header_by_a_sample() -> None:
    rows = [("x", "1")] * DEEPEST_HEADER + [("1", "x")] * SAMPLE_ROWS + [("x", "1")] * 500
    assert profile_rows(rows, 2).numeric == {0}


def test_texts_above_numbers_vote_for_a_header_numbers_for_the_body() -> None:
    found = Profile(frozenset({1, 2, 3}), frozenset({3}))
    assert found.votes(("Name", "2019", "Sales", "2019")) == (2, 1)
    assert found.votes(("x", "5", "—", "")) == (0, 2)
    assert found.votes(("5", "€m", "", "")) == (1, 0)
    assert found.votes(()) == (0, 0)


@given(
    st.lists(
        st.lists(st.text(max_size=5) | st.sampled_from(["1", "2019", "—"]), max_size=4).map(tuple), max_size=9
    )
)
def test_any_rows_have_a_profile_within_their_width(rows: list[tuple[str, ...]]) -> None:
    found = profile_rows(rows, 4)
    assert found.years <= found.numeric <= set(range(4))
    for row in rows:
        assert sum(found.votes(row)) <= len(row)


NOTHING_NUMERIC = Profile(frozenset(), frozenset())


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("3.42 m", "9.9 m"),
        ("12:34.5", "9:9.9"),
        ("31 Dec. 2024", "date"),
        ("AB-1234", "AB-9"),
        ("  x ", "x"),
        ("", ""),
        ("1" * LONGEST_SHAPE, "9"),
        ("1" * (LONGEST_SHAPE + 1), ""),
        ("<b>5", "<b>9"),
    ],
)
def test_shapes(text: str, shape: str) -> None:
    assert shape_of(text) == shape


def test_a_row_of_another_shape_is_a_header_one_of_the_same_is_not() -> None:
    below = [("x", "3.42 m", "2024-01-01"), ("y", "12.1 m", "2023-05-06")] * 3
    assert shape_votes(("Name 1", "Length", "Day"), below, NOTHING_NUMERIC) == (2, 0)
    assert shape_votes(("z", "1.5 m", "31 Dec. 2022"), below, NOTHING_NUMERIC) == (0, 2)
    assert shape_votes(("Name 1", "Length", ""), below, NOTHING_NUMERIC) == (1, 0)


def test_four_of_five_cells_must_have_the_shape_and_it_must_have_digits() -> None:
    assert shape_votes(("t 1",), [("1 m",)] * 4 + [("x",)], NOTHING_NUMERIC) == (1, 0)
    assert shape_votes(("t 1",), [("1 m",)] * 3 + [("x",)], NOTHING_NUMERIC) == (0, 0)
    assert shape_votes(("t 1",), [("same",)] * 9, NOTHING_NUMERIC) == (0, 0)
    assert shape_votes(("t 1",), [], NOTHING_NUMERIC) == (0, 0)


def test_numeric_columns_do_not_vote_and_rows_without_digits_say_nothing() -> None:
    below = [("1 m", "5")] * 5
    assert shape_votes(("Length 1", "t"), below, Profile(frozenset({0, 1}), frozenset())) == (0, 0)
    assert shape_votes(("Length", "t"), below, NOTHING_NUMERIC) == (0, 0)


@given(st.lists(st.lists(st.text("1ab -/", max_size=6), max_size=3).map(tuple), min_size=1, max_size=5))
def test_any_ragged_rows_are_voted_on(rows: list[tuple[str, ...]]) -> None:
    header, body = shape_votes(rows[0], rows[1:], NOTHING_NUMERIC)
    assert 0 <= header + body <= len(rows[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" ", Look.EMPTY),
        ("—", Look.MISSING),
        ("$—", Look.MISSING),
        ("2019 (1)", Look.YEAR),
        ("(1,234)", Look.NUMBER),
        ("$ -5 ( 5 )", Look.NUMBER),
        ("$ 0", Look.NUMBER),
        ("117 (16.9)", Look.NUMBER),
        ("12 months", Look.TEXT),
        ("0%", Look.NUMBER),
        ("US $’000", Look.UNIT),
        ("(Dollars in millions, except percentages)", Look.UNIT),
        ("April 26, 2019", Look.DATE),
        ("ASC 606", Look.TEXT),
        ("2019 and 2018", Look.TEXT),
    ],
)
def test_look(text: str, expected: Look) -> None:
    assert look(text) is expected


def test_words_that_may_name_a_column_are_no_sure_unit() -> None:
    assert look("Years") is Look.UNIT
    assert not is_money_or_scale("Years")
    assert is_money_or_scale("in thousands")


def test_periods() -> None:
    assert is_period("Quarter ended June 30")
    assert not is_period("Net sales")
