from __future__ import annotations

from pathlib import Path

import pytest

from kgtable import api
from kgtable.answering.evidence import Citation, Evidence
from kgtable.graph.terms import KGT
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.discovery import find_files
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_file
from tests.answering.memory_tables import MemoryTables

SAMPLES = Path(api.__file__).parent / "samples"
ODD = 'Item,Opened,Kept,Share,Range,Note\nPump,31 Dec. 1921,2019,"12,5 %",5-7,"""<x>"""\n,n/a,yes,(3),—,\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("citable")
    for path in SAMPLES.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "odd.csv").write_text(ODD, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def kg(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> api.KnowledgeGraph:
    return api.build(folder, tmp_path_factory.mktemp("kg"), embedding="none")


def citations(kg: api.KnowledgeGraph, id: str) -> list[Citation]:
    evidence = Evidence(Retrieval("?", (), (ScoredTable(id, 1.0),)), kg.reader)
    places = [
        (row, column) for row, cells in kg.tables[id].table.rows() for column, text in enumerate(cells) if text.strip()
    ]
    cells = [evidence.cell(id, *place) for place in places]
    assert places
    assert None not in cells
    return [cell for cell in cells if cell is not None]


def test_every_citation_of_every_cell_resolves_and_says_the_cell(kg: api.KnowledgeGraph) -> None:
    said: dict[str, set[tuple[str, str]]] = {}
    for id in kg.tables:
        graph = kg.names.table_iri(id)
        for triple in kg.store.graph(graph):
            said.setdefault(triple.subject.value, set()).add((triple.predicate.value, triple.object.value))  # type: ignore[union-attr]
    kinds = set()
    for id in kg.tables:
        for cited in citations(kg, id):
            assert said[cited.cell]
            is_row = cited.cell == kg.names.row_iri(id, cited.row)
            kinds.add(is_row)
            if is_row:
                assert cited.text in {value for name, value in said[cited.cell] if name == cited.predicate}
            else:
                assert cited.cell == kg.names.cell_iri(id, cited.row, cited.column)
                assert (f"{KGT}text", cited.text) in said[cited.cell]
    assert kinds == {True, False}


def test_every_retrieved_triple_names_a_subject(kg: api.KnowledgeGraph) -> None:
    for method in ("hybrid", "bm25"):
        found = kg.retrieve("How large is the range of the pump that opened in 1921?", 500, method)
        assert found.triples
        for iri in {triple.cell for triple in found.triples}:
            assert kg.sparql(f"ASK {{ <{iri}> ?p ?o }}") is True


def test_tables_in_memory_are_cited_alike(kg: api.KnowledgeGraph, folder: Path) -> None:
    grids = [grid for file in find_files([folder]) for grid in read_file(file)]
    memory = MemoryTables((make_table(grid) for grid in grids), names=kg.names)
    for grid in grids:
        for row, cells in enumerate(grid.head):
            for column, text in enumerate(cells):
                if text.strip():
                    place = grid.id, row, column
                    assert memory.cell_iri(*place) == kg.reader.cell_iri(*place)
