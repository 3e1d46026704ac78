"""The unit and scale of each number of a table, and its period.

Sources in the order of their weight: a user's mapping, the cell, its number format, the column header,
the row label, group headings, the header corner, what other cells of the column print, then caption,
headings and text. What a row or column measures decides how much of that holds for it: a table's "in
millions" scales neither percentages nor values per share, counts, ratios, terms or years.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from kgtable.ontology.clues import Clue, TableClues, read_clue
from kgtable.ontology.measures import Measure
from kgtable.ontology.number_formats import FormatUnit, read_number_format
from kgtable.ontology.readings import CellContext, Reading, read_context
from kgtable.tables.digits import scaled
from kgtable.tables.model import Table
from kgtable.tables.numbers import Number
from kgtable.tables.periods import find_period

LARGEST_RATE = 100
_ANY_VALUE = Decimal(1)
_ALIKE = re.compile(r"[0-9]+")
_DOLLARS = frozenset(f"CCY_{code}" for code in ("AUD", "CAD", "HKD", "NZD", "SGD", "TWD"))


@dataclass(frozen=True, slots=True)
class Override:
    """Unit (QUDT local name) and scale (power of ten) that a user has set for a column; None leaves open."""

    unit: str | None = None
    scale: int | None = None


class Quantity(NamedTuple):
    """A number in its unit.

    `value` (and `upper`, for a range) has the scale applied; `scale` is the power of ten that was.
    `unit` is a QUDT local name; `denominator` what a currency is per ("share"), which QUDT cannot say.
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
    """What a row says of all its numbers: the clue in its label, the row that heads it, its period."""

    clue: Clue | None
    parent: int | None
    period: str | None


class QuantityResolver:
    """Unit, scale and period of the numbers of one table; columns and groups are looked at once.

    `overrides` maps a column's index to what a user's mapping says of it.
    """

    def __init__(self, table: Table, overrides: Mapping[int, Override] | None = None) -> None:
        self._table = table
        self._formats = table.grid.formats
        self._parents = table.structure.parents
        self._overrides = overrides or {}
        self._clues = TableClues(table)
        self._contexts: dict[tuple[int, Clue | None, int | None], CellContext] = {}
        self._group_periods: dict[int, str | None] = {}

    def row_context(self, row: int, label: str = "") -> RowContext:
        """What the row labelled `label` says of its numbers; rows of equal contexts are read alike."""
        clue = read_clue(_ALIKE.sub(_sevens, label), "row") if label else None
        return RowContext(clue, self._parents.get(row), self._period_of_row(row, label))

    def reading(self, row: int, column: int, context: RowContext, unit: str | None = None) -> Reading | None:
        """How any number at `row`, `column` is read that prints no scale and no unit but `unit`.

        None where that takes more than its place: its value, or its number format.
        """
        found = self._context(row, column, context.clue)
        if unit is None and found.measure in {Measure.RATE, Measure.YEAR}:
            return None
        if self._formats and (row, column) in self._formats:
            return None
        reading = self._read(Number(_ANY_VALUE, unit=unit), found, None)
        return _overridden(reading, self._overrides[column]) if column in self._overrides else reading

    def resolve(self, number: Number, row: int, column: int, label: str = "") -> Quantity:
        """The quantity of a number that stands at `row`, `column` in a row labelled `label`."""
        context = self._context(row, column, read_clue(_ALIKE.sub(_sevens, label), "row") if label else None)
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
            reading.per if reading.unit.startswith("CCY_") else None,
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
    def has_formats(self) -> bool:
        """Whether cells have number formats of their own."""
        return bool(self._formats)

    def _period_of_row(self, row: int, label: str) -> str | None:
        period = find_period(label) if label else None
        parent = self._parents.get(row)
        if period is None and parent is not None:
            if parent not in self._group_periods:
                found = (
                    find_period(self._clues.label_of(group))
                    for group in reversed(self._table.group_path(row))
                )
                self._group_periods[parent] = next((text for text in found if text), None)
            period = self._group_periods[parent]
        return period

    def _context(self, row: int, column: int, of_row: Clue | None) -> CellContext:
        key = (column, of_row, self._parents.get(row))
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = read_context(self._clues, row, column, of_row)
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
    """Whether a value can be what its row or column is said to measure: a rate, a year."""
    if measure is Measure.RATE:
        return abs(number.value) < LARGEST_RATE
    return number.value == number.value.to_integral_value() and 1000 <= number.value <= 2200


def _overridden(reading: Reading, chosen: Override) -> Reading:
    """The reading with a user's unit and scale, except where the cell prints a percentage or scale."""
    if chosen.unit is not None and not (reading.unit_from == "cell" and reading.unit == "PERCENT"):
        reading = reading._replace(unit=chosen.unit, unit_from="mapping")
    if chosen.scale is not None and not (reading.scale_from == "cell" and reading.scale):
        reading = reading._replace(scale=chosen.scale, scale_from="mapping")
    return reading


def _sevens(match: re.Match[str]) -> str:
    """Digits that cannot name a scale, replaced, so that "Item 12" and "Item 35" share one clue."""
    digits = match[0]
    return digits if digits.strip("0") in {"", "1"} else "7" * len(digits)
