"""Long results are sent while they are made: in parts, as fast as they are taken, and stopped when nobody does."""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyoxigraph as ox
import pytest

from kgtable.server.options import QueueLimits, ServerLimits, ServerSettings
from kgtable.server.workers.execution import SHORTENED, STREAM_FROM, Evaluator
from kgtable.server.workers.messages import Head
from kgtable.server.workers.process import HELD_MOST, ResultStream
from tests.server.serving import Running, running, store_with

NUMBERS = " ".join(f"VALUES ?v{n} {{ 0 1 2 3 4 5 6 7 8 9 }}" for n in range(4))
LONG = f"SELECT * {{ {NUMBERS} VALUES ?text {{ '{'long ' * 80}' }} }}"
ENDLESS = "SELECT * { " + " ".join(f"VALUES ?v{n} {{ 0 1 2 3 4 5 6 7 8 9 }}" for n in range(9)) + " }"
ROWS = 10_000


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with small limits of what is held, and larger ones of what is sent."""
    source = store_with(tmp_path_factory.mktemp("streaming") / "store", "<http://e/s> <http://e/p> 1 .")
    limits = ServerLimits(query_seconds=3.0, result=8 << 20, held=2 << 20)
    settings = ServerSettings(port=0, limits=limits, queue=QueueLimits(processes=1))
    with running(settings, source) as server:
        yield server


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("form", ["csv", "json", "tsv"])
def test_a_long_result_arrives_whole(streaming: Running, form: str, encoding: str) -> None:
    answer = streaming.client.get(
        "/sparql", params={"query": LONG, "format": form}, headers={"accept-encoding": encoding}
    )
    assert answer.status_code == 200
    assert answer.headers["transfer-encoding"] == "chunked"
    assert answer.headers.get("content-encoding", "identity") == encoding
    assert "content-length" not in answer.headers
    rows = answer.json()["results"]["bindings"] if form == "json" else answer.text.splitlines()[1:]
    assert len(rows) == ROWS
    assert answer.headers["etag"]


def test_what_cannot_be_completed_is_cut_short(streaming: Running) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        streaming.query(ENDLESS, "text/csv")
    whole = streaming.query(LONG, "application/sparql-results+xml")
    assert (whole.status_code, whole.json()["type"].rpartition("#")[2]) == (503, "result-too-large")


def test_the_process_of_a_client_that_goes_away_ends(streaming: Running) -> None:
    query = {"query": LONG + " # gone", "format": "csv"}
    with streaming.client.stream("GET", "/sparql", params=query) as answer:
        assert next(answer.iter_raw())
    before = streaming.state.readers.counts.died
    with streaming.client.stream("GET", "/sparql", params={"query": ENDLESS, "format": "csv"}) as answer:
        assert next(answer.iter_raw())
    deadline = time.monotonic() + 20
    while streaming.state.readers.counts.died == before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert streaming.state.readers.counts.died > before
    assert streaming.query("ASK {}").status_code == 200


def test_only_the_head_of_a_long_result(streaming: Running) -> None:
    answer = streaming.client.head("/sparql", params={"query": LONG, "format": "csv"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert streaming.query("ASK {}").status_code == 200


class Source:
    """Stands for a process: notes when it is paused and goes on."""

    def __init__(self) -> None:
        self.states: list[str] = []

    def pause(self) -> None:
        """See `WorkerProcess.pause`."""
        self.states.append("paused")

    def resume(self) -> None:
        """See `WorkerProcess.resume`."""
        self.states.append("on")


def test_a_slow_client_pauses_the_process() -> None:
    async def take() -> tuple[list[str], bytes]:
        stream, source = ResultStream(), Source()
        stream.begin(source, lambda: None)  # type: ignore[arg-type]
        for _ in range(5):
            stream.put(b"x" * (HELD_MOST // 4))
        before = list(source.states)
        stream.end(({"status": 200}, b"end"))
        content = b"".join([part async for part in stream])
        assert source.states[-1] == "on"
        return before, content

    states, content = asyncio.run(take())
    assert states == ["paused"]
    assert (len(content), content[-3:]) == (5 * (HELD_MOST // 4) + 3, b"end")


def evaluator(path: Path, triples: int) -> Evaluator:
    store = ox.Store(str(path))
    value = ox.Literal("v" * 300)
    subjects = (ox.NamedNode(f"http://example.org/s{n}") for n in range(triples))
    store.bulk_extend(ox.Quad(s, ox.NamedNode("http://example.org/p"), value) for s in subjects)
    store.flush()
    del store
    return Evaluator(str(path), {"ex": "http://example.org/", "not": "http://unused.example/"})


def sent(made: Evaluator, job: dict[str, Any]) -> list[tuple[Head, bytes]]:
    parts: list[tuple[Head, bytes]] = []
    last = made.answer(
        {"union": False, "result_limit": 1 << 30, "stream": True, **job}, lambda head, body: parts.append((head, body))
    )
    return [*parts, last]


def test_graphs_are_sent_in_parts_that_are_one_text(tmp_path: Path) -> None:
    count = SHORTENED + 3_000
    made = evaluator(tmp_path / "store", count)
    construct = {"op": "query", "query": "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"}
    dump = {"op": "graph", "graph": None, "default": True}
    for job in (construct, dump):
        for accept in ("text/turtle", "application/n-triples", "application/ld+json"):
            for gzipped in (False, True):
                frames = sent(made, {**job, "accept": accept, "gzip": gzipped})
                assert len(frames) > 2
                assert frames[0][0]["part"]
                assert all(len(body) <= 2 * STREAM_FROM for _, body in frames)
                content = b"".join(body for _, body in frames)
                text = gzip.decompress(content) if gzipped else content
                assert len(list(ox.parse(text, ox.RdfFormat.from_media_type(accept)))) == count
    short = sent(made, {**construct, "query": construct["query"] + " LIMIT 9", "accept": "text/turtle"})
    assert len(short) == 1
    assert b"unused" not in short[0][1]
