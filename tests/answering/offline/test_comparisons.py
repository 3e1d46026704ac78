from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.offline.comparisons import (
    beyond_a_number,
    cell_says,
    change_of_columns,
    change_of_rows,
    column_of_extreme,
    commonest,
    compare,
    compare_columns,
    difference_of_columns,
    difference_of_rows,
    extreme,
    more_than_another,
    named_size_column,
    order_column,
    ranked,
    risen_or_fallen,
    row_holds,
    share_of_columns,
    share_of_rows,
    size_column,
    sums_the_others,
    two_columns,
    two_rows,
    value,
    when,
)
from tests.answering.offline.rows import ACCOUNT, CRAFT, MEDALS, RACES, REPORT, ask, linking

TRACKS = (("No", "Title", "Length"), ("1", "Dawn", "3:11"), ("2", "Noon", "1:02:03"), ("3", "Dusk", "2:59"))


@pytest.mark.parametrize(
    ("question", "rows", "column"),
    [
        ("Which nation won the most gold?", MEDALS, 2),
        ("What is the gold of the nation with the most silver?", MEDALS, 3),
        ("Which boat is the longest?", CRAFT, 2),
        ("Which track is the longest?", TRACKS, 2),
        ("Which nation is the most famous?", MEDALS, None),
    ],
)
def test_the_column_of_sizes_is_named_or_hinted_at(
    question: str, rows: tuple[tuple[str, ...], ...], column: int | None
) -> None:
    assert named_size_column(linking(question, rows)) == column


def test_unnamed_a_total_or_the_only_numbers_are_meant() -> None:
    assert size_column(linking("Which nation was the most successful?", MEDALS)) == 4
    assert size_column(linking("Which race was the most famous?", RACES)) == 3


def test_times_and_durations_are_ordered() -> None:
    assert order_column(linking("Which race was held first?", RACES)) == 0
    assert order_column(linking("Which nation was first?", MEDALS)) is None
    tracks = linking("Which track is the longest?", TRACKS)
    assert value(tracks, 2, 2) == Decimal(3723)
    assert [row for _, row in ranked(tracks, (1, 2, 3), 2)] == [3, 1, 2]
    assert value(tracks, 2, None) == Decimal(2)


def test_an_unnamed_total_is_about_the_sum_of_the_others() -> None:
    numbers = {1: Decimal(20), 2: Decimal(30), 3: Decimal(51)}
    assert sums_the_others(numbers, 3)
    assert not sums_the_others(numbers, 2)
    assert not sums_the_others({**numbers, 3: Decimal(53)}, 3)


def test_the_text_that_most_rows_have() -> None:
    assert ask("Which winner won the most races?", RACES).text == "Anna Berg"
    assert ask("What is the least common race?", RACES).text == "Coast Tour"
    assert ask("Which race was the most common and how many times was it held?", RACES).text == "Fjord Cup; 2"


def test_texts_that_stand_equally_often_are_told() -> None:
    found = commonest(linking("Which yard has the most boats?", CRAFT), (1, 2, 3, 4, 5))
    assert found is not None
    assert found.doubts == ("2 stand equally often",)


def test_where_none_recurs_there_is_no_commonest() -> None:
    assert commonest(linking("Which nation has the most races?", MEDALS), (1, 2, 3, 4)) is None


@pytest.mark.parametrize(
    ("question", "text", "calculation"),
    [
        ("What is the change in net sales from 2018 to 2019?", "300", "T1.r1.c3 - T1.r1.c2"),
        ("What is the change in cost of sales from 2018 to 2019?", "-60", "T1.r2.c3 - T1.r2.c2"),
        ("What is the difference in net sales between 2019 and 2017?", "400", "T1.r1.c3 - T1.r1.c1"),
    ],
)
def test_the_later_year_less_the_earlier(question: str, text: str, calculation: str) -> None:
    found = difference_of_columns(linking(question, REPORT))
    assert found is not None
    assert (found.text, found.calculation) == (text, calculation)


