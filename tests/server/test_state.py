from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgtable
from kgtable.building.generations import GraphDirectory
from kgtable.errors import GraphNotFoundError, GraphVersionError, ServerError
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.server.options import ServerSettings
from kgtable.server.state import (
    ENTRY_COST,
    ENTRY_LIMIT,
    WIDELY_USED,
    AnswerCache,
    CachedResponse,
    ConnectedFolder,
    GraphFolder,
    ServerState,
)
from kgtable.server.workers.messages import Problem
from kgtable.storage import POINTER
from tests.server.conftest import QUEUE, SMALL
from tests.server.refusals import refused
from tests.server.serving import TOKEN


def test_a_version_is_of_the_store_and_seen_by_every_server_on_it(folder: Path) -> None:
    job = {"op": "put", "graph": "http://e/g", "type": "text/turtle", "base": "http://e/"}
    settings = ServerSettings(port=0, writable=True, token=TOKEN, limits=SMALL, queue=QUEUE)
    other = GraphFolder(folder)
    before = other.view().version

    async def run() -> str:
        state = ServerState(settings, GraphFolder(folder))
        await state.start()
        try:
            await state.write(job, b"<a> <b> 1 .")
            return state.view().version
        finally:
            await state.close()

    after = asyncio.run(run())
    assert before != after == other.view().version == GraphFolder(folder).view().version


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    kgtable.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none", base="https://data.example/")
    return tmp_path / "kg"


def test_a_new_generation_is_seen_and_nothing_else(folder: Path) -> None:
    source = GraphFolder(folder)
    before = source.view()
    assert source.view() is before
    assert before.directory == str(folder.absolute())
    assert before.prefixes["ex"] == "https://data.example/ontology#"
    assert before.prefixes["skos"] == WIDELY_USED["skos"]
    (folder.parent / "t.csv").write_text("a,b\nx,2\n", encoding="utf-8")
    kgtable.build(folder.parent / "t.csv", folder, embedding="none")
    after = source.view()
    assert (after.path, after.version) != (before.path, before.version)
    assert Path(after.path).is_dir()


def test_while_the_graph_cannot_be_read_it_is_unavailable(folder: Path) -> None:
    source = GraphFolder(folder)
    pointer = (folder / POINTER).read_text(encoding="utf-8")
    (folder / POINTER).unlink()
    with refused("unavailable"):
        source.view()
    (folder / POINTER).write_text(pointer, encoding="utf-8")
    assert source.view().version.startswith("1-")
    GraphDirectory(folder).current().catalogue_path.unlink()
    (folder / POINTER).write_text(pointer + " ", encoding="utf-8")
    with pytest.raises(Problem, match="catalogue"):
        source.view()


def test_directories_that_cannot_be_served(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(GraphNotFoundError):
        GraphFolder(tmp_path / "nowhere")
    GraphDirectory(tmp_path / "far").point_to_endpoint(StoreEndpoint("http://e/"))
    with pytest.raises(ServerError, match="another SPARQL endpoint"):
        GraphFolder(tmp_path / "far")
    assert ConnectedFolder(tmp_path / "far").view().path == ""
    with pytest.raises(ServerError, match="not connected"):
        ConnectedFolder(folder)
    GraphDirectory(folder).current().catalogue_path.unlink()
    with pytest.raises(GraphVersionError, match="missing"):
        GraphFolder(folder)
    (folder / POINTER).write_text(json.dumps({"format": "other"}), encoding="utf-8")
    with pytest.raises(GraphVersionError):
        GraphFolder(folder)


def answer(size: int, type: bytes = b"text/plain") -> CachedResponse:
    return CachedResponse(type, None, b"x" * size)


KEYS = (b"a", b"b", b"c", b"d")


def test_answers_belong_to_a_version() -> None:
    cache = AnswerCache(10 * ENTRY_COST)
    cache.put("1", b"key", answer(1))
    assert cache.get("1", b"key") == answer(1)
    assert cache.get("2", b"key") is None
    assert cache.get("1", b"other") is None
    cache.put("2", b"other", answer(2))
    assert cache.get("1", b"key") is None
    assert len(cache) == 1


def test_the_ones_used_longest_ago_go_first() -> None:
    cache = AnswerCache(3 * ENTRY_COST + 30)
    for key in (b"a", b"b", b"c"):
        cache.put("1", key, answer(10))
    cache.get("1", b"a")
    cache.put("1", b"d", answer(10))
    assert [key for key in KEYS if cache.get("1", key)] == [b"a", b"c", b"d"]


def test_what_is_too_long_is_not_kept() -> None:
    cache = AnswerCache(10 * ENTRY_LIMIT)
    cache.put("1", b"long", answer(ENTRY_LIMIT + 1))
    cache.put("1", b"just", answer(ENTRY_LIMIT))
    assert cache.get("1", b"long") is None
    assert cache.get("1", b"just") is not None
    nothing = AnswerCache(0)
    nothing.put("1", b"empty", answer(0))
    assert len(nothing) == 0


@given(st.lists(st.tuples(st.sampled_from("12"), st.sampled_from(KEYS), st.integers(0, 40)), max_size=30))
def test_it_never_holds_more_than_its_capacity_and_only_what_was_put_last(puts: list[tuple[str, bytes, int]]) -> None:
    cache, last = AnswerCache(2 * ENTRY_COST + 50), {}
    for version, key, size in puts:
        cache.put(version, key, answer(size))
        last[version, key] = size
        kept = [found for key in KEYS if (found := cache.get(version, key))]
        assert sum(ENTRY_COST + len(found.body) for found in kept) <= 2 * ENTRY_COST + 50
        assert len(kept) == len(cache)
        for name in KEYS:
            found = cache.get(version, name)
            assert found is None or len(found.body) == last[version, name]
