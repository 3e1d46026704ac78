"""Figures of many numbers, by the words that ask for them: several of them for one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from kgtable.answering.offline.finding import Finding, printed
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.question import Form
from kgtable.tables.model import Position


def _mean(numbers: Sequence[Decimal]) -> Decimal:
    return sum(numbers, Decimal(0)) / len(numbers)


def _sum(numbers: Sequence[Decimal]) -> Decimal:
    return sum(numbers, Decimal(0))


FIGURES: Mapping[str, Callable[[Sequence[Decimal]], Decimal]] = {
    "averag": _mean,
    "mean": _mean,
    "maximum": max,
    "max": max,
    "highest": max,
    "largest": max,
    "minimum": min,
    "min": min,
    "lowest": min,
    "smallest": min,
    "total": _sum,
    "sum": _sum,
}
"""What is computed of numbers, by the stem of the word that asks for it."""


def figures(linking: Linking) -> Finding | None:
    """The average, minimum and maximum age: two or more figures, each of the column named next after it."""
    view, words = linking.view, linking.question.words
    numeric = [column for column in view.columns if view.numeric_share(column) > 0.6]
    asked = [at for at, word in enumerate(words) if word in FIGURES]
    if len({words[at] for at in asked}) < 2:
        return None
    rows, support = linking.meant_rows()
    parts: list[str] = []
    cells: list[Position] = []
    for at in asked:
        after = (column for word in words[at + 1 :] for column in numeric if word in view.headers[column])
        column = next(after, None)
        if column is None:
            return None
        places, numbers = view.numbers(rows, column)
        if not numbers:
            return None
        figure = FIGURES[words[at]]
        if figure in (max, min):
            parts.append(view.text(*places[numbers.index(figure(numbers))]))
        else:
            parts.append(printed(view, figure(numbers), places))
        cells += places
    used = linking.question.threshold_words | (linking.negated_words if linking.question.negated else set())
    cited = tuple(dict.fromkeys(cells))
    return Finding("; ".join(parts), cited, support + 1.0, Form.GROUPS, used=frozenset(used))
