"""The most and the least, the first and the last, and which of two is more."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal

from kgtable.answering.offline import english
from kgtable.answering.offline.finding import Finding, cell_id, cell_ids
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.pairs import two_rows
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.words import stems

_PLACES = ("", "second 2nd", "third 3rd", "fourth 4th", "fifth 5th")
_OF_THE_LIST = re.compile(
    r"\b(top|bottom|first|last|end)\b.*\b(?:of|in|on) the (?:list|table|chart)\b", re.IGNORECASE
)
_MORE_OR_LESS = re.compile(r"\b(more|higher|greater|larger) or (less|fewer|lower|smaller)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def extreme(linking: Linking) -> Finding | None:
    """What stands in the row with the greatest or least number, or first or last in order."""
    view, question = linking.view, linking.question
    measure = _order_column(linking) if question.ordered else _size_column(linking)
    taken = frozenset([measure] if measure is not None else [])
    named = linking.named_rows(taken)
    rows = view.plain_rows if named is None or len(named) < 2 else named
    rows, applied = linking.conditioned(tuple(row for row in rows if row in view.plain_rows) or rows)
    if not rows:
        return None
    placed = _OF_THE_LIST.search(question.text)
    if placed is not None:
        return _in_order(linking, rows if placed[1].lower() in ("bottom", "last", "end") else rows[:1])
    if measure is None:
        return _in_order(linking, rows) if question.ordered else _commonest(linking, rows)
    ranked = _ranked(linking, rows, measure)
    if len(ranked) < question.place:
        return None
    upwards = (question.direction > 0) is not (not question.ordered and _counts_down(linking, measure))
    best = ranked[-question.place] if upwards else ranked[question.place - 1]
    ties = [row for value, row in ranked if value == best[0]]
    column, surety = linking.answer_column()
    if column == measure and question.wants != "number" and not (view.headers[column] & question.focus):
        column = view.label_column
    text = view.text(best[1], column) or view.text(best[1], view.label_column)
    cells = tuple(dict.fromkeys([(best[1], column), (best[1], measure)]))
    calculation = None
    exact = all(view.number(row, measure) is not None for _, row in ranked)
    if not question.ordered and question.place == 1 and exact:
        name = "max" if upwards else "min"
        measured = tuple((row, measure) for _, row in sorted(ranked, key=lambda item: item[1]))
        calculation = f"{name}({cell_ids(view, measured)})"
        cells = tuple(dict.fromkeys([*cells, *measured]))
    used = (
        frozenset(stems(_PLACES[question.place - 1])) | question.threshold_words
        if applied
        else frozenset(stems(_PLACES[question.place - 1]))
    )
    doubts = (
        () if len({view.text(row, column) for row in ties}) == 1 else (f"{len(ties)} rows share the extreme",)
    )
    support = 1.0 + surety + (0.5 if named else 0.0)
    return Finding(text, cells, support, Form.EXTREME, calculation, used, doubts=doubts)


def _counts_down(linking: Linking, measure: int) -> bool:
    """Whether the best has the least number, as with ranks, and the question asks for the best or highest."""
    ranks = not linking.view.headers[measure].isdisjoint(stems(english.section("words")["ranks"]))
    return ranks and english.any_of("rated").search(linking.question.text) is not None


def when(linking: Linking) -> Finding | None:
    """In which year was it larger: the header of the column in which a row's number is greatest or least."""
    view = linking.view
    best = linking.best_row()
    if best is None:
        return None
    row = best[0]
    years = {
        column: found for column in view.columns if (found := _YEAR.findall(view.table.columns[column].name))
    }
    ranked = sorted((number, column) for column in years if (number := view.number(row, column)) is not None)
    if len(ranked) < 2:
        return None
    thresholds = [threshold for threshold in linking.question.thresholds if not threshold.years]
    if thresholds:
        met = [column for number, column in ranked if all(one.holds(number) for one in thresholds)]
        text = "; ".join(years[column][-1] for column in sorted(met))
        cells = tuple((row, column) for column in sorted(met))
        return Finding(text, cells, best[1] + 1.0, Form.WHEN, used=linking.question.threshold_words)
    least = english.any_of("smaller", "least").search(linking.question.text)
    chosen = ranked[0] if least else ranked[-1]
    cells = tuple((row, column) for _, column in sorted(ranked, key=lambda item: item[1]))
    calculation = f"{'min' if least else 'max'}({cell_ids(view, cells)})"
    ordered = ((row, chosen[1]), *(place for place in cells if place[1] != chosen[1]))
    return Finding(years[chosen[1]][-1], ordered, best[1] + 1.0, Form.WHEN, calculation)


