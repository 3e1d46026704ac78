from __future__ import annotations

import pytest

from kgtable.answering.offline.lookups import by_group, groups_of_size
from tests.answering.offline.rows import CRAFT, MEDALS, ask, linking


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many boats are there for each yard?", "Bergen; 2; Moss; 2; Horten; 1"),
        ("What is the average length (m) for each yard?", "Bergen; 11; Moss; 11.5; Horten; 15"),
        ("What are the maximum and minimum rank in each yard?", "Bergen; 3; 1; Moss; 4; 2; Horten; 5; 5"),
        ("Which yards have at least two boats?", "Bergen; Moss"),
    ],
)
def test_rows_are_grouped(question: str, text: str) -> None:
    found = ask(question)
    assert found.text == text, found.reasons
    assert not found.verified


def test_what_tells_rows_apart_makes_no_groups() -> None:
    assert by_group(linking("How many medals are there for each nation?", MEDALS)) is None
    assert by_group(linking("How many boats are there?", CRAFT)) is None
    assert groups_of_size(linking("Which nations have at least two medals?", MEDALS)) is None


def test_a_threshold_on_a_column_of_numbers_is_none_on_groups() -> None:
    assert groups_of_size(linking("Which yards have a length of at least 9?", CRAFT)) is None
