from __future__ import annotations

import pytest

from kgtable.answering.offline.lookups import figures
from tests.answering.offline.rows import CRAFT, ask, linking


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What are the average, minimum and maximum length (m) of all boats?", "12; 8.0; 15.0"),
        ("What is the average length and the highest rank of the boats from Moss?", "11.5; 4"),
    ],
)
def test_several_figures_are_told_in_the_order_asked_for(question: str, text: str) -> None:
    found = ask(question)
    assert found.text == text, found.reasons
    assert not found.verified


def test_one_figure_or_one_without_a_column_is_left_to_other_rules() -> None:
    assert figures(linking("What is the average length of all boats?", CRAFT)) is None
    assert figures(linking("What are the average and maximum price?", CRAFT)) is None
