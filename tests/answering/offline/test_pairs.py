from __future__ import annotations

import pytest

from kgtable.answering.offline.comparisons import (
    change_of_columns,
    change_of_rows,
    difference_of_columns,
    difference_of_rows,
    two_columns,
    two_rows,
)
from tests.answering.offline.rows import MEDALS, RACES, REPORT, linking


@pytest.mark.parametrize(
    ("question", "text", "calculation"),
    [
        ("What is the change in net sales from 2018 to 2019?", "300", "T1.r1.c3 - T1.r1.c2"),
        ("What is the change in cost of sales from 2018 to 2019?", "-60", "T1.r2.c3 - T1.r2.c2"),
        ("What is the difference in net sales between 2019 and 2017?", "400", "T1.r1.c3 - T1.r1.c1"),
    ],
)
def test_the_later_year_less_the_earlier(question: str, text: str, calculation: str) -> None:
    found = difference_of_columns(linking(question, REPORT))
    assert found is not None
    assert (found.text, found.calculation) == (text, calculation)


def test_the_first_named_less_the_second() -> None:
    found = difference_of_rows(linking("How many more gold medals did Norway win than Iceland?", MEDALS))
    assert found is not None
    assert (found.text, found.calculation) == ("4", "T1.r1.c2 - T1.r4.c2")


def test_changes_in_percent_of_the_earlier() -> None:
    found = change_of_columns(
        linking("What was the percentage change in net sales from 2018 to 2019?", REPORT)
    )
    assert found is not None
    assert found.text == "25%"
    none = (("EUR", "2018", "2019"), ("Net sales", "0", "5"))
    assert (
        change_of_columns(linking("What was the percentage change in net sales from 2018 to 2019?", none))
        is None
    )


def test_the_two_cells_that_are_compared_the_earlier_first() -> None:
    pair = two_columns(linking("net sales in 2019 and 2017", REPORT))
    assert pair is not None
    assert pair[0] == ((1, 1), (1, 3))
    assert two_rows(linking("Did Norway win more gold medals than Iceland?", MEDALS)) == ((1, 2), (4, 2))


def test_questions_that_name_no_two_numbers() -> None:
    asked = linking("Who won?", RACES)
    for rule in (difference_of_columns, difference_of_rows, change_of_columns, change_of_rows):
        assert rule(asked) is None
    assert two_rows(linking("How many gold medals did Norway win?", MEDALS)) is None
