"""The access log, and counters in Prometheus's text format."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii
from typing import TextIO

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kgtable.server.pool import Pool


class AccessLog:
    """Access log on a text stream, written in batches; `flush` writes what is left."""

    def __init__(self, stream: TextIO | None, delay: float = 0.5) -> None:
        self._stream, self._delay = stream, delay
        self._lines: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._second, self._clock = 0, ""

    def record(
        self, client: str, method: str, path: str, query: str, status: int, size: int, seconds: float
    ) -> None:
        """Log one request. Long query strings are cut; bodies and tokens are never logged."""
        if self._stream is None:
            return
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._clock = datetime.fromtimestamp(self._second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        texts = ",".join(
            f'"{name}":{encode_basestring_ascii(text[:500])}'
            for name, text in (("client", client), ("method", method), ("path", path), ("query", query))
        )
        self._lines.append(
            f'{{"time":"{self._clock}.{int(now * 1_000) % 1_000:03d}+00:00",{texts},'
            f'"status":{status},"bytes":{size},"ms":{seconds * 1_000:.2f}}}'
        )
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._delay, self.flush)

    def flush(self) -> None:
        """Write the lines logged so far."""
        self._timer = None
        if self._stream is not None and self._lines:
            self._stream.write("\n".join(self._lines) + "\n")
            self._stream.flush()
        self._lines.clear()


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the response times, in seconds."""


class Metrics:
    """Counters of one server: requests by route and status, response times, bytes, cache hits."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests answered.", ("route", "status"))
        self._seconds = Histogram(
            "kgtable_request_seconds", "Time to answer.", buckets=BUCKETS, registry=self._registry
        )
        self._bytes = self._counter("response_bytes", "Bytes of response bodies.")
        self._cache_hits = self._counter("cache_hits", "Answers given from the cache.")

    def _counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(f"kgtable_{name}", text, labels, registry=self._registry)

    def record(self, route: str, status: int, seconds: float, size: int) -> None:
        """Count one finished request."""
        self._requests.labels(route, status).inc()
        self._seconds.observe(seconds)
        self._bytes.inc(size)

    def hit_cache(self) -> None:
        """Count one answer given from the cache."""
        self._cache_hits.inc()

    def text(self, readers: Pool, writes: int) -> str:
        """All counters in Prometheus's text format, with the state of `readers` and the number of writes."""
        now = CollectorRegistry()
        now.register(_PoolState(readers, writes))
        return (generate_latest(self._registry) + generate_latest(now)).decode("utf-8")


class _PoolState(Collector):
    """The state of a pool at this moment."""

    def __init__(self, pool: Pool, writes: int) -> None:
        self._pool, self._writes = pool, writes

    def collect(self) -> Iterator[Metric]:
        """See `prometheus_client.registry.Collector`."""
        pool, counts = self._pool, self._pool.counts
        for name, text, value in (
            ("workers", "Worker processes alive.", pool.processes),
            ("queries_running", "Queries running.", pool.running),
            ("queries_waiting", "Queries waiting for a worker.", pool.waiting),
        ):
            yield GaugeMetricFamily(f"kgtable_{name}", text, value)
        for name, text, value in (
            ("workers_started", "Worker processes started.", counts.started),
            ("workers_ended", "Worker processes killed or died.", counts.died),
            ("query_timeouts", "Queries stopped by the time limit.", counts.timeouts),
            ("queries_slow", "Queries that moved to a slow lane.", counts.slow),
            ("queries_refused", "Queries refused because of load.", counts.refused),
            ("writes", "Writes acknowledged.", self._writes),
        ):
            yield CounterMetricFamily(f"kgtable_{name}", text, value)
