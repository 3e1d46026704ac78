from __future__ import annotations

from kgtable.answering.offline.comparisons import commonest
from tests.answering.offline.rows import CRAFT, MEDALS, RACES, ask, linking


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
