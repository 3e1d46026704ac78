from __future__ import annotations

from kgtable.answering.offline.comparisons import column_of_extreme, compare, compare_columns, when
from tests.answering.offline.rows import MEDALS, REPORT, ask, linking


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


def test_in_which_column_a_row_is_greatest() -> None:
    rows = (
        ("Crop", "East", "West", "North", "All"),
        ("Garlic", "2", "5", "3", "10"),
        ("Spelt", "4", "3", "2", "9"),
    )
    found = column_of_extreme(linking("Which province had the largest area of garlic?", rows))
    assert found is not None
    assert (found.text, found.calculation) == ("West", "max(T1.r1.c1, T1.r1.c2, T1.r1.c3)")
    least = column_of_extreme(linking("Which province had the smallest area of spelt?", rows))
    assert least is not None
    assert least.text == "North"
    assert column_of_extreme(linking("Which province had the largest area of rye?", rows)) is None
    assert column_of_extreme(linking("Which crop had the largest area?", rows)) is None


def test_the_most_itself_is_told_where_it_is_asked_for() -> None:
    assert ask("What was the highest net sales?", REPORT).text == "1,500"


def test_which_of_two_columns_has_more() -> None:
    rows = (("Crop", "East", "West"), ("Garlic", "2", "5"), ("Spelt", "4", "4"))
    found = compare_columns(linking("Which province had more garlic, East or West?", rows))
    assert found is not None
    assert (found.text, found.calculation) == ("West", "max(T1.r1.c1, T1.r1.c2)")
    less = compare_columns(linking("Which province had less garlic, East or West?", rows))
    assert less is not None
    assert less.text == "East"
    assert compare_columns(linking("Which province had more spelt, East or West?", rows)) is None
    assert compare_columns(linking("Which province had more rye, East or West?", rows)) is None
