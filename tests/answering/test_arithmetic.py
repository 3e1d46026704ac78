from __future__ import annotations

import contextlib
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.arithmetic import CalculationFault, Operand, read_tokens
from kgtable.answering.arithmetic import calculate as calculate_with

CELLS = {"T1.r1.c1": Operand(Fraction(1200), "CCY_EUR"), "T1.r2.c1": Operand(Fraction(300), "CCY_EUR")}


class Cells:
    """Every cell that is not in `CELLS` holds a bare five."""

    def __init__(self, more: dict[str, Operand] | None = None) -> None:
        self.cells = CELLS | (more or {})
        self.count: list[str] = []

    def cell(self, cell_id: str) -> Operand:
        return self.cells.get(cell_id, Operand(Fraction(5)))

    def counted(self, cell_id: str) -> None:
        self.count.append(cell_id)

    def literal(self, number: Decimal) -> Operand:
        return Operand(Fraction(number))


def calculate(expression: str, **more: Operand) -> Operand | bool:
    return calculate_with(expression, Cells(more))


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return str(draw(st.integers(0, 99)))
    sign = draw(st.sampled_from("+-*"))
    left, right = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    return f"({left} {sign} {right})"


@given(expressions())
def test_results_are_those_of_exact_arithmetic(expression: str) -> None:
    expected = eval(expression)
    assert calculate(expression) == Operand(Fraction(expected))


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1,234 - 34", 1200),
        ("sum(1,2,3)", 6),
        ("sum(1,234, 5)", 1239),
        ("average(1; 2; 4)", Fraction(7, 3)),
        ("2^10 + 2**-1", Fraction(2049, 2)),
        ("-2 * -(3 - 5)", -4),
        ("$1.2 million / 4", 300_000),
        ("10 ÷ 4 × 2 − 1", 4),
        ("count(T1.r1.c1, T1.r2.c1)", 2),
        ("(T1.r1.c1 - T1.r2.c1) / T1.r2.c1 * 100", 300),
        ("[T9.r1.c1] + 12.5%", Fraction(35, 2)),
        ("0.1 + 0.2", Fraction(3, 10)),
    ],
)
def test_forms_that_models_write(expression: str, result: Fraction) -> None:
    found = calculate(expression)
    assert isinstance(found, Operand)
    assert found.number == result


@pytest.mark.parametrize(
    ("expression", "unit"),
    [
        ("T1.r1.c1 + T1.r2.c1", "CCY_EUR"),
        ("T1.r1.c1 / T1.r2.c1", ""),
        ("T1.r1.c1 / 2", "CCY_EUR"),
        ("max(T1.r1.c1, T1.r2.c1)", "CCY_EUR"),
        ("count(T1.r1.c1)", ""),
    ],
)
def test_units_are_carried_along(expression: str, unit: str) -> None:
    found = calculate(expression)
    assert isinstance(found, Operand)
    assert found.unit == unit


def test_cells_that_are_counted_may_hold_text() -> None:
    cells = Cells()
    assert calculate_with("count(T3.r1.c0, T3.r2.c0)", cells) == Operand(Fraction(2))
    assert cells.count == ["T3.r1.c0", "T3.r2.c0"]


def test_a_comparison_is_true_or_false() -> None:
    assert calculate("T1.r1.c1 > T1.r2.c1") is True
    assert calculate("1 >= 2") is False


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("", "breaks off"),
        ("1 +", "breaks off"),
        ("1 / (2 - 2)", "divides by zero"),
        ("(1 + 2", r"'\)' is missing"),
        ("1 2", "out of place"),
        ("__import__('os')", "not arithmetic"),
        ("open(1)", "not a known function"),
        ("lambda: 1", "not arithmetic"),
        ("9^99999999", "exponent"),
        ("((((9^64)^64)^64)^64)^64", "exponent"),
        ("4^0.5", "exponent"),
        ("0^-1", "exponent"),
        ("(" * 60 + "1" + ")" * 60, "nested too deeply"),
        ("1+" * 200_000, "too long"),
        ("T1.r1.c1 + T2.r1.c1", "mixes CCY_EUR with CCY_USD"),
    ],
)
def test_what_is_no_arithmetic_is_refused(expression: str, says: str) -> None:
    with pytest.raises(CalculationFault, match=says):
        calculate(expression, **{"T2.r1.c1": Operand(Fraction(1), "CCY_USD")})


@given(st.text(alphabet="0123456789+-*/^().,<>=; sumaxT.rc", max_size=60))
def test_any_text_gives_a_number_or_a_fault(text: str) -> None:
    with contextlib.suppress(CalculationFault):
        assert calculate(text) is not None


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
