from __future__ import annotations

from decimal import Decimal

from tests.answering.offline.rows import MEDALS, RACES, REPORT, view


def test_rows_are_those_with_data() -> None:
    assert view(REPORT).rows == (1, 2, 3, 5)
    assert view((("a", "b"),)).rows == ()


def test_totals_are_left_out_where_there_is_more() -> None:
    assert view(REPORT).plain_rows == (1, 2, 5)
    only = view((("Item", "2019"), ("Total", "5")))
    assert only.plain_rows == only.rows == (1,)


def test_numbers_have_their_scale_and_sign_and_times_sort() -> None:
    report, races = view(REPORT), view(RACES)
    assert report.number(2, 1) == Decimal(-500_000_000)
    assert report.number(5, 3) is None
    assert races.number(1, 0) == Decimal(2008)
    assert races.time(1, 0) == "2008"
    assert races.time(1, 1) is None
    assert races.number(1, 99) is None
    assert races.text(1, 99) == ""


def test_columns_of_years_rank_totals_and_yes_or_no() -> None:
    report, medals = view(REPORT), view(MEDALS)
    assert report.year_columns == {1: "2017", 2: "2018", 3: "2019"}
    assert medals.numbers_rows(0)
    assert not medals.numbers_rows(2)
    assert medals.is_total(4)
    assert medals.says_yes_or_no(5)
    assert (medals.truth(1, 5), medals.truth(2, 5), medals.truth(1, 1)) == (True, False, None)
    assert medals.numeric_share(2) == 1.0
    assert medals.numeric_share(1) == 0.0
    assert view(RACES).time_share(0) == 1.0


def test_words_that_every_row_has_tell_nothing() -> None:
    weights = view((("Item", "Note"), ("red ship", "a"), ("blue ship", "b"), ("green ship", "c"))).row_weights
    assert weights["ship"] == 0.0
    assert weights["red"] > 0


def test_rows_and_cells_are_found_by_their_words() -> None:
    races = view(RACES)
    assert races.rows_with("fjord") == [1, 3]
    assert races.rows_with("nowhere") == []
    assert races.cells_by_words["anna", "berg"] == [(1, 2), (3, 2)]
    assert races.columns_with(1, ("cup",)) == [1]
    assert races.share_with(1, frozenset({"fjord"})) > 0.6


def test_numbers_of_a_column_leave_out_what_is_none() -> None:
    assert view(REPORT).numbers((2, 5), 3) == (((2, 3),), [Decimal(-660_000_000)])
