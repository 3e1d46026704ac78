"""Programs over a cell and a number of a text: which questions name two amounts, and what is computed from both."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

import kgtable
from kgtable.answering.answer import Answer
from kgtable.programs.algebra import Operator
from kgtable.systems.documents.mixed_programs import two_amounts

SHOPS = """# Shops

## Year 2019

The web shop sold lamps for $12.5 million in 2019 (2018: $9 million). Rent of all shops was $3 million in 2019. The
shop in Oslo has 25 employees. Fuel cost 7 tonnes of coal.

Table: Sales by shop ($ million)

| Shop | 2019 | 2018 |
|---|---|---|
| Oslo | 70.5 | 60 |
| Rome | 50 | 45 |
| Total sales | 120.5 | 105 |
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "shops.md").write_text(SHOPS, encoding="utf-8")
    with kgtable.build(folder / "shops.md", folder / "kg", embedding="none") as opened:
        yield opened


def ask(graph: kgtable.KnowledgeGraph, question: str) -> Answer:
    return graph.ask(question, method="documents", model="none")


@pytest.mark.parametrize(
    ("question", "value", "unit", "cell", "words"),
    [
        (
            "What is the difference between the sales of Oslo and the lamps sold by the web shop in 2019?",
            "58000000", "CCY_USD", "70.5", "The web shop sold",
        ),
        (
            "What is the difference between the sales of Oslo in 2018 and the lamps sold by the web shop in 2018?",
            "51000000", "CCY_USD", "60", "The web shop sold",
        ),
        ("How much less was rent than the sales of Rome in 2019?", "47000000", "CCY_USD", "50", "Rent of all shops"),
        (
            "What is the sum of the sales of Rome and rent of all shops in 2019?",
            "53000000", "CCY_USD", "50", "Rent of all shops",
        ),
        ("What are the sales of Oslo per employee in 2019?", "2820000", "CCY_USD", "70.5", "shop in Oslo"),
        (
            "What was rent as a percentage of the sales of Rome in 2019?",
            "6", "PERCENT", "50", "Rent of all shops",
        ),
    ],
)  # fmt: skip
def test_a_cell_and_a_number_of_a_text_are_computed_with(
    graph: kgtable.KnowledgeGraph, question: str, value: str, unit: str, cell: str, words: str
) -> None:
    answer = ask(graph, question)
    assert Decimal(answer.value or "nan") == Decimal(value)
    assert answer.unit == unit
    assert cell in {cited.text for cited in answer.citations}
    assert words in " ".join(answer.passages[0].words.split())
    assert answer.grounded
    assert not answer.verified
    assert answer.program is not None


def test_the_answer_is_told_in_the_scale_of_both(graph: kgtable.KnowledgeGraph) -> None:
    answer = ask(graph, "How much less was rent than the sales of Rome in 2019?")
    assert answer.text == "47 million"


def test_two_amounts_of_one_table_are_left_to_its_programs(graph: kgtable.KnowledgeGraph) -> None:
    answer = ask(graph, "What is the difference between the sales of Oslo and Rome in 2019?")
    assert answer.value == "20500000"
    assert {"70.5", "50"} <= {cited.text for cited in answer.citations}
    assert not answer.passages


def test_amounts_in_other_units_or_times_are_not_computed_with(graph: kgtable.KnowledgeGraph) -> None:
    tonnes = ask(graph, "What is the difference between the sales of Oslo and the coal for fuel in 2019?")
    assert tonnes.value != "70499993"
    other = ask(graph, "What is the sum of the sales of Rome in 2018 and the rent of all shops in 2018?")
    assert other.value != "48000000"


@pytest.mark.parametrize(
    "question",
    [
        "What was the rent in 2019?",
        "What is the difference between 2018 and 2019?",
        "What is the change in sales between 2018 and 2019?",
        "What is the sum of sales?",
        "Which shop sold the most?",
    ],
)
def test_other_questions_name_no_two_amounts(question: str) -> None:
    assert two_amounts(question) is None


def test_what_is_taken_from_what_follows_the_words() -> None:
    found = two_amounts("How much lower was the rent of Oslo than that of Rome in 2018?")
    assert found is not None
    assert (found.operator, found.one, found.other) == (
        Operator.SUBTRACT,
        "Rome in 2018",
        "rent of Oslo in 2018",
    )
    share = two_amounts("What percentage of total sales was the rent?")
    assert share is not None
    assert (share.operator, share.one, share.other) == (Operator.SHARE, "rent", "total sales")
