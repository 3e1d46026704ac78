from __future__ import annotations

import rdflib

from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import KGT, Namespaces
from kgtable.graph.writers import Format
from kgtable.retrieval.result import ScoredTriple
from kgtable.retrieval.triples import described_rdf

EX = "http://example.org/ontology#"


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
    nation = (
        rdflib.URIRef(names.row_iri("medals", 1)),
        rdflib.URIRef(f"{EX}hasNation"),
        rdflib.Literal("Norway"),
    )
    assert nation in graph
    assert len(set(graph.subjects())) == 3


def test_no_triples_are_an_empty_graph(store: EmbeddedStore, names: Namespaces) -> None:
    assert (
        len(rdflib.Graph().parse(data=described_rdf(store, names, [], Format.TURTLE), format="turtle")) == 0
    )
