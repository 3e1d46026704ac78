"""Units from arithmetic: amounts repeated in a text imply a scale, and parts of a count are counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from kgtable.ontology.unit_clues import LONGEST_TEXT, LOOKED_AT, Clue, read_clue
from kgtable.tables.layout.cell_roles import cell_of
from kgtable.tables.layout.row_sums import find_runs, matrix_of
from kgtable.tables.model import Context, Row, Table
from kgtable.values.decimals import scaled
from kgtable.values.measures import Measure, find_measure
from kgtable.values.numbers import NumberStyle, parse_number
from kgtable.values.units import SCALE_WORDS

AMOUNTS = "amounts in text"
MOST_AMOUNTS = 200
MOST_CELLS = 2_000
LEAST_MATCHES = 2
LEAST_DIGITS = 3
LEAST_CELLS = 6
SCALES = (0, 3, 6, 9)

_AMOUNT = re.compile(
    r"(?:[$€£¥]|RMB|USD|EUR) ?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"\s+(?P<scale>thousand|million|billion|trillion)\b",
    re.IGNORECASE,
)
_AMOUNT_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")


def scale_of_amounts(table: Table, of_money: Callable[[], bool] = lambda: False) -> int | None:
    """The power of ten that makes cells agree with amounts in the text, or None if it is not clear.

    A cell agrees with an amount if it rounds to it at the amount's last printed digit. Amounts of fewer
    than three digits say nothing; two amounts must agree, and more than half of all that agree at any scale.
    Where none agree in a table `of_money` alone, the amounts tell by their size.
    """
    amounts = list(dict.fromkeys(_amounts(table.context)))[:MOST_AMOUNTS]
    if len(amounts) < LEAST_MATCHES:
        return None
    cells = _cells(table)
    precise = [(value, unit) for value, unit, digits in amounts if digits >= LEAST_DIGITS]
    scale = _scale_of_equals(precise, cells) if len(precise) >= LEAST_MATCHES else None
    if scale is None and of_money():
        return _scale_of_range([value for value, *_ in amounts], cells)
    return scale


def _scale_of_equals(amounts: Sequence[tuple[Decimal, Decimal]], cells: Sequence[Decimal]) -> int | None:
    votes = Counter(
        scale
        for value, unit in amounts
        for scale in SCALES
        if any(abs(scaled(cell, scale) - value) * 2 <= unit for cell in cells)
    )
    if not votes:
        return None
    scale, count = min(votes.items(), key=lambda item: (-item[1], item[0]))
    return scale if count >= LEAST_MATCHES and 2 * count > sum(votes.values()) else None


def _scale_of_range(amounts: Sequence[Decimal], cells: Sequence[Decimal]) -> int | None:
    """The one power of ten that puts the amounts of the text between the smallest and largest cell.

    A text next to a table speaks of amounts of the table's own size: "$6.2 million" next to cells from 532
    to 24,264 implies thousands. At every other scale most amounts must lie outside. Cells with two
    decimals are prices, which no scale is meant for.
    """
    if len(amounts) < LEAST_MATCHES or len(cells) < LEAST_CELLS:
        return None
    if sum(cell.as_tuple().exponent == -2 for cell in cells) * 2 >= len(cells):
        return None
    low, high = min(cells), max(cells)
    inside = {
        scale: sum(scaled(low, scale) <= amount <= scaled(high, scale) for amount in amounts) / len(amounts)
        for scale in SCALES
    }
    best = max(SCALES, key=lambda scale: inside[scale])
    clear = all(share <= 0.5 for scale, share in inside.items() if scale != best)
    return best if inside[best] >= 0.9 and clear else None


def _amounts(context: Context) -> Iterator[tuple[Decimal, Decimal, int]]:
    """Amounts in full, each with the worth of its last printed digit and the number of its digits."""
    for text in context.texts():
        for match in _AMOUNT.finditer(text[:LONGEST_TEXT]):
            printed = Decimal(match["digits"].replace(",", ""))
            if len(match["digits"]) <= 20:
                power = SCALE_WORDS[match["scale"].lower()]
                shape = printed.as_tuple()
                yield scaled(printed, power), scaled(Decimal(1), int(shape.exponent) + power), len(shape.digits)


def _cells(table: Table) -> tuple[Decimal, ...]:
    """The distinct figures of the body's first rows, percentages left out."""
    found: dict[Decimal, None] = {}
    for row in table.grid.head[table.structure.body_start :]:
        for text in row:
            match = _AMOUNT_NUMBER.search(text) if len(text) <= 30 and "%" not in text else None
            if match is not None and len(found) < MOST_CELLS:
                found[Decimal(match[0].replace(",", ""))] = None
    return tuple(cell for cell in found if cell >= 10)


SUM = "sum"
COUNTS = frozenset({Measure.SHARES, Measure.COUNT})
MOST_PARTS = 20
MOST_COLUMNS = 12
FEWEST_FIGURES = 5
"""Digits of a sum, over all columns; small counts agree by chance."""
_STYLE = NumberStyle(ranges=False)


def parts_of_counts(table: Table) -> dict[int, Clue]:
    """Rows without a clue of their own that add up, with the rows right above, to a named count: row → clue.

    "Dilutive securities" between "Basic shares outstanding" and "Diluted shares outstanding" names no shares, yet
    the rows add up: what makes up a count is counted, too.

    The rows end at one that says that it measures something else, or prints a currency or a percentage.
    """
    start, label = table.structure.body_start, table.structure.label_column
    head = table.grid.head[: start + LOOKED_AT]
    columns = [column for column in range(table.grid.width) if column != label][:MOST_COLUMNS]
    found: dict[int, Clue] = {}
    for index in range(start + 2, len(head)):
        measure = find_measure(cell_of(head[index], label))
        if measure not in COUNTS or index in table.structure.footnotes:
            continue
        above: list[int] = []
        for row in range(index - 1, max(start, index - MOST_PARTS) - 1, -1):
            if _prints_other(head[row]) or not _may_be(head[row], label, measure):
                break
            above.append(row)
        rows = [*reversed(above), index]
        runs = find_runs(*matrix_of([[_plain(cell_of(head[row], column)) for column in columns] for row in rows]))
        if runs.figures[-1] < FEWEST_FIGURES:
            continue
        added = (rows[member] for member in runs.members[len(above)])
        parts = [row for row in added if read_clue(cell_of(head[row], label), "row") is None]
        found.update((row, Clue(SUM, measure=measure)) for row in parts)
    return found


def _plain(text: str) -> Decimal | None:
    number = parse_number(text, _STYLE) if text else None
    return None if number is None else number.value


def _may_be(row: Row, label: int, measure: Measure | None) -> bool:
    clue = read_clue(cell_of(row, label), "row")
    return clue is None or clue.measure is measure


def _prints_other(row: Row) -> bool:
    return any(sign in text for text in row for sign in "$€£¥₹%")
