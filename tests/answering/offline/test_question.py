from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.offline.question import QuestionForm, read_question


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
