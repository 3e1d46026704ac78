from __future__ import annotations

import pytest

from tests.answering.offline.rows import ACCOUNT, CRAFT, ask


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What were boats?", "the question does not tell the column '2021' from '2022', '2023'"),
        ("Skua", "the question does not tell the column"),
        ("What is the length of the boat from Bergen?", "1 other row of the table fits as well"),
        ("Which yard is Bergen?", "only repeats"),
    ],
)
def test_what_fits_as_well_is_named(question: str, reason: str) -> None:
    found = ask(question, ACCOUNT if "were" in question else CRAFT)
    assert not found.verified
    assert reason in "; ".join(found.reasons)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the length of Tern?", "9.5"),
        ("How long is Tern?", "9.5"),
        ("When was Auk built?", "1990"),
        ("Which yard is Petrel from?", "Horten"),
        ("Which boat was built in 2001?", "Gannet"),
    ],
)
def test_what_fits_alone_is_verified(question: str, answer: str) -> None:
    found = ask(question)
    assert (found.text, found.verified) == (answer, True), found.reasons
