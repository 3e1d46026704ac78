"""The core vocabulary declares, and explains, every kgt: term the program uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import rdflib
from rdflib import OWL, RDF, RDFS

from kgtable.resources import PACKAGE, read_shipped, shipped_path

KGT = "https://w3id.org/kgtable#"
TERM = re.compile(r"(?:\bkgt:|\{KGT\}|https://w3id\.org/kgtable#)([A-Za-z_]\w*)")


def core() -> rdflib.Graph:
    return rdflib.Graph().parse(data=read_shipped("ontologies/kgtable.ttl"), format="turtle")


def sources() -> Iterator[Path]:
    yield from sorted(PACKAGE.rglob("*.py"))
    yield from sorted(shipped_path("queries").rglob("*.rq"))
    yield shipped_path("ontologies") / "shapes.ttl"


def test_every_term_in_use_is_declared() -> None:
    declared = {str(term).removeprefix(KGT) for term in core().subjects() if str(term).startswith(KGT)}
    used = {
        (term, path.name)
        for path in sources()
        if path.exists()
        for term in TERM.findall(path.read_text(encoding="utf-8"))
    }
    assert used
    assert {(term, name) for term, name in used if term not in declared} == set()


def test_every_term_has_kind_label_and_comment() -> None:
    graph = core()
    for term in sorted(set(graph.subjects())):
        assert graph.value(term, RDF.type) is not None, term
        assert graph.value(term, RDFS.label) is not None, term
        assert graph.value(term, RDFS.comment) is not None, term


def test_domains_and_ranges_of_our_own_are_declared() -> None:
    graph = core()
    named = [
        *graph.objects(None, RDFS.domain),
        *graph.objects(None, RDFS.range),
        *graph.objects(None, RDFS.subClassOf),
    ]
    assert named
    for term in named:
        assert not str(term).startswith(KGT) or (term, RDF.type, None) in graph, term


def test_the_name_is_said_to_be_unregistered() -> None:
    comment = core().value(rdflib.URIRef(KGT.rstrip("#")), RDFS.comment)
    assert "still to be registered" in str(comment)
    assert (rdflib.URIRef(KGT.rstrip("#")), RDF.type, OWL.Ontology) in core()
