from __future__ import annotations

import pyoxigraph
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple
from rdflib.compare import isomorphic

from kgtable.ontology.owl import in_order, ntriples, rdf_xml, turtle

PREFIXES = {"e": "http://e/", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
LABEL = NamedNode(PREFIXES["rdfs"] + "label")
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff")
)


def triples(*labels: str) -> list[Triple]:
    return [Triple(NamedNode(f"http://e/s{i % 2}"), LABEL, Literal(label)) for i, label in enumerate(labels)]


def test_one_block_a_subject_in_the_order_of_rank() -> None:
    ordered = in_order(triples("a", "b", "c", "a"), lambda iri: iri.endswith("s0"))
    assert turtle(ordered, PREFIXES).decode() == (
        "@prefix e: <http://e/> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        '\ne:s1 rdfs:label "a", "b" .\n'
        '\ne:s0 rdfs:label "a", "c" .\n'
    )


def test_a_triple_given_twice_is_written_once() -> None:
    assert len(in_order([*triples("a"), *triples("a")], lambda _: 0)) == 1


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_all_syntaxes_hold_any_text(labels: list[str]) -> None:
    ordered = in_order(triples(*labels), lambda _: 0)
    expected = set(ordered)
    for text, format_ in (
        (turtle(ordered, PREFIXES), pyoxigraph.RdfFormat.TURTLE),
        (ntriples(ordered), pyoxigraph.RdfFormat.N_TRIPLES),
        (rdf_xml(ordered, PREFIXES), pyoxigraph.RdfFormat.RDF_XML),
    ):
        assert {quad.triple for quad in pyoxigraph.parse(text, format=format_)} == expected


def test_rdflib_reads_the_same() -> None:
    ordered = in_order(triples('quote " and \\', "line\nbreak", "<&>"), lambda _: 0)
    from_turtle = rdflib.Graph().parse(data=turtle(ordered, PREFIXES), format="turtle")
    assert isomorphic(from_turtle, rdflib.Graph().parse(data=rdf_xml(ordered, PREFIXES), format="xml"))
