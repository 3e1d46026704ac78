from __future__ import annotations

import pytest

from tests.answering.offline.rows import ACCOUNT, CRAFT, ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which boat has the smallest length?", "Auk"),
        ("Which boat has the highest rank?", "Skua"),
        ("Which boat has the lowest rank?", "Petrel"),
        ("Which boat built in Bergen has the greatest length?", "Skua"),
    ],
)
def test_the_row_of_the_extreme_is_found(question: str, answer: str) -> None:
    assert ask(question).text == answer


def test_rows_that_share_the_extreme_are_told() -> None:
    found = ask("Which boat has the greatest length?")
    assert "2 rows share the extreme" in found.reasons
    assert not found.verified


def test_the_second_of_an_extreme_is_not_computed_again() -> None:
    found = ask("Which boat has the second smallest length?")
    assert found.text == "Tern"
    assert not found.verified


def test_the_top_of_the_list_is_its_first_row() -> None:
    assert ask("Which boat is at the top of the list?", (CRAFT[0], *CRAFT[:0:-1])).text == "Petrel"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("In which year were boats highest?", "2023"),
        ("Which year had the lowest total sales?", "2021"),
        ("In which year were boats below 45 million?", "2021"),
    ],
)
def test_the_year_is_that_of_the_extreme(question: str, answer: str) -> None:
    assert ask(question, ACCOUNT).text == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which boat has a greater length, Skua or Tern?", "Skua"),
        ("Does Tern have more or less length than Skua?", "less"),
    ],
)
def test_one_of_two_is_chosen(question: str, answer: str) -> None:
    found = ask(question)
    assert found.text == answer, found.reasons
    assert found.calculation


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What are the yard and rank of the boat with the smallest length?", "Moss; 4"),
        ("List the top 2 boats by rank.", "Skua; Gannet"),
        ("Which boat is the oldest?", "Auk"),
        ("What is the rank of the shortest boat?", "4"),
    ],
)
def test_what_is_told_of_the_extreme_row_is_what_is_asked_for(question: str, answer: str) -> None:
    assert ask(question).text == answer, ask(question).reasons


def test_the_first_few_are_added_up_where_a_number_is_asked_for() -> None:
    rows = (("Pos", "Driver", "Points"), ("1", "Eng", "20"), ("2", "Vik", "16"), ("3", "Dal", "14"))
    assert ask("How many points did the top 2 drivers get?", rows).text == "36"


def test_what_follows_the_total_takes_no_part() -> None:
    rows = (
        ("Candidate", "Votes"),
        ("Moe", "40"),
        ("Lie", "60"),
        ("Dal", "9"),
        ("Total", "109"),
        ("Electors", "300"),
    )
    assert ask("Which candidate had the most votes?", rows).text == "Lie"
