"""Looking up: the cell that the question's words point to, and what stands beside it."""

from __future__ import annotations

from kgtable.answering.offline.finding import Finding
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.question import Form

_MOST_LISTED = 20


def look_up(linking: Linking) -> Finding | None:
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
    return Finding(text, cells, score + surety, Form.LOOKUP, None, used, truth is not None, doubts)


def year_columns(linking: Linking) -> dict[int, str]:
    """The columns of the years that the question names; of several for a year the one named best."""
    years, scores = linking.question.years, linking.column_scores()
    found: dict[str, int] = {}
    for column, year in linking.view.year_columns.items():
        if year in years and (year not in found or scores[column] > scores[found[year]]):
            found[year] = column
    return {column: year for year, column in found.items()}


def in_order_of_years(linking: Linking) -> Finding | None:
    """What was it in 2018 and 2019: one row's cells under the years named, in the question's order."""
    columns = year_columns(linking)
    best = linking.best_row()
    if best is None or len(columns) < 2:
        return None
    ordered = sorted(columns, key=lambda column: linking.question.years.index(columns[column]))
    cells = tuple((best[0], column) for column in ordered if linking.view.text(best[0], column))
    text = "; ".join(linking.view.text(*place) for place in cells)
    return Finding(text, cells, best[1] + 1.0, Form.LOOKUP) if cells else None


def _several(linking: Linking, rows: tuple[int, ...], column: int, best: int) -> tuple[int, ...]:
    """For a list: all rows that the question names as well as the best one."""
    named = linking.named_rows(frozenset([column]))
    if named is None or len(named) > _MOST_LISTED:
        return (best,)
    return tuple(row for row in rows if row in named) or (best,)


def neighbour(linking: Linking) -> Finding | None:
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
    return Finding(text, cells, 1.0 + anchor.end - anchor.start, Form.NEIGHBOUR) if text else None
