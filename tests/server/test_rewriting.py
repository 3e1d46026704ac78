"""USING clauses written into updates, checked by what the engine then does."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgtable.server.writer import DatasetConflictError, with_dataset

G1, G2 = "http://example.org/g1", "http://example.org/g2"


@pytest.fixture
def store() -> ox.Store:
    store = ox.Store()
    store.update(
        "INSERT DATA { <s:0> <p:p> 0 . GRAPH <http://example.org/g1> { <s:1> <p:p> 1 }"
        " GRAPH <http://example.org/g2> { <s:2> <p:p> 2 } }"
    )
    return store


def subjects(store: ox.Store, predicate: str) -> set[str]:
    return {quad.subject.value for quad in store.quads_for_pattern(None, ox.NamedNode(predicate), None)}


def test_where_sees_only_the_given_graphs(store: ox.Store) -> None:
    update = "INSERT { ?s <p:seen> 1 } WHERE { ?s <p:p> ?o } ; INSERT { ?s <p:too> 1 } WHERE { ?s <p:p> ?o }"
    store.update(with_dataset(update, [G1, G2], []))
    assert subjects(store, "p:seen") == subjects(store, "p:too") == {"s:1", "s:2"}


def test_named_graphs(store: ox.Store) -> None:
    update = "INSERT { ?s <p:seen> ?g } WHERE { GRAPH ?g { ?s <p:p> ?o } }"
    store.update(with_dataset(update, [], [G2]))
    assert subjects(store, "p:seen") == {"s:2"}


def test_delete_where(store: ox.Store) -> None:
    rewritten = with_dataset("DELETE WHERE { GRAPH ?g { ?s <p:p> ?o } }", [], [G2])
    store.update(rewritten)
    assert subjects(store, "p:p") == {"s:0", "s:1"}


def test_where_in_strings_and_subqueries_is_left_alone() -> None:
    update = "INSERT DATA { <s:s> <p:p> 'WHERE' } # WHERE"
    assert with_dataset(update, [G1], []) == update
    inner = "INSERT { ?s <p:x> 1 } WHERE { { SELECT ?s WHERE { ?s <p:p> ?o } } }"
    assert with_dataset(inner, [G1], []).count("USING") == 1


@pytest.mark.parametrize("clause", ["WITH <http://example.org/g1> ", ""])
def test_own_dataset_is_a_conflict(clause: str) -> None:
    using = "" if clause else "USING <http://example.org/g1> "
    update = f"{clause}INSERT {{ ?s <p:x> 1 }} {using}WHERE {{ ?s <p:p> ?o }}"
    with pytest.raises(DatasetConflictError):
        with_dataset(update, [G1], [])
    assert with_dataset(update, [], []) == update
