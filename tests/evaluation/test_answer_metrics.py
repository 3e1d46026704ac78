from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.evaluation.scoring import contained, exact_match, normalized, numbers_match, token_f1


@pytest.mark.parametrize(
    ("answers", "gold", "same"),
    [
        (["2004"], ["2004"], True),
        (["2004"], ["2,004"], True),  # of the gold, the evaluator knows the number
        (["2,004"], ["2004"], False),  # of an answer, it reads what Python reads as a number
        (["2,004"], ["2,004"], True),
        (["1e3"], ["1000"], True),
        (["5.0 (a)"], ["5"], False),
        (["5 (a)"], ["5"], True),
        (["f(x)"], ["f"], False),
        (["so."], ["so"], True),
        (["so.."], ["so"], False),
        (["nan"], ["NaN"], True),
        (["xx-01-02"], ["1990-01-02"], False),
        (["2001-xx-xx"], ["2001"], True),
        (["2001-13-01"], ["2001-13-1"], False),
        (["2", "2.0"], ["2"], True),
        (["2004.0"], ["2004"], True),
        (["Café de Flore"], ["cafe de flore"], True),
        (['"Heroes"'], ["Heroes"], True),
        (["Heroes (song)"], ["heroes"], True),
        (["Heroes[2]"], ["Heroes"], True),
        (["(song)"], ["(song)"], True),
        (["1–2"], ["1-2"], True),
        (["2001-02-03"], ["2001-2-3"], True),
        (["a", "b"], ["b", "a"], True),
        (["a", "a"], ["a"], True),
        (["a"], ["a", "b"], False),
        (["a", "b"], ["a"], False),
        (["20"], ["2"], False),
        (["about 5"], ["5"], False),
        ([], [], False),
        ([""], ["x"], False),
    ],
)
def test_exact_match(answers: list[str], gold: list[str], same: bool) -> None:
    assert exact_match(answers, gold) is same


@pytest.mark.parametrize(
    ("answer", "gold", "scale", "same"),
    [
        ("$1,496.5", "1496.5", "", True), ("1,496.5 million", "1496.5", "million", True),
        ("1496500000", "1496.5", "million", True), ("1496500", "1496.5", "million", False),
        ("12.5%", "0.125", "", True), ("12.5%", "12.5", "percent", True), ("12.5", "0.125", "", False),
        ("127.4", "127.40", "", True), ("33.3%", "0.33333", "", True), ("30%", "0.33333", "", False),
        ("(5.2)", "-5.2", "", True), ("5.2", "-5.2", "", False), ("yes", "1", "", False),
    ],
)  # fmt: skip
def test_numbers_match(answer: str, gold: str, scale: str, same: bool) -> None:
    assert numbers_match(answer, gold, scale) is same


def test_containment_asks_for_whole_words() -> None:
    assert contained("The answer is New York, in 2004.", ["new york", "2004"])
    assert not contained("It was 12004.", ["2004"])
    assert not contained("anything", [])


def test_token_f1() -> None:
    assert token_f1("The United States of America", ["united states"]) == pytest.approx(2 / 3)
    assert token_f1("x", ["y"]) == 0.0


@given(st.text(max_size=60))
def test_normal_form_is_stable_and_never_fails(text: str) -> None:
    assert exact_match([text], [text]) or not [text]
    assert normalized(normalized(text)) == normalized(normalized(normalized(text)))
