"""Rows grouped by what stands in a column: something for each group, and groups of a certain size."""

from __future__ import annotations

from decimal import Decimal

from kgtable.answering.offline.columns import columns_named
from kgtable.answering.offline.figures import FIGURES
from kgtable.answering.offline.finding import Finding, printed
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.listing import MOST_LISTED
from kgtable.answering.offline.many import measure
from kgtable.answering.offline.question import Form
from kgtable.tables.model import Position

_LARGEST = 100
"""A threshold above this is one on numbers in cells, not on how many rows there are."""


def by_group(linking: Linking) -> Finding | None:
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
    return Finding("; ".join(parts), tuple(dict.fromkeys(cells)), 2.0, Form.GROUPS, used=_said(linking))


def groups_of_size(linking: Linking) -> Finding | None:
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
    return Finding("; ".join(met), cells, 1.5, Form.GROUPS, used=_said(linking))


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
