"""The unit and scale of each number of a table, and its period.

Sources in the order of their weight: a user's mapping, the cell, its number format, the column header,
the row label, group headings, the header corner, what other cells of the column print, then caption,
headings and text. What a row or column measures decides how much of that holds for it: a table's "in
millions" scales neither percentages nor values per share, counts, ratios, terms or years.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from kgtable.ontology.unit_arithmetic import AMOUNTS, parts_of_counts
from kgtable.ontology.unit_clues import BASIS_POINT, Clue
from kgtable.ontology.unit_scope import StatedUnit, TableClues
from kgtable.tables.model import Position, Row, Table
from kgtable.values.decimals import scaled
from kgtable.values.measures import Measure
from kgtable.values.number_formats import FormatUnit, read_number_format
from kgtable.values.numbers import Number
from kgtable.values.periods import find_period
from kgtable.values.unit_phrases import UnitPhrase

UNKNOWN = "UNITLESS"
COUNTED = "NUM"


class Reading(NamedTuple):
    """The unit and scale resolved for a number, the source of each, and the denominator of the unit."""

    unit: str
    scale: int = 0
    unit_from: str = ""
    scale_from: str = ""
    per: str | None = None
    per_stated: bool = False
    """Whether the denominator is written with the unit (``EJ/yr``), and not in the other words of a header."""

    @property
    def denominator(self) -> str | None:
        """What the unit is per; words of a header, as in "cost per share", count for currencies alone."""
        return self.per if self.per_stated or self.unit.startswith("CCY_") else None


class CellContext(NamedTuple):
    """The candidate readings of a cell from its column, row and groups.

    `bare` is for a number without a unit, `amount` for one with a currency of its own (and for one not
    apt for what its row measures); `measure` is what is measured.
    """

    bare: Reading
    amount: Reading
    measure: Measure | None = None


def read_context(
    table: TableClues, row: int, column: int, of_row: Clue | None, units: Sequence[Clue | None] = ()
) -> CellContext:
    """Collect the evidence for a cell from its column, its row (`of_row`), the groups above it and the table.

    `units` is what columns of units say of the row; what is about this column goes before all others.
    """
    clues = _ordered(table, row, column, of_row)
    if units and (of_unit := table.unit_of_columns(column, units)) is not None:
        clues = (of_unit,)
    amount = _amount(table, clues, column)
    measured = next((clue for clue in clues if clue.measure is not None), None)
    if measured is None:
        bare = _percent_of_table(table, clues, column) or amount
        if table.counts is not None and (bare.unit == UNKNOWN or bare.unit_from == "text"):
            bare = _counted(bare, table.counts)
        return CellContext(bare, amount)
    measure, source = measured.measure, measured.source
    if measure is Measure.ORDINAL:
        return CellContext(Reading(UNKNOWN), amount, measure)
    if measure is Measure.PER_SHARE:
        scale = measured.phrase.scale or 0
        if amount.unit == UNKNOWN:
            scale = max(0, scale)
        per = next((clue.per for clue in clues if clue.per), None)
        amount = Reading(amount.unit, scale, amount.unit_from, source, per)
        return CellContext(amount, amount, measure)
    if measure in {Measure.PERCENT, Measure.RATE}:
        stated = measured.phrase
        unit = stated.unit if stated.unit in _OTHER_SHARES else "PERCENT"
        scale = BASIS_POINT if stated == UnitPhrase("PERCENT", BASIS_POINT) else 0
        return CellContext(Reading(unit or UNKNOWN, scale, source, source), amount, measure)
    if measure in _COUNTS and is_unit_of_measure(measured.phrase.unit):
        return CellContext(Reading(measured.phrase.unit or UNKNOWN, measured.phrase.scale or 0, source, source), amount)
    if measure in _COUNTS:
        return CellContext(_count(table, column, measured, clues), amount, measure)
    return CellContext(Reading(measured.phrase.unit or UNKNOWN, 0, source, source), amount, measure)


_COUNTS = frozenset({Measure.SHARES, Measure.COUNT})
_OTHER_SHARES = frozenset(["PERMILLE", "PPM", "PPB"])
"""Units that a rate may be given in instead of percent."""


def _ordered(table: TableClues, row: int, column: int, of_row: Clue | None) -> tuple[Clue, ...]:
    """The clues, the weightiest first: the column's, the row's, the groups'.

    A column that names no more than a currency or a scale yields to a row, or a group, that says what it
    measures. Where the columns differ ("Number", "$m"), what rows and groups count is not in a currency's
    column.
    """
    own = table.columns[column] if column < len(table.columns) else ()
    above = table.of_groups(row)
    others = above if of_row is None else (of_row, *above)
    if of_row is not None and of_row.measure is Measure.EXCHANGE and own and own[0].measure is Measure.RATE:
        return (*others, *own)
    if not table.columns_alike and any(clue.phrase.unit is not None for clue in own):
        others = tuple(clue for clue in others if clue.measure not in _COUNTS)
    if not others or not all(clue.is_plain_money for clue in own):
        return (*own, *others)
    yields = others[0].measure is not None or others[0].source == "row"
    return (*others, *own) if yields else (*own, *others)


def _amount(table: TableClues, clues: Sequence[Clue], column: int) -> Reading:
    """Currency (or other unit), scale and denominator of an amount; hundredths only of a currency."""
    per = next((clue.per for clue in clues if clue.per and clue.source != "group"), None)
    reading = _scaled_amount(table, clues, column)
    if per is None and reading.unit == table.currency and reading.unit_from == table.currency_from:
        per = table.currency_per
    stated = next((clue.phrase.per for clue in clues if clue.phrase.per and clue.phrase.unit == reading.unit), None)
    return reading._replace(per=stated or per, per_stated=stated is not None)


def _scaled_amount(table: TableClues, clues: Sequence[Clue], column: int) -> Reading:
    unit, unit_from = _unit(table, clues, column)
    for clue in clues:
        if unit == UNKNOWN and clue.phrase.scale == -2:
            return Reading(unit, 0, unit_from, clue.source)
        if clue.phrase.scale is not None and clue.measure in {None, Measure.PER_SHARE}:
            return Reading(unit, clue.phrase.scale, unit_from, clue.source)
        if clue.phrase.unit is not None and not clue.phrase.is_money and clue.measure is None:
            if clue.source == "column" and _holds_for_all(table):
                break
            return Reading(unit, 0, unit_from, clue.source)
    stated = table.scale_of(column)
    if stated is not None and is_unit_of_measure(stated.phrase.unit) and unit != stated.phrase.unit:
        stated = None
    return Reading(unit, (stated.phrase.scale or 0) if stated else 0, unit_from, stated.source if stated else "")


def _holds_for_all(table: TableClues) -> bool:
    """Whether the corner says "in thousands" of a table all of whose columns have one unit of measure."""
    stated = table.scale
    plain = stated is not None and stated.source == "corner" and stated.phrase.unit is None
    return plain and table.currency is None and table.columns_alike


def is_unit_of_measure(unit: str | None) -> bool:
    """Whether a unit is one of measure and not a currency or a share."""
    return unit is not None and unit not in {UNKNOWN, COUNTED, "PERCENT"} and not unit.startswith("CCY_")


def _unit(table: TableClues, clues: Sequence[Clue], column: int) -> tuple[str, str]:
    for clue in clues:
        if clue.phrase.unit is not None and clue.phrase.unit != "PERCENT" and clue.measure in {None, Measure.PER_SHARE}:
            return clue.phrase.unit, clue.source
    if table.unit is not None and table.unit.unit is not None and column in table.unit_covers and not clues:
        return table.unit.unit, table.unit_from
    if table.currency is not None and table.currency_from == "corner":
        return table.currency, table.currency_from
    printed = table.prints[column].currency if column < len(table.prints) else None
    if printed is not None:
        return printed, "column cells"
    if table.currency is not None:
        own_scale = any(clue.phrase.scale is not None and clue.source == "column" for clue in clues)
        guessed = table.currency_from in {"column cells", "text"}
        scaled = table.scale_of(column) is not None and not own_scale
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


def _counted(bare: Reading, stated: StatedUnit) -> Reading:
    """A number of a table that is said to hold counts, such as "Number of shares (1,000)"."""
    scale = stated.phrase.share_scale
    if scale is None:
        return bare._replace(unit=COUNTED, unit_from=stated.source)
    return Reading(COUNTED, scale, stated.source, stated.source)


def _count(table: TableClues, column: int, measured: Clue, clues: Sequence[Clue]) -> Reading:
    """Counts are unscaled unless said to be in thousands; counts of shares follow the table's scale."""
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
    stated_scale = table.scale_of(column)
    if stated_scale is None or stated_scale.source == AMOUNTS:
        return Reading(COUNTED, 0, measured.source)
    excepted = measured.measure in stated_scale.phrase.exceptions
    if excepted or (measured.measure is Measure.COUNT and table.currency is not None):
        return Reading(COUNTED, 0, measured.source, measured.source)
    return Reading(COUNTED, stated_scale.phrase.scale or 0, measured.source, stated_scale.source)


