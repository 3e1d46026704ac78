from __future__ import annotations

from decimal import Decimal

from kgtable.answering.evidence import CellQuantity
from kgtable.answering.table_sources import body_rows, row_of
from tests.answering.sample import ACCOUNTS, ACCOUNTS_TABLE, PORTS_TABLE, table

NUMBER = CellQuantity(Decimal(5))


def test_groups_are_no_rows_of_the_body() -> None:
    assert body_rows(ACCOUNTS_TABLE) == 5
    assert body_rows(PORTS_TABLE) == 3
    assert body_rows(table("empty", (("a", "b"),))) == 0


def test_a_row_has_its_cells_its_parent_and_its_own_numbers() -> None:
    found = row_of(ACCOUNTS_TABLE, 3, {(3, 1): NUMBER, (4, 1): NUMBER, (3, 99): NUMBER})
    assert found is not None
    assert (found.cells, found.parent, found.quantities) == (ACCOUNTS[3], 2, {1: NUMBER})


def test_rows_that_are_not_there() -> None:
    for row in (-1, len(ACCOUNTS), 10**9):
        assert row_of(ACCOUNTS_TABLE, row, {}) is None