def compare(linking: Linking) -> Finding | None:
    """Which of two named things has more, or came first."""
    view, question = linking.view, linking.question
    tail = question.text.rstrip("?. ")
    either = _MORE_OR_LESS.search(tail)
    if either is not None:
        return _more_or_less(linking, either[1].lower(), either[2].lower())
    match = re.search(r"(.*?)\bor\b(?!.*\bor\b)(.*)$", tail, re.IGNORECASE)
    if match is None:
        return None
    split = len(stems(match[1]))
    left = [m for m in linking.mentions if m.end <= split]
    right = [m for m in linking.mentions if m.start >= split]
    pairs = [(a, b) for a in left for b in right if a.column == b.column and a.rows != b.rows]
    if not pairs:
        return None
    one, other = max(pairs, key=lambda pair: (pair[0].start, pair[0].end - pair[0].start))
    direction = -1 if english.any_of("earlier").search(tail) else 1
    timed = english.any_of("timed").search(tail)
    measure = _order_column(linking) if timed else _size_column(linking, exclude=one.column)
    sides = []
    for mention in (one, other):
        values = [
            value for row in sorted(mention.rows) if (value := _value(linking, row, measure)) is not None
        ]
        if measure is None and not timed:
            sides.append((Decimal(len(mention.rows)), mention))
        elif values:
            sides.append((max(values) if direction > 0 else min(values), mention))
    if len(sides) < 2 or sides[0][0] == sides[1][0]:
        return None
    chosen = max(sides, key=lambda side: side[0] * direction)[1]
    cells = [(min(m.rows), m.column) for m in (chosen, one if chosen is other else other)]
    calculation = None
    if measure is not None:
        measured = tuple((min(m.rows), measure) for m in (one, other))
        cells += measured
        if all(len(m.rows) == 1 and view.number(min(m.rows), measure) is not None for m in (one, other)):
            calculation = f"{'max' if direction > 0 else 'min'}({cell_ids(view, measured)})"
    text = view.text(min(chosen.rows), chosen.column)
    return Finding(text, tuple(dict.fromkeys(cells)), 2.0, Form.COMPARE, calculation)


def _more_or_less(linking: Linking, more: str, less: str) -> Finding | None:
    """Whether the row that is named first has more or less than the second."""
    named = two_rows(linking)
    if named is None:
        return None
    one, other = (linking.view.number(*place) for place in named)
    if one is None or other is None or one == other:
        return None
    ids = [cell_id(linking.view, *place) for place in named]
    said, sign = (more, ">") if one > other else (less, "<")
    return Finding(
        said, named, 2.0, Form.COMPARE, f"{ids[0]} {sign} {ids[1]}", frozenset(stems(f"{more} {less}"))
    )


def _value(linking: Linking, row: int, measure: int | None) -> Decimal | None:
    if measure is None:
        return Decimal(row)
    time = linking.view.time(row, measure)
    if time is not None:
        digits = re.sub(r"\D", "", time)[:8].ljust(8, "0")
        return Decimal(digits) if digits else None
    return linking.view.number(row, measure)


def _ranked(linking: Linking, rows: tuple[int, ...], measure: int) -> list[tuple[Decimal, int]]:
    """The rows by the column's value, the least first; of equal ones the first in the table wins."""
    found = [(value, row) for row in rows if (value := _value(linking, row, measure)) is not None]
    return sorted(found, key=lambda item: (item[0], -item[1] * linking.question.direction))


def _order_column(linking: Linking) -> int | None:
    """The column of dates or years, the best named; None where the rows' own order has to do."""
    view, scores = linking.view, linking.column_scores()
    timed = [column for column in view.columns if view.time_share(column) > 0.6]
    return max(timed, key=lambda column: (scores[column], -column), default=None)


def _size_column(linking: Linking, exclude: int | None = None) -> int | None:
    """The numeric column that the extreme is about: named, or hinted at by its adjective, or the only one."""
    view, scores, question = linking.view, linking.column_scores(), linking.question
    numeric = [column for column in view.columns if view.numeric_share(column) > 0.6 and column != exclude]
    sized = [column for column in numeric if not view.numbers_rows(column) and view.time_share(column) < 0.6]
    hints = {
        word
        for adjectives, headers in english.section("hints").items()
        if english.pattern(rf"\b(?:{adjectives})").search(question.text)
        for word in stems(headers)
    }
    rated = [
        (scores[column] + (0.8 if view.headers[column] & hints else 0.0), -column)
        for column in numeric
        if view.time_share(column) < 0.6 or view.headers[column] & hints
    ]
    best = max(rated, default=None)
    if best is not None and best[0] > 0.3:
        return -best[1]
    totals = [column for column in sized if view.is_total(column)]
    return totals[0] if totals else sized[0] if len(sized) == 1 else None


def _in_order(linking: Linking, rows: tuple[int, ...]) -> Finding | None:
    """The first or last row as the table has them."""
    column, surety = linking.answer_column()
    row = rows[-1] if linking.question.direction > 0 else rows[0]
    text = linking.view.text(row, column)
    return Finding(text, ((row, column),), 0.5 + surety, Form.EXTREME) if text else None


def _commonest(linking: Linking, rows: tuple[int, ...]) -> Finding | None:
    """The text that stands most (or least) often in the column asked for."""
    column, surety = linking.answer_column()
    counts = Counter(text for row in rows if (text := linking.view.text(row, column)))
    if not counts or max(counts.values()) == 1:
        return None
    direction = linking.question.direction
    chosen = max(counts, key=lambda text: counts[text] * direction)
    cells = tuple((row, column) for row in rows if linking.view.text(row, column) == chosen)
    return Finding(chosen, cells, 0.5 + surety, Form.EXTREME)
