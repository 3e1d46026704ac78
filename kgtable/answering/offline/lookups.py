"""Rules that look up, list and group."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext

from kgtable.answering.offline import question as english
from kgtable.answering.offline.linking import Linking, RuleFinding, cell_ids, columns_named, printed
from kgtable.answering.offline.question import QuestionForm, stems
from kgtable.tables.model import Position

_MOST_LISTED = 20


def look_up(linking: Linking) -> RuleFinding | None:
    """The cell in the row that says the most of the question and the column that is asked for."""
    across = in_order_of_years(linking)
    if across is not None:
        return across
    view = linking.view
    taken = frozenset(mention.column for mention in linking.mentions)
    column, surety = linking.answer_column(taken)
    rows, applied = linking.conditioned(linking.named_rows(frozenset([column])) or view.rows)
    if applied and not rows and linking.question.placed:
        # the words that name rows may be those of the table's title: who finished first in the Marlboro 500
        rows, applied = linking.conditioned(view.plain_rows)
    truth = linking.truth_column() if linking.question.several else None
    if truth is not None and truth != column:
        rows, applied = linking.said_yes(rows, truth), True
    filled = tuple(row for row in rows if view.text(row, column))
    best = linking.best_row(filled) if filled else None
    if best is None:
        if not applied or not filled:
            return None
        best = (filled[0], 0.5)
    row, score = best
    chosen: tuple[int, ...] = (row,)
    if applied and len(filled) <= _MOST_LISTED:
        chosen = filled
    elif linking.question.several:
        chosen = _several(linking, filled, column, row)
    text = "; ".join(dict.fromkeys(view.text(found, column) for found in chosen))
    used = linking.question.threshold_words if linking.threshold_columns else frozenset()
    if truth is not None:
        used |= view.headers[truth]
    cells = tuple((found, column) for found in chosen)
    doubts = linking.threshold_doubts
    return RuleFinding(
        text, cells, score + surety, QuestionForm.LOOKUP, None, used, truth is not None, doubts
    )


def year_columns(linking: Linking) -> dict[int, str]:
    """The columns of the years that the question names; of several for a year the one named best."""
    years, scores = linking.question.years, linking.column_scores()
    found: dict[str, int] = {}
    for column, year in linking.view.year_columns.items():
        if year in years and (year not in found or scores[column] > scores[found[year]]):
            found[year] = column
    return {column: year for year, column in found.items()}


def in_order_of_years(linking: Linking) -> RuleFinding | None:
    """What was it in 2018 and 2019: one row's cells under the years named, in the question's order."""
    columns = year_columns(linking)
    best = linking.best_row()
    if best is None or len(columns) < 2:
        return None
    ordered = sorted(columns, key=lambda column: linking.question.years.index(columns[column]))
    cells = tuple((best[0], column) for column in ordered if linking.view.text(best[0], column))
    text = "; ".join(linking.view.text(*place) for place in cells)
    return RuleFinding(text, cells, best[1] + 1.0, QuestionForm.LOOKUP) if cells else None


def _several(linking: Linking, rows: tuple[int, ...], column: int, best: int) -> tuple[int, ...]:
    """For a list: all rows that the question names as well as the best one."""
    named = linking.named_rows(frozenset([column]))
    if named is None or len(named) > _MOST_LISTED:
        return (best,)
    return tuple(row for row in rows if row in named) or (best,)


def neighbour(linking: Linking) -> RuleFinding | None:
    """What stands in the row below or above the one that is named."""
    view = linking.view
    anchors = [mention for mention in linking.mentions if len(mention.rows) == 1]
    if not anchors:
        return None
    anchor = max(anchors, key=lambda mention: mention.end - mention.start)
    rows = view.plain_rows
    (at,) = anchor.rows
    if at not in rows:
        return None
    place = rows.index(at) + linking.question.direction
    if not 0 <= place < len(rows):
        return None
    column, surety = linking.answer_column()
    if (not linking.question.focus and not linking.question.wants) or surety < 0.9:
        column = anchor.column
    text = view.text(rows[place], column)
    cells = ((rows[place], column), (at, anchor.column))
    return RuleFinding(text, cells, 1.0 + anchor.end - anchor.start, QuestionForm.NEIGHBOUR) if text else None


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


def figures(linking: Linking) -> RuleFinding | None:
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
    return RuleFinding("; ".join(parts), cited, support + 1.0, QuestionForm.GROUPS, used=frozenset(used))


_DISTINCT = re.compile(r"\b(?:different|distinct|unique)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\bhow many\b|\bnumber of\b", re.IGNORECASE)


def count(linking: Linking) -> RuleFinding | None:
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
    return RuleFinding(
        str(len(cells)), cells, support, QuestionForm.COUNT, calculation, said, negated, doubts
    )


def total(linking: Linking) -> RuleFinding | None:
    """The sum of a column over the rows meant; a total that the table itself gives goes before."""
    cells, numbers, support = _across(linking, unnamed=False)
    if len(cells) < 2:
        cells, numbers, support = _down(linking)
    if len(cells) > 1:
        calculation = f"sum({cell_ids(linking.view, cells)})"
        text = printed(linking.view, sum(numbers, Decimal(0)), cells)
        return RuleFinding(text, cells, support, QuestionForm.SUM, calculation)
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
        return RuleFinding(linking.view.text(*cells[0]), cells, support, QuestionForm.LOOKUP)
    calculation = f"sum({cell_ids(linking.view, cells)})"
    text = printed(linking.view, sum(numbers, Decimal(0)), cells)
    negated = asked is not None
    doubts = linking.threshold_doubts
    return RuleFinding(text, cells, support, QuestionForm.SUM, calculation, _stated(linking), negated, doubts)


def average(linking: Linking) -> RuleFinding | None:
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
    return RuleFinding(
        printed(linking.view, mean, cells),
        cells,
        support,
        QuestionForm.AVERAGE,
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


def _given_number(linking: Linking) -> RuleFinding | None:
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
        return RuleFinding(view.text(named[0], column), ((named[0], column),), 2.0, QuestionForm.LOOKUP)
    return _added_up(linking, named, column)


def _added_up(linking: Linking, rows: tuple[int, ...], column: int) -> RuleFinding | None:
    """How many medals did Norway and Sweden win: the sum over rows each of which is named by itself."""
    spans = {(found.start, found.end) for found in linking.mentions if set(found.rows) & set(rows)}
    if len(rows) < 2 or len(spans) != len(rows) or not linking.question.enumerates:
        return None
    cells, numbers = linking.view.numbers(rows, column)
    if len(cells) < len(rows):
        return None
    text = printed(linking.view, sum(numbers, Decimal(0)), cells)
    return RuleFinding(text, cells, 2.0, QuestionForm.SUM, f"sum({cell_ids(linking.view, cells)})")


def _number_of_named(linking: Linking, rows: tuple[int, ...]) -> RuleFinding | None:
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
    return RuleFinding(view.text(*place), (place,), 2.0, QuestionForm.LOOKUP, doubts=doubts)


def _given_total(linking: Linking) -> RuleFinding | None:
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
            return RuleFinding(view.text(best[0], column), ((best[0], column),), best[1], QuestionForm.LOOKUP)
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


MOST_LISTED = 100


def listed(linking: Linking) -> RuleFinding | None:
    """The cells of the columns listed, in all rows that are meant; row by row where there are several."""
    columns, view = linking.asked_columns, linking.view
    if not columns or linking.view.missing:
        return None
    rows, support = linking.meant_rows()
    asked = linking.truth_column()
    if asked is not None and asked not in columns:
        rows = linking.said_yes(rows, asked)
    if not 0 < len(rows) <= MOST_LISTED or len(rows) * len(columns) == 1:
        return None
    rows, by = _sorted(linking, rows)
    cells = tuple((row, column) for row in rows for column in columns if view.text(row, column))
    texts = [view.text(*place) for place in cells]
    negated = linking.question.negated and (asked is not None or linking.named_rows() is not None)
    used = linking.question.threshold_words
    used |= linking.negated_words if negated else frozenset()
    used |= frozenset(word for column in (asked, by) if column is not None for word in view.headers[column])
    return RuleFinding(
        "; ".join(dict.fromkeys(texts) if len(columns) == 1 else texts),
        cells,
        support + len(columns),
        QuestionForm.LIST,
        used=used | frozenset(stems(" ".join(view.called(place) for place in cells[:1]))),
        negated=negated,
    )


def _sorted(linking: Linking, rows: tuple[int, ...]) -> tuple[tuple[int, ...], int | None]:
    """The rows in the order that the question asks for, and the column they are sorted by."""
    view, phrase = linking.view, linking.question.ordering
    named = columns_named(view, phrase) if phrase else ()
    if not named:
        return rows, None
    column = named[0]
    downwards = english.asked("downwards").search(linking.question.text) is not None
    return tuple(sorted(rows, key=lambda row: _key(linking, row, column), reverse=downwards)), column


def _key(linking: Linking, row: int, column: int) -> tuple[Decimal, str]:
    number = linking.view.number(row, column)
    text = linking.view.time(row, column) or linking.view.text(row, column).casefold()
    return (Decimal("-Infinity") if number is None else number, text if number is None else "")


_LARGEST = 100
"""A threshold above this is one on numbers in cells, not on how many rows there are."""


def by_group(linking: Linking) -> RuleFinding | None:
    """For each value of the column named after *each*: how many rows have it, or a figure of them."""
    named = columns_named(linking.view, linking.question.grouping)
    if not named:
        return None
    column = named[0]
    groups = _groups(linking, column)
    if not 1 < len(groups) <= MOST_LISTED or all(len(rows) == 1 for rows in groups.values()):
        return None
    measured = measure(linking)
    wanted = [FIGURES[word] for word in linking.question.words if word in FIGURES]
    parts: list[str] = []
    cells: list[Position] = []
    for text, rows in groups.items():
        cells.append((rows[0], column))
        figures = [str(len(rows))]
        if wanted and measured is not None:
            places, numbers = linking.view.numbers(rows, measured)
            figures = [printed(linking.view, figure(numbers), places) for figure in wanted if numbers]
            cells += places
        parts += [text, *figures]
    return RuleFinding(
        "; ".join(parts), tuple(dict.fromkeys(cells)), 2.0, QuestionForm.GROUPS, used=_said(linking)
    )


def groups_of_size(linking: Linking) -> RuleFinding | None:
    """The values of the column asked for that so many rows have, as in *used by at least two*."""
    thresholds = linking.question.size_thresholds
    scores = linking.column_scores()
    if len(thresholds) != 1 or linking.question.wants in ("number", "time"):
        return None
    if thresholds[0].number > _LARGEST or any(scores[column] > 0 for column in linking.threshold_columns):
        return None
    asked = linking.asked_columns
    column = asked[0] if asked else linking.answer_column()[0]
    groups = _groups(linking.without_thresholds(), column)
    if all(len(rows) == 1 for rows in groups.values()):
        return None
    met = {text: rows for text, rows in groups.items() if thresholds[0].holds(Decimal(len(rows)))}
    if not 0 < len(met) <= MOST_LISTED:
        return None
    cells = tuple((row, column) for rows in met.values() for row in rows)
    return RuleFinding("; ".join(met), cells, 1.5, QuestionForm.GROUPS, used=_said(linking))


def _groups(linking: Linking, column: int) -> dict[str, list[int]]:
    """The rows meant by their text in the column, in the table's order."""
    rows, _ = linking.meant_rows(frozenset([column]))
    found: dict[str, list[int]] = {}
    for row in rows:
        if text := linking.view.text(row, column):
            found.setdefault(text, []).append(row)
    return found


def _said(linking: Linking) -> frozenset[str]:
    return linking.question.threshold_words | linking.view.own_name
