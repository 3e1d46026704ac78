"""How a number is to be read where it stands: what column, row, groups and surroundings say, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kgtable.ontology.clues import Clue, TableClues
from kgtable.ontology.measures import Measure
from kgtable.ontology.surroundings import Stated

UNKNOWN = "UNITLESS"
COUNTED = "NUM"


class Reading(NamedTuple):
    """How a number is to be read: unit, scale, where each is from, what a currency is per."""

    unit: str
    scale: int = 0
    unit_from: str = ""
    scale_from: str = ""
    per: str | None = None


class CellContext(NamedTuple):
    """The readings that column, row and groups leave open for a cell to choose from.

    `bare` is for a number without a unit, `amount` for one with a currency of its own (and for one not
    apt for what its row measures); `measure` is what is measured.
    """

    bare: Reading
    amount: Reading
    measure: Measure | None = None


def read_context(table: TableClues, row: int, column: int, of_row: Clue | None) -> CellContext:
    """What is said of a cell by its column, its row (`of_row`), the groups above it and the table."""
    clues = _ordered(table, row, column, of_row)
    amount = _amount(table, clues, column)
    measured = next((clue for clue in clues if clue.measure is not None), None)
    if measured is None:
        bare = _percent_of_table(table, clues, column) or amount
        if table.counts is not None and bare.unit == UNKNOWN:
            bare = _counted(bare, table.counts)
        return CellContext(bare, amount)
    measure, source = measured.measure, measured.source
    if measure is Measure.PER_SHARE:
        scale = measured.phrase.scale or 0
        if amount.unit == UNKNOWN:
            scale = max(0, scale)
        per = next((clue.per for clue in clues if clue.per), None)
        amount = Reading(amount.unit, scale, amount.unit_from, source, per)
        return CellContext(amount, amount, measure)
    if measure in {Measure.PERCENT, Measure.RATE}:
        return CellContext(Reading("PERCENT", 0, source, source), amount, measure)
    if measure in _COUNTS:
        return CellContext(_count(table, measured, clues), amount, measure)
    return CellContext(Reading(measured.phrase.unit or UNKNOWN, 0, source, source), amount, measure)


_COUNTS = frozenset({Measure.SHARES, Measure.COUNT})


def _ordered(table: TableClues, row: int, column: int, of_row: Clue | None) -> tuple[Clue, ...]:
    """The clues, the weightiest first: the column's, the row's, the groups'.

    A column that names no more than a currency or a scale yields to a row, or a group, that says what it
    measures. Where the columns differ ("Number", "$m"), what rows and groups count is not in a currency's
    column.
    """
    own = table.columns[column] if column < len(table.columns) else ()
    above = table.of_groups(row)
    others = above if of_row is None else (of_row, *above)
    if not table.columns_alike and any(clue.phrase.unit is not None for clue in own):
        others = tuple(clue for clue in others if clue.measure not in _COUNTS)
    if not others or not all(clue.is_plain_money for clue in own):
        return (*own, *others)
    yields = others[0].measure is not None or others[0].source == "row"
    return (*others, *own) if yields else (*own, *others)


def _amount(table: TableClues, clues: Sequence[Clue], column: int) -> Reading:
    """Currency (or other unit) and scale of an amount; hundredths only of a currency."""
    unit, unit_from = _unit(table, clues, column)
    for clue in clues:
        if unit == UNKNOWN and clue.phrase.scale == -2:
            return Reading(unit, 0, unit_from, clue.source)
        if clue.phrase.scale is not None and clue.measure in {None, Measure.PER_SHARE}:
            return Reading(unit, clue.phrase.scale, unit_from, clue.source)
        if clue.phrase.unit is not None and not clue.phrase.is_money and clue.measure is None:
            return Reading(unit, 0, unit_from, clue.source)
    stated = table.scale
    return Reading(
        unit, (stated.phrase.scale or 0) if stated else 0, unit_from, stated.source if stated else ""
    )


def _unit(table: TableClues, clues: Sequence[Clue], column: int) -> tuple[str, str]:
    for clue in clues:
        if (
            clue.phrase.unit is not None
            and clue.phrase.unit != "PERCENT"
            and clue.measure in {None, Measure.PER_SHARE}
        ):
            return clue.phrase.unit, clue.source
    if table.currency is not None and table.currency_from == "corner":
        return table.currency, table.currency_from
    printed = table.prints[column].currency if column < len(table.prints) else None
    if printed is not None:
        return printed, "column cells"
    if table.currency is not None:
        own_scale = any(clue.phrase.scale is not None and clue.source == "column" for clue in clues)
        guessed = table.currency_from in {"column cells", "text"}
        scaled = table.scale is not None and not own_scale
        dated = column in table.temporal and table.currency_from == "column cells"
        if not guessed or scaled or dated:
            return table.currency, table.currency_from
    return UNKNOWN, ""


def _percent_of_table(table: TableClues, clues: Sequence[Clue], column: int) -> Reading | None:
    """Percent, where the table is said to be in percent or the column's first cell prints the sign."""
    if any(clue.phrase.unit is not None or clue.phrase.scale is not None for clue in clues):
        return None
    if table.percent is not None:
        return Reading("PERCENT", 0, table.percent.source, table.percent.source)
    if column < len(table.prints) and table.prints[column].leads_with_percent:
        return Reading("PERCENT", 0, "column cells", "column cells")
    return None


def _counted(bare: Reading, stated: Stated) -> Reading:
    """A number of a table that is said to hold counts, such as "Number of shares (1,000)"."""
    scale = stated.phrase.share_scale
    if scale is None:
        return bare._replace(unit=COUNTED, unit_from=stated.source)
    return Reading(COUNTED, scale, stated.source, stated.source)


def _count(table: TableClues, measured: Clue, clues: Sequence[Clue]) -> Reading:
    """Counts stand as they are unless said to be in thousands; counts of shares follow the table's scale."""
    for clue in clues:
        if measured.measure in clue.phrase.exceptions:
            return Reading(COUNTED, 0, measured.source, clue.source)
        own = clue.phrase.scale if clue.phrase.unit is None else None
        if measured.measure is Measure.SHARES and clue.phrase.share_scale is not None:
            own = clue.phrase.share_scale
        if own is not None:
            return Reading(COUNTED, own, measured.source, clue.source)
    if measured.measure is Measure.SHARES and table.share_scale is not None:
        stated = table.share_scale
        return Reading(COUNTED, stated.phrase.share_scale or 0, measured.source, stated.source)
    stated_scale = table.scale
    if stated_scale is None:
        return Reading(COUNTED, 0, measured.source)
    excepted = measured.measure in stated_scale.phrase.exceptions
    if excepted or (measured.measure is Measure.COUNT and table.currency is not None):
        return Reading(COUNTED, 0, measured.source, measured.source)
    return Reading(COUNTED, stated_scale.phrase.scale or 0, measured.source, stated_scale.source)
