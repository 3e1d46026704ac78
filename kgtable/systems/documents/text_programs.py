"""Programs over quantities of a text: the change, the mean or the sum of what a sentence says of several years."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from kgtable.errors import EvaluationError, ProgramError
from kgtable.programs.algebra import Arithmetic, Constant, Expression, Operator, Program, ValueKind
from kgtable.programs.executor import run
from kgtable.programs.scalars import Datum
from kgtable.retrieval.result import ScoredPassage
from kgtable.systems.documents.asked_kinds import YEARS
from kgtable.systems.documents.extraction import AskedText, PassageSentence
from kgtable.text.text_quantities import TextQuantity, find_quantities

_PERCENT_CHANGE = re.compile(
    r"(?:\bpercent\w*|%) (?:change|increase|decrease|growth|decline)|\b(?:growth|change) rate", re.IGNORECASE
)
_CHANGE = re.compile(r"\b(?:change|difference|increase|decrease|growth|decline)\b", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)
_SUM = re.compile(r"\b(?:total|sum|combined|together)\b", re.IGNORECASE)
SENTENCES = 3
"""Of the sentences that fit best, those that are looked at."""


@dataclass(frozen=True, slots=True)
class TextComputation:
    """What a program makes of the quantities of one sentence, one for each year of the question."""

    program: Program
    value: Datum
    words: str
    sentence: PassageSentence
    quantities: tuple[TextQuantity, ...]


def compute_from_text(question: str, passages: Sequence[ScoredPassage]) -> TextComputation | None:
    """The number that a question asks to compute over at least two years that it names; None without one.

    A sentence must say exactly one quantity of one unit for each of the years.

    >>> text = "Revenue was $3 million and $2 million in 2019 and 2018, respectively."
    >>> passage = ScoredPassage("", "d", "a.md", None, (), "", text, 1.0)
    >>> found = compute_from_text("What was the change in revenue between 2018 and 2019?", [passage])
    >>> found.words, f"{found.value.number:f}", found.value.unit
    ('“$3 million” (2019) minus “$2 million” (2018)', '1000000', 'CCY_USD')
    """
    years = sorted(set(YEARS.findall(question)))
    if len(years) < 2:
        return None
    asked = AskedText(question, passages)
    for sentence in sorted(asked.sentences(), key=lambda found: -found.fit)[:SENTENCES]:
        quantities = _of_years(sentence.text, years)
        if quantities is None:
            continue
        made = _program(question, quantities, years)
        if made is None:
            return None
        try:
            value = run(Program(made[0]), {}).value
        except (ProgramError, EvaluationError):
            return None
        if value is None or value.number is None:
            return None
        return TextComputation(Program(made[0]), value, made[1], sentence, quantities)
    return None


def _of_years(text: str, years: Sequence[str]) -> tuple[TextQuantity, ...] | None:
    """The quantities of the first unit of which the text says exactly one for each year."""
    said = find_quantities(text)
    for unit in dict.fromkeys(quantity.unit for quantity in said):
        each = [
            [quantity for quantity in said if quantity.unit == unit and year in (quantity.period or "")]
            for year in years
        ]
        if all(len(found) == 1 for found in each):
            return tuple(found[0] for found in each)
    return None


def _program(
    question: str, quantities: Sequence[TextQuantity], years: Sequence[str]
) -> tuple[Expression, str] | None:
    """The program that the question's words ask for, and how it is said."""
    numbers: list[Expression] = [Constant(q.value, ValueKind.QUANTITY, q.unit) for q in quantities]
    named = [f"“{q.text}” ({year})" for q, year in zip(quantities, years, strict=True)]
    if len(numbers) == 2 and _PERCENT_CHANGE.search(question):
        words = f"percent change from {named[0]} to {named[1]}"
        return Arithmetic(Operator.PERCENT_CHANGE, numbers[0], numbers[1]), words
    if len(numbers) == 2 and _CHANGE.search(question):
        return Arithmetic(Operator.SUBTRACT, numbers[1], numbers[0]), f"{named[1]} minus {named[0]}"
    whole = numbers[0]
    for number in numbers[1:]:
        whole = Arithmetic(Operator.ADD, whole, number)
    if _MEAN.search(question):
        count = Constant(Decimal(len(numbers)), ValueKind.QUANTITY)
        return Arithmetic(Operator.DIVIDE, whole, count), f"mean of {' and '.join(named)}"
    if _SUM.search(question):
        return whole, f"sum of {' and '.join(named)}"
    return None
