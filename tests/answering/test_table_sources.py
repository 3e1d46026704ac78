from __future__ import annotations

from pathlib import Path

import pytest

from kgtable import api
from kgtable.answering.evidence import Evidence
from kgtable.errors import GraphNotFoundError
from kgtable.graph.table_content import CellContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.discovery import find_files
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_file
from tests.answering.memory_tables import MemoryTables
from tests.answering.sample import ACCOUNTS, ACCOUNTS_TABLE, grid
from tests.graph.decoding import decode_in_memory

CSV = """Norrvik Ltd,,
EUR million,2018,2019
Revenue,"1,200","1,500"
Costs,,
- Staff,400,450
- Cloud,100,n/a
,,
Founded,3 May 1999,
Ragged
Result,700,(955)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "accounts.csv").write_text(CSV, encoding="utf-8")
    (folder / "accounts.json").write_text('{"title": "Accounts", "paragraphs": ["In millions."]}')
    return folder


@pytest.fixture(scope="module")
def kg(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> api.KnowledgeGraph:
    return api.build(folder, tmp_path_factory.mktemp("kg"), embedding="none")


@pytest.fixture
def source(kg: api.KnowledgeGraph) -> TableReader:
    return TableReader(kg.store, kg.names)


@pytest.fixture(scope="module")
def memory(folder: Path) -> MemoryTables:
    return MemoryTables(make_table(grid) for file in find_files([folder]) for grid in read_file(file))


def test_the_graph_gives_what_the_file_gives(source: TableReader, memory: MemoryTables) -> None:
    assert source.table("accounts").grid.head == memory.table("accounts").grid.head
    assert source.quantities("accounts") == memory.quantities("accounts")


def test_rows_by_themselves_are_those_of_the_whole_table(kg: api.KnowledgeGraph, source: TableReader) -> None:
    other = TableReader(kg.store, kg.names)
    whole = other.table("accounts")
    for index, cells in whole.rows():
        row = source.row("accounts", index)
        assert row is not None
        assert row.cells == cells
        assert row.parent == whole.structure.parents.get(index)
        numbers = {place[1]: found for place, found in source.quantities("accounts").items() if place[0] == index}
        assert row.quantities == (numbers if index >= whole.structure.body_start else {})
        assert other.row("accounts", index) == row
    assert source.row("accounts", len(whole.grid.head)) is None
    assert source.row("accounts", -1) is None


def test_a_frame_has_all_but_the_rows(source: TableReader, memory: MemoryTables) -> None:
    frame, whole = source.frame("accounts"), memory.frame("accounts")
    assert frame.body_rows == whole.body_rows
    assert frame.table.columns == whole.table.columns
    assert frame.table.context == whole.table.context
    assert frame.table.structure.body_start == whole.table.structure.body_start
    assert frame.table.structure.groups == whole.table.structure.groups


def test_each_cell_is_the_same_from_either_source(source: TableReader, memory: MemoryTables) -> None:
    found = Retrieval("?", (), (ScoredTable("accounts", 1.0),))
    here, there = Evidence(found, source), Evidence(found, memory)
    cells = [(row, column) for row, cells in memory.table("accounts").rows() for column in range(len(cells))]
    assert any(here.cell("accounts", *place) for place in cells)
    for place in cells:
        assert here.cell("accounts", *place) == there.cell("accounts", *place)
        assert len(here.group_path("accounts", place[0])) == len(there.group_path("accounts", place[0]))


MONEY = make_table(
    grid("money", (("(in $ thousands)", "2019", "Share"), ("Sales", "1,200", "5%"), ("Note", "n/a", "x")))
)


def test_numbers_that_are_not_given_are_read_from_the_cells() -> None:
    assert decode_in_memory(MONEY).quantities == {
        (1, 1): CellContent("1,200", True, "1200000", "CCY_USD", "T", "POSITIVE", "2019"),
        (1, 2): CellContent("5%", True, "5", "PERCENT", None, "POSITIVE"),
    }
    given = {(1, 1): CellContent("7", True, "7", "KiloGM")}
    assert MemoryTables([MONEY], {"money": given}).quantities("money") == given
    assert MemoryTables([MONEY]).quantities("money") == decode_in_memory(MONEY).quantities


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


NUMBER = CellContent("5", True, "5", "NUM")


def test_a_row_has_its_cells_its_parent_and_its_own_numbers() -> None:
    given = {(3, 1): NUMBER, (4, 1): NUMBER, (3, 99): NUMBER}
    source = MemoryTables([ACCOUNTS_TABLE], {"accounts": given})
    found = source.row("accounts", 3)
    assert found is not None
    assert (found.cells, found.parent, found.quantities) == (ACCOUNTS[3], 2, {1: NUMBER})
