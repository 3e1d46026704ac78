from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.offline.linking import cell_id, cell_ids, columns_named, printed
from tests.answering.offline.rows import MEDALS, RACES, REPORT, linking, view


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


SHOPS = (
    ("Shop_ID", "Name", "Manager_Name", "Year_of_Opening", "PhoneNo", ""),
    ("1", "Kelp", "Ane Moe", "1999", "11", "x"),
    ("2", "Reef", "Tor Lie", "2004", "12", "y"),
)


@pytest.mark.parametrize(
    ("phrase", "columns"),
    [
        ("the name and manager name", (1, 2)),
        ("the manager name of the shop", (2,)),
        ("names of shops", (1,)),
        ("shop ids", (0,)),
        ("year of opening and the phone no", (3, 4)),
        ("opening", ()),
        ("column 6", ()),
        ("", ()),
    ],
)
def test_columns_are_those_whose_whole_header_is_said(phrase: str, columns: tuple[int, ...]) -> None:
    assert columns_named(view(SHOPS), phrase) == columns


def test_cells_are_named_as_the_evidence_names_them() -> None:
    found = view(MEDALS)
    assert cell_id(found, 1, 2) == "T1.r1.c2"
    assert cell_ids(found, ((1, 2), (2, 3))) == "T1.r1.c2, T1.r2.c3"
    assert cell_ids(found, ()) == ""
    assert found.evidence.resolve(cell_id(found, 1, 1)) == found.evidence.cell("boats", 1, 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("300000000", "300"),
        ("1266666666.6666666", "1266.6666666667"),
        ("0", "0"),
        ("-60000000", "-60"),
        ("1e30", "1" + "0" * 24),
    ],
)
def test_numbers_are_printed_in_the_scale_of_their_cells(number: str, text: str) -> None:
    assert printed(view(REPORT), Decimal(number), ((1, 1), (1, 2))) == text


def test_without_one_scale_numbers_are_printed_in_full() -> None:
    assert printed(view(MEDALS), Decimal("12.50"), ((1, 2),)) == "12.5"
    assert printed(view(MEDALS), Decimal(7), ()) == "7"


def test_the_longest_words_that_are_a_cell_are_mentioned() -> None:
    (mention,) = linking("How often did Anna Berg win?", RACES).mentions
    assert (mention.column, mention.rows) == (2, {1, 3})
    assert linking("How often did Anna Berg win?", RACES).question.words[mention.start : mention.end] == (
        "anna",
        "berg",
    )
    assert linking("How many ships?", RACES).mentions == ()


def test_rows_hold_all_that_is_named() -> None:
    assert linking("How far was the Fjord Cup of Anna Berg?", RACES).named_rows() == (1, 3)
    assert linking("Who won in 2012 the Fjord Cup?", RACES).named_rows() == (3,)
    assert linking("Who won?", RACES).named_rows() is None


def test_columns_are_scored_by_their_headers() -> None:
    found = linking("How many gold medals did Norway win?", MEDALS)
    scores = found.column_scores()
    assert max(scores, key=lambda column: scores[column]) == 2
    assert found.answer_column()[0] == 2
    assert set(linking("zzz?", MEDALS).column_scores().values()) == {0.0}


def test_the_row_that_says_the_most_is_best() -> None:
    best = linking("What were net sales in 2018?", REPORT).best_row()
    assert best is not None
    assert best[0] == 1
    assert linking("zzz?", REPORT).best_row() is None
    assert linking("net sales", (("a", "b"),)).best_row() is None


@pytest.mark.parametrize(
    ("question", "rows"),
    [("Which nations won more than 2 gold?", (1, 2, 3)), ("Which nations won more than 9 gold?", ())],
)
def test_thresholds_keep_the_rows_that_meet_them(question: str, rows: tuple[int, ...]) -> None:
    found = linking(question, MEDALS)
    assert found.conditioned(found.view.rows)[:2] == (rows, True)
    kept = found.without_thresholds()
    assert kept.conditioned(kept.view.rows)[:2] == (found.view.rows, False)
