"""Differences, changes and shares: rules over two numbers that the question names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, localcontext

from kgtable.answering.offline.finding import Finding, cell_id, printed
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookup import year_columns
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import stems
from kgtable.tables.model import Position

_YEAR = re.compile(r"(?:19|20)\d\d")
_OPENING = re.compile(
    r"^.*?\b(?:percent\w*|%|portion|share|proportion|fraction|ratio)\s+(?:of|does|do|did)\b", re.IGNORECASE
)
_RATIO = re.compile(r"\bratio\b", re.IGNORECASE)
_PART_BEFORE = re.compile(
    r"\b(?:(?:as|in) an? (?:\w+ )?|(?:is|was|are|were|represents?|represented) what )"
    r"(?:percent\w*|%|portion|share|proportion|fraction) of\b",
    re.IGNORECASE,
)
_MOST_NAMESAKES = 3
"""In how many rows a name may stand to name one of them."""

_SIGNED = re.compile(r"increase\s*/?\s*\(?decrease|decrease\s*/?\s*\(?increase|\bchange\b", re.IGNORECASE)
_UNSIGNED = re.compile(r"\b(?:difference|decreas\w*|declin\w*|reduc\w*|more|less)\b", re.IGNORECASE)


def difference_of_columns(linking: Linking) -> Finding | None:
    """One row's later number less its earlier."""
    return _difference(linking, two_columns(linking))


def difference_of_rows(linking: Linking) -> Finding | None:
    """The number of the row named first less that of the second, or the later's less the earlier's."""
    return _difference(linking, _rows_in_time(linking))


def _difference(linking: Linking, pair: tuple[tuple[Position, Position], float] | None) -> Finding | None:
    if pair is None:
        return None
    (old, new), support = pair
    view = linking.view
    first, second = view.number(*old), view.number(*new)
    assert first is not None
    assert second is not None
    if len({cell.unit for place in (old, new) if (cell := view.evidence.cell(view.id, *place))}) > 1:
        return None
    gap = second - first
    unsigned = _UNSIGNED.search(linking.question.text) and not _SIGNED.search(linking.question.text)
    if unsigned and gap < 0:
        old, new, gap = new, old, -gap
    calculation = f"{cell_id(view, *new)} - {cell_id(view, *old)}"
    return Finding(printed(view, gap, (old, new)), (old, new), support, Form.DIFFERENCE, calculation)


def change_of_columns(linking: Linking) -> Finding | None:
    """The difference between a row's later and earlier number in percent of the earlier."""
    return _change(linking, two_columns(linking))


def change_of_rows(linking: Linking) -> Finding | None:
    """The difference between the numbers of two rows named in percent of the earlier, or the second."""
    return _change(linking, _rows_in_time(linking))


def _change(linking: Linking, pair: tuple[tuple[Position, Position], float] | None) -> Finding | None:
    if pair is None:
        return None
    (old, new), support = pair
    view = linking.view
    first, second = view.number(*old), view.number(*new)
    if first is None or second is None or not first:
        return None
    calculation = f"({cell_id(view, *new)} - {cell_id(view, *old)}) / {cell_id(view, *old)} * 100"
    doubts = (
        ("both numbers are percentages: their difference may be meant",)
        if _percentages(view, old, new)
        else ()
    )
    text = _percent((second - first) / first)
    return Finding(text, (old, new), support, Form.CHANGE, calculation, doubts=doubts)


def _percentages(view: TableView, *places: Position) -> bool:
    cells = [view.evidence.cell(view.id, *place) for place in places]
    return all(cell is not None and cell.unit == "PERCENT" for cell in cells)


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
        parts = [column for column in numeric if column not in totals]
        if len(totals) != 1 or not parts:
            return None
        part, whole = max(parts, key=lambda column: scores[column]), totals[0]
    numbered = (row for row in view.rows if None not in (view.number(row, part), view.number(row, whole)))
    best = linking.best_row(tuple(numbered))
    return None if best is None else _share(linking, (best[0], part), (best[0], whole), best[1])


def share_of_rows(linking: Linking) -> Finding | None:
    """One row's number in percent of another's, both in the column that the question names."""
    view, column = linking.view, _number_column(linking)
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
    if total & view.label_words(part) - view.label_words(whole) and not _RATIO.search(linking.question.text):
        part, whole = whole, part
    return _share(linking, (part, column), (whole, column), 1.0)


