from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import owlready2
import pyoxigraph
import pytest
import rdflib
from rdflib import OWL, RDF, RDFS, XSD
from rdflib.compare import isomorphic

from kgtable.errors import OntologyError
from kgtable.ontology.column_stats import MISSING, QUANTITY, ColumnFact
from kgtable.ontology.owl import generate

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


def test_numbers_make_an_object_property(graph: rdflib.Graph) -> None:
    assert graph.value(EX.hasPension, RDF.type) == OWL.ObjectProperty
    assert graph.value(EX.hasPension, RDFS.range) == QUDT.QuantityValue
    assert graph.value(EX.hasPension, RDFS.domain) == KGT.Row
    assert {str(count) for count in graph.objects(EX.hasPension, KGT.unitCount)} == {"CCY_USD 2", "NUM 1"}


def test_literals_make_a_datatype_property(graph: rdflib.Graph) -> None:
    assert graph.value(EX.hasYear, RDF.type) == OWL.DatatypeProperty
    assert graph.value(EX.hasYear, RDFS.range) == XSD.gYear


def test_a_range_is_stated_only_where_it_holds_for_every_cell(graph: rdflib.Graph) -> None:
    assert graph.value(EX.hasNote, RDF.type) == OWL.DatatypeProperty
    assert graph.value(EX.hasNote, RDFS.range) is None
    assert graph.value(EX.hasResult, RDF.type) == OWL.AnnotationProperty
    assert graph.value(EX.hasResult, RDFS.range) is None


def test_numbered_predicates_are_sub_properties(graph: rdflib.Graph) -> None:
    assert graph.value(EX.hasPension_2, RDFS.subPropertyOf) == EX.hasPension
    assert graph.value(EX.hasPension_2, RDF.type) == OWL.ObjectProperty


def test_labels_and_column_names(graph: rdflib.Graph) -> None:
    assert str(graph.value(EX.hasPension_2, RDFS.label)) == "pension"
    assert str(graph.value(EX.hasPension, KGT.columnName)) == "Pension"


def test_a_full_iri_stays(graph: rdflib.Graph) -> None:
    assert graph.value(rdflib.URIRef("https://schema.org/name"), RDF.type) == OWL.DatatypeProperty


@pytest.mark.parametrize("name", ["Table", "Row", "Column", "Group"])
def test_classes_are_declared(graph: rdflib.Graph, name: str) -> None:
    assert (KGT[name], RDF.type, OWL.Class) in graph


def test_proposed_equivalents_are_links() -> None:
    made = generate(FACTS, equivalents={"hasPension": ["hasResult"]})
    graph = rdflib.Graph().parse(data=made.turtle, format="turtle")
    assert graph.value(EX.hasPension, KGT.proposedEquivalent) == EX.hasResult


def test_three_syntaxes_say_the_same() -> None:
    made = generate(FACTS)
    turtle = rdflib.Graph().parse(data=made.turtle, format="turtle")
    assert isomorphic(turtle, rdflib.Graph().parse(data=made.rdf_xml, format="xml"))
    assert isomorphic(turtle, rdflib.Graph().parse(data=made.ntriples, format="nt"))
    parsed = set(pyoxigraph.parse(made.turtle, format=pyoxigraph.RdfFormat.TURTLE))
    assert parsed == set(pyoxigraph.parse(made.ntriples, format=pyoxigraph.RdfFormat.N_TRIPLES))


def test_rdf_xml_can_be_opened_with_owlready2() -> None:
    world = owlready2.World()
    ontology = world.get_ontology("http://example.org/ontology#").load(
        fileobj=io.BytesIO(generate(FACTS).rdf_xml)
    )
    assert {entity.name for entity in ontology.object_properties()} == {"hasPension", "hasPension_2"}
    world.close()


def test_hostile_names_survive_all_syntaxes() -> None:
    facts = [
        ColumnFact(
            "t", 0, 'a "b" <c> & \\ \x00 \ud800 \U0001f680', "hasΔευτέρα", ranges={str(XSD.string): 1}
        ),
        *(
            ColumnFact("t", i, name, name, ranges={QUANTITY: 1})
            for i, name in enumerate(
                ["label", "domain", "range", "comment", "name", "columnName", "class", "is_a"]
            )
        ),
    ]
    made = generate(facts)
    graph = rdflib.Graph().parse(data=made.rdf_xml, format="xml")
    assert isomorphic(graph, rdflib.Graph().parse(data=made.turtle, format="turtle"))
    for name in ("label", "domain", "range", "comment", "name", "columnName", "class", "is_a"):
        assert graph.value(EX[name], RDFS.domain) == KGT.Row
        assert str(graph.value(EX[name], RDFS.label)) == name


def test_a_namespace_that_is_none_is_one_clear_error() -> None:
    with pytest.raises(OntologyError):
        generate(FACTS, "not a namespace")


def test_bytes_do_not_depend_on_hash_seed_or_order() -> None:
    program = (
        "import sys; from tests.ontology.test_owl import FACTS; from kgtable.ontology.owl import generate;"
        "made = generate(FACTS[::-1]); sys.stdout.buffer.write(made.turtle + made.rdf_xml + made.ntriples)"
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
        assert run.stdout == here.turtle + here.rdf_xml + here.ntriples
