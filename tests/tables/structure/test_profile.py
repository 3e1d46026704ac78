from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.layout.column_shapes import DEEPEST_HEADER, SAMPLE_ROWS, Profile, profile_rows
from tests.tables.structure.grids import grid


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
