"""Updates and graphs written; USING clauses added to updates, checked by their effect in the engine."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgtable.building.generations import LOCK
from kgtable.building.pipeline import start_empty
from kgtable.errors import DamagedGraphError, GraphLockedError, GraphNotFoundError, NoSpaceError, StorageError
from kgtable.graph.store import newest
from kgtable.server.workers.execution import Evaluator
from kgtable.server.workers.messages import storage_problem
from kgtable.server.workers.writer import DatasetConflictError, StoreWriter, with_dataset
from kgtable.storage import exclusive_lock
from tests.server.conftest import DATA
from tests.server.refusals import refused
from tests.server.serving import store_with

G1 = "http://example.org/g1"
TURTLE = b'<http://e/s> <http://e/p> "\xc3\xbc", 1 .'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store_with(tmp_path / "store", DATA)
    return tmp_path / "store"


def objects(path: Path, graph: str | None) -> list[str]:
    job = {
        "op": "graph", "graph": graph, "default": graph is None, "accept": "application/n-triples", "result_limit": 999,
    }  # fmt: skip
    _, text = Evaluator(str(newest(path)), {}).answer(job)
    return sorted(quad.object.value for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES))  # type: ignore[union-attr]


def write(path: Path, op: str, body: bytes = b"", **more: Any) -> int:
    job = {
        "op": op, "graph": None, "type": "text/turtle", "base": "http://e/", "prefixes": {"e": "http://e/"},
        "default_graphs": [], "named_graphs": [], "open": {"directory": None, "base": str(path)},
    } | more  # fmt: skip
    head, answer = StoreWriter().answer(job, body, lambda head, content: None)
    assert answer == b""
    return int(head["status"])


@pytest.mark.parametrize(
    ("update", "kind"),
    [
        ("INSERT DATA {", "syntax-error"), ("LOAD <http://x/>", "remote-access"),
        ("LOAD <file:///etc/passwd>", "remote-access"), ("SELECT * {}", "syntax-error"),
        ("INSERT DATA { <a:a> <a:a> 1 } ; DROP GRAPH <http://e/none>", "not-found"),
        (f"INSERT DATA {{ <a:a> <a:a> 1 }} ; CREATE GRAPH <{G1}>", "conflict"),
    ],
)  # fmt: skip
def test_updates_that_are_refused_change_nothing(update: str, kind: str, path: Path) -> None:
    before = objects(path, None)
    with refused(kind):
        write(path, "update", update=update)
    assert objects(path, None) == before


@pytest.mark.parametrize(
    ("body", "type"),
    [
        (b"<a:a> <a:b>", "text/turtle"), (b'<a:a> <a:b> "\xff" .', "text/turtle"), (b"not json", "application/ld+json"),
        (b"no parts", "multipart/form-data; boundary=x"), (b"<a:a> <a:b> 1 .\nbroken", "application/n-triples"),
    ],
)  # fmt: skip
def test_bodies_that_cannot_be_read_change_nothing(body: bytes, type: str, path: Path) -> None:
    before = objects(path, G1)
    with refused("bad-data"):
        write(path, "put", body, graph=G1, type=type)
    assert objects(path, G1) == before


def test_a_graph_directory_is_locked_for_the_time_of_a_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.server.workers.writer.LOCK_WAIT", 0.2)
    generation = start_empty(tmp_path / "kg")
    opening = {"directory": str(tmp_path / "kg"), "base": "the current one is looked up"}
    assert write(tmp_path, "put", TURTLE, graph=G1, open=opening) == 201
    assert objects(generation.store_path, G1) == ["1", "ü"]
    with exclusive_lock(tmp_path / "kg" / LOCK), refused("unavailable"):
        write(tmp_path, "delete", graph=G1, open=opening)
    with refused("storage-failed"):
        write(tmp_path, "delete", graph=G1, open={"directory": str(tmp_path / "nowhere" / "x"), "base": ""})


def test_a_write_to_a_damaged_store_is_refused_as_that(tmp_path: Path) -> None:
    generation = start_empty(tmp_path / "kg")
    opening = {"directory": str(tmp_path / "kg"), "base": ""}
    assert write(tmp_path, "put", TURTLE, graph=G1, open=opening) == 201
    (pointer,) = generation.path.glob(".store.current")
    named = pointer.read_bytes()
    pointer.write_bytes(b"\x00" * 8)
    with refused("damaged"):
        write(tmp_path, "delete", graph=G1, open=opening)
    pointer.write_bytes(named)
    data = max(generation.store_path.glob("*.sst"))
    content = data.read_bytes()
    data.unlink()
    data.write_bytes(content[:20] + b"??" + content[22:])
    with refused("damaged"):
        write(tmp_path, "delete", graph=G1, open=opening)
    (tmp_path / "kg" / "kgtable.json").write_bytes(b"{")
    with refused("unavailable"):
        write(tmp_path, "delete", graph=G1, open=opening)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "storage-full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "storage-full"),
        (RuntimeError("IO error: No space left on device: While appending to file: x.sst"), "storage-full"),
        (NoSpaceError("No space left to write x."), "storage-full"),
        (OSError(errno.EACCES, "Permission denied"), "storage-failed"),
        (OSError(errno.EIO, "Input/output error"), "storage-failed"),
        (StorageError("Writing to x is not allowed."), "storage-failed"),
        (RuntimeError("Corruption: block checksum mismatch: stored = 1"), "damaged"),
        (DamagedGraphError("The store in x is damaged."), "damaged"),
        (OSError("IO error: While lock file: x/LOCK: Resource temporarily unavailable"), "unavailable"),
        (OSError("IO error: While open a file: x/LOCK: Permission denied"), "storage-failed"),
        (GraphLockedError("Another process is building the graph."), "unavailable"),
        (GraphNotFoundError("There is no graph in x."), "unavailable"),
    ],
)
def test_each_failure_of_a_write_has_its_kind(error: Exception, kind: str) -> None:
    assert storage_problem(error).kind == kind


G2 = "http://example.org/g2"


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