def test_the_first_named_less_the_second() -> None:
    found = difference_of_rows(linking("How many more gold medals did Norway win than Iceland?", MEDALS))
    assert found is not None
    assert (found.text, found.calculation) == ("4", "T1.r1.c2 - T1.r4.c2")


def test_changes_in_percent_of_the_earlier() -> None:
    found = change_of_columns(
        linking("What was the percentage change in net sales from 2018 to 2019?", REPORT)
    )
    assert found is not None
    assert found.text == "25%"
    none = (("EUR", "2018", "2019"), ("Net sales", "0", "5"))
    assert (
        change_of_columns(linking("What was the percentage change in net sales from 2018 to 2019?", none))
        is None
    )


def test_the_two_cells_that_are_compared_the_earlier_first() -> None:
    pair = two_columns(linking("net sales in 2019 and 2017", REPORT))
    assert pair is not None
    assert pair[0] == ((1, 1), (1, 3))
    assert two_rows(linking("Did Norway win more gold medals than Iceland?", MEDALS)) == ((1, 2), (4, 2))


def test_questions_that_name_no_two_numbers() -> None:
    asked = linking("Who won?", RACES)
    for rule in (difference_of_columns, difference_of_rows, change_of_columns, change_of_rows):
        assert rule(asked) is None
    assert two_rows(linking("How many gold medals did Norway win?", MEDALS)) is None


def test_which_of_two_has_more() -> None:
    found = compare(linking("Who won more silver medals, Norway or Sweden?", MEDALS))
    assert found is not None
    assert found.text == "Sweden"
    assert compare(linking("Who won more gold medals, Sweden or Finland?", MEDALS)) is None
    assert compare(linking("Who won more silver medals?", MEDALS)) is None


def test_in_which_year_a_row_was_larger() -> None:
    found = when(linking("In which year were net sales larger?", REPORT))
    assert found is not None
    assert found.text == "2019"
    assert when(linking("In which year were zzz larger?", REPORT)) is None


def test_in_which_column_a_row_is_greatest() -> None:
    rows = (
        ("Crop", "East", "West", "North", "All"),
        ("Garlic", "2", "5", "3", "10"),
        ("Spelt", "4", "3", "2", "9"),
    )
    found = column_of_extreme(linking("Which province had the largest area of garlic?", rows))
    assert found is not None
    assert (found.text, found.calculation) == ("West", "max(T1.r1.c1, T1.r1.c2, T1.r1.c3)")
    least = column_of_extreme(linking("Which province had the smallest area of spelt?", rows))
    assert least is not None
    assert least.text == "North"
    assert column_of_extreme(linking("Which province had the largest area of rye?", rows)) is None
    assert column_of_extreme(linking("Which crop had the largest area?", rows)) is None


def test_the_most_itself_is_told_where_it_is_asked_for() -> None:
    assert ask("What was the highest net sales?", REPORT).text == "1,500"


def test_which_of_two_columns_has_more() -> None:
    rows = (("Crop", "East", "West"), ("Garlic", "2", "5"), ("Spelt", "4", "4"))
    found = compare_columns(linking("Which province had more garlic, East or West?", rows))
    assert found is not None
    assert (found.text, found.calculation) == ("West", "max(T1.r1.c1, T1.r1.c2)")
    less = compare_columns(linking("Which province had less garlic, East or West?", rows))
    assert less is not None
    assert less.text == "East"
    assert compare_columns(linking("Which province had more spelt, East or West?", rows)) is None
    assert compare_columns(linking("Which province had more rye, East or West?", rows)) is None


