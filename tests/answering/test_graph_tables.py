from __future__ import annotations

from pathlib import Path

import pytest

from kgtable import api
from kgtable.answering.evidence import Evidence
from kgtable.answering.table_sources import MemoryTables
from kgtable.errors import GraphNotFoundError
from kgtable.graph.table_source import TableReader
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.discovery import find_files
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_file

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
        numbers = {
            place[1]: found for place, found in source.quantities("accounts").items() if place[0] == index
        }
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


def test_a_table_that_is_not_there_is_an_error(source: TableReader) -> None:
    with pytest.raises(GraphNotFoundError, match="nowhere"):
        source.frame("nowhere")
