from __future__ import annotations

import pytest

from kgtable.tables.model import Area
from tests.answering.offline.rows import ACCOUNT, CRAFT, ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many boats are there?", "5"),
        ("How many boats were built in Bergen?", "2"),
        ("How many boats were built after 2000?", "3"),
        ("How many boats have a length of more than 9 m?", "4"),
        ("How many boats are racing?", "2"),
        ("How many boats are not racing?", "3"),
        ("How many different yards are there?", "3"),
        ("What is the average length of boats from Bergen?", "11"),
        ("What is the total length of Skua and Auk?", "20.5"),
        ("What is the average length of the boats that are racing?", "13.75"),
    ],
)
def test_the_rows_meant_are_counted_and_added(question: str, answer: str) -> None:
    found = ask(question)
    assert found.text == answer, (found.calculation, found.reasons)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What were boats in 2021 and 2023 combined?", "115"),
        ("What was the average of boats from 2021 to 2023?", "55"),
        ("What was the average of boats in 2021 and 2023?", "57.5"),
    ],
)
def test_years_are_added_as_the_question_spans_them(question: str, answer: str) -> None:
    found = ask(question, ACCOUNT)
    assert (found.text, found.verified) == (answer, True), (found.calculation, found.reasons)


def test_rows_under_a_merged_cell_count() -> None:
    rows = (
        ("Yard", "Boat", "Length"),
        ("Bergen", "Skua", "12"),
        ("", "Tern", "9"),
        ("Moss", "Auk", "8"),
    )
    found = ask("How many boats are from Bergen?", rows, merged=(Area(1, 0, 2, 0),))
    assert found.text == "2"


@pytest.mark.parametrize("question", ["How many engines are from Bergen?", "How many were there in 1998?"])
def test_what_is_counted_must_be_called_so(question: str) -> None:
    assert not ask(question, CRAFT).verified


def test_small_numbers_and_years_beside_a_column_pick_rows() -> None:
    rows = (("Name", "Grade", "Age"), ("Ida", "9", "15"), ("Bo", "10", "16"), ("Kim", "10", "17"))
    assert ask("How many are in grade 10?", rows).text == "2"
    assert ask("Show the names of everyone in grade 10.", rows).text == "Bo; Kim"
    assert ask("How many have an age between 15 and 16?", rows).text == "2"
    assert ask("What is the average age of those whose grade is not lower than 10?", rows).text == "16.5"


def test_what_asks_for_two_things_is_not_verified_by_one() -> None:
    found = ask("How many boats are from Moss and how many boats are racing?")
    assert not found.verified
    assert "the question asks for more than one thing" in found.reasons
