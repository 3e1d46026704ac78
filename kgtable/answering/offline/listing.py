"""Lists: what stands in the columns asked for, of every row that is meant."""

from __future__ import annotations

from decimal import Decimal

from kgtable.answering.offline import english
from kgtable.answering.offline.columns import columns_named
from kgtable.answering.offline.finding import Finding
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.words import stems

MOST_LISTED = 100


def listed(linking: Linking) -> Finding | None:
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
    return Finding(
        "; ".join(dict.fromkeys(texts) if len(columns) == 1 else texts),
        cells,
        support + len(columns),
        Form.LIST,
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
