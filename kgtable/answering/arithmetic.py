"""A small reader of arithmetic that computes exactly: a stated calculation is checked with it, never run.

It knows cell ids, numbers, ``+ - * / ^ ( )``, `sum`, `average`, `min`, `max`, `count`, `abs`, and at
most one comparison. Nothing else is understood, and nothing is evaluated by Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from kgtable.answering.evidence import CELL_ID

_TOKEN = re.compile(
    rf"\s*(?:(?P<cell>{CELL_ID.pattern})|(?P<number>\d+(?:,\d+)*\.?\d*|\.\d+)|(?P<word>[A-Za-z]+)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/^(),<>;]))"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_NORMAL = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "[": " ", "]": " ", "%": " "})
_CURRENCY = re.compile(r"[$€£¥]")


class CalculationFault(ValueError):
    """A calculation that cannot be read or has no result; the text says why."""


def read_tokens(expression: str) -> list[tuple[str, str]]:
    """Kind (``cell``, ``number``, ``word``, ``sign``) and text of each token.

    Raises `CalculationFault` at the first text that is none.

    >>> read_tokens("1,200 × T1.r2.c3")
    [('number', '1200'), ('sign', '*'), ('cell', 'T1.r2.c3')]
    """
    text = _CURRENCY.sub("", expression.translate(_NORMAL)).strip()
    tokens: list[tuple[str, str]] = []
    position = 0
    spaced = ", " in text
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculationFault(f"{text[position : position + 20].strip()!r} is not arithmetic")
        kind = str(match.lastgroup)
        found = match.group(kind)
        position = match.end()
        if kind == "number" and "," in found:
            tokens.extend(_with_commas(found, in_call=not spaced and _inside_call(tokens)))
        else:
            tokens.append((kind, found))
    return tokens


def _with_commas(found: str, *, in_call: bool) -> list[tuple[str, str]]:
    """``1,234`` as one number; as several where the commas separate arguments."""
    if _THOUSANDS.fullmatch(found) and not in_call:
        return [("number", found.replace(",", ""))]
    return [("sign" if piece == "," else "number", piece) for piece in re.split(r"(,)", found) if piece]


def _inside_call(tokens: Sequence[tuple[str, str]]) -> bool:
    """Whether the innermost open bracket is a function's."""
    calls: list[bool] = []
    for place, (_, text) in enumerate(tokens):
        if text == "(":
            calls.append(place > 0 and tokens[place - 1][0] == "word")
        elif text == ")" and calls:
            calls.pop()
    return bool(calls) and calls[-1]


LONGEST = 200_000
DEEPEST = 40
MOST_BITS = 4_000
_POWERS = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_COMPARISONS: Mapping[str, Callable[[Fraction, Fraction], bool]] = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@dataclass(frozen=True, slots=True)
class Operand:
    """A number with its unit: a QUDT local name, or empty for a bare number."""

    number: Fraction
    unit: str = ""


class Operands(Protocol):
    """What the operands of a calculation stand for."""

    def cell(self, cell_id: str) -> Operand:
        """The number in a cell. Raises `CalculationFault` where it holds none."""
        ...

    def counted(self, cell_id: str) -> object:
        """Called with a cell that is only counted, and may hold text."""
        ...

    def literal(self, number: Decimal) -> Operand:
        """A number written out."""
        ...


def calculate(expression: str, operands: Operands) -> Operand | bool:
    """The exact result of `expression`: a number with its unit, or the truth of a comparison.

    Raises `CalculationFault` where it cannot be understood, divides by zero, or mixes units; what
    `operands` raise passes through.
    """
    if len(expression) > LONGEST:
        raise CalculationFault("it is too long")
    return _Reader(read_tokens(expression), operands).read()


