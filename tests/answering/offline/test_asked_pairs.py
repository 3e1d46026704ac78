from __future__ import annotations

import pytest

from tests.answering.offline.rows import ACCOUNT, ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the difference between boats and repairs in 2023?", "50"),
        ("What is the difference in boats between 2021 and 2023?", "35"),
        ("What was the increase in boats in 2023?", "25"),
        ("What was the percentage change in boats from 2021 to 2022?", "25%"),
        ("Boats increased by what percent in 2023?", "50%"),
        ("What percentage of total sales in 2023 came from boats?", "75%"),
        ("What were boats in 2023 as a percentage of total sales?", "75%"),
        ("What was the ratio of boats to repairs in 2023?", "3"),
        ("What was the ratio of boats in 2023 to 2022?", "1.5"),
    ],
)
def test_two_numbers_are_those_that_the_question_names(question: str, answer: str) -> None:
    found = ask(question, ACCOUNT)
    assert (found.text, found.verified) == (answer, True), (found.calculation, found.reasons)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What is the difference between boats and engines in 2023?", "engines"),
        ("What is the difference in boats between 2020 and 2023?", "2020"),
        ("What is the difference between boats and repairs?", "does not tell the column"),
        ("What is the change in boats?", "does not name"),
    ],
)
def test_a_side_that_is_not_named_is_not_verified(question: str, reason: str) -> None:
    found = ask(question, ACCOUNT)
    assert not found.verified, found.calculation
    assert reason in "; ".join(found.reasons)
