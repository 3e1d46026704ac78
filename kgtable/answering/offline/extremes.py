"""The most and the least, the first and the last: what stands in such a row, or in several of them."""

from __future__ import annotations

import re
from decimal import Decimal

from kgtable.answering.offline import english
from kgtable.answering.offline.commonest import commonest
from kgtable.answering.offline.finding import Finding, cell_ids, printed
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.measuring import named_size_column, order_column, ranked, size_column
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.words import stems

_NO_SIZES = frozenset({"person", "place"})
_PLACES = ("", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th")
_OF_THE_LIST = re.compile(
    r"\b(top|bottom|first|last|end)\b.*\b(?:of|in|on) the (?:list|table|chart)\b", re.IGNORECASE
)


def extreme(linking: Linking) -> Finding | None:
    """What stands in the row with the greatest or least number, or first or last in order."""
    question = linking.question
    measure = order_column(linking) if question.ordered else named_size_column(linking)
    rows, told = _rows(linking, measure)
    if not rows:
        return None
    placed = _OF_THE_LIST.search(question.text)
    if placed is not None:
        return _in_order(linking, rows if placed[1].lower() in ("bottom", "last", "end") else rows[:1])
    if measure is None and not question.ordered:
        found = commonest(linking, rows)
        measure = size_column(linking) if found is None else None
        if measure is None:
            return found
    if measure is None:
        return _in_order(linking, rows)
    return _extreme_of(linking, rows, measure, told)


def _rows(linking: Linking, measure: int | None) -> tuple[tuple[int, ...], frozenset[str]]:
    """The rows among which the extreme is looked for, and the words of conditions applied to them."""
    view, question = linking.view, linking.question
    named = linking.named_rows(frozenset([measure] if measure is not None else []))
    rows = view.ranked_rows if named is None or len(named) < 2 else named
    rows, applied = linking.conditioned(tuple(row for row in rows if row in view.plain_rows) or rows)
    return rows, question.threshold_words if applied else frozenset()


def _extreme_of(
    linking: Linking, rows: tuple[int, ...], measure: int, told: frozenset[str]
) -> Finding | None:
    view, question = linking.view, linking.question
    sized = ranked(linking, rows, measure)
    if len(sized) < max(question.place, question.first_several):
        return None
    upwards = (question.direction > 0) is not (not question.ordered and _counts_down(linking, measure))
    columns, surety = _columns(linking, measure)
    best = sized[-question.place] if upwards else sized[question.place - 1]
    if question.first_several > 1:
        chosen = sized[::-1][: question.first_several] if upwards else sized[: question.first_several]
        return _several(linking, tuple(row for _, row in chosen), columns, measure)
    texts = [view.text(best[1], column) for column in columns]
    text = "; ".join(filter(None, texts)) or view.text(best[1], view.label_column)
    cells = tuple(dict.fromkeys([*((best[1], column) for column in columns), (best[1], measure)]))
    calculation = None
    exact = all(view.number(row, measure) is not None for _, row in sized)
    if not question.ordered and question.place == 1 and exact:
        measured = tuple((row, measure) for _, row in sorted(sized, key=lambda item: item[1]))
        calculation = f"{'max' if upwards else 'min'}({cell_ids(view, measured)})"
        cells = tuple(dict.fromkeys([*cells, *measured]))
    ties = {tuple(view.text(row, column) for column in columns) for size, row in sized if size == best[0]}
    shared = sum(size == best[0] for size, _ in sized)
    doubts = [] if len(ties) == 1 else [f"{shared} rows share the extreme"]
    doubts += linking.threshold_doubts
    used = frozenset(stems(_PLACES[question.place - 1])) | told
    support = 1.0 + surety + 0.5 * (len(rows) < len(view.plain_rows))
    return Finding(text, cells, support, Form.EXTREME, calculation, used, doubts=tuple(doubts))


def _columns(linking: Linking, measure: int) -> tuple[tuple[int, ...], float]:
    """The columns of which the extreme row's cells are told, and how sure that is."""
    view, question = linking.view, linking.question
    if linking.asked_columns:
        return linking.asked_columns, 1.0
    if question.wants == "number" and not english.asked("how_many").search(question.text):
        return (measure,), 1.0
    column, surety = linking.answer_column()
    named = bool(view.headers[column] & question.focus) and question.wants not in _NO_SIZES
    if column == measure and question.wants != "number" and not named:
        column = view.label_column
    return (column,), surety


def _several(
    linking: Linking, rows: tuple[int, ...], columns: tuple[int, ...], measure: int
) -> Finding | None:
    """The first few of an extreme: their cells, or the sum of these where a number is asked for."""
    view = linking.view
    cells = tuple((row, column) for row in rows for column in columns if view.text(row, column))
    numbers = [view.number(*place) for place in cells]
    if linking.question.wants == "number" and len(columns) == 1 and None not in numbers:
        total = sum((number for number in numbers if number is not None), Decimal(0))
        return Finding(printed(view, total, cells), cells, 1.0, Form.SUM, f"sum({cell_ids(view, cells)})")
    text = "; ".join(dict.fromkeys(view.text(*place) for place in cells))
    cited = tuple(dict.fromkeys([*cells, *((row, measure) for row in rows)]))
    return Finding(text, cited, 1.0, Form.EXTREME, used=linking.question.several_words)


def _counts_down(linking: Linking, measure: int) -> bool:
    """Whether the most has the least number: the best of ranks, the oldest of dates."""
    ranks = not linking.view.headers[measure].isdisjoint(stems(english.section("words")["ranks"]))
    if ranks:
        return english.any_of("rated").search(linking.question.text) is not None
    born = linking.view.time_share(measure) > 0.6
    return born and english.any_of("aged").search(linking.question.text) is not None


def _in_order(linking: Linking, rows: tuple[int, ...]) -> Finding | None:
    """The first or last row, or the first or last few, as the table has them."""
    asked = linking.asked_columns
    columns, surety = (asked, 1.0) if asked else ((found := linking.answer_column())[:1], found[1])
    several = min(linking.question.first_several, len(rows))
    chosen = rows[-several:] if linking.question.direction > 0 else rows[:several]
    cells = tuple((row, column) for row in chosen for column in columns if linking.view.text(row, column))
    text = "; ".join(linking.view.text(*place) for place in cells)
    used = linking.question.several_words
    return Finding(text, cells, 0.5 + surety, Form.EXTREME, used=used) if text else None
