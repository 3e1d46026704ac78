from __future__ import annotations

import pytest

from kgtable.answering.offline.extremes import compare, extreme, when
from tests.answering.offline.linked import MEDALS, RACES, REPORT, linking


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


def test_which_of_two_has_more() -> None:
    found = compare(linking("Who won more silver medals, Norway or Sweden?", MEDALS))
    assert found is not None
    assert found.text == "Sweden"
    assert compare(linking("Who won more gold medals, Sweden or Finland?", MEDALS)) is None
    assert compare(linking("Who won more silver medals?", MEDALS)) is None


def test_in_which_year_a_row_was_larger() -> None:
    found = when(linking("In which year were net sales larger?", REPORT))
    assert found is not None
    assert found.text == "2019"
    assert when(linking("In which year were zzz larger?", REPORT)) is None


def test_a_table_without_rows_has_none() -> None:
    assert extreme(linking("Which nation won the most gold medals?", MEDALS[:1])) is None
