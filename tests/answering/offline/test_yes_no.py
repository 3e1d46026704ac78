from __future__ import annotations

import pytest

from kgtable.answering.offline.comparisons import (
    beyond_a_number,
    cell_says,
    more_than_another,
    risen_or_fallen,
    row_holds,
)
from tests.answering.offline.rows import MEDALS, RACES, REPORT, linking


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
