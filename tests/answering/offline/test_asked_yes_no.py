from __future__ import annotations

import pytest

from tests.answering.offline.rows import ACCOUNT, ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is the length of Skua greater than that of Tern?", "yes"),
        ("Is Tern longer than Skua?", "no"),
        ("Is Skua shorter than Gannet?", "yes"),
        ("Is Skua longer than 12 m?", ""),
        ("Is Skua racing?", "yes"),
        ("Is Tern racing?", "no"),
    ],
)
def test_rows_and_cells_are_compared(question: str, answer: str) -> None:
    found = ask(question)
    assert found.text == answer or not answer
    assert not answer or found.verified, found.reasons


@pytest.mark.parametrize(
    ("question", "answer", "calculation"),
    [
        ("Did boats increase from 2021 to 2023?", "yes", "T1.r1.c3 > T1.r1.c1 is true"),
        ("Did boats decrease in 2022?", "no", "T1.r1.c2 < T1.r1.c1 is false"),
        ("Did repairs grow from 2022 to 2023?", "no", "T1.r2.c3 > T1.r2.c2 is false"),
        ("Were boats more than 60 million in 2023?", "yes", "T1.r1.c3 > 60000000 is true"),
        ("Were boats less than 60 million in 2023?", "no", "T1.r1.c3 < 60000000 is false"),
    ],
)
def test_a_comparison_is_computed(question: str, answer: str, calculation: str) -> None:
    found = ask(question, ACCOUNT)
    assert (found.text, found.calculation, found.verified) == (answer, calculation, True), found.reasons


def test_what_one_row_holds_is_no_computation() -> None:
    found = ask("Was Skua built by Moss?")
    assert found.text == "no"
    assert not found.verified
