"""The access log, and counters in Prometheus's text format."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import Counter
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii
from typing import TextIO

from kgtable.server.pool import Pool


class AccessLog:
    """Writes to a text stream soon after the fact; `flush` writes what is left."""

    def __init__(self, stream: TextIO | None, delay: float = 0.5) -> None:
        self._stream, self._delay = stream, delay
        self._lines: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._second, self._clock = 0, ""

    def record(
        self, client: str, method: str, path: str, query: str, status: int, size: int, seconds: float
    ) -> None:
        """Notes one request. Long query strings are cut; bodies and tokens are never noted."""
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
        """Writes the lines noted so far."""
        self._timer = None
        if self._stream is not None and self._lines:
            self._stream.write("\n".join(self._lines) + "\n")
            self._stream.flush()
        self._lines.clear()


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the response times, in seconds."""


class Metrics:
    """How many requests there were, by route and status, and how long they took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._bytes = 0
        self.cache_hits = 0

    def record(self, route: str, status: int, seconds: float, size: int) -> None:
        """Counts one finished request."""
        self._requests[route, status] += 1
        self._buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds
        self._bytes += size

    def text(self, readers: Pool, writes: int) -> str:
        """Everything, with the state of the pool of readers and the number of acknowledged writes."""
        lines = ["# HELP kgtable_requests_total Requests answered.", "# TYPE kgtable_requests_total counter"]
        for (route, status), count in sorted(self._requests.items()):
            lines.append(f'kgtable_requests_total{{route="{route}",status="{status}"}} {count}')
        lines += [
            "# HELP kgtable_request_seconds Time to answer.",
            "# TYPE kgtable_request_seconds histogram",
        ]
        total = 0
        for bound, count in zip((*BUCKETS, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'kgtable_request_seconds_bucket{{le="{bound}"}} {total}')
        lines += [
            f"kgtable_request_seconds_sum {self._seconds:.6f}",
            f"kgtable_request_seconds_count {total}",
        ]
        counts = readers.counts
        for name, kind, text, value in (
            ("response_bytes_total", "counter", "Bytes of response bodies.", self._bytes),
            ("cache_hits_total", "counter", "Answers given from the cache.", self.cache_hits),
            ("workers", "gauge", "Worker processes alive.", readers.processes),
            ("queries_running", "gauge", "Queries running.", readers.running),
            ("queries_waiting", "gauge", "Queries waiting for a worker.", readers.waiting),
            ("workers_started_total", "counter", "Worker processes started.", counts.started),
            ("workers_ended_total", "counter", "Worker processes killed or died.", counts.died),
            ("query_timeouts_total", "counter", "Queries stopped by the time limit.", counts.timeouts),
            ("queries_slow_total", "counter", "Queries that moved to a slow lane.", counts.slow),
            ("queries_refused_total", "counter", "Queries refused because of load.", counts.refused),
            ("writes_total", "counter", "Writes acknowledged.", writes),
        ):
            lines += [f"# HELP kgtable_{name} {text}", f"# TYPE kgtable_{name} {kind}"]
            lines.append(f"kgtable_{name} {value}")
        return "\n".join(lines) + "\n"
