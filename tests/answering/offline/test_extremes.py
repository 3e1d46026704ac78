from __future__ import annotations

import pytest

from kgtable.answering.offline.comparisons import extreme
from tests.answering.offline.rows import MEDALS, RACES, linking


@pytest.mark.parametrize(
    ("question", "rows", "text"),
    [
        ("Which nation won the most gold medals?", MEDALS, "Norway"),
        ("Which nation has the lowest total?", MEDALS, "Iceland"),
        ("Which race was held last?", RACES, "Fjord Cup"),
        ("Which race has the greatest distance?", RACES, "Coast Tour"),
    ],
)
def test_the_most_and_the_least_the_first_and_the_last(
    question: str, rows: tuple[tuple[str, ...], ...], text: str
) -> None:
    found = extreme(linking(question, rows))
    assert found is not None
    assert found.text == text


def test_the_calculation_names_every_cell_that_was_looked_at() -> None:
    found = extreme(linking("Which nation won the most gold medals?", MEDALS))
    assert found is not None
    assert found.calculation == "max(T1.r1.c2, T1.r2.c2, T1.r3.c2, T1.r4.c2)"


def test_a_table_without_rows_has_none() -> None:
    assert extreme(linking("Which nation won the most gold medals?", MEDALS[:1])) is None
