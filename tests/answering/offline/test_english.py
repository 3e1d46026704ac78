from __future__ import annotations

import re

import pytest

from kgtable.answering.offline import question
from kgtable.answering.offline.question import QuestionForm


def test_every_form_of_the_file_is_one_of_the_rules() -> None:
    names = [name for name, _ in question.english_forms()]
    assert names
    assert set(names) <= {form.value for form in QuestionForm}


def test_patterns_are_blind_to_case_and_match_whole_words() -> None:
    assert question.pattern("total").search("TOTAL")
    most = question.any_of("least")
    assert most.search("the least of all")
    assert not most.search("pleasetless")


@pytest.mark.parametrize(
    ("text", "sign", "number"),
    [("more than 5 wins", ">", "5"), ("at least 1,200 ships", ">=", "1,200"), ("fewer than 3", "<", "3")],
)
def test_thresholds_are_found_with_their_number(text: str, sign: str, number: str) -> None:
    found = [
        (kind, match[1])
        for kind, years, pattern in question.thresholds()
        if not years and (match := pattern.search(text))
    ]
    assert (sign, number) in found


def test_every_list_has_words_and_every_want_a_pattern() -> None:
    for kind in ("stop", "person", "place", "time"):
        assert len(set(question.words(kind))) == len(question.words(kind)) > 0
    assert dict(question.english_wants())
    assert all(isinstance(pattern, re.Pattern) for _, pattern in question.english_wants())
    with pytest.raises(KeyError):
        question.section("nonsense")
