from __future__ import annotations

import asyncio
import io
import json
import re
from pathlib import Path

import pytest

from kgtable.server.options import ServerSettings
from kgtable.server.state import BUCKETS, AccessLog, Metrics, ServerState
from tests.server.serving import StoreFolder


def logged(*requests: tuple[str, str], delay: float = 0.0) -> list[dict[str, object]]:
    """The lines for requests of these paths and queries."""
    stream = io.StringIO()

    async def run() -> None:
        log = AccessLog(stream, delay)
        for path, query in requests:
            log.record("127.0.0.1", "GET", path, query, 200, 5, 0.01234)
        await asyncio.sleep(0)
        log.flush()
        log.flush()

    asyncio.run(run())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_request_is_a_line_of_json() -> None:
    (line,) = logged(("/sparql", "query=ASK"))
    assert str(line.pop("time")).endswith("+00:00")
    assert line == {
        "client": "127.0.0.1", "method": "GET", "path": "/sparql", "query": "query=ASK",
        "status": 200, "bytes": 5, "ms": 12.34,
    }  # fmt: skip


def test_hostile_requests_stay_in_their_line_and_are_cut() -> None:
    hostile = 'x"\n\r\x00\u2028\u202e<script>\ud800'
    line, other = logged((hostile, "q" * 10_000), ("/", ""))
    assert line["path"] == hostile
    assert len(str(line["query"])) == 500
    assert other["path"] == "/"


@pytest.fixture
def state(tmp_path: Path) -> ServerState:
    return ServerState(ServerSettings(), StoreFolder(tmp_path))


def values(text: str) -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def test_requests_are_counted_by_route_and_status_and_by_time(state: ServerState) -> None:
    metrics = Metrics()
    for route, status, seconds in (("sparql", 200, 0.0005), ("sparql", 200, 0.3), ("site", 404, 99.0)):
        metrics.record(route, status, seconds, 10)
    found = values(metrics.text(state.readers, state.writes))
    assert found['kgtable_requests_total{route="sparql",status="200"}'] == 2
    assert found['kgtable_requests_total{route="site",status="404"}'] == 1
    buckets = [found[f'kgtable_request_seconds_bucket{{le="{bound}"}}'] for bound in (*BUCKETS, "+Inf")]
    assert buckets == sorted(buckets)
    assert (buckets[0], buckets[-1], found["kgtable_request_seconds_count"]) == (1, 3, 3)
    assert found["kgtable_request_seconds_sum"] == pytest.approx(99.3005)
    assert found["kgtable_response_bytes_total"] == 30


def test_every_value_is_described_and_of_the_text_format(state: ServerState) -> None:
    text = state.metrics.text(state.readers, state.writes)
    assert text.endswith("\n")
    described = set(re.findall(r"# TYPE (\S+) ", text))
    assert described == set(re.findall(r"# HELP (\S+) ", text))
    for name in values(text):
        family = re.sub(r"_(bucket|sum|count)$", "", name.partition("{")[0])
        assert family in described, name