LARGEST_RATE = 100
_ANY_VALUE = Decimal(1)
_ALIKE = re.compile(r"[0-9]+")
_DOLLARS = frozenset(f"CCY_{code}" for code in ("AUD", "CAD", "HKD", "NZD", "SGD", "TWD"))


@dataclass(frozen=True, slots=True)
class Override:
    """Unit (QUDT local name) and scale (power of ten) that a user has set for a column; None leaves open.

    `supposed` are those that a model proposed: they apply where nothing else gives the unit.
    """

    unit: str | None = None
    scale: int | None = None
    supposed: tuple[str | None, int | None] = (None, None)


class Quantity(NamedTuple):
    """A number in its unit.

    `value` (and `upper`, for a range) has the scale applied; `scale` is the power of ten that was.
    `unit` is a QUDT local name; `denominator` what it is per ("share"), where QUDT has no such unit.
    `unit_from` and `scale_from` name the source: mapping, cell, format, column, row, group, corner,
    column cells, caption, …; "" where there was none.
    """

    value: Decimal
    unit: str
    scale: int = 0
    unit_from: str = ""
    scale_from: str = ""
    denominator: str | None = None
    upper: Decimal | None = None


class RowContext(NamedTuple):
    """Context that a row gives its numbers: the clue in its label, the row that heads it, its period, its units.

    `units` is what columns of units say of the row.
    """

    clue: Clue | None
    parent: int | None
    period: str | None
    units: tuple[Clue | None, ...] = ()


