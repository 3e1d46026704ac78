from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgtable.server.monitoring import BUCKETS, Metrics
from kgtable.server.options import ServerSettings
from kgtable.server.state import ServerState, StoreFolder


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


def test_a_time_on_a_bound_is_within_it(state: ServerState) -> None:
    metrics = Metrics()
    metrics.record("sparql", 200, BUCKETS[2], 0)
    found = values(metrics.text(state.readers, state.writes))
    assert found[f'kgtable_request_seconds_bucket{{le="{BUCKETS[1]}"}}'] == 0
    assert found[f'kgtable_request_seconds_bucket{{le="{BUCKETS[2]}"}}'] == 1


def test_every_value_is_described_and_of_the_text_format(state: ServerState) -> None:
    text = state.metrics.text(state.readers, state.writes)
    assert text.endswith("\n")
    described = set(re.findall(r"# TYPE (\S+) ", text))
    assert described == set(re.findall(r"# HELP (\S+) ", text))
    for name in values(text):
        family = re.sub(r"_(bucket|sum|count)$", "", name.partition("{")[0])
        assert family in described, name
