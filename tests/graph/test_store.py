from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgtable.building.load import fill_store
from kgtable.errors import GraphNotFoundError, QueryError, StorageError
from kgtable.graph.sparql_text import Bindable
from kgtable.graph.store import EmbeddedStore

QUADS = """\
<http://e/s> <http://e/p> "in the table" <http://e/table> .
<http://e/s> <http://e/p> "described" .
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    (folder / "text").write_text(QUADS, encoding="utf-8")
    fill_store(folder / "store", [folder / "text"])
    return folder / "store"


@pytest.fixture
def store(path: Path) -> EmbeddedStore:
    return EmbeddedStore(path, {"e": "http://e/"})


def objects(store: EmbeddedStore, query: str, **more: object) -> list[str]:
    found = store.query(query, **more)  # type: ignore[arg-type]
    assert isinstance(found, ox.QuerySolutions)
    return sorted(row["o"].value for row in found)


def test_patterns_match_every_graph_unless_told_otherwise(store: EmbeddedStore) -> None:
    asked = "SELECT ?o { ?s e:p ?o }"
    assert objects(store, asked) == ["described", "in the table"]
    assert objects(store, asked, union_default_graph=False) == ["described"]
    assert objects(store, "SELECT ?o { GRAPH e:table { ?s ?p ?o } }") == ["in the table"]


def test_values_are_bound_by_name(store: EmbeddedStore) -> None:
    asked = "SELECT ?o { ?s ?p ?o }"
    assert objects(store, asked, bindings={"o": "described"}) == ["described"]
    assert objects(store, asked, bindings={"o": '" } DROP ALL #'}) == []
    assert objects(store, "SELECT ?o ?g { GRAPH ?g { ?s ?p ?o } }", bindings={"g": ox.NamedNode("http://e/g")}) == []


@pytest.mark.parametrize(
    ("query", "bindings", "message"),
    [
        ("SELEKT", {}, "cannot be parsed"),
        ("DELETE WHERE { ?s ?p ?o }", {}, "cannot be parsed"),
        ("SELECT ?x { unknown:a ?p ?x }", {}, "cannot be parsed"),
        ("SELECT ?x { ?s ?p ?x }", {"x": object()}, "cannot be bound"),
        ("SELECT ?x { ?s ?p ?x }", {"no name": "x"}, "'no name' is not the name of a variable"),
        ("SELECT ?x { ?s ?p ?x }", {"s": "x"}, "cannot be evaluated.* projection.* Select the variables"),
        ("SELECT ?x { ?s ?p ?x }", {"": "x"}, "not the name of a variable"),
    ],
)
def test_queries_that_cannot_be_asked(
    query: str, bindings: dict[str, Bindable], message: str, store: EmbeddedStore
) -> None:
    with pytest.raises(QueryError, match=message):
        store.query(query, bindings=bindings)
    assert len(store) == 2


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("?cell qudt:numericValue 12", True), ("?cell <http://qudt.org/schema/qudt/numericValue> +12.", True),
        ("?cell qudt:numericValue 12.0", True), ("?cell qudt:numericValue 12.5", False),
        ("?cell qudt:numericValue 12e0", False), ("?cell qudt:numericValue '12'", False),
    ],
)  # fmt: skip
def test_whole_numbers_match_the_decimals_of_a_graph(tmp_path: Path, pattern: str, found: bool) -> None:
    quad = '<http://e/c> <http://qudt.org/schema/qudt/numericValue> "12"^^<http://www.w3.org/2001/XMLSchema#decimal> .'
    (tmp_path / "text").write_text(quad, encoding="utf-8")
    fill_store(tmp_path / "store", [tmp_path / "text"])
    store = EmbeddedStore(tmp_path / "store", {"qudt": "http://qudt.org/schema/qudt/"})
    assert bool(store.query(f"ASK {{ {pattern} }}")) is found


def test_whole_graphs(store: EmbeddedStore) -> None:
    assert [triple.object.value for triple in store.graph("http://e/table")] == ["in the table"]  # type: ignore[union-attr]
    assert [triple.object.value for triple in store.graph(None)] == ["described"]  # type: ignore[union-attr]
    assert list(store.graph("http://e/none")) == []


def test_two_readers_at_once(path: Path, store: EmbeddedStore) -> None:
    assert len(EmbeddedStore(path)) == len(store) == 2


def test_stores_that_are_not_there_or_damaged(tmp_path: Path) -> None:
    for missing in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(GraphNotFoundError, match="no store"):
            EmbeddedStore(missing)
    for damaged in (b"", b"\xff", b"MANIFEST-000009\n"):
        (tmp_path / "CURRENT").write_bytes(damaged)
        with pytest.raises(StorageError, match="cannot be opened"):
            EmbeddedStore(tmp_path)
