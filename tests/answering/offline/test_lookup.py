from __future__ import annotations

import pytest

from kgtable.answering.offline.lookups import look_up, neighbour, year_columns
from tests.answering.offline.rows import MEDALS, RACES, REPORT, linking


@pytest.mark.parametrize(
    ("question", "rows", "text", "cell"),
    [
        ("How many gold medals did Sweden win?", MEDALS, "3", (2, 2)),
        ("Who won the Coast Tour?", RACES, "Lena Holm", (2, 2)),
        ("What were net sales in 2018?", REPORT, "1,200", (1, 2)),
    ],
)
def test_the_cell_in_row_and_column(
    question: str, rows: tuple[tuple[str, ...], ...], text: str, cell: tuple[int, int]
) -> None:
    found = look_up(linking(question, rows))
    assert found is not None
    assert (found.text, found.cells[0]) == (text, cell)


def test_several_years_in_the_order_of_the_question() -> None:
    found = look_up(linking("What were net sales in 2019 and 2017?", REPORT))
    assert found is not None
    assert (found.text, found.cells) == ("1,500; 1,100", ((1, 3), (1, 1)))
    assert year_columns(linking("net sales in 2019", REPORT)) == {3: "2019"}


def test_the_row_below_and_above() -> None:
    below = neighbour(linking("Which nation is ranked next after Sweden?", MEDALS))
    assert below is not None
    assert below.text == "Finland"
    assert neighbour(linking("Which nation is ranked next after Iceland?", MEDALS)) is None
    assert neighbour(linking("Which nation is next?", MEDALS)) is None


def test_what_names_nothing_finds_nothing() -> None:
    assert look_up(linking("zzz?", MEDALS)) is None
    assert look_up(linking("net sales?", (("a", "b"),))) is None


def test_a_place_is_found_where_other_words_name_other_rows() -> None:
    rows = (("Pos", "Driver", "Team"), ("1", "Eng", "Kelp"), ("2", "Vik", "Marlin"), ("3", "Dal", "Marlin"))
    found = look_up(linking("Which driver finished first in the Marlin cup?", rows))
    assert found is not None
    assert found.text == "Eng"
