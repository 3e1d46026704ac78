from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.offline import question
from kgtable.answering.offline.question import STOPWORDS, QuestionForm, content, read_question, spoken, stems


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Which team won the cup?", QuestionForm.LOOKUP),
        ("How many teams are there?", QuestionForm.COUNT),
        ("How many times did Anna win?", QuestionForm.COUNT),
        ("What is the total number of points?", QuestionForm.SUM),
        ("What is the average price?", QuestionForm.AVERAGE),
        ("What is the difference between A and B?", QuestionForm.DIFFERENCE),
        ("How much more did A earn than B?", QuestionForm.DIFFERENCE),
        ("What was the percentage change in sales?", QuestionForm.CHANGE),
        ("What percentage of sales is exported?", QuestionForm.SHARE),
        ("Which team has the most points?", QuestionForm.EXTREME),
        ("In which year was revenue higher?", QuestionForm.WHEN),
        ("Who has more points, Anna or Lena?", QuestionForm.COMPARE),
        ("Who came after Anna?", QuestionForm.NEIGHBOUR),
        ("Did Anna win?", QuestionForm.YES_NO),
    ],
)
def test_the_form_is_recognised(text: str, form: QuestionForm) -> None:
    assert read_question(text).form is form


def test_the_focus_is_what_is_asked_for() -> None:
    assert read_question("How many gold medals did Norway win?").focus == {"gold", "medal"}
    assert read_question("Which team was first?").focus == {"team"}
    assert read_question("Who was it?").focus == frozenset()


@pytest.mark.parametrize(
    ("text", "sign", "number"),
    [
        ("more than 1,000 seats", ">", 1000),
        ("at least 5 wins", ">=", 5),
        ("fewer than 3", "<", 3),
        ("no more than 7", "<=", 7),
        ("after 2005", ">", 2005),
        ("before the year 1990", "<", 1990),
    ],
)
def test_thresholds_are_read(text: str, sign: str, number: int) -> None:
    (found,) = read_question(f"Which have {text}?").thresholds
    assert (found.sign, found.number) == (sign, number)
    assert found.holds(Decimal(number)) is ("=" in sign)


def test_after_a_small_number_is_no_threshold() -> None:
    assert read_question("Who came after 5?").thresholds == ()


def test_years_are_read_as_the_question_names_them() -> None:
    assert read_question("in 2019 and 2018").years == ("2019", "2018")
    assert read_question("for 2017-2019").years == ("2017", "2018", "2019")
    assert read_question("in FY19").years == ("2019",)
    assert read_question("2,018 items").years == ()


def test_directions_point_down_for_the_least_and_the_first() -> None:
    assert read_question("Which is the smallest?").direction == -1
    assert read_question("Which is the largest?").direction == 1
    assert read_question("Who was first?").direction == -1
    assert read_question("Who came before Anna?").direction == -1


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
