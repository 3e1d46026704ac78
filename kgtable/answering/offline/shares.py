"""Shares and ratios: one number that the question names in percent of another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, localcontext

from kgtable.answering.offline.finding import Finding, cell_id
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookup import year_columns
from kgtable.answering.offline.measuring import sums_the_others
from kgtable.answering.offline.pairs import number_column, percent, percentages
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import stems
from kgtable.tables.model import Position

_OPENING = re.compile(
    r"^.*?\b(?:percent\w*|%|portion|share|proportion|fraction|ratio)\s+(?:of|does|do|did)\b", re.IGNORECASE
)
_RATIO = re.compile(r"\bratio\b", re.IGNORECASE)
_PART_BEFORE = re.compile(
    r"\b(?:(?:as|in) an? (?:\w+ )?|(?:is|was|are|were|represents?|represented) what )"
    r"(?:percent\w*|%|portion|share|proportion|fraction) of\b",
    re.IGNORECASE,
)
_IN_A_TOTAL = re.compile(
    r"\b(?:in|over|out of|within)\s+(?:the\s+)?((?:\w+\s+){0,2}total\b.*|(?!FY|F?\d)\S+(?:\s+in\s+\S+)?)$",
    re.IGNORECASE,
)
_FEWEST_SUMMED = 4


def share_of_columns(linking: Linking) -> Finding | None:
    """One row's number in percent of that under another year, or of that in a column of totals."""
    view, scores = linking.view, linking.column_scores()
    dated = year_columns(linking)
    if len(dated) == 2 and _RATIO.search(linking.question.text):
        part, whole = sorted(dated, key=lambda column: linking.question.years.index(dated[column]))
    else:
        numeric = [
            column for column in view.columns if scores[column] > 0 and view.numeric_share(column) > 0.5
        ]
        totals = [column for column in numeric if view.is_total(column)]
        totals = totals if len(totals) == 1 else _summing(linking)
        parts = [column for column in numeric if column not in totals]
        if len(totals) != 1 or not parts:
            return None
        part, whole = max(parts, key=lambda column: scores[column]), totals[0]
    numbered = (row for row in view.rows if None not in (view.number(row, part), view.number(row, whole)))
    best = linking.best_row(tuple(numbered))
    return None if best is None else _share(linking, (best[0], part), (best[0], whole), best[1])


def _summing(linking: Linking) -> list[int]:
    """The column that in the best row is about the sum of its other numbers: an unnamed total."""
    view, best = linking.view, linking.best_row()
    if best is None:
        return []
    numbers = {c: found for c in view.columns if (found := view.number(best[0], c)) is not None}
    total = sum(numbers.values(), Decimal(0))
    if len(numbers) < _FEWEST_SUMMED:
        return []
    nearest = min(numbers, key=lambda column: (abs(total - 2 * numbers[column]), column))
    return [nearest] if sums_the_others(numbers, nearest) else []


def share_of_rows(linking: Linking) -> Finding | None:
    """One row's number in percent of another's, both in the column that the question names."""
    view, column = linking.view, number_column(linking)
    if column is None:
        return None
    pairs = [
        (one[1] + other[1], one[0], other[0])
        for first, second in _parts_and_wholes(linking.question.text)
        if (one := _row_for(linking, first)) and (other := _row_for(linking, second)) and one[0] != other[0]
    ]
    if not pairs:
        return None
    _, part, whole = max(pairs)
    total = frozenset(stems("total"))
    text = linking.question.text
    if (total & view.label_words(part) - view.label_words(whole) and not _RATIO.search(text)) or (
        not _RATIO.search(text) and not _PART_BEFORE.search(text) and _exceeds(view, part, whole, column)
    ):
        part, whole = whole, part
    return _share(linking, (part, column), (whole, column), 1.0)


def _exceeds(view: TableView, part: int, whole: int, column: int) -> bool:
    """Whether the part would be more than its whole: then the two were taken for one another."""
    one, other = view.number(part, column), view.number(whole, column)
    return one is not None and other is not None and abs(one) > abs(other) > 0


def _parts_and_wholes(text: str) -> Iterator[tuple[str, str]]:
    """The words that may name a part, with those that may name its whole."""
    split = _PART_BEFORE.search(text)
    if split is not None:
        yield text[: split.start()], text[split.end() :]
        return
    bare = _OPENING.sub("", text).strip(" ?")
    inside = _IN_A_TOTAL.search(bare)
    if inside is not None and not _RATIO.search(text):
        yield bare[: inside.start()], inside[1]
    words = bare.split()
    for at in range(1, len(words)):
        first, second = " ".join(words[:at]), " ".join(words[at:])
        yield (first, second) if _RATIO.search(text) else (second, first)


def _share(linking: Linking, part: Position, whole: Position, support: float) -> Finding | None:
    view = linking.view
    top, bottom = view.number(*part), view.number(*whole)
    if top is None or not bottom or percentages(view, part) is not percentages(view, whole):
        return None
    quotient = f"{cell_id(view, *part)} / {cell_id(view, *whole)}"
    if _RATIO.search(linking.question.text):
        return Finding(_ratio(top / bottom), (part, whole), support, Form.SHARE, quotient)
    ratio = top / bottom
    if ratio < 0:
        # costs stand in brackets: what share of a whole they are is told without their sign
        ratio, quotient = -ratio, f"abs({quotient})"
    return Finding(percent(ratio), (part, whole), support, Form.SHARE, f"{quotient} * 100")


def _ratio(ratio: Decimal) -> str:
    with localcontext() as context:
        context.prec = 28
        rounded = ratio.quantize(Decimal("0.0001"))
    return f"{rounded.normalize():f}"


def _row_for(linking: Linking, text: str) -> tuple[int, float] | None:
    """The row whose label the text names best, and how well; None where it names none."""
    view = linking.view
    asked = frozenset(stems(text))
    best: tuple[int, float] | None = None
    for row in view.rows:
        label = view.label_words(row)
        met = sum(view.row_weights.get(word, 0.0) for word in label & asked)
        lost = sum(view.row_weights.get(word, 0.0) for word in label - asked)
        if met - lost / 2 > (best[1] if best else 0.0):
            best = row, met - lost / 2
    return best