class QuantityResolver:
    """Resolver of unit, scale and period of the numbers of one table.

    `overrides` maps a column's index to a user's mapping of it, `stated` is what it says of
    the whole table.
    """

    def __init__(
        self,
        table: Table,
        overrides: Mapping[int, Override] | None = None,
        stated: Override | None = None,
    ) -> None:
        self._table = table
        self._formats = table.grid.formats
        self._parents = table.structure.parents
        self._overrides = overrides or {}
        self._clues = TableClues(table, UnitPhrase(stated.unit, stated.scale) if stated else None)
        self._contexts: dict[tuple[int, Clue | None, int | None, tuple[Clue | None, ...]], CellContext] = {}
        self._group_periods: dict[int, str | None] = {}
        self._parts = parts_of_counts(table)
        self._bounded: dict[int, int] = {}

    def bound(self, columns: Mapping[int, int]) -> None:
        """Read the numbers of columns of bounds (of a confidence interval) as those of the columns that they bound."""
        self._bounded = dict(columns)

    def row_contexts(self, rows: Sequence[int], labels: Sequence[str], cells: Sequence[Row]) -> list[RowContext]:
        """What each of the rows, given with their labels and cells, says of its numbers; equal contexts read alike."""
        alike = _ALIKE.sub(_sevens, "\n".join(labels)).split("\n")
        if len(alike) != len(labels):
            alike = [_ALIKE.sub(_sevens, label) for label in labels]
        known = {name: self._clues.of_row(name) if name else None for name in set(alike)}
        clues = list(map(known.__getitem__, alike))
        if self._parts:
            clues = [self._parts.get(row) if clue is None else clue for row, clue in zip(rows, clues, strict=True)]
        periods = list(map(find_period, labels))
        if self._parents or self._clues.corner_period:
            periods = [self._period_of_row(row, label) for row, label in zip(rows, labels, strict=True)]
        units = [self._units_of_row(row, of_row) for row, of_row in zip(rows, cells, strict=True)]
        return list(map(RowContext, clues, map(self._parents.get, rows), periods, units))

    def _clue_of_row(self, row: int, label: str) -> Clue | None:
        clue = self._clues.of_row(_ALIKE.sub(_sevens, label)) if label else None
        return self._parts.get(row) if clue is None else clue

    def _units_of_row(self, row: int, cells: Row | None) -> tuple[Clue | None, ...]:
        if not self._clues.unit_columns:
            return ()
        head = self._table.grid.head
        return self._clues.of_unit_columns(cells if cells is not None else head[row] if row < len(head) else ())

    def reading(self, row: int, column: int, context: RowContext, unit: str | None = None) -> Reading | None:
        """The reading of any number at `row`, `column` that prints no scale, and no unit other than `unit`.

        None if the reading depends on more than the position: on the value, or its number format.
        """
        found = self._context(row, column, context.clue, context.units)
        if unit is None and found.measure in {Measure.RATE, Measure.YEAR}:
            return None
        if self._formats and (row, column) in self._formats:
            return None
        reading = self._read(Number(_ANY_VALUE, unit=unit), found, None)
        return _overridden(reading, self._overrides[column]) if column in self._overrides else reading

    def resolve(self, number: Number, row: int, column: int, label: str = "", cells: Row | None = None) -> Quantity:
        """The quantity of a number that is at `row`, `column` in a row labelled `label`.

        `cells` are the row's cells; a row of the table's head needs none.
        """
        of_row = self._clue_of_row(row, label)
        context = self._context(row, column, of_row, self._units_of_row(row, cells))
        code = self._formats.get((row, column)) if self._formats else None
        shown = read_number_format(code) if code else None
        reading = self._read(number, context, shown)
        if column in self._overrides:
            reading = _overridden(reading, self._overrides[column])
        power = reading.scale + (shown.shift if shown and reading.unit_from == "format" else 0)
        return Quantity(
            scaled(number.value, power) if power else number.value,
            reading.unit,
            reading.scale,
            reading.unit_from,
            reading.scale_from,
            reading.denominator,
            scaled(number.upper, power) if number.upper is not None else None,
        )

    def period(self, row: int, column: int, label: str = "") -> str | None:
        """The period that the header gives to a cell, else its row's label, else its groups."""
        return self.column_period(column) or self._period_of_row(row, label)

    def column_period(self, column: int) -> str | None:
        """The period that the header gives to all cells of a column."""
        periods = self._clues.periods
        return periods[column] if column < len(periods) else None

    @property
    def formats(self) -> Mapping[Position, str]:
        """The number formats of cells that have one of their own."""
        return self._formats

    def _period_of_row(self, row: int, label: str) -> str | None:
        period = find_period(label) if label else None
        parent = self._parents.get(row)
        if period is None and parent is not None:
            if parent not in self._group_periods:
                found = (find_period(self._clues.label_of(group)) for group in reversed(self._table.group_path(row)))
                self._group_periods[parent] = next((text for text in found if text), None)
            period = self._group_periods[parent]
        return period or self._clues.corner_period

    def _context(self, row: int, column: int, of_row: Clue | None, units: tuple[Clue | None, ...]) -> CellContext:
        column = self._bounded.get(column, column)
        key = (column, of_row, self._parents.get(row), units)
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = read_context(self._clues, row, column, of_row, units)
        return context

    def _read(self, number: Number, context: CellContext, shown: FormatUnit | None) -> Reading:
        bare, amount, measure = context
        unit, unit_from = number.unit, "cell"
        if unit is None and shown is not None and shown.unit is not None:
            unit, unit_from = shown.unit, "format"
        if unit == "M" and amount.unit.startswith("CCY_"):
            return amount._replace(scale=6, scale_from="cell")
        if unit == "CCY_USD" and (
            dollars := next((u for u in (amount.unit, self._clues.currency) if u in _DOLLARS), "")
        ):
            unit = dollars
        unit = self._clues.localized(unit)
        if unit is None:
            reading = bare
            if measure in {Measure.RATE, Measure.YEAR} and not _is_apt(number, measure):
                reading = amount
        elif unit.startswith("CCY_"):
            reading = amount._replace(unit=unit, unit_from=unit_from)
        else:
            reading = Reading(unit, 0, unit_from, unit_from)
        if number.scale:
            return reading._replace(scale=number.scale, scale_from="cell")
        if shown is not None and shown.scale is not None:
            return reading._replace(scale=shown.scale, scale_from="format")
        return reading


