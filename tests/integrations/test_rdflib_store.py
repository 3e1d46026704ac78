from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import rdflib

import kgtable
from kgtable.integrations.rdflib_store import RdflibStore

RDFS = rdflib.RDFS


def dataset(path: Path, *, default_union: bool = False) -> rdflib.Dataset:
    """The graph as a dataset of rdflib, opened by the name of the plugin."""
    rdflib.plugin.register("kgtable", rdflib.store.Store, "kgtable.integrations.rdflib_store", "RdflibStore")
    found = rdflib.Dataset("kgtable", default_union=default_union)
    found.open(str(path))
    return found


def by_value(triples: Iterable[tuple[Any, Any, Any]]) -> set[tuple[Any, ...]]:
    """Triples with numbers as numbers: the engine writes 920, an export 920.0."""
    return {(s, p, o.toPython() if isinstance(o, rdflib.Literal) else o) for s, p, o in triples}


def test_the_store_holds_what_a_copy_holds(samples_path: Path, samples_graph: kgtable.KnowledgeGraph) -> None:
    copy = samples_graph.to_rdflib()
    live = dataset(samples_path)
    names = {graph.identifier for graph in copy.graphs()}
    assert {graph.identifier for graph in live.graphs()} == names
    for name in sorted(names):
        assert by_value(live.graph(name)) == by_value(copy.graph(name)), name
        assert len(live.graph(name)) == len(copy.graph(name))
    live.close()


def test_patterns_of_every_kind_match_as_in_a_copy(samples_path: Path, samples_graph: kgtable.KnowledgeGraph) -> None:
    copy, live = samples_graph.to_rdflib(), dataset(samples_path)
    name = rdflib.URIRef(samples_graph.names.table_iri("harbour-cargo"))
    mine, theirs = live.graph(name), copy.graph(name)
    for s, p, o in list(theirs)[::7]:
        for pattern in [(s, None, None), (None, p, None), (None, None, o), (s, p, None), (None, p, o), (s, p, o)]:
            assert by_value(mine.triples(pattern)) == by_value(theirs.triples(pattern)), pattern
    assert list(mine.triples((rdflib.BNode(), None, None))) == []
    assert (rdflib.URIRef("http://nowhere/"), None, None) not in mine
    live.close()


def test_sparql_runs_in_the_engine_of_the_graph(samples_path: Path) -> None:
    live = dataset(samples_path, default_union=True)
    rows = live.query(
        "SELECT ?label ?value WHERE { ?r rdfs:label ?label ; ex:has2023Fees/qudt:numericValue ?value }"
        " ORDER BY DESC(?value)"
    )
    first = next(iter(rows))
    assert (first.label.toPython(), first.value.toPython()) == ("Norrvik", Decimal("198750000"))
    assert live.query("ASK { ?c qudt:hasUnit unit:CCY_EUR }").askAnswer is True
    made = live.query("CONSTRUCT { ?r rdfs:label ?l } WHERE { ?r a kgt:Group ; rdfs:label ?l }").graph
    assert made is not None
    assert "Instruments" in {str(label) for label in made.objects()}
    bound = live.query("SELECT ?r WHERE { ?r rdfs:label ?l }", initBindings={"l": rdflib.Literal("Norrvik")})
    assert len(list(bound)) == 1
    with pytest.raises(ValueError, match="cannot be parsed"):
        live.query("SELECT nothing")
    live.close()


def test_an_open_graph_can_be_given_and_stays_open(samples_graph: kgtable.KnowledgeGraph) -> None:
    live = rdflib.Dataset(RdflibStore(samples_graph))
    assert "planets" in " ".join(str(graph.identifier) for graph in live.graphs())
    live.close()
    assert not samples_graph.closed


def test_writing_is_refused(samples_graph: kgtable.KnowledgeGraph) -> None:
    live = rdflib.Dataset(RdflibStore(samples_graph))
    triple = (rdflib.URIRef("http://a/"), RDFS.label, rdflib.Literal("x"))
    for attempt in (live.add, live.remove):
        with pytest.raises(kgtable.errors.GraphError, match="read-only"):
            attempt(triple)
    with pytest.raises(kgtable.errors.GraphError, match="read-only"):
        live.update("CLEAR ALL")
