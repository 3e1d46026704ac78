"""Which of two is more, and in which of several columns a row is greatest."""

from __future__ import annotations

import re
from decimal import Decimal

from kgtable.answering.offline import english
from kgtable.answering.offline.finding import Finding, cell_id, cell_ids
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.measuring import order_column, size_column, sums_the_others, value
from kgtable.answering.offline.pairs import two_rows
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.words import stems

_MORE_OR_LESS = re.compile(r"\b(more|higher|greater|larger) or (less|fewer|lower|smaller)\b", re.IGNORECASE)
_FEWEST_COLUMNS = 3
_OR = re.compile(r"(.*)\bor\b(.*)", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


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
    sized = sorted((number, column) for column in years if (number := view.number(row, column)) is not None)
    if len(sized) < 2:
        return None
    thresholds = linking.question.size_thresholds
    if thresholds:
        met = [column for number, column in sized if all(one.holds(number) for one in thresholds)]
        text = "; ".join(years[column][-1] for column in sorted(met))
        cells = tuple((row, column) for column in sorted(met))
        return Finding(text, cells, best[1] + 1.0, Form.WHEN, used=linking.question.threshold_words)
    least = english.any_of("smaller", "least").search(linking.question.text)
    chosen = sized[0] if least else sized[-1]
    cells = tuple((row, column) for _, column in sorted(sized, key=lambda item: item[1]))
    calculation = f"{'min' if least else 'max'}({cell_ids(view, cells)})"
    ordered = ((row, chosen[1]), *(place for place in cells if place[1] != chosen[1]))
    return Finding(years[chosen[1]][-1], ordered, best[1] + 1.0, Form.WHEN, calculation)


def column_of_extreme(linking: Linking) -> Finding | None:
    """Which country had the largest area of wheat: the header of the column in which one row is greatest.

    Where the largest area itself is asked for it is the number there.
    """
    view, question = linking.view, linking.question
    best = linking.best_row()
    heads = frozenset().union(*view.headers)
    if best is None or question.ordered or question.place > 1 or question.focus & heads:
        return None
    row, support = best
    numbers = _other_numbers(linking, row) if view.label_words(row) & question.content else {}
    if not numbers:
        return None
    size = max(numbers.values()) if question.direction > 0 else min(numbers.values())
    chosen = next(column for column, number in numbers.items() if number == size)
    cells = tuple((row, column) for column in numbers)
    calculation = f"{'max' if question.direction > 0 else 'min'}({cell_ids(view, cells)})"
    ordered = ((row, chosen), *(place for place in cells if place[1] != chosen))
    itself = english.asked("the_most_itself").search(question.text)
    text = view.text(row, chosen) if itself else view.called((row, chosen))
    return Finding(text, ordered, support, Form.EXTREME, calculation)


def _other_numbers(linking: Linking, row: int) -> dict[int, Decimal]:
    """A row's numbers by column, without totals; nothing where it holds few, or other things."""
    view = linking.view
    filled = [column for column in view.columns if column != view.label_column and view.text(row, column)]
    numbers = {column: found for column in filled if (found := view.number(row, column)) is not None}
    if len(numbers) < max(_FEWEST_COLUMNS, len(filled)) or any(view.time_share(c) > 0.5 for c in numbers):
        return {}
    return {
        column: found
        for column, found in numbers.items()
        if not view.is_total(column) and not sums_the_others(numbers, column)
    }


def compare_columns(linking: Linking) -> Finding | None:
    """Had East or West more garlic: of two columns that are named that in which the row's number is more."""
    view, scores = linking.view, linking.column_scores()
    named = [column for column in view.columns if scores[column] > 0 and view.numeric_share(column) > 0.3]
    best = [column for column in named if scores[column] == max(map(scores.__getitem__, named))]
    pair = best if len(best) == 2 else named
    if len(pair) != 2 or not _on_both_sides(linking, pair[0], pair[1]):
        return None
    rows = tuple(row for row in view.rows if all(view.number(row, column) is not None for column in pair))
    row = linking.best_row(rows) if rows else None
    if row is None or not view.label_words(row[0]) & linking.question.content:
        return None
    sizes = {column: view.number(row[0], column) for column in pair}
    ranked = sorted(pair, key=lambda column: sizes[column] or Decimal(0))
    if sizes[ranked[0]] == sizes[ranked[1]]:
        return None
    less = english.any_of("smaller", "least").search(linking.question.text)
    chosen, other = ranked if less else ranked[::-1]
    calculation = f"{'min' if less else 'max'}({cell_ids(view, ((row[0], pair[0]), (row[0], pair[1])))})"
    cells = ((row[0], chosen), (row[0], other))
    return Finding(view.called((row[0], chosen)), cells, row[1], Form.COMPARE, calculation)


def _on_both_sides(linking: Linking, one: int, other: int) -> bool:
    """Whether what tells two columns from one another stands on either side of the question's last *or*."""
    match = _OR.search(linking.question.text)
    if match is None:
        return False
    before, after = frozenset(stems(match[1])), frozenset(stems(match[2]))
    headers = linking.view.headers
    mine, its = headers[one] - headers[other], headers[other] - headers[one]
    return bool((mine & before and its & after) or (its & before and mine & after))


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
    measure = order_column(linking) if timed else size_column(linking, exclude=one.column)
    sides = []
    for mention in (one, other):
        values = [
            known for row in sorted(mention.rows) if (known := value(linking, row, measure)) is not None
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
