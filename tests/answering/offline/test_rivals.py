from __future__ import annotations

from kgtable.answering.offline.answerer import column_doubts, counted_doubts, rival_doubts
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookups import count, look_up
from tests.answering.offline.rows import MEDALS, RACES, linking

SHIPS = (("Port", "Ships sold", "Ships lost"), ("Skarv", "31", "28"), ("Fjell", "44", "40"))


def doubts(asked: Linking) -> list[str]:
    """The doubts about what is looked up."""
    found = look_up(asked)
    assert found is not None
    return list(rival_doubts(asked.question, asked.view, found))


def test_a_cell_that_is_named_in_full_has_no_rivals() -> None:
    assert doubts(linking("How many gold medals did Sweden win?", MEDALS)) == []


def test_columns_that_fit_as_well_are_named() -> None:
    (doubt,) = doubts(linking("How many ships has Fjell?", SHIPS))
    assert "Ships sold" in doubt
    assert "Ships lost" in doubt
    assert doubts(linking("How many ships lost has Fjell?", SHIPS)) == []


def test_rows_that_fit_as_well_are_counted() -> None:
    assert any(
        "1 other row of the table fits" in doubt
        for doubt in doubts(linking("How long was the distance of the Fjord Cup?", RACES))
    )


def test_an_answer_that_only_repeats_the_question_is_doubted() -> None:
    assert any("only repeats" in doubt for doubt in doubts(linking("Which race was the Coast Tour?", RACES)))


def test_a_column_that_is_not_asked_for_is_doubted() -> None:
    asked = linking("Who won the Coast Tour?", RACES)
    found = look_up(asked)
    assert found is not None
    assert list(column_doubts(asked.question, asked.view, found)) == []
    distance = type(found)("150", ((2, 3),), 1.0, found.rule)
    assert "'Distance'" in next(column_doubts(asked.question, asked.view, distance))


def test_what_is_counted_must_be_called_so() -> None:
    for question, doubted in (("How many nations are open?", False), ("How many dragons are open?", True)):
        asked = linking(question, MEDALS)
        found = count(asked)
        assert found is not None
        assert bool(list(counted_doubts(asked.question, asked.view, found))) == doubted
