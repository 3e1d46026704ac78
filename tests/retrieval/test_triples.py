from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

from kgtable.graph import table_source
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_content import FoundCell
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import KGT, CellAddress, Namespaces
from kgtable.graph.writers import Format
from kgtable.index.graph_index import GraphIndex
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.registry import Material
from kgtable.retrieval.result import FIRST_BATCH, LateTriples, ScoredTriple
from kgtable.retrieval.triples import described_rdf
from tests.index.sample_graph import build, load_words, write_tables

EX = "http://example.org/ontology#"
QUESTION = "How much did Cloud make in 2019, and which bridge opened in 1921?"


@pytest.fixture
def reader(store: EmbeddedStore, names: Namespaces) -> TableReader:
    return TableReader(store, names)


def cell(reader: TableReader, table: str, row: int, column: int, predicate: str | None) -> FoundCell:
    (found,) = reader.cells([(CellAddress(table, row, column), predicate and EX + predicate)])
    assert found is not None
    return found


def test_a_number_comes_with_all_the_graph_says(reader: TableReader) -> None:
    subject, group, found = cell(reader, "income", 2, 2, "in2019")
    assert (subject, group, found.text) == ("- Cloud", "Revenue:", "150")
    assert (Decimal(found.value or ""), found.unit, found.scale) == (150_000_000, "CCY_USD", "M")
    assert (found.note, found.period, found.is_node) == ("POSITIVE", "2019", True)


def test_a_date_comes_as_printed_and_as_a_value(reader: TableReader) -> None:
    found = cell(reader, "bridges", 1, 1, "hasOpened").content
    assert (found.text, found.value, found.unit) == ("31 Dec. 1921", "1921-12-31", None)


def test_more_cells_than_one_query_asks_for(reader: TableReader, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [(CellAddress("medals", row, 1), f"{EX}hasNation") for row in (1, 2, 3)]
    monkeypatch.setattr(table_source, "AT_ONCE", 2)
    assert [found and found.content.text for found in reader.cells(cells)] == ["Norway", "Kenya", "Peru"]


def test_a_predicate_that_is_no_iri_cannot_end_the_query(reader: TableReader) -> None:
    with pytest.raises(ValueError, match="IRI"):
        reader.cells([(CellAddress("medals", 1, 1), 'x> } DROP ALL { "')])


def test_a_row_without_a_label_has_its_heading(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",2018,2019\nAssets:,,\n- Cash,1,2\n,3,4\nTotal,4,6\n", encoding="utf-8")
    generation = build(tmp_path / "t.csv", tmp_path / "kg", "none")
    names = Namespaces(generation.base)
    reader = TableReader(EmbeddedStore(generation.store_path, names.prefixes), names)
    said = [
        (found.subject, found.content.text, found.group)
        for row in (2, 3)
        if (found := cell(reader, "t", row, 1, "in2018"))
    ]
    assert said == [("- Cash", "1", "Assets:"), ("", "3", "Assets:")]


def everything(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces, *, from_index: bool
) -> Sequence[ScoredTriple]:
    retriever = HybridRetriever(store, names, index, from_index=from_index)
    return retriever.retrieve(QUESTION, 1_000).triples


def test_index_and_graph_give_the_same_triples(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> None:
    assert index.describes(store)
    read = everything(index, store, names, from_index=True)
    assert len(read) > 40
    assert read == everything(index, store, names, from_index=False)


def test_every_cell_of_a_table_is_the_same_by_whichever_method(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces
) -> None:
    material = Material(store, names, lambda: index.corpus.table_ids, Path(), lambda: index)
    whole = {triple[:3]: triple for id in index.corpus.table_ids for triple in material.triples_of(id)}
    found = {triple[:3]: triple for triple in everything(index, store, names, from_index=True) if triple.row}
    assert found
    for place, triple in found.items():
        assert triple._replace(score=0.0) == whole[place]


def test_a_store_that_was_written_to_is_asked_itself(tmp_path: Path) -> None:
    generation = build(write_tables(tmp_path / "tables"), tmp_path / "kg")
    names = Namespaces(generation.base)
    row = f"<{names.row_iri('medals', 2)}>"
    writer = ox.Store(str(generation.store_path))
    writer.update(
        f"DELETE WHERE {{ GRAPH ?g {{ {row} <{EX}hasNation> ?o }} }} ;"
        f'INSERT DATA {{ GRAPH <{names.table_iri("medals")}> {{ {row} <{EX}hasRank> "second" }} }}'
    )
    writer.flush()
    del writer
    store, index = (EmbeddedStore(generation.store_path, names.prefixes), GraphIndex(generation.index_path, load_words))
    assert not index.describes(store)
    found = HybridRetriever(store, names, index).retrieve("Kenya's gold medals", 1_000)
    assert (2, 1) not in {triple[1:3] for triple in found.triples if triple.table == "medals"}
    assert len(found.triples) < len(found.addresses)


class Counting:
    """Stands in for a reader; keeps which triples were read."""

    def __init__(self, gone: int = 0) -> None:
        self.asked: list[tuple[int, int]] = []
        self._gone = gone

    def __call__(self, first: int, last: int) -> list[ScoredTriple]:
        self.asked.append((first, last))
        return [made(number) for number in range(first, last) if number >= self._gone]


def made(number: int) -> ScoredTriple:
    return ScoredTriple("t", number, 0, "", "p", str(number), None, None, None, None, "c", 1.0)


def late(count: int, reading: Counting) -> LateTriples:
    return LateTriples([CellAddress("t", number, 0) for number in range(count)], reading)


def test_triples_are_read_when_they_are_looked_at() -> None:
    reading = Counting()
    triples = late(10_000, reading)
    assert len(triples.addresses) == 10_000
    assert reading.asked == []
    assert triples
    assert triples[0] == made(0)
    assert triples[:5] == tuple(map(made, range(5)))
    assert reading.asked == [(0, FIRST_BATCH)]
    assert triples[FIRST_BATCH] == made(FIRST_BATCH)
    assert reading.asked[1:] == [(FIRST_BATCH, 2 * FIRST_BATCH)]
    assert len(triples) == 10_000
    assert triples[-1] == made(9_999)
    assert list(triples) == list(map(made, range(10_000)))
    assert len(reading.asked) == 3


def test_the_statements_of_the_retrieved_cells_and_no_others(store: EmbeddedStore, names: Namespaces) -> None:
    triples = [
        ScoredTriple(
            table, row, column, "", EX + predicate, "", None, None, None, None,
            names.cell_iri(table, row, column), 1.0,
        )
        for table, row, column, predicate in (("income", 2, 2, "in2019"), ("medals", 1, 1, "hasNation"))
    ]  # fmt: skip
    text = described_rdf(store, names, triples, Format.TURTLE)
    graph = rdflib.Graph().parse(data=text, format="turtle")
    row, cell = rdflib.URIRef(names.row_iri("income", 2)), rdflib.URIRef(names.cell_iri("income", 2, 2))
    assert (row, rdflib.URIRef(f"{EX}in2019"), cell) in graph
    assert (row, rdflib.RDFS.label, rdflib.Literal("- Cloud")) in graph
    assert (row, rdflib.URIRef(f"{EX}in2018"), None) not in graph
    assert graph.value(cell, rdflib.URIRef(f"{KGT}text")) == rdflib.Literal("150")
    nation = (rdflib.URIRef(names.row_iri("medals", 1)), rdflib.URIRef(f"{EX}hasNation"), rdflib.Literal("Norway"))
    assert nation in graph
    assert len(set(graph.subjects())) == 3
