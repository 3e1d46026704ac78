"""Questions that are answered yes or no: a comparison of two numbers, or what one row says."""

from __future__ import annotations

import re
from decimal import Decimal

from kgtable.answering.offline import english
from kgtable.answering.offline.finding import Finding, cell_id
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookup import look_up
from kgtable.answering.offline.pairs import two_columns, two_rows
from kgtable.answering.offline.question import Form
from kgtable.tables.model import Position


def more_than_another(linking: Linking) -> Finding | None:
    """Does one of two named things have more (or less) than the other."""
    question = linking.question
    words = english.asked("more_or_less").search(question.text)
    named = two_rows(linking) if words and re.search(r"\bthan\b", question.text, re.IGNORECASE) else None
    if words is None or named is None:
        return None
    first, second = named
    return _compared(linking, first, second, ">" if words["more"] else "<")


def risen_or_fallen(linking: Linking) -> Finding | None:
    """Did something increase (or decrease) between two periods."""
    words = english.asked("rise_or_fall").search(linking.question.text)
    pair = two_columns(linking) if words else None
    if words is None or pair is None:
        return None
    (old, new), _ = pair
    return _compared(linking, new, old, ">" if words["rise"] else "<")


def beyond_a_number(linking: Linking) -> Finding | None:
    """Is a number that the question names more (or less) than one it gives."""
    thresholds = linking.question.size_thresholds
    found = look_up(linking.without_thresholds()) if len(thresholds) == 1 else None
    if found is None or len(found.cells) != 1:
        return None
    number = linking.view.number(*found.cells[0])
    if number is None:
        return None
    (threshold,) = thresholds
    holds = threshold.holds(number)
    calculation = f"{cell_id(linking.view, *found.cells[0])} {threshold.sign} {threshold.number:f}"
    return Finding(_said(holds), found.cells, 2.0, Form.YES_NO, calculation, linking.question.threshold_words)


def cell_says(linking: Linking) -> Finding | None:
    """A cell of yes or no in the row and column that are named."""
    found = look_up(linking)
    if found is None or len(found.cells) != 1:
        return None
    truth = linking.view.truth(*found.cells[0])
    if truth is None:
        return None
    return Finding(found.text, found.cells, found.support, Form.LOOKUP)


def row_holds(linking: Linking) -> Finding | None:
    """Whether one row holds everything that the question names."""
    spans = {(mention.start, mention.end) for mention in linking.mentions}
    if len(spans) < 2:
        return None
    together: dict[int, set[tuple[int, int]]] = {}
    for mention in linking.mentions:
        for row in mention.rows:
            together.setdefault(row, set()).add((mention.start, mention.end))
    row = max(sorted(together), key=lambda found: len(together[found]))
    cells = tuple((row, mention.column) for mention in linking.mentions if row in mention.rows)
    said = "yes" if len(together[row]) == len(spans) else "no"
    return Finding(said, tuple(dict.fromkeys(cells)), float(len(together[row])), Form.YES_NO)


def _compared(linking: Linking, one: Position, other: Position, sign: str) -> Finding | None:
    view = linking.view
    first, second = view.number(*one), view.number(*other)
    if first is None or second is None:
        return None
    holds = _holds(first, second, sign)
    calculation = f"{cell_id(view, *one)} {sign} {cell_id(view, *other)}"
    return Finding(_said(holds), (one, other), 2.0, Form.YES_NO, calculation)


def _holds(first: Decimal, second: Decimal, sign: str) -> bool:
    return first > second if sign == ">" else first < second


def _said(holds: bool) -> str:
    return "yes" if holds else "no"
