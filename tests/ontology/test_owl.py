"""The ontology as OWL, and the core vocabulary: every kgt: term in use is declared and explained."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import owlready2
import pyoxigraph
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple
from rdflib import OWL, RDF, RDFS, XSD
from rdflib.compare import isomorphic

from kgtable.ontology.column_stats import MISSING, QUANTITY, ColumnFact
from kgtable.ontology.owl import generate, in_order, rdf_xml, turtle
from kgtable.resources import PACKAGE, read_shipped, shipped_path
from kgtable.tables.model import Meaning, MeasureKind, Role

EX = rdflib.Namespace("http://example.org/ontology#")
KGT = rdflib.Namespace("https://w3id.org/kgtable#")
QUDT = rdflib.Namespace("http://qudt.org/schema/qudt/")
FACTS = [
    ColumnFact("t", 0, "Year", "hasYear", ranges={str(XSD.gYear): 3}),
    ColumnFact("t", 1, "Pension", "hasPension", ranges={QUANTITY: 3}, units={"CCY_USD": 2, "NUM": 1}),
    ColumnFact("t", 2, "pension", "hasPension_2", ranges={QUANTITY: 3}, units={"NUM": 3}),
    ColumnFact("t", 3, "Result", "hasResult", ranges={QUANTITY: 2, str(XSD.string): 1}, units={"NUM": 2}),
    ColumnFact("t", 4, "Note", "hasNote", ranges={str(XSD.string): 2, MISSING: 1}),
    ColumnFact("u", 0, "Name", "https://schema.org/name", ranges={str(XSD.string): 1}),
]


@pytest.fixture(scope="module")
def graph() -> rdflib.Graph:
    return rdflib.Graph().parse(data=generate(FACTS).turtle, format="turtle")


def test_a_range_is_stated_only_where_it_holds_for_every_cell(graph: rdflib.Graph) -> None:
    assert graph.value(EX.hasNote, RDF.type) == OWL.DatatypeProperty
    assert graph.value(EX.hasNote, RDFS.range) is None
    assert graph.value(EX.hasResult, RDF.type) == OWL.AnnotationProperty
    assert graph.value(EX.hasResult, RDFS.range) is None


def test_numbered_predicates_are_sub_properties(graph: rdflib.Graph) -> None:
    assert graph.value(EX.hasPension_2, RDFS.subPropertyOf) == EX.hasPension
    assert graph.value(EX.hasPension_2, RDF.type) == OWL.ObjectProperty


@pytest.mark.parametrize("name", ["Table", "Row", "Column", "Group"])
def test_classes_are_declared(graph: rdflib.Graph, name: str) -> None:
    assert (KGT[name], RDF.type, OWL.Class) in graph


def test_what_a_predicate_refers_to_is_declared() -> None:
    meaning = Meaning(Role.MEASURE, MeasureKind.AMOUNT, quantity_kind="Currency")
    fact = ColumnFact("t", 0, "Sales", "hasSales", ranges={QUANTITY: 3}, meaning=meaning)
    graph = rdflib.Graph().parse(data=generate([fact]).turtle, format="turtle")
    for property_, class_ in (
        (KGT.role, KGT.Role),
        (KGT.measureKind, KGT.MeasureKind),
        (QUDT.hasQuantityKind, QUDT.QuantityKind),
    ):
        assert (property_, RDF.type, OWL.AnnotationProperty) in graph
        assert (class_, RDF.type, OWL.Class) in graph
        value = graph.value(EX.hasSales, property_)
        assert {OWL.NamedIndividual, class_} == set(graph.objects(value, RDF.type))


def test_a_predicate_of_owl_itself_stays_as_it_is() -> None:
    facts = [ColumnFact("t", 0, "Name", str(RDFS.label), ranges={str(XSD.string): 1}), *FACTS]
    assert rdflib.Graph().parse(data=generate(facts).turtle).value(RDFS.label, RDF.type) is None


def test_proposed_equivalents_are_links() -> None:
    made = generate(FACTS, equivalents={"hasPension": ["hasResult"]})
    graph = rdflib.Graph().parse(data=made.turtle, format="turtle")
    assert graph.value(EX.hasPension, KGT.proposedEquivalent) == EX.hasResult


def test_both_syntaxes_say_the_same() -> None:
    made = generate(FACTS)
    turtle = rdflib.Graph().parse(data=made.turtle, format="turtle")
    assert isomorphic(turtle, rdflib.Graph().parse(data=made.rdf_xml, format="xml"))


def test_rdf_xml_can_be_opened_with_owlready2() -> None:
    world = owlready2.World()
    ontology = world.get_ontology("http://example.org/ontology#").load(fileobj=io.BytesIO(generate(FACTS).rdf_xml))
    assert {entity.name for entity in ontology.object_properties()} == {"hasPension", "hasPension_2"}
    world.close()


def test_hostile_names_survive_all_syntaxes() -> None:
    facts = [
        ColumnFact("t", 0, 'a "b" <c> & \\ \x00 \ud800 \U0001f680', "hasΔευτέρα", ranges={str(XSD.string): 1}),
        *(
            ColumnFact("t", i, name, name, ranges={QUANTITY: 1})
            for i, name in enumerate(["label", "domain", "range", "comment", "name", "columnName", "class", "is_a"])
        ),
    ]
    made = generate(facts)
    graph = rdflib.Graph().parse(data=made.rdf_xml, format="xml")
    assert isomorphic(graph, rdflib.Graph().parse(data=made.turtle, format="turtle"))
    for name in ("label", "domain", "range", "comment", "name", "columnName", "class", "is_a"):
        assert graph.value(EX[name], RDFS.domain) == KGT.Row
        assert str(graph.value(EX[name], RDFS.label)) == name


def test_bytes_do_not_depend_on_hash_seed_or_order() -> None:
    program = (
        "import sys; from tests.ontology.test_owl import FACTS; from kgtable.ontology.owl import generate;"
        "made = generate(FACTS[::-1]); sys.stdout.buffer.write(made.turtle + made.rdf_xml)"
    )
    here = generate(FACTS)
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        )
        assert run.stdout == here.turtle + here.rdf_xml


PREFIXES = {"e": "http://e/", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
LABEL = NamedNode(PREFIXES["rdfs"] + "label")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))


def triples(*labels: str) -> list[Triple]:
    return [Triple(NamedNode(f"http://e/s{i % 2}"), LABEL, Literal(label)) for i, label in enumerate(labels)]


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_all_syntaxes_hold_any_text(labels: list[str]) -> None:
    ordered = in_order(triples(*labels), lambda _: 0)
    expected = set(ordered)
    for text, format_ in (
        (turtle(ordered, PREFIXES), pyoxigraph.RdfFormat.TURTLE),
        (rdf_xml(ordered, PREFIXES), pyoxigraph.RdfFormat.RDF_XML),
    ):
        assert {quad.triple for quad in pyoxigraph.parse(text, format=format_)} == expected


def test_rdflib_reads_the_same() -> None:
    ordered = in_order(triples('quote " and \\', "line\nbreak", "<&>"), lambda _: 0)
    from_turtle = rdflib.Graph().parse(data=turtle(ordered, PREFIXES), format="turtle")
    assert isomorphic(from_turtle, rdflib.Graph().parse(data=rdf_xml(ordered, PREFIXES), format="xml"))


KGT_IRI = "https://w3id.org/kgtable#"
TERM = re.compile(r"(?:\bkgt:|\{KGT\}|https://w3id\.org/kgtable#)([A-Za-z_]\w*)")


def core() -> rdflib.Graph:
    return rdflib.Graph().parse(data=read_shipped("ontologies/kgtable.ttl"), format="turtle")


def sources() -> Iterator[Path]:
    yield from sorted(PACKAGE.rglob("*.py"))
    yield from sorted(shipped_path("queries").rglob("*.rq"))
    yield shipped_path("ontologies") / "shapes.ttl"


def test_every_term_in_use_is_declared() -> None:
    declared = {str(term).removeprefix(KGT_IRI) for term in core().subjects() if str(term).startswith(KGT_IRI)}
    used = {
        (term, path.name)
        for path in sources()
        if path.exists()
        for term in TERM.findall(path.read_text(encoding="utf-8"))
    }
    assert used
    assert {(term, name) for term, name in used if term not in declared} == set()


def test_domains_and_ranges_of_our_own_are_declared() -> None:
    graph = core()
    named = [*graph.objects(None, RDFS.domain), *graph.objects(None, RDFS.range), *graph.objects(None, RDFS.subClassOf)]
    assert named
    for term in named:
        assert not str(term).startswith(KGT_IRI) or (term, RDF.type, None) in graph, term
