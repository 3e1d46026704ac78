"""A graph pushed to another engine: in batches, resumed where it broke off, later with what changed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.building.engines import PushRecord, push
from kgtable.errors import RemoteStoreError
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.remote.endpoint import RemoteStore
from tests.conftest import PLANETS
from tests.graph.remote.engines import Engine, running_engine

TABLES = 10


class CountingStore(RemoteStore):
    """A store that notes the graphs it is sent, and takes no more after some."""

    sent: list[str | None]
    room = 10**6

    def put_graph(self, iri: str | None, content: bytes) -> None:
        if len(self.sent) >= self.room:
            raise RemoteStoreError("The line is cut.")
        self.sent.append(iri)
        super().put_graph(iri, content)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with running_engine("oxigraph", tmp_path_factory.mktemp("server")) as engine:
        yield engine


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    folder.mkdir()
    for number in range(TABLES):
        (folder / f"t{number}.csv").write_text(f"{PLANETS}Planet {number},{number}\n", encoding="utf-8")
    return folder


@pytest.fixture
def graph(tables: Path, tmp_path: Path, request: pytest.FixtureRequest) -> kgtable.KnowledgeGraph:
    name = request.node.name.replace("[", "/").replace("]", "")
    return kgtable.build(tables, tmp_path / "kg", embedding="none", base=f"https://e.example/{name}/")


def target(engine: Engine, room: int = 10**6) -> CountingStore:
    store = CountingStore(StoreEndpoint(engine.query, engine.dialect, store=engine.store))
    store.sent, store.room = [], room
    return store


def pushed(graph: kgtable.KnowledgeGraph, store: CountingStore, *, again: bool = False) -> int:
    names = graph.catalogue.graphs(graph.names)
    return push(graph.store, names, store, graph.path, again=again)


def test_a_push_goes_on_where_it_broke_off(
    graph: kgtable.KnowledgeGraph, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtable.building.engines.BATCH_GRAPHS", 2)
    first = target(engine, room=5)
    with pytest.raises(RemoteStoreError, match=r"5 of 11 graphs are there, then: The line is cut"):
        pushed(graph, first)
    second = target(engine)
    assert pushed(graph, second) > 0
    assert len(second.sent) == TABLES + 1 - 5
    assert not set(first.sent) & set(second.sent)
    for name in [*graph.catalogue.graphs(graph.names), None]:
        assert set(second.graph(name)) == set(graph.store.graph(name))
    third = target(engine)
    assert pushed(graph, third) == 0
    assert third.sent == []
    assert pushed(graph, third, again=True) > 0
    assert len(third.sent) == TABLES + 1


KILLED = """
import os, signal, sys
import kgtable
from kgtable.building import engines
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.remote.endpoint import RemoteStore

folder, query, store, dialect, room, sent_first = sys.argv[1:]
engines.BATCH_GRAPHS = 2

class Killing(RemoteStore):
    sent = 0

    def put_graph(self, iri, content):
        self.sent += 1
        if self.sent >= int(room) and sent_first == "no":
            os.kill(os.getpid(), signal.SIGKILL)
        super().put_graph(iri, content)
        if self.sent >= int(room):
            os.kill(os.getpid(), signal.SIGKILL)

graph = kgtable.open(folder)
target = Killing(StoreEndpoint(query, dialect, store=store))
engines.push(graph.store, graph.catalogue.graphs(graph.names), target, graph.path)
"""
"""A push that is killed at a graph, before or after it is sent."""


@pytest.mark.parametrize("room", [1, 6, TABLES])
@pytest.mark.parametrize("sent_first", ["yes", "no"])
def test_a_push_that_was_killed_goes_on(
    room: int, sent_first: str, graph: kgtable.KnowledgeGraph, engine: Engine
) -> None:
    arguments = [str(graph.path), engine.query, engine.store, engine.dialect, str(room), sent_first]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False)
    assert done.returncode == -signal.SIGKILL
    store = target(engine)
    pushed(graph, store)
    # Of what was sent at most one batch was not recorded yet.
    assert TABLES + 1 - room <= len(store.sent) <= TABLES + 1 - room + 3
    for name in [*graph.catalogue.graphs(graph.names), None]:
        assert set(store.graph(name)) == set(graph.store.graph(name))
    store.sent.clear()
    assert pushed(graph, store) == 0
    assert store.sent == []


def test_a_push_after_a_build_sends_what_changed(graph: kgtable.KnowledgeGraph, engine: Engine, tables: Path) -> None:
    pushed(graph, target(engine))
    (tables / "t1.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    (tables / "t2.csv").unlink()
    graph = kgtable.build(tables, graph.path, embedding="none")
    store = target(engine)
    pushed(graph, store)
    assert sorted(map(str, store.sent)) == sorted(["None", graph.names.table_iri("t1")])
    assert set(store.graph(graph.names.table_iri("t1"))) == set(graph.store.graph(graph.names.table_iri("t1")))
    assert not list(store.graph(graph.names.table_iri("t2")))


def test_an_engine_that_was_emptied_gets_everything(graph: kgtable.KnowledgeGraph, engine: Engine) -> None:
    store = target(engine)
    pushed(graph, store)
    for name in graph.catalogue.graphs(graph.names):
        store.delete_graph(name)
    store.sent.clear()
    pushed(graph, store)
    assert len(store.sent) == TABLES + 1


@pytest.mark.parametrize("text", ["", "[]", '{"url": "x", "graphs": {}}', '{"graphs": 3}', "\x00"])
def test_a_damaged_record_is_no_record(text: str, tmp_path: Path) -> None:
    record = PushRecord(tmp_path, "http://e/")
    record.sent["a"] = "b"
    record.save()
    (path,) = (tmp_path / "pushed").iterdir()
    assert PushRecord(tmp_path, "http://e/").sent == {"a": "b"}
    assert PushRecord(tmp_path, "http://other/").sent == {}
    path.write_text(text, encoding="utf-8")
    assert PushRecord(tmp_path, "http://e/").sent == {}