def _is_apt(number: Number, measure: Measure) -> bool:
    """Whether a value is possible for the measure of its row or column: a rate, a year."""
    if measure is Measure.RATE:
        return abs(number.value) < LARGEST_RATE
    return number.value == number.value.to_integral_value() and 1000 <= number.value <= 2200


def _overridden(reading: Reading, chosen: Override) -> Reading:
    """The reading with a user's unit and scale, except where the cell prints a percentage or scale."""
    if not reading.unit_from and reading.unit == UNKNOWN:
        unit, scale = chosen.supposed
        if scale is not None and not reading.scale_from:
            reading = reading._replace(scale=scale, scale_from="model")
        if unit is not None:
            reading = _in_unit(reading, unit, "model")
    if chosen.unit is not None and not (reading.unit_from == "cell" and reading.unit == "PERCENT"):
        reading = _in_unit(reading, chosen.unit, "mapping")
    if chosen.scale is not None and not (reading.scale_from == "cell" and reading.scale):
        reading = reading._replace(scale=chosen.scale, scale_from="mapping")
    return reading


def _in_unit(reading: Reading, chosen: str, source: str) -> Reading:
    """The reading in a unit of QUDT, or in one per something, as in ``L/100 km``."""
    unit, _, per = chosen.partition("/")
    own = reading.per if unit.startswith("CCY_") else None
    return reading._replace(unit=unit, per=per or own, per_stated=bool(per), unit_from=source)


def _sevens(match: re.Match[str]) -> str:
    """Digits that cannot name a scale, replaced, so that "Item 12" and "Item 35" share one clue."""
    digits = match[0]
    return digits if digits.strip("0") in {"", "1"} else "7" * len(digits)
