from __future__ import annotations

from kgtable.answering.offline.comparing import compare, when
from tests.answering.offline.rows import MEDALS, REPORT, linking


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