class _Reader:
    """Recursive descent over the tokens: comparison, sum, product, power, atom."""

    def __init__(self, tokens: list[tuple[str, str]], operands: Operands) -> None:
        self._tokens = tokens
        self._operands = operands
        self._at = 0
        self._depth = 0

    def read(self) -> Operand | bool:
        found: Operand | bool
        found = left = self._sum()
        sign = self._peek()
        if sign in _COMPARISONS:
            self._at += 1
            right = self._sum()
            _same_unit(left, right)
            found = _COMPARISONS[sign](left.number, right.number)
        if self._at < len(self._tokens):
            raise CalculationFault(f"{self._peek()!r} is out of place")
        return found

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, sign: str) -> None:
        if self._peek() != sign:
            raise CalculationFault(f"{sign!r} is missing")
        self._at += 1

    def _sum(self) -> Operand:
        found = self._product()
        while (sign := self._peek()) in ("+", "-"):
            self._at += 1
            other = self._product()
            unit = _same_unit(found, other)
            found = Operand(found.number + other.number if sign == "+" else found.number - other.number, unit)
        return found

    def _product(self) -> Operand:
        found = self._power()
        while (sign := self._peek()) in ("*", "/"):
            self._at += 1
            other = self._power()
            if sign == "*":
                found = Operand(found.number * other.number, found.unit or other.unit)
            elif not other.number:
                raise CalculationFault("it divides by zero")
            else:
                unit = "" if found.unit == other.unit else found.unit
                found = Operand(found.number / other.number, unit)
        return found

    def _power(self) -> Operand:
        if self._peek() in ("-", "+"):
            sign = self._tokens[self._at][1]
            self._at += 1
            inner = self._nested(self._power)
            return Operand(-inner.number, inner.unit) if sign == "-" else inner
        found = self._atom()
        if self._peek() not in ("^", "**"):
            return found
        self._at += 1
        exponent = self._nested(self._power).number
        size = max(found.number.numerator.bit_length(), found.number.denominator.bit_length())
        undefined = exponent.denominator != 1 or (exponent < 0 and not found.number)
        if undefined or abs(exponent) * size > MOST_BITS:
            raise CalculationFault("it has an exponent that cannot be computed exactly")
        return Operand(found.number ** int(exponent), found.unit if exponent == 1 else "")

    def _nested(self, part: Callable[[], Operand]) -> Operand:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CalculationFault("it is nested too deeply")
        found = part()
        self._depth -= 1
        return found

    def _atom(self) -> Operand:
        if self._at >= len(self._tokens):
            raise CalculationFault("it breaks off")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "cell":
            return self._operands.cell(text)
        if kind == "number":
            power = _POWERS.get(self._peek().lower(), 0)
            self._at += power > 0
            return self._operands.literal(Decimal(text).scaleb(power))
        if kind == "word":
            return self._call(text.lower())
        if text == "(":
            found = self._nested(self._sum)
            self._take(")")
            return found
        raise CalculationFault(f"{text!r} is out of place")

    def _call(self, name: str) -> Operand:
        if name != "count" and name not in _FUNCTIONS:
            raise CalculationFault(f"{name!r} is not a known function")
        self._take("(")
        if name == "count":
            return self._count()
        terms = [self._nested(self._sum)]
        while self._peek() in (",", ";"):
            self._at += 1
            terms.append(self._nested(self._sum))
        self._take(")")
        unit = ""
        for term in terms:
            unit = _same_unit(Operand(Fraction(0), unit), term)
        return Operand(_FUNCTIONS[name]([term.number for term in terms]), unit)

    def _count(self) -> Operand:
        """The number of cells up to the closing bracket."""
        ids: list[str] = []
        while self._at < len(self._tokens) and self._peek() != ")":
            kind, text = self._tokens[self._at]
            self._at += 1
            if kind == "cell":
                ids.append(text)
                self._operands.counted(text)
            elif text not in (",", ";"):
                raise CalculationFault("only cells can be counted")
        self._take(")")
        if len(set(ids)) < len(ids):
            raise CalculationFault("it counts a cell twice")
        return Operand(Fraction(len(ids)))


def _mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


_FUNCTIONS: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "sum": lambda numbers: sum(numbers, Fraction(0)),
    "average": _mean,
    "avg": _mean,
    "mean": _mean,
    "min": min,
    "max": max,
    "abs": lambda numbers: abs(numbers[0]),
}


def _same_unit(one: Operand, other: Operand) -> str:
    """The unit that two terms share, where a bare number takes the other's."""
    if one.unit and other.unit and one.unit != other.unit:
        raise CalculationFault(f"it mixes {one.unit} with {other.unit}")
    return one.unit or other.unit
