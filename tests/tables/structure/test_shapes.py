from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.layout.column_shapes import LONGEST_SHAPE, Profile, shape_of, shape_votes

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
