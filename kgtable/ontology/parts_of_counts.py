"""Rows that are parts of a number of shares or things, by their sum and not by their name.

"Dilutive securities" between "Basic shares outstanding" and "Diluted shares outstanding" names no shares,
yet the rows add up: what makes up a count is counted, too.
"""

from __future__ import annotations

from kgtable.ontology.stated_units import LOOKED_AT
from kgtable.ontology.unit_evidence import Clue, read_clue
from kgtable.tables.layout.row_kinds import cell_of, count_added
from kgtable.tables.model import Row, Table
from kgtable.values.measures import Measure, find_measure

SUM = "sum"
COUNTS = frozenset({Measure.SHARES, Measure.COUNT})
MOST_PARTS = 20
MOST_COLUMNS = 12


def parts_of_counts(table: Table) -> dict[int, Clue]:
    """Rows without a clue of their own that add up, with the rows right above, to a named count: row → clue.

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
        count = count_added(head[index], (head[row] for row in above), columns)
        parts = [row for row in above[:count] if read_clue(cell_of(head[row], label), "row") is None]
        found.update((row, Clue(SUM, measure=measure)) for row in parts)
    return found


def _may_be(row: Row, label: int, measure: Measure | None) -> bool:
    clue = read_clue(cell_of(row, label), "row")
    return clue is None or clue.measure is measure


def _prints_other(row: Row) -> bool:
    return any(sign in text for text in row for sign in "$€£¥₹%")
