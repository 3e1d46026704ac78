"""Questions as people say them: words for headers, cells that list several things, order, results of games."""

from __future__ import annotations

import pytest

from kgtable.programs.relation import Relation
from tests.answering.test_by_rules import ask, relation

CREW = relation(
    "crew",
    ("Name", "Languages", "Team", "Age", "Trained"),
    ("Dora", "French", "Red", "22", "yes"),
    ("Ben", "French, German", "Red", "24", "no"),
    ("Cem", "Turkish, German", "Blue", "45", "yes"),
    ("Ana", "French", "Blue", "31", "no"),
    ("Eli", "English / French", "Green", "29", "yes"),
    ("Fay", "Spanish", "Red", "51", "yes"),
)
DESKS = relation(
    "desks",
    ("Desk", "Users", "Contract months", "Price per month (EUR)"),
    ("Hot desk", "41", "1", "149"),
    ("Fixed desk", "27", "3", "259"),
    ("Team room", "6", "12", "1150"),
)
MEDALS = relation(
    "medal table",
    ("Nation", "Gold", "Silver", "Bronze", "Total"),
    ("Norland", "5", "1", "2", "8"),
    ("Sudland", "3", "6", "4", "13"),
    ("Estland", "4", "2", "1", "7"),
)
GAMES = relation(
    "games",
    ("Date", "Opponent", "Result"),
    ("2024-09-07", "Owls", "W 21-14"),
    ("2024-09-14", "Hawks", "L 3-6"),
    ("2024-10-05", "Bears", "W 28-7"),
    ("2024-10-12", "Wolves", "L 13-20"),
    ("2024-10-19", "Foxes", "W 31-30"),
)
RUNNERS = relation(
    "runners",
    ("First name", "Last name", "Club"),
    ("Ida", "Moss", "Lynx"),
    ("Karl", "Aster", "Otters"),
    ("Bea", "Reed", "Lynx"),
)
FINES = relation(
    "fines", ("Street", "Fines", "Amount"), ("Bell Lane", "212", "€5300"), ("Canal Street", "148", "€4440")
)
INVOICES = relation(
    "invoices",
    ("Invoice", "Issued", "Amount (EUR)", "Status"),
    ("1101", "2024-01-15", "1080", "paid"),
    ("1102", "2024-01-31", "475", "open"),
)
ACCOUNTS = relation(
    "accounts", ("EUR million", "2022", "2023"), ("Sales", "207", "328.8"), ("Costs", "150", "190")
)


@pytest.mark.parametrize(
    ("question", "table", "said"),
    [
        ("How many of the crew are under the age of 25?", CREW, "2"),
        ("Which of the crew are over the age of 30?", CREW, "Cem; Ana; Fay"),
        ("List the names in alphabetical order.", CREW, "Ana; Ben; Cem; Dora; Eli; Fay"),
        ("Show the first and last name of all runners.", RUNNERS, "Ida; Moss; Karl; Aster; Bea; Reed"),
        ("How many are untrained?", CREW, "2"),
        ("What do we charge a month for a fixed desk?", DESKS, "259"),
        ("Which nation won the most medals?", MEDALS, "Sudland"),
        ("How many medals did Norland win?", MEDALS, "8"),
        ("How many games were lost?", GAMES, "2"),
        ("How many games did we win in October?", GAMES, "2"),
        ("What is the change in sales in 2023?", ACCOUNTS, "121.8"),
        ("How many times as many users as the team room does the hot desk have?", DESKS, "6.833333"),
    ],
)
def test_wordings(question: str, table: Relation, said: str) -> None:
    assert ask(question, table).text == said


def test_a_cell_may_list_what_is_asked_for() -> None:
    assert ask("Which of the crew speak German?", CREW).text == "Ben; Cem"
    assert ask("Which of the crew speak only French?", CREW).text == "Dora; Ana"
    # Whether those who speak more than French are counted is not said.
    answer = ask("How many of the crew speak French?", CREW)
    assert answer.text == "4"
    assert not answer.verified


def test_of_more_results_than_are_looked_at_none_is_counted_in_part() -> None:
    rows = [(f"Club {n}", f"{'WL'[n % 2]} {n}-{n + 1}") for n in range(400)]
    answer = ask("How many games were lost?", relation("games", ("Opponent", "Result"), *rows))
    assert not answer.verified
    assert "Result is" not in answer.derivation


def test_the_derivation_keeps_alternatives_together() -> None:
    answer = ask("How many games did we win in October?", GAMES)
    assert '(Result is "W 21-14" or "W 28-7" or "W 31-30")' in answer.derivation


def test_when_something_happened_is_not_what_another_date_says() -> None:
    answer = ask("On what day was invoice 1101 paid?", INVOICES)
    assert not answer.verified
    assert "The question asks when it was paid, and Issued does not say so." in answer.reasons


def test_how_much_was_taken_is_money() -> None:
    answer = ask("How much did we take in fines?", FINES)
    assert answer.text == "€9740" or not answer.verified
