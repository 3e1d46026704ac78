"""Counts, sums and averages: rules over all rows that the question means."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext

from kgtable.answering.offline.finding import Finding, cell_ids, printed
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookup import look_up, year_columns
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.words import stems
from kgtable.tables.model import Position

_DISTINCT = re.compile(r"\b(?:different|distinct|unique)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\bhow many\b|\bnumber of\b", re.IGNORECASE)


def count(linking: Linking) -> Finding | None:
    """How many rows hold what the question names; a number that the table itself gives goes before."""
    given = _given_number(linking)
    if given is not None:
        return given
    view, question = linking.view, linking.question
    rows, support = linking.meant_rows()
    asked = linking.truth_column()
    if asked is not None:
        rows, column, negated = linking.said_yes(rows, asked), asked, True
    else:
        columns = linking.threshold_columns
        column = columns[0] if columns else view.label_column
        negated = question.negated and linking.named_rows() is not None
    if not rows:
        return None
    if asked is None and not question.thresholds and not question.negated:
        given = _number_of_named(linking, rows)
        if given is not None:
            return given
    cells = tuple((row, column) for row in rows if view.text(row, column))
    if len(cells) < len(rows):
        cells = tuple((row, _filled_column(linking, row)) for row in rows)
    if _DISTINCT.search(question.text):
        column, _ = linking.answer_column()
        first = {
            stems(view.text(row, column)): (row, column) for row in reversed(rows) if view.text(row, column)
        }
        cells = tuple(sorted(first.values()))
    calculation = f"count({cell_ids(view, cells)})"
    doubts, said = linking.threshold_doubts, _stated(linking)
    return Finding(str(len(cells)), cells, support, Form.COUNT, calculation, said, negated, doubts)


def total(linking: Linking) -> Finding | None:
    """The sum of a column over the rows meant; a total that the table itself gives goes before."""
    cells, numbers, support = _across(linking, unnamed=False)
    if len(cells) < 2:
        cells, numbers, support = _down(linking)
    if len(cells) > 1:
        calculation = f"sum({cell_ids(linking.view, cells)})"
        text = printed(linking.view, sum(numbers, Decimal(0)), cells)
        return Finding(text, cells, support, Form.SUM, calculation)
    given = _given_total(linking)
    if given is not None:
        return given
    column = measure(linking)
    if column is None:
        return count(linking) if _COUNTS.search(linking.question.text) else None
    rows, support = linking.meant_rows()
    asked = linking.truth_column()
    rows = rows if asked is None else linking.said_yes(rows, asked)
    cells, numbers = linking.view.numbers(rows, column)
    if not cells:
        return None
    if len(cells) == 1:
        return Finding(linking.view.text(*cells[0]), cells, support, Form.LOOKUP)
    calculation = f"sum({cell_ids(linking.view, cells)})"
    text = printed(linking.view, sum(numbers, Decimal(0)), cells)
    negated = asked is not None
    doubts = linking.threshold_doubts
    return Finding(text, cells, support, Form.SUM, calculation, _stated(linking), negated, doubts)


def average(linking: Linking) -> Finding | None:
    """The mean of a column over the rows meant, or of a row over the years named."""
    cells, numbers, support = _across(linking, unnamed=True)
    if len(cells) < 2:
        cells, numbers, support = _down(linking)
    if len(cells) < 2:
        column = measure(linking)
        if column is None:
            return None
        rows, support = linking.meant_rows()
        asked = linking.truth_column()
        rows = rows if asked is None else linking.said_yes(rows, asked)
        cells, numbers = linking.view.numbers(rows, column)
    if len(cells) < 2:
        return None
    with localcontext() as context:
        context.prec = 28
        mean = sum(numbers, Decimal(0)) / len(numbers)
    calculation = f"average({cell_ids(linking.view, cells)})"
    negated = linking.truth_column() is not None
    return Finding(
        printed(linking.view, mean, cells),
        cells,
        support,
        Form.AVERAGE,
        calculation,
        _stated(linking),
        negated,
        linking.threshold_doubts,
    )


def _stated(linking: Linking) -> frozenset[str]:
    """The words of the conditions that were applied to the rows."""
    asked = linking.truth_column()
    words = linking.view.headers[asked] if asked is not None else frozenset()
    if linking.question.negated and asked is None:
        words |= linking.negated_words
    return words | (linking.question.threshold_words if linking.threshold_columns else frozenset())


def _given_number(linking: Linking) -> Finding | None:
    """How many gold medals did Norway win: a cell of a numeric column that is asked for by name."""
    if not linking.question.focus or linking.question.thresholds:
        return None
    view, scores = linking.view, linking.column_scores()
    asked = [
        column
        for column in view.columns
        if view.headers[column] & linking.question.focus
        and scores[column] > 0.5
        and view.numeric_share(column) > 0.7
    ]
    if not asked:
        return None
    column = max(asked, key=lambda found: scores[found])
    named = linking.named_rows(frozenset([column])) or ()
    if len(named) == 1:
        return Finding(view.text(named[0], column), ((named[0], column),), 2.0, Form.LOOKUP)
    return _added_up(linking, named, column)


def _added_up(linking: Linking, rows: tuple[int, ...], column: int) -> Finding | None:
    """How many medals did Norway and Sweden win: the sum over rows each of which is named by itself."""
    spans = {(found.start, found.end) for found in linking.mentions if set(found.rows) & set(rows)}
    if len(rows) < 2 or len(spans) != len(rows) or not linking.question.enumerates:
        return None
    cells, numbers = linking.view.numbers(rows, column)
    if len(cells) < len(rows):
        return None
    text = printed(linking.view, sum(numbers, Decimal(0)), cells)
    return Finding(text, cells, 2.0, Form.SUM, f"sum({cell_ids(linking.view, cells)})")


def _number_of_named(linking: Linking, rows: tuple[int, ...]) -> Finding | None:
    """How many options were granted in 2019: the number of the one row named, under the year named.

    Without a year it is the row's total, or its only number that is no year and no rank. Of several rows,
    each named by itself, the numbers are added up.
    """
    view = linking.view
    dated = list(year_columns(linking))
    columns = dated or [
        column
        for column in view.columns
        if all(view.number(row, column) is not None for row in rows)
        and view.time_share(column) < 0.5
        and not view.numbers_rows(column)
    ]
    totals = [column for column in columns if view.is_total(column)]
    columns = totals if totals and not dated else columns
    if len(columns) != 1 or view.number(rows[0], columns[0]) is None:
        return None
    if len(rows) > 1:
        return _added_up(linking, rows, columns[0])
    place = (rows[0], columns[0])
    named = dated or view.headers[columns[0]] & linking.question.content
    doubts = () if named else (f"the question does not ask for the column {view.called(place)!r} by name",)
    return Finding(view.text(*place), (place,), 2.0, Form.LOOKUP, doubts=doubts)


def _given_total(linking: Linking) -> Finding | None:
    """A row or column that is itself called a total, and named by the question."""
    view = linking.view
    scores = linking.column_scores()
    if any("total" in view.headers[column] and scores[column] > 0.6 for column in view.columns):
        found = look_up(linking)
        return found if found and "total" in view.headers[found.cells[0][1]] else None
    best = linking.best_row()
    if best is not None and "total" in view.label_words(best[0]) and best[1] > 1.0:
        column, _ = linking.answer_column(frozenset([view.label_column]))
        if view.number(best[0], column) is not None:
            return Finding(view.text(best[0], column), ((best[0], column),), best[1], Form.LOOKUP)
    return None


def measure(linking: Linking) -> int | None:
    """The numeric column to add up: named by the question, not one that picks the rows."""
    view, scores = linking.view, linking.column_scores()
    taken = {mention.column for mention in linking.mentions}
    for column in linking.asked_columns:
        if view.numeric_share(column) > 0.6 and column not in taken:
            return column
    numeric = [
        c for c in view.columns if view.numeric_share(c) > 0.6 and view.time_share(c) < 0.5 and c not in taken
    ]
    named = [column for column in numeric if scores[column] > 0.4]
    return max(named, key=lambda column: scores[column], default=None)


def _across(linking: Linking, *, unnamed: bool) -> tuple[tuple[Position, ...], list[Decimal], float]:
    """A row's numbers in the columns of the years that the question names.

    Where it names none, and `unnamed` allows it, in those of all years.
    """
    columns = list(year_columns(linking)) or (list(linking.view.year_columns) if unnamed else [])
    rows = tuple(
        row for row in linking.view.rows if any(linking.view.number(row, c) is not None for c in columns)
    )
    best = linking.best_row(rows) if rows else None
    if best is None or len(columns) < 2:
        return (), [], 0.0
    found = [((best[0], column), linking.view.number(best[0], column)) for column in sorted(columns)]
    kept = [(place, number) for place, number in found if number is not None]
    return tuple(place for place, _ in kept), [number for _, number in kept], best[1]


def _down(linking: Linking) -> tuple[tuple[Position, ...], list[Decimal], float]:
    """A column's numbers in the rows that are labelled with the years the question names.

    Their labels may have words besides (*2010 net revenue*), all of which the question has as well.
    """
    view, asked = linking.view, frozenset(linking.question.years)
    labels = {row: view.label_words(row) for row in view.plain_rows}
    rows = tuple(
        row
        for row, words in labels.items()
        if len(words & asked) == 1 and words - asked <= linking.question.content
    )
    numeric = [column for column in view.columns if view.numeric_share(column) > 0.6]
    sized = [column for column in numeric if view.time_share(column) < 0.5]
    column = sized[0] if len(sized) == 1 else measure(linking)
    if len(rows) != len(asked) or len(rows) < 2 or column is None:
        return (), [], 0.0
    cells, numbers = linking.view.numbers(rows, column)
    return cells, numbers, 1.0


def _filled_column(linking: Linking, row: int) -> int:
    return next(column for column in linking.view.columns if linking.view.text(row, column))