def _parts_and_wholes(text: str) -> Iterator[tuple[str, str]]:
    """The words that may name a part, with those that may name its whole."""
    split = _PART_BEFORE.search(text)
    if split is not None:
        yield text[: split.start()], text[split.end() :]
        return
    words = _OPENING.sub("", text).strip(" ?").split()
    for at in range(1, len(words)):
        first, second = " ".join(words[:at]), " ".join(words[at:])
        yield (first, second) if _RATIO.search(text) else (second, first)


def _share(linking: Linking, part: Position, whole: Position, support: float) -> Finding | None:
    view = linking.view
    top, bottom = view.number(*part), view.number(*whole)
    if top is None or not bottom:
        return None
    quotient = f"{cell_id(view, *part)} / {cell_id(view, *whole)}"
    if _RATIO.search(linking.question.text):
        return Finding(_ratio(top / bottom), (part, whole), support, Form.SHARE, quotient)
    return Finding(_percent(top / bottom), (part, whole), support, Form.SHARE, f"{quotient} * 100")


def _ratio(ratio: Decimal) -> str:
    with localcontext() as context:
        context.prec = 28
        rounded = ratio.quantize(Decimal("0.0001"))
    return f"{rounded.normalize():f}"


def _percent(ratio: Decimal) -> str:
    with localcontext() as context:
        context.prec = 28
        rounded = (ratio * 100).quantize(Decimal("0.01"))
    return f"{rounded.normalize():f}%"


def two_columns(linking: Linking) -> tuple[tuple[Position, Position], float] | None:
    """The cells of one row in two columns, the earlier first: of the years or columns that are named."""
    view, scores = linking.view, linking.column_scores()
    dated = year_columns(linking)
    chosen = sorted(dated, key=lambda column: -scores[column])[:2]
    if len(chosen) < 2:
        named = [column for column in view.columns if scores[column] > 0 and view.numeric_share(column) > 0.3]
        chosen = sorted(named, key=lambda column: -scores[column])[:2]
    if len(chosen) < 2:
        chosen = _with_the_year_before(linking) or list(view.year_columns)[:2]
    if len(chosen) < 2:
        return None
    old, new = sorted(chosen, key=lambda column: (view.year_columns.get(column, ""), column))
    numbered = (row for row in view.rows if None not in (view.number(row, old), view.number(row, new)))
    best = linking.best_row(tuple(numbered))
    return None if best is None else (((best[0], old), (best[0], new)), best[1])


def _with_the_year_before(linking: Linking) -> list[int]:
    """The column of the one year that is named, and that of the year before."""
    columns = {year: column for column, year in reversed(linking.view.year_columns.items())}
    named = [year for year in linking.question.years if year in columns]
    if len(named) != 1 or str(int(named[0]) - 1) not in columns:
        return []
    return [columns[str(int(named[0]) - 1)], columns[named[0]]]


def two_rows(linking: Linking) -> tuple[Position, Position] | None:
    """The cells of the two rows that are named, in the question's order, in the column that is meant."""
    column = _number_column(linking)
    if column is None:
        return None
    places: dict[int, int] = {}
    for mention in linking.mentions:
        if mention.column != column and len(mention.rows) <= _MOST_NAMESAKES:
            places.setdefault(min(mention.rows), mention.start)
    rows = [
        row
        for row in sorted(places, key=lambda row: places[row])
        if linking.view.number(row, column) is not None
    ]
    return ((rows[0], column), (rows[1], column)) if len(rows) > 1 else None


def _rows_in_time(linking: Linking) -> tuple[tuple[Position, Position], float] | None:
    """The cells of two rows, the earlier first where they have years, else the one named second."""
    named = two_rows(linking)
    if named is None:
        return None
    first, second = named
    years = [re.findall(_YEAR, " ".join(linking.view.row_words(row))) for row, _ in named]
    by_time = all(years) and years[0] != years[1] and min(years) == years[0]
    return ((first, second) if by_time else (second, first)), 1.0


def _number_column(linking: Linking) -> int | None:
    """The numeric column that the question names best; the only one where it names none."""
    scores, view = linking.column_scores(), linking.view
    numeric = [column for column in view.columns if view.numeric_share(column) > 0.5]
    taken = {mention.column for mention in linking.mentions}
    free = [column for column in numeric if column not in taken] or numeric
    hinted = linking.question.hinted
    named = {column: scores[column] + 0.8 * bool(view.headers[column] & hinted) for column in free}
    return max(free, key=lambda column: (named[column], column), default=None)


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
