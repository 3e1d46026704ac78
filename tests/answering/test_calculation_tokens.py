from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.arithmetic import CalculationFault, read_tokens


def texts(expression: str) -> list[str]:
    return [text for _, text in read_tokens(expression)]


@pytest.mark.parametrize(
    ("expression", "tokens"),
    [
        ("1,200 × T1.r2.c3", ["1200", "*", "T1.r2.c3"]),
        ("($5 − 3) ÷ 2 * 100%", ["(", "5", "-", "3", ")", "/", "2", "*", "100"]),
        ("[T1.r2.c3] – .5", ["T1.r2.c3", "-", ".5"]),
        ("sum(1,200)", ["sum", "(", "1", ",", "200", ")"]),
        ("sum(1,200, 3)", ["sum", "(", "1200", ",", "3", ")"]),
        ("sum(1,2,3)", ["sum", "(", "1", ",", "2", ",", "3", ")"]),
        ("(1,200)", ["(", "1200", ")"]),
        ("max((1,200), 5)", ["max", "(", "(", "1200", ")", ",", "5", ")"]),
        ("2 ** 3 >= 1", ["2", "**", "3", ">=", "1"]),
        ("", []),
        ("  ", []),
    ],
)
def test_calculations_in_tokens(expression: str, tokens: list[str]) -> None:
    assert texts(expression) == tokens


def test_kinds_of_tokens() -> None:
    assert read_tokens("max(T1.r2.c3,7)") == [
        ("word", "max"), ("sign", "("), ("cell", "T1.r2.c3"), ("sign", ","), ("number", "7"), ("sign", ")"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "expression", ["1 & 2", "__import__('os')", "a.b", '"x"', "<script>!", "\u202e1", "1; @", "größe"]
)
def test_what_is_no_arithmetic_is_named(expression: str) -> None:
    with pytest.raises(CalculationFault, match="is not arithmetic"):
        read_tokens(expression)


@given(st.text("0123456789,. ()+-*/TrcsumaxéX<>=!;$%[]", max_size=40))
def test_any_text_is_read_or_refused_and_tokens_have_no_space(expression: str) -> None:
    try:
        found = read_tokens(expression)
    except CalculationFault:
        return
    assert all(kind in {"cell", "number", "word", "sign"} and text == text.strip() for kind, text in found)
    assert all("," not in text for kind, text in found if kind == "number")
