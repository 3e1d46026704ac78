from __future__ import annotations

import pytest

from kgtable.tables.model import Area
from tests.answering.offline.rows import ACCOUNT, CRAFT, MEDALS, ask

BRIDGE = (("", "Amount"), ("2010 net revenue", "400"), ("Volume", "30"), ("2011 net revenue", "440"))
LEASES = (("Due in", "Rents", "Leases"), ("2020", "7", "20"), ("2021", "8", "25"), ("2022", "9", "30"))


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


GRANTS = (
    ("", "2022", "2023"),
    ("Options granted", "452", "188"),
    ("Options lapsed", "12", "14"),
)


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("What was the number of options granted in 2023?", GRANTS, "188"),
        ("How many medals did Norway and Finland win in total?", MEDALS, "10"),
        ("How many gold medals did Norway and Sweden win?", MEDALS, "8"),
        ("What is the sum of leases from 2020 to 2022?", LEASES, "75"),
        ("What is the average of leases from 2020 to 2022?", LEASES, "25"),
        ("What was the average net revenue from 2010 to 2011?", BRIDGE, "420"),
    ],
)
def test_numbers_that_the_table_gives_are_not_counted(
    question: str, rows: tuple[tuple[str, ...], ...], answer: str
) -> None:
    assert ask(question, rows).text == answer, ask(question, rows).reasons


PLACES = (
    ("Year", "Meeting", "Position"),
    ("2001", "Oslo Games", "3rd"),
    ("2003", "Turku Games", "1st"),
    ("2004", "Riga Games", "12th"),
    ("2006", "Malmö Games", "1st"),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many times did she finish first?", "2"),
        ("How many times did she finish in the top three?", "3"),
        ("At which meeting did she come third?", "Oslo Games"),
        ("Which meeting did she finish in 12th place at?", "Riga Games"),
    ],
)
def test_places_among_others_are_conditions(question: str, answer: str) -> None:
    assert ask(question, PLACES).text == answer, ask(question, PLACES).reasons


def test_one_row_counted_and_text_for_a_number_are_not_verified() -> None:
    rows = (("City", "Notes"), ("Lima", "43 districts"), ("Cusco", "8 districts"))
    found = ask("How many districts are in Lima?", rows)
    assert not found.verified
    assert "only one row is counted, which may itself say the number" in found.reasons
    assert not ask("How many notes has Lima?", rows).verified


def test_a_condition_on_a_column_that_is_not_named_is_told() -> None:
    rows = (("Uid", "Airline", "Seats"), ("8", "Tern Air", "70"), ("12", "Auk Air", "90"))
    found = ask("Which airlines have at least 10 flights?", rows)
    assert not found.verified
    assert "taken for its condition" in "; ".join(found.reasons)
    assert not ask("What are the names of the airlines and the total seats?", rows).verified
