"""Differences and changes: rules over two numbers that the question names."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext

from kgtable.answering.offline.finding import Finding, cell_id, printed
from kgtable.answering.offline.linking import Linking
from kgtable.answering.offline.lookup import year_columns
from kgtable.answering.offline.question import Form
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import stems
from kgtable.tables.model import Position

_YEAR = re.compile(r"(?:19|20)\d\d")
_MOST_NAMESAKES = 3
"""In how many rows a name may stand to name one of them."""

_SIGNED = re.compile(r"increase\s*/?\s*\(?decrease|decrease\s*/?\s*\(?increase|\bchange\b", re.IGNORECASE)
_UNSIGNED = re.compile(r"\b(?:difference|decreas\w*|declin\w*|reduc\w*|more|less)\b", re.IGNORECASE)


def difference_of_columns(linking: Linking) -> Finding | None:
    """One row's later number less its earlier."""
    return None if _between_rows(linking) else _difference(linking, two_columns(linking))


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
    return None if _between_rows(linking) else _change(linking, two_columns(linking))


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
        if percentages(view, old, new)
        else ()
    )
    text = percent((second - first) / first)
    return Finding(text, (old, new), support, Form.CHANGE, calculation, doubts=doubts)


def percentages(view: TableView, *places: Position) -> bool:
    cells = [view.evidence.cell(view.id, *place) for place in places]
    return all(cell is not None and cell.unit == "PERCENT" for cell in cells)


def _between_rows(linking: Linking) -> bool:
    """Whether two rows are named by their labels, and no two years: what is compared are these rows."""
    if len(year_columns(linking)) > 1:
        return False
    labels = [found for found in linking.mentions if found.column == linking.view.label_column]
    rows = {min(found.rows) for found in labels if len(found.rows) == 1}
    return len({row for row in rows if not is_a_total(linking.view, row)}) == 2


def is_a_total(view: TableView, row: int) -> bool:
    return view.label_words(row) == frozenset(stems("total"))


def percent(ratio: Decimal) -> str:
    """The ratio in percent, to two decimals and no fewer than three digits that count."""
    with localcontext() as context:
        context.prec = 28
        hundredths = ratio * 100
        finest = min(-2, hundredths.adjusted() - 2) if hundredths else -2
        rounded = hundredths.quantize(Decimal(1).scaleb(finest))
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
    column = number_column(linking)
    if column is None:
        return None
    places: dict[int, int] = {}
    totals = _between_rows(linking)
    for mention in linking.mentions:
        if totals and is_a_total(linking.view, min(mention.rows)):
            continue
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


def number_column(linking: Linking) -> int | None:
    """The numeric column that the question names best; the only one where it names none."""
    scores, view = linking.column_scores(), linking.view
    numeric = [column for column in view.columns if view.numeric_share(column) > 0.5]
    taken = {mention.column for mention in linking.mentions}
    free = [column for column in numeric if column not in taken] or numeric
    hinted = linking.question.hinted
    named = {column: scores[column] + 0.8 * bool(view.headers[column] & hinted) for column in free}
    return max(free, key=lambda column: (named[column], column), default=None)
