from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.offline.question import STOPWORDS, content, spoken, stems


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Café openings (1,200)[3]", ("cafe", "open", "1200")),
        ("STRASSE Straße", ("strass", "strass")),
        ("the team's wins", ("the", "team", "win")),
        ("1,234,567.5 and 2019", ("1234567.5", "and", "2019")),
        ("", ()),
        ("?! <> \u202e", ()),
        ("日本 語", ("日本", "語")),
    ],
)
def test_words_are_folded_and_stemmed(text: str, words: tuple[str, ...]) -> None:
    assert stems(text) == words


def test_meaningful_words_are_no_stop_words() -> None:
    assert content(stems("What is the total of all ships?")) == {"total", "ship"}
    assert not content(stems(" ".join(sorted(STOPWORDS))))


def test_words_are_shown_as_they_stand_in_the_text() -> None:
    assert spoken("Planets of Mars, planet")["planet"] == "Planets"
    assert spoken("") == {}


@given(st.text(max_size=40))
def test_case_and_white_space_do_not_matter(text: str) -> None:
    assert stems(f"  {text}\n") == stems(text)
    assert all(word == word.casefold() and " " not in word for word in stems(text))
