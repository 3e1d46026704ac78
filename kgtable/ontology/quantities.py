"""The unit and scale of each number of a table, and its period.

Sources in the order of their weight: a user's mapping, the cell, its number format, the column header,
the row label, group headings, the header corner, what other cells of the column print, then caption,
headings and text. What a row or column measures decides how much of that holds for it: a table's "in
millions" scales neither percentages nor values per share, counts, ratios, terms or years.
"""

from __future__ import annotations

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

    def resolve(self, number: Number, row: int, column: int, label: str = "") -> Quantity:
        """The quantity of a number that stands at `row`, `column` in a row labelled `label`."""
        of_row = read_clue(label, "row") if label else None
        key = (column, of_row, self._parents.get(row))
        context = self._contexts.get(key)
        if context is None:
            context = self._contexts[key] = read_context(self._clues, row, column, of_row)
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
        periods = self._clues.periods
        if column < len(periods) and (period := periods[column]) is not None:
            return period
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
