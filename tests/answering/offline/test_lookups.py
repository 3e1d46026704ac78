from __future__ import annotations

import pytest

from kgtable.answering.offline.lookups import (
    average,
    by_group,
    count,
    figures,
    groups_of_size,
    listed,
    look_up,
    neighbour,
    total,
    year_columns,
)
from tests.answering.offline.rows import CRAFT, MEDALS, RACES, REPORT, ask, linking


@pytest.mark.parametrize(
    ("question", "rows", "text", "cell"),
    [
        ("How many gold medals did Sweden win?", MEDALS, "3", (2, 2)),
        ("Who won the Coast Tour?", RACES, "Lena Holm", (2, 2)),
        ("What were net sales in 2018?", REPORT, "1,200", (1, 2)),
    ],
)
def test_the_cell_in_row_and_column(
    question: str, rows: tuple[tuple[str, ...], ...], text: str, cell: tuple[int, int]
) -> None:
    found = look_up(linking(question, rows))
    assert found is not None
    assert (found.text, found.cells[0]) == (text, cell)


def test_several_years_in_the_order_of_the_question() -> None:
    found = look_up(linking("What were net sales in 2019 and 2017?", REPORT))
    assert found is not None
    assert (found.text, found.cells) == ("1,500; 1,100", ((1, 3), (1, 1)))
    assert year_columns(linking("net sales in 2019", REPORT)) == {3: "2019"}


def test_the_row_below_and_above() -> None:
    below = neighbour(linking("Which nation is ranked next after Sweden?", MEDALS))
    assert below is not None
    assert below.text == "Finland"
    assert neighbour(linking("Which nation is ranked next after Iceland?", MEDALS)) is None
    assert neighbour(linking("Which nation is next?", MEDALS)) is None


def test_what_names_nothing_finds_nothing() -> None:
    assert look_up(linking("zzz?", MEDALS)) is None
    assert look_up(linking("net sales?", (("a", "b"),))) is None


def test_a_place_is_found_where_other_words_name_other_rows() -> None:
    rows = (("Pos", "Driver", "Team"), ("1", "Eng", "Kelp"), ("2", "Vik", "Marlin"), ("3", "Dal", "Marlin"))
    found = look_up(linking("Which driver finished first in the Marlin cup?", rows))
    assert found is not None
    assert found.text == "Eng"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What are the average, minimum and maximum length (m) of all boats?", "12; 8.0; 15.0"),
        ("What is the average length and the highest rank of the boats from Moss?", "11.5; 4"),
    ],
)
def test_several_figures_are_told_in_the_order_asked_for(question: str, text: str) -> None:
    found = ask(question)
    assert found.text == text, found.reasons
    assert not found.verified


def test_one_figure_or_one_without_a_column_is_left_to_other_rules() -> None:
    assert figures(linking("What is the average length of all boats?", CRAFT)) is None
    assert figures(linking("What are the average and maximum price?", CRAFT)) is None


@pytest.mark.parametrize(
    ("question", "rows", "text", "calculation"),
    [
        ("How many times did Anna Berg win?", RACES, "2", "count(T1.r1.c2, T1.r3.c2)"),
        ("How many nations are open?", MEDALS, "3", None),
        ("How many nations won more than 2 gold medals?", MEDALS, "3", None),
        ("How many gold medals did Sweden win?", MEDALS, "3", None),
    ],
)
def test_rows_are_counted_unless_the_table_gives_the_number(
    question: str, rows: tuple[tuple[str, ...], ...], text: str, calculation: str | None
) -> None:
    found = count(linking(question, rows))
    assert found is not None
    assert found.text == text
    if calculation is not None:
        assert (found.calculation or "").startswith("count(")
        assert len(found.cells) == 2


def test_sums_of_rows_and_of_years() -> None:
    found = total(linking("What is the total distance of the Fjord Cup?", RACES))
    assert found is not None
    assert (found.text, found.calculation) == ("238", "sum(T1.r1.c3, T1.r3.c3)")


def test_means_of_a_column_and_of_a_row() -> None:
    found = average(linking("What is the average number of silver medals?", MEDALS))
    assert found is not None
    assert found.text == "2.25"
    across = average(linking("What was the average net sales for 2018-2019?", REPORT))
    assert across is not None
    assert (across.text, across.cells) == ("1350", ((1, 2), (1, 3)))


def test_nothing_to_count_or_add() -> None:
    assert average(linking("What is the average zzz?", MEDALS)) is None
    assert count(linking("How many nations are open?", MEDALS[:1])) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Show the boat and yard of all boats from Moss.", "Gannet; Moss; Auk; Moss"),
        ("List the boats built after 2000.", "Tern; Gannet; Petrel"),
        ("List every boat ordered by length in descending order.", None),
        ("What are the boats that are not from Moss?", "Skua; Tern; Petrel"),
        ("List all boats sorted by built.", "Auk; Skua; Gannet; Tern; Petrel"),
        ("List the boats sorted by rank in descending order.", "Petrel; Auk; Tern; Gannet; Skua"),
        ("Show the boats whose length is above average.", "Skua; Gannet; Petrel"),
    ],
)
def test_the_columns_asked_for_are_listed_of_the_rows_meant(question: str, text: str | None) -> None:
    if text is not None:
        assert ask(question).text == text, ask(question).reasons
    else:
        assert ask(question).text.count("; ") == len(CRAFT) - 2


def test_a_list_says_that_it_is_not_verified_and_cites_all_its_cells() -> None:
    found = ask("Show the boat and yard of all boats from Moss.")
    assert not found.verified
    assert [citation.text for citation in found.citations] == ["Gannet", "Moss", "Auk", "Moss"]


def test_what_lists_no_column_is_no_list() -> None:
    assert listed(linking("List all whales.", CRAFT)) is None
    assert listed(linking("Show the length (m) of Skua.", CRAFT)) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many boats are there for each yard?", "Bergen; 2; Moss; 2; Horten; 1"),
        ("What is the average length (m) for each yard?", "Bergen; 11; Moss; 11.5; Horten; 15"),
        ("What are the maximum and minimum rank in each yard?", "Bergen; 3; 1; Moss; 4; 2; Horten; 5; 5"),
        ("Which yards have at least two boats?", "Bergen; Moss"),
    ],
)
def test_rows_are_grouped(question: str, text: str) -> None:
    found = ask(question)
    assert found.text == text, found.reasons
    assert not found.verified


def test_what_tells_rows_apart_makes_no_groups() -> None:
    assert by_group(linking("How many medals are there for each nation?", MEDALS)) is None
    assert by_group(linking("How many boats are there?", CRAFT)) is None
    assert groups_of_size(linking("Which nations have at least two medals?", MEDALS)) is None


def test_a_threshold_on_a_column_of_numbers_is_none_on_groups() -> None:
    assert groups_of_size(linking("Which yards have a length of at least 9?", CRAFT)) is None
