from __future__ import annotations

import pytest

from kgtable.answering.offline.lookups import listed
from tests.answering.offline.rows import CRAFT, ask, linking


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Show the boat and yard of all boats from Moss.", "Gannet; Moss; Auk; Moss"),
        ("List the boats built after 2000.", "Tern; Gannet; Petrel"),
        ("List every boat ordered by length in descending order.", None),
        ("What are the boats that are not from Moss?", "Skua; Tern; Petrel"),
        ("List all boats sorted by built.", "Auk; Skua; Gannet; Tern; Petrel"),
        ("List the boats sorted by rank in descending order.", "Petrel; Auk; Tern; Gannet; Skua"),
        ("Show the boats whose length is above average.", "Skua; Gannet; Petrel"),
    ],
)
def test_the_columns_asked_for_are_listed_of_the_rows_meant(question: str, text: str | None) -> None:
    if text is not None:
        assert ask(question).text == text, ask(question).reasons
    else:
        assert ask(question).text.count("; ") == len(CRAFT) - 2


def test_a_list_says_that_it_is_not_verified_and_cites_all_its_cells() -> None:
    found = ask("Show the boat and yard of all boats from Moss.")
    assert not found.verified
    assert [citation.text for citation in found.citations] == ["Gannet", "Moss", "Auk", "Moss"]


def test_what_lists_no_column_is_no_list() -> None:
    assert listed(linking("List all whales.", CRAFT)) is None
    assert listed(linking("Show the length (m) of Skua.", CRAFT)) is None
