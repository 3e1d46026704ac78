"""What is read from the words of a question alone."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.programs.algebra import Relator
from kgtable.questions.english import unit_named
from kgtable.questions.reading import MOST_PARTS, MOST_TOKENS, Question


def words(question: Question, mask: int) -> str:
    return question.words_of(mask)


def test_operator_words_are_found_as_whole_words() -> None:
    question = Question.read("What is the average price per countable item?")
    assert words(question, question.cues["average"]) == "average"
    assert "how_many" not in question.cues


@pytest.mark.parametrize(
    ("text", "relator", "value"),
    [
        ("Which parts weigh more than 20 kg?", Relator.GREATER, Decimal(20)),
        ("Which have at least three wins?", Relator.GREATER_OR_EQUAL, Decimal(3)),
        ("Which cost 1,200 or less?", Relator.LESS_OR_EQUAL, Decimal(1200)),
        ("How many boats took under one hour?", Relator.LESS, Decimal(1)),
    ],
)
def test_thresholds(text: str, relator: Relator, value: Decimal) -> None:
    (threshold,) = Question.read(text).thresholds
    assert (threshold.relator, threshold.number.value) == (relator, value)


def test_a_range_of_numbers_is_one_threshold() -> None:
    (threshold,) = Question.read("Which weigh between 10 and 20 kg?").thresholds
    assert threshold.upper is not None
    assert (threshold.number.value, threshold.upper.value) == (10, 20)
    assert threshold.number.unit == threshold.upper.unit == "KiloGM"


@pytest.mark.parametrize(
    ("text", "lexical", "relation"),
    [
        ("orders in March 2024", "2024-03", "in"), ("arrivals after 1 September 2024", "2024-09-01", "after"),
        ("wins since 2009", "2009", "since"), ("the 1990s", "1990/1999", "in"), ("rain in May", "--05", "in"),
        ("revenue in Q3 2019", "2019-Q3", "in"),
    ],
)  # fmt: skip
def test_times(text: str, lexical: str, relation: str) -> None:
    (mention,) = Question.read(text).times
    assert (mention.lexical, mention.relation) == (lexical, relation)


def test_how_many_of_an_extreme() -> None:
    assert Question.read("Name the three resorts with the highest summit.").limit[0] == 3
    assert Question.read("the top 5 scorers").limit[0] == 5
    assert Question.read("the highest of 3 peaks").limit[0] == 1


@pytest.mark.parametrize(
    ("text", "wh"),
    [
        ("Who won?", "who"), ("When did it open?", "when"), ("How many are red?", "how_many"),
        ("Was Ann hired after Bo?", "yes_no"), ("Is it red or blue?", "other"), ("Which is red?", "which"),
    ],
)  # fmt: skip
def test_what_is_asked_for(text: str, wh: str) -> None:
    assert Question.read(text).wh == wh


def test_several_questions_in_one() -> None:
    assert len(Question.read("Who won the race? Also, who came second in it?").parts) == 2
    assert len(Question.read("Who won the race of St. Moritz?").parts) == 1
    assert len(Question.read("who won the race? " * MOST_PARTS).parts) == MOST_PARTS
    assert len(Question.read("who won the race? " * 500).parts) == 1


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Calls between 1 March and 31 May 2023", ["2023-03-01", "2023-05-31"]),
        ("Calls from March 1 to May 31, 2023", ["2023-03-01", "2023-05-31"]),
        ("Calls between 1 November and 28 February 2023", ["2022-11-01", "2023-02-28"]),
        ("Calls on 1 March and 31 May 2023", ["--03-01", "2023-05-31"]),
        ("Calls between 1 March and noon, and on 31 May 2023", ["--03-01", "2023-05-31"]),
    ],
)
def test_the_first_day_of_a_span_is_in_the_year_said_of_the_last(text: str, days: list[str]) -> None:
    assert [mention.lexical for mention in Question.read(text).times] == days


def test_times_behind_the_last_token_that_is_read_are_left_out() -> None:
    assert len(Question.read("12:30 " * 2_000).clocks) == MOST_TOKENS // 2


def test_units_are_no_ordinary_words() -> None:
    assert unit_named("centimetres") == "CentiM"
    assert unit_named("lifts") is None
    assert unit_named("points") is None


def test_hostile_text_is_read() -> None:
    long = "a" * 5000 + " [" * 3000 + "\x00٣ " * 500
    assert len(Question.read(long).tokens) <= 120
