from __future__ import annotations

from pathlib import Path

import pytest

import kgtable
from kgtable.errors import OntologyError
from kgtable.ontology.owl import owl_world

NAMESPACE = "http://example.org/ontology#"


def test_the_ontology_is_walked_in_owlready2(samples_path: Path) -> None:
    with kgtable.open(samples_path) as graph:
        world = graph.owl()
        predicates = {fact.predicate for fact in graph.catalogue.facts()}
    assert {found.name for found in world.classes()} >= {"Table", "Column", "Row", "Group", "TotalRow", "QuantityValue"}
    row = world["https://w3id.org/kgtable#Row"]
    assert {found.name for found in row.subclasses()} == {"Group", "TotalRow"}
    generated = {found.name: found for found in world.properties() if found.iri.startswith(NAMESPACE)}
    assert {str(name).removeprefix(NAMESPACE) for name in predicates} <= set(generated)
    fees = generated["has2023Fees"]
    assert fees in set(world.object_properties())
    assert fees.label == ["2023 Fees"]
    assert fees.domain == [row]
    assert [found.name for found in fees.range] == ["QuantityValue"]
    assert fees.unitCount == ["CCY_EUR 3"]
    assert generated["hasDeltaOnPriorYear"].label == ["Δ on prior year"] if "hasDeltaOnPriorYear" in generated else True
    assert generated["hasPort"] in set(world.data_properties())
    world.close()


def statements(*lines: str) -> bytes:
    """N-Triples about predicates ``ex:a``, ``ex:b`` and ``ex:c``."""
    names = {
        "ex:": NAMESPACE, "kgt:": "https://w3id.org/kgtable#", "owl:": "http://www.w3.org/2002/07/owl#",
        "rdf:": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    }  # fmt: skip
    written = []
    for line in lines:
        terms = [
            next(f"<{iri}{word.removeprefix(name)}>" for name, iri in names.items() if word.startswith(name))
            for word in line.split()
        ]
        written.append(" ".join(terms) + " .\n")
    return "".join(written).encode()


@pytest.mark.parametrize("accepted", [False, True])
def test_proposed_equivalents_are_named_and_stated_only_when_accepted(accepted: bool) -> None:
    world = owl_world(
        statements(
            "kgt:proposedEquivalent rdf:type owl:AnnotationProperty",
            "ex:a rdf:type owl:DatatypeProperty",
            "ex:b rdf:type owl:DatatypeProperty",
            "ex:c rdf:type owl:ObjectProperty",
            "ex:a kgt:proposedEquivalent ex:b",
            "ex:a kgt:proposedEquivalent ex:c",
        ),
        NAMESPACE,
        accept_equivalents=accepted,
    )
    a, b = world[f"{NAMESPACE}a"], world[f"{NAMESPACE}b"]
    assert {found.name for found in a.proposedEquivalent} == {"b", "c"}
    assert list(a.equivalent_to) == ([b] if accepted else [])
    world.close()


def test_what_is_no_ontology_is_refused() -> None:
    with pytest.raises(OntologyError, match="owlready2 cannot read"):
        owl_world(b"not a triple", NAMESPACE)