@pytest.mark.parametrize(
    ("question", "rows", "text"),
    [
        ("Which nation won the most gold medals?", MEDALS, "Norway"),
        ("Which nation has the lowest total?", MEDALS, "Iceland"),
        ("Which race was held last?", RACES, "Fjord Cup"),
        ("Which race has the greatest distance?", RACES, "Coast Tour"),
    ],
)
def test_the_most_and_the_least_the_first_and_the_last(
    question: str, rows: tuple[tuple[str, ...], ...], text: str
) -> None:
    found = extreme(linking(question, rows))
    assert found is not None
    assert found.text == text


def test_the_calculation_names_every_cell_that_was_looked_at() -> None:
    found = extreme(linking("Which nation won the most gold medals?", MEDALS))
    assert found is not None
    assert found.calculation == "max(T1.r1.c2, T1.r2.c2, T1.r3.c2, T1.r4.c2)"


def test_a_table_without_rows_has_none() -> None:
    assert extreme(linking("Which nation won the most gold medals?", MEDALS[:1])) is None


CROPS = (
    ("Crop", "Country", "East", "West", "North"),
    ("Garlic", "1,000", "220", "530", "250"),
    ("Spelt", "4,000", "1,000", "2,900", "100"),
)


def test_shares_of_one_row_in_another() -> None:
    found = share_of_rows(linking("What percent of total assets were inventories in 2018?", REPORT))
    assert found is not None
    assert (found.text, found.calculation) == ("10%", "T1.r5.c2 / T1.r3.c2 * 100")


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("What is the percentage of boats in the total sales in 2023?", ACCOUNT, "75%"),
        ("What is the percentage contribution of repairs in total sales in 2023?", ACCOUNT, "25%"),
        ("What was cost of sales as a percentage of net sales in 2018?", REPORT, "50%"),
        ("What fraction of the garlic was in East?", CROPS, "22%"),
        ("What percentage of the country garlic was in West?", CROPS, "53%"),
    ],
)
def test_a_part_is_never_taken_for_its_whole(
    question: str, rows: tuple[tuple[str, ...], ...], answer: str
) -> None:
    found = ask(question, rows)
    assert found.text == answer, found.reasons
    assert found.calculation


def test_no_share_is_taken_of_a_percentage_in_a_number() -> None:
    rows = (("Region", "Staff", "Share"), ("North", "40", "20%"), ("Total", "200", "100%"))
    assert share_of_columns(linking("What percent of the staff share was North?", rows)) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Did Norway win more gold medals than Iceland?", "yes"),
        ("Did Norway win fewer gold medals than Iceland?", "no"),
    ],
)
def test_one_of_two_has_more(question: str, text: str) -> None:
    found = more_than_another(linking(question, MEDALS))
    assert found is not None
    assert found.text == text
    assert found.calculation is not None


def test_something_rose_or_fell() -> None:
    found = risen_or_fallen(linking("Did net sales increase from 2018 to 2019?", REPORT))
    assert found is not None
    assert (found.text, found.calculation) == ("yes", "T1.r1.c3 > T1.r1.c2")


def test_a_number_is_beyond_another() -> None:
    found = beyond_a_number(linking("Did Norway win more than 4 gold medals?", MEDALS))
    assert found is not None
    assert (found.text, found.cells) == ("yes", ((1, 2),))


def test_a_cell_says_it_itself() -> None:
    found = cell_says(linking("Is Sweden open?", MEDALS))
    assert found is not None
    assert found.text == "no"
    assert cell_says(linking("How many gold medals did Sweden win?", MEDALS)) is None


def test_a_row_holds_all_that_is_named_or_none_does() -> None:
    for winner, said in (("Anna Berg", "yes"), ("Lena Holm", "no")):
        found = row_holds(linking(f"Did {winner} win the Fjord Cup?", RACES))
        assert found is not None
        assert found.text == said
    assert row_holds(linking("Did Anna Berg win?", RACES)) is None


def test_questions_that_ask_for_no_yes_or_no() -> None:
    asked = linking("Who won?", RACES)
    assert more_than_another(asked) is risen_or_fallen(asked) is beyond_a_number(asked) is None
