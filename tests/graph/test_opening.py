from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

from kgtable.errors import GraphError
from kgtable.graph.validate import opened

TURTLE = '@prefix e: <http://e/> . e:s e:p "a\u202e", 1 ; e:q [ e:p "b" ] .'
QUADS = '<http://e/s> <http://e/p> "a" <http://e/g> .\n<http://e/s> <http://e/p> "b" .\n'


def test_files_graphs_and_stores_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "g.TTL").write_text(TURTLE, encoding="utf-8")
    memory = ox.Store()
    memory.load(TURTLE, ox.RdfFormat.TURTLE)
    for source in (tmp_path / "g.TTL", rdflib.Graph().parse(data=TURTLE, format="turtle"), memory):
        with opened(source) as store:
            assert len(store) == 4
            assert ox.Literal("a\u202e") in {quad.object for quad in store}


def test_named_graphs_are_kept(tmp_path: Path) -> None:
    (tmp_path / "g.nq").write_text(QUADS, encoding="utf-8")
    dataset = rdflib.Dataset().parse(data=QUADS, format="nquads")
    for source in (tmp_path / "g.nq", dataset):
        with opened(source) as store:
            assert {graph.value for graph in store.named_graphs()} == {"http://e/g"}
            assert len(store) == 2


def test_the_directory_of_a_store_is_opened_where_it_is(tmp_path: Path) -> None:
    store = ox.Store(str(tmp_path / "store"))
    store.bulk_load(QUADS, ox.RdfFormat.N_QUADS)
    store.flush()
    del store
    with opened(tmp_path / "store") as found:
        assert len(found) == 2
        with pytest.raises(RuntimeError):
            found.add(ox.Quad(ox.NamedNode("http://e/s"), ox.NamedNode("http://e/p"), ox.Literal("x")))


def test_a_source_is_not_changed(tmp_path: Path) -> None:
    memory = ox.Store()
    with opened(memory) as store:
        store.load(TURTLE, ox.RdfFormat.TURTLE)
    assert len(memory) == 0


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("g.ttl", b"@prefix x: <http://e/> . x:a x:b", "g.ttl, line 1"),
        ("g.ttl", b'<http://e/a> <http://e/b> "\xff\xfe" .', "g.ttl, line 1"),
        ("g.nt", b"\n\n<script>", "g.nt, line 3"),
        ("g.csv", b"a,b", "no RDF format"),
        ("g", b"", "no RDF format"),
        ("none.ttl", None, "cannot be read"),
    ],
)
def test_sources_that_cannot_be_read(tmp_path: Path, name: str, data: bytes | None, message: str) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(GraphError, match=message), opened(tmp_path / name):
        raise AssertionError


def test_a_directory_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match="cannot be opened"), opened(tmp_path):
        raise AssertionError
    (tmp_path / "CURRENT").write_bytes(b"damaged")
    with pytest.raises(GraphError, match="cannot be opened"), opened(tmp_path):
        raise AssertionError
