from __future__ import annotations

from typing import Any

import pytest

from kgtable.ontology.quantities import COUNTED, UNKNOWN, CellContext, Reading, read_context
from kgtable.ontology.unit_evidence import TableClues, read_clue
from kgtable.tables.model import Context
from kgtable.values.measures import Measure
from tests.ontology.support import table


def context(*rows: tuple[str, ...], row: int = 1, column: int = 1, **parts: Any) -> CellContext:
    """What is said of a cell of such a table."""
    made = table(*rows, **parts)
    return read_context(TableClues(made), row, column, read_clue(made.grid.head[row][0], "row"))


@pytest.mark.parametrize(
    ("header", "label", "bare"),
    [
        ("2019", "Sales", Reading(UNKNOWN)),
        ("2019 £m", "Sales", Reading("CCY_GBP", 6, "column", "column")),
        ("2019", "Sales (£m)", Reading("CCY_GBP", 6, "row", "row")),
        ("2019 £m", "Weight (kg)", Reading("KiloGM", 0, "row", "row")),
        ("Weight (kg)", "Sales (£m)", Reading("KiloGM", 0, "column", "column")),
        ("2019 £m", "Gross margin %", Reading("PERCENT", 0, "row", "row")),
        ("2019 £m", "Number of stores", Reading(COUNTED, 0, "row")),
    ],
)
def test_column_and_row_put_together(header: str, label: str, bare: Reading) -> None:
    found = context(("", header), (label, "5")).bare
    assert (found.unit, found.scale, found.unit_from) == bare[:3]


def test_the_tables_scale_holds_for_amounts_and_shares_but_not_for_counts_and_values_per_share() -> None:
    rows = (
        ("($ in millions)", "2019"), ("Sales", "1"), ("Shares outstanding", "2"),
        ("Number of stores", "3"), ("Earnings per share", "4"),
    )  # fmt: skip
    found = [context(*rows, row=row).bare for row in (1, 2, 3, 4)]
    assert [(reading.unit, reading.scale) for reading in found] == [
        ("CCY_USD", 6), (COUNTED, 6), (COUNTED, 0), ("CCY_USD", 0),
    ]  # fmt: skip
    assert found[3].per == "share"


def test_exceptions_said_of_the_table_hold() -> None:
    rows = (("(in millions, except share amounts)", "2019"), ("Sales", "1"), ("Shares outstanding", "2"))
    assert context(*rows, row=2).bare.scale == 0
    own = (
        ("(dollars in millions, shares in thousands)", "2019"),
        ("Sales", "1"),
        ("Shares outstanding", "2"),
    )
    assert context(*own, row=2).bare[:2] == (COUNTED, 3)


def test_a_table_in_percent_leaves_amounts_their_own_unit() -> None:
    found = context(("", "2019"), ("Sales", "5"), context=Context(caption="As a percentage of net sales"))
    assert found.bare.unit == "PERCENT"
    assert found.amount.unit == UNKNOWN
    assert found.measure is None


def test_what_is_measured_is_told() -> None:
    assert context(("", "2019"), ("Effective tax rate", "21")).measure is Measure.RATE
    assert context(("", "2019"), ("Sales", "21")).measure is None


def test_places_that_are_not_there() -> None:
    clues = TableClues(table(("", "2019"), ("a", "1")))
    assert read_context(clues, 99, 99, None).bare.unit == UNKNOWN
