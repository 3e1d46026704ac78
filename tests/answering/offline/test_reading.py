"""The meaning of a question, and answers that stay unverified because it may mean something else."""

from __future__ import annotations

import pytest

from kgtable import api
from kgtable.answering.answer import Answer
from kgtable.answering.offline.answerer import column_doubts, counted_doubts, rival_doubts
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookups import count, look_up
from kgtable.resources import PACKAGE
from tests.answering.offline.rows import MEDALS, RACES, linking

SALES = """Region,2022,2023,2024
North,100,120,150
South,80,90,60
South East,10,20,30
Total,190,230,240
"""
PRIZES = """Year,Film,Prize,Country
2001,Blue Coast,gold,Norway
2001,Red Hill,silver,Sweden
2003,Night Ferry,gold,Norway
2005,Blue Coast,bronze,Finland
"""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> api.KnowledgeGraph:
    return api.build(PACKAGE / "samples", tmp_path_factory.mktemp("kg"), embedding="none")


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> api.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "sales.csv").write_text(SALES, encoding="utf-8")
    (folder / "prizes.csv").write_text(PRIZES, encoding="utf-8")
    return api.build(folder, tmp_path_factory.mktemp("kg"), embedding="none")


def ask(kg: api.KnowledgeGraph, question: str) -> Answer:
    return kg.ask(question, model="none")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the difference between the marine and laboratory revenue in 2024?", "439500"),
        ("What is the difference between marine revenue in 2024 and 2023?", "42200"),
        ("What was net income in 2024 and 2022?", "$198.0; $108.3"),
        ("What was the revenue of Instruments in dollars in 2024?", "$1,284.6"),
        ("By how much did net income grow from 2022 to 2024?", "89.7"),
        ("Which planets have no rings?", "Mercury; Venus; Earth; Mars"),
        ("How many planets have no rings?", "4"),
        ("How many planets have more than 20 moons?", "3"),
        ("What is the sum of moons of Jupiter and Saturn?", "241"),
        ("What is the average diameter of the planets with rings?", "91041.5"),
        ("Which planet has the lowest mean temperature?", "Neptune"),
        ("Does Saturn have more moons than Jupiter?", "yes"),
        ("Does Earth have rings?", "no"),
        ("Is Mars bigger than Venus?", "no"),
        ("Did net income increase in 2024?", "yes"),
        ("Did net income decrease from 2022 to 2024?", "no"),
        ("Was the net income in 2023 more than 100 million?", "yes"),
        ("Which year had the highest net income?", "2024"),
        ("How tall is the lighthouse of Gull Island?", "17 m"),
        ("How many lighthouses are in the South district?", "3"),
        ("Which lighthouse in the South district is the tallest?", "Alder Rock"),
        ("What was the weight in Tern Bay in 2024?", "920"),
        ("Which port had the highest fees in 2023?", "Norrvik"),
    ],
)
def test_what_is_asked_is_computed_and_verified(
    samples: api.KnowledgeGraph, question: str, answer: str
) -> None:
    found = ask(samples, question)
    assert found.text == answer, found.reasons
    assert found.verified, found.reasons


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What was net income in 2021?", "2021"),
        ("What was net income?", "does not tell the column"),
        ("Saturn", "does not tell the column"),
        ("What was the total revenue in 2023?", "other tables answer the question differently"),
        ("What is the diameter of Saturn in miles?", "miles"),
        ("What is the mass of Earth in pounds?", "pounds"),
        ("What is the diameter of Pluto?", "Pluto"),
        ("Which planet is the hottest?", "hottest"),
        ("Which planet does not have the most moons?", "what is not so"),
        ("Which planet has the most moons except Saturn?", "what is not so"),
        ("Which planet has the second most moons?", "cannot be computed again"),
        ("What are the three planets with the most moons?", "three"),
        ("Which planet has the most moons after Saturn?", "moons"),
        ("Has Mars more than Venus?", "does not tell the column"),
        ("What was gross profit excluding restructuring in 2023?", "excluding"),
        ("What was the operating income per employee in 2024?", "employee"),
        ("Which lighthouse is not in the North district?", "what is not so"),
        ("How many planets have more than 20 moons and no rings?", ""),
    ],
)
def test_what_may_mean_something_else_is_not_verified(
    samples: api.KnowledgeGraph, question: str, reason: str
) -> None:
    found = ask(samples, question)
    assert not found.verified, (found.text, found.calculation)
    assert reason in "; ".join(found.reasons)


@pytest.mark.parametrize(
    "question", ["What is the population of Atlantis?", "Who is the president of France?"]
)
def test_what_the_tables_do_not_hold_is_not_found(samples: api.KnowledgeGraph, question: str) -> None:
    assert not ask(samples, question).found


@pytest.mark.parametrize(
    ("question", "answer", "verified"),
    [
        ("What is the difference between North and South in 2024?", "90", True),
        ("What is the difference between North and Total in 2023?", "110", True),
        ("What was the change from 2022 to 2024 in South East?", "20", True),
        ("What was the percentage change of North from 2022 to 2024?", "50%", True),
        ("What was the average of North from 2022 to 2024?", "123.3333333333", True),
        ("What was North in 2022 and 2024?", "100; 150", True),
        ("What was the sum of North in 2022 and 2024?", "250", True),
        ("What is the difference between North and West in 2024?", "", False),
        ("What was East in 2024?", "30", False),
        ("How many gold prizes did Norway win?", "2", True),
        ("How many different films won a prize?", "3", False),
        ("Which film won gold in 2003?", "Night Ferry", True),
        ("Which film won gold?", "", False),
        ("Which film won gold in 2004?", "", False),
    ],
)
def test_rows_years_and_several_that_fit(
    made_up: api.KnowledgeGraph, question: str, answer: str, verified: bool
) -> None:
    found = ask(made_up, question)
    assert found.verified is verified, (found.text, found.reasons)
    if answer:
        assert found.text == answer, found.reasons


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What percentage of the total in 2024 came from South?", "25%"),
        ("What was South in 2024 as a percentage of the total?", "25%"),
        ("South was what percent of the total in 2024?", "25%"),
        ("What was the ratio of South to North in 2024?", "0.4"),
        ("What was the ratio of North in 2024 to 2022?", "1.5"),
        ("South decreased by what percent in 2024?", "-33.33%"),
        ("What was the average of North 2022 to 2024?", "123.3333333333"),
    ],
)
def test_shares_are_of_the_whole_that_is_named(
    made_up: api.KnowledgeGraph, question: str, answer: str
) -> None:
    found = ask(made_up, question)
    assert (found.text, found.verified) == (answer, True), found.reasons


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
