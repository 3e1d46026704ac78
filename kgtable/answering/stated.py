"""Numbers as an answer states them, and whether they are those of a cell or a calculation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

_NUMBER = re.compile(
    r"(?<![\w.,])(?P<open>\()?(?P<sign>[-+−–])?\s?(?:[$€£¥]\s?)?(?P<digits>\d+(?:,\d+)*(?:\.\d+)?|\.\d+)(?(open)\))"
    r"(?:\s?(?P<percent>%|percent\b|per cent\b)"
    r"|[\s-]?(?P<scale>thousand|million|billion|trillion|bn|mn?|tn|k)s?\b)?",
    re.IGNORECASE,
)
_SCALES = {
    "thousand": 3, "k": 3, "million": 6, "m": 6, "mn": 6, "billion": 9, "bn": 9, "trillion": 12, "tn": 12,
}  # fmt: skip
_FALLING = re.compile(
    r"\b(?:decreas|declin|fell|fall|drop|lower|less|fewer|loss|reduc|negative|down|differ|chang|between)",
    re.IGNORECASE,
)
_ROUNDING = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Stated:
    """A number in an answer: its text, its value as printed, and the smallest step of its digits.

    `power` is the power of ten it names, which a lone letter (`doubtful`) may not mean: 5 m are five
    metres or five million. A number in brackets (`bracketed`) is negative, or an aside.
    """

    text: str
    value: Fraction
    step: Fraction
    power: int | None = None
    percent: bool = False
    doubtful: bool = False
    bracketed: bool = False


def stated_numbers(text: str) -> Iterator[Stated]:
    """The numbers in a text; digits inside words, such as A380, are none.

    >>> [(n.text, n.power) for n in stated_numbers("A380: $1.5 million, (3) and 12%")]
    [('$1.5 million', 6), ('(3)', None), ('12%', None)]
    """
    for match in _NUMBER.finditer(text):
        after = text[match.end() : match.end() + 1]
        if after.isalpha() or (after == "." and text[match.end() + 1 : match.end() + 2].isdigit()):
            continue
        digits = match["digits"].replace(",", "")
        negative = match["sign"] in ("-", "−", "–") or bool(match["open"])
        value = Fraction(Decimal(digits))
        decimals = len(digits.partition(".")[2])
        scale = (match["scale"] or "").lower()
        yield Stated(
            match.group().strip(),
            -value if negative else value,
            Fraction(1, 10**decimals),
            _SCALES.get(scale),
            bool(match["percent"]),
            scale in ("k", "m"),
            bool(match["open"]),
        )


def speaks_of_falling(text: str) -> bool:
    """Whether a text words a fall or a difference, so that a number in it may go without its sign."""
    return _FALLING.search(text) is not None


def agrees(stated: Stated, actual: Fraction, *, power: int, unsigned: bool) -> bool:
    """Whether `stated` is `actual` as a person would write it, rounded to the digits it has.

    `actual` has its scale applied; `power` is the scale it is printed with, which may be left out in
    the answer. A fraction may be stated in percent. `unsigned`: the sign may be put in words.
    """
    factors = [] if stated.power is None else [Fraction(10**stated.power)]
    if stated.power is None or stated.doubtful:
        factors += [Fraction(1), Fraction(10**power)]
    if stated.percent:
        factors = [Fraction(1), Fraction(1, 100)]
    return any(
        _close(stated.value * factor, target, stated.step * factor)
        for factor in dict.fromkeys(factors)
        for target in ((actual, -actual) if unsigned or stated.bracketed else (actual,))
    )


def _close(stated: Fraction, actual: Fraction, step: Fraction) -> bool:
    """Equal up to rounding to `step`, where rounding leaves most of the number."""
    gap = abs(stated - actual)
    return gap == 0 or (2 * gap <= step and gap <= _ROUNDING * abs(actual))
