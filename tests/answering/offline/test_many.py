from __future__ import annotations

import pytest

from kgtable.answering.offline.lookups import average, count, total
from tests.answering.offline.rows import MEDALS, RACES, REPORT, linking


@pytest.mark.parametrize(
    ("question", "rows", "text", "calculation"),
    [
        ("How many times did Anna Berg win?", RACES, "2", "count(T1.r1.c2, T1.r3.c2)"),
        ("How many nations are open?", MEDALS, "3", None),
        ("How many nations won more than 2 gold medals?", MEDALS, "3", None),
        ("How many gold medals did Sweden win?", MEDALS, "3", None),
    ],
)
def test_rows_are_counted_unless_the_table_gives_the_number(
    question: str, rows: tuple[tuple[str, ...], ...], text: str, calculation: str | None
) -> None:
    found = count(linking(question, rows))
    assert found is not None
    assert found.text == text
    if calculation is not None:
        assert (found.calculation or "").startswith("count(")
        assert len(found.cells) == 2


def test_sums_of_rows_and_of_years() -> None:
    found = total(linking("What is the total distance of the Fjord Cup?", RACES))
    assert found is not None
    assert (found.text, found.calculation) == ("238", "sum(T1.r1.c3, T1.r3.c3)")


def test_means_of_a_column_and_of_a_row() -> None:
    found = average(linking("What is the average number of silver medals?", MEDALS))
    assert found is not None
    assert found.text == "2.25"
    across = average(linking("What was the average net sales for 2018-2019?", REPORT))
    assert across is not None
    assert (across.text, across.cells) == ("1350", ((1, 2), (1, 3)))


def test_nothing_to_count_or_add() -> None:
    assert average(linking("What is the average zzz?", MEDALS)) is None
    assert count(linking("How many nations are open?", MEDALS[:1])) is None
