from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.evidence import CellQuantity
from kgtable.answering.table_sources import MemoryTables
from kgtable.errors import GraphNotFoundError
from kgtable.graph.table_decoder import body_rows
from kgtable.graph.terms import Namespaces
from kgtable.tables.layout.detect import make_table
from tests.answering.sample import ACCOUNTS_TABLE, grid, table

MONEY = make_table(
    grid("money", (("(in $ thousands)", "2019", "Share"), ("Sales", "1,200", "5%"), ("Note", "n/a", "x")))
)


def test_numbers_that_are_not_given_are_read_from_the_cells() -> None:
    assert MemoryTables([MONEY]).quantities("money") == {
        (1, 1): CellQuantity(Decimal(1_200_000), "CCY_USD", "T", period="2019"),
        (1, 2): CellQuantity(Decimal(5), "PERCENT", None),
    }
    given = {(1, 1): CellQuantity(Decimal(7), "KiloGM")}
    assert MemoryTables([MONEY], {"money": given}).quantities("money") == given


def test_frames_count_the_rows_that_are_no_groups() -> None:
    source = MemoryTables([ACCOUNTS_TABLE])
    assert source.frame("accounts").body_rows == 5
    assert source.table("accounts") is ACCOUNTS_TABLE


def test_groups_are_no_rows_of_the_body() -> None:
    assert body_rows(ACCOUNTS_TABLE) == 5
    assert body_rows(table("empty", (("a", "b"),))) == 0


def test_rows_that_are_not_there() -> None:
    source = MemoryTables([ACCOUNTS_TABLE])
    for row in (-1, 99, 10**9):
        assert source.row("accounts", row) is None
    assert set(source.rows("accounts", [1, 99])) == {1}


def test_rows_and_their_numbers() -> None:
    row = MemoryTables([MONEY]).row("money", 1)
    assert row is not None
    assert (row.cells, row.parent, set(row.quantities)) == (("Sales", "1,200", "5%"), None, {1, 2})
    assert MemoryTables([MONEY]).row("money", 99) is None


def test_cells_are_cited_in_the_namespace_given() -> None:
    names = Namespaces("https://data.example/")
    source = MemoryTables([MONEY], names=names)
    assert source.cell_iri("money", 1, 2) == names.cell_iri("money", 1, 2)
    assert source.cell_iri("money", 1, 0) == names.row_iri("money", 1)


@pytest.mark.parametrize("id", ["", "nowhere", "<script>"])
def test_tables_that_are_not_there(id: str) -> None:
    source = MemoryTables([MONEY])
    for ask in (source.table, source.frame, source.quantities, lambda found: source.row(found, 1)):
        with pytest.raises(GraphNotFoundError, match="no table"):
            ask(id)
