"""Differences, changes and shares: rules over two numbers that the question names."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext

from kgtable.answering.offline.finding import Finding, cell_id, printed
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookup import year_columns
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.words import stems
from kgtable.tables.model import Position

_YEAR = re.compile(r"(?:19|20)\d\d")
_SIGNED = re.compile(r"increase\s*/?\s*\(?decrease|decrease\s*/?\s*\(?increase|\bchange\b", re.IGNORECASE)
_UNSIGNED = re.compile(r"\b(?:difference|decreas\w*|declin\w*|reduc\w*|more|less)\b", re.IGNORECASE)


def difference(linking: Linking) -> Finding | None:
    """The later number less the earlier, or the first named less the second."""
    pair = _two_numbers(linking)
    if pair is None:
        return None
    (old, new), support = pair
    view = linking.view
    first, second = view.number(*old), view.number(*new)
    assert first is not None
    assert second is not None
    gap = second - first
    unsigned = _UNSIGNED.search(linking.question.text) and not _SIGNED.search(linking.question.text)
    if unsigned and gap < 0:
        old, new, gap = new, old, -gap
    calculation = f"{cell_id(view, *new)} - {cell_id(view, *old)}"
    return Finding(printed(view, gap, (old, new)), (old, new), support, Form.DIFFERENCE, calculation)


def change(linking: Linking) -> Finding | None:
    """The difference between the later and the earlier number in percent of the earlier."""
    pair = _two_numbers(linking)
    if pair is None:
        return None
    (old, new), support = pair
    view = linking.view
    first, second = view.number(*old), view.number(*new)
    if first is None or second is None or not first:
        return None
    calculation = f"({cell_id(view, *new)} - {cell_id(view, *old)}) / {cell_id(view, *old)} * 100"
    return Finding(_percent((second - first) / first), (old, new), support, Form.CHANGE, calculation)


def share(linking: Linking) -> Finding | None:
    """One row's number in percent of another's, both in the column that the question names."""
    view = linking.view
    words = re.split(
        r"\s+",
        re.sub(
            r"^.*?\b(?:percent\w*|%|portion|share|proportion|fraction|ratio)\s+(?:of|does|do|did)\b",
            "",
            linking.question.text,
            flags=re.IGNORECASE,
        ).strip(" ?"),
    )
    column = _number_column(linking)
    splits = [
        (_row_for(linking, " ".join(words[:at])), _row_for(linking, " ".join(words[at:])))
        for at in range(1, len(words))
    ]
    pairs = [
        (one[1] + other[1], one[0], other[0]) for one, other in splits if one and other and one[0] != other[0]
    ]
    if not pairs or column is None:
        return None
    _, whole, part = max(pairs)
    top, bottom = view.number(part, column), view.number(whole, column)
    if top is None or not bottom:
        return None
    cells = ((part, column), (whole, column))
    calculation = f"{cell_id(view, part, column)} / {cell_id(view, whole, column)} * 100"
    return Finding(_percent(top / bottom), cells, 1.0, Form.SHARE, calculation)


def _percent(ratio: Decimal) -> str:
    with localcontext() as context:
        context.prec = 28
        rounded = (ratio * 100).quantize(Decimal("0.01"))
    return f"{rounded.normalize():f}%"


def _two_numbers(linking: Linking) -> tuple[tuple[Position, Position], float] | None:
    """The two cells that are compared, the earlier first: one row in two columns, or two rows in one."""
    return _two_columns(linking) or _two_rows(linking)


def _two_columns(linking: Linking) -> tuple[tuple[Position, Position], float] | None:
    view, scores = linking.view, linking.column_scores()
    dated = year_columns(linking)
    chosen = sorted(dated, key=lambda column: -scores[column])[:2]
    if len(chosen) < 2:
        named = [column for column in view.columns if scores[column] > 0 and view.numeric_share(column) > 0.3]
        chosen = sorted(named, key=lambda column: -scores[column])[:2]
    if len(chosen) < 2:
        chosen = list(view.year_columns)[:2]
    if len(chosen) < 2:
        return None
    old, new = sorted(chosen, key=lambda column: (view.year_columns.get(column, ""), column))
    numbered = (row for row in view.rows if None not in (view.number(row, old), view.number(row, new)))
    best = linking.best_row(tuple(numbered))
    return None if best is None else (((best[0], old), (best[0], new)), best[1])


def _two_rows(linking: Linking) -> tuple[tuple[Position, Position], float] | None:
    column = _number_column(linking)
    if column is None:
        return None
    places: dict[int, int] = {}
    for mention in linking.mentions:
        if mention.column != column and len(mention.rows) <= 3:
            places.setdefault(min(mention.rows), mention.start)
    rows = [
        row
        for row in sorted(places, key=lambda row: places[row])
        if linking.view.number(row, column) is not None
    ]
    if len(rows) < 2:
        return None
    first, second = rows[:2]
    years = [re.findall(_YEAR, " ".join(linking.view.row_words(row))) for row in (first, second)]
    by_time = all(years) and years[0] != years[1] and min(years) == years[0]
    old, new = (first, second) if by_time else (second, first)
    return ((old, column), (new, column)), 1.0


def _number_column(linking: Linking) -> int | None:
    """The numeric column that the question names best; the only one where it names none."""
    scores, view = linking.column_scores(), linking.view
    numeric = [column for column in view.columns if view.numeric_share(column) > 0.5]
    taken = {mention.column for mention in linking.mentions}
    free = [column for column in numeric if column not in taken] or numeric
    return max(free, key=lambda column: (scores[column], column), default=None)


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
