"""Shared state of a running server: settings, store, worker pools, response cache, access log and counters.

The counters are shown in the text format of Prometheus.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TextIO
from urllib.parse import unquote_plus

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kgtable.building.generations import GraphDirectory
from kgtable.errors import GraphVersionError, KgtableError, ServerError
from kgtable.graph.store import leased, number_of, pointer_of
from kgtable.graph.terms import Namespaces
from kgtable.server.options import QUERIES, ServerSettings
from kgtable.server.workers.messages import Head, Problem, busy
from kgtable.server.workers.pool import Pool
from kgtable.server.workers.process import ResultStream, View, WorkerDiedError, WorkerFrame
from kgtable.storage import POINTER


def _names_token(part: str) -> bool:
    """Whether a part of a query string holds the token, its name percent-encoded or not."""
    return unquote_plus(part[:100].partition("=")[0]).strip().lower().endswith("token")


class AccessLog:
    """Access log on a text stream, written in batches; `flush` writes what is left."""

    def __init__(self, stream: TextIO | None, delay: float = 0.5) -> None:
        self._stream, self._delay = stream, delay
        self._lines: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._second, self._clock = 0, ""

    def record(self, client: str, method: str, path: str, query: str, status: int, size: int, seconds: float) -> None:
        """Log one request. Long query strings are cut; bodies and tokens are never logged."""
        if self._stream is None:
            return
        query = "&".join("token=…" if _names_token(part) else part for part in query.split("&"))
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._clock = datetime.fromtimestamp(self._second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        quoted = encode_basestring_ascii
        self._lines.append(
            f'{{"time":"{self._clock}.{int(now * 1_000) % 1_000:03d}+00:00","client":{quoted(client[:500])},'
            f'"method":{quoted(method[:500])},"path":{quoted(path[:500])},"query":{quoted(query[:500])},'
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
        here: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter("kgtable_requests", "Requests answered.", ("route", "status"), **here)
        self._seconds = Histogram("kgtable_request_seconds", "Time to answer.", buckets=BUCKETS, **here)
        self._bytes = Counter("kgtable_response_bytes", "Bytes of response bodies.", **here)
        self._cache_hits = Counter("kgtable_cache_hits", "Answers given from the cache.", **here)
        self.hit_cache = self._cache_hits.inc

    def record(self, route: str, status: int, seconds: float, size: int) -> None:
        """Count one finished request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.observe(seconds)
        self._bytes.inc(size)

    def text(self, readers: Pool, writes: int) -> str:
        """All counters in Prometheus's text format, with the state of `readers` and the number of writes."""
        pool = CollectorRegistry()
        pool.register(_PoolState(readers, writes))
        return (generate_latest(self._registry) + generate_latest(pool)).decode("utf-8")


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
            ("queries_refused", "Queries refused because of load.", counts.refused),
            ("writes", "Writes acknowledged.", self._writes),
        ):
            yield CounterMetricFamily(f"kgtable_{name}", text, value)


WIDELY_USED = {
    "foaf": "http://xmlns.com/foaf/0.1/",
    "quantitykind": "http://qudt.org/vocab/quantitykind/",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
"""Prefixes queries may use in addition to those of the dataset itself."""


class StoreSource(Protocol):
    """A store that can be served."""

    def view(self) -> View:
        """The current state of the store. Raises `Problem` if there is none. Called on every request."""
        ...


def stamp_of(path: str) -> tuple[int, int]:
    """A stamp of a file, which changes when it is replaced."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_ino


class GraphFolder:
    """A graph directory; on each request it is checked which generation and version of the store is newest.

    Raises `ServerError` for a directory that points to an endpoint, `GraphNotFoundError` and
    `GraphVersionError` as `GraphDirectory` does.
    """

    def __init__(self, path: Path) -> None:
        self._directory = GraphDirectory(path)
        self._pointer, self._store_pointer = str(path / POINTER), ""
        if self._directory.endpoint() is not None:
            raise ServerError(
                f"The graph in {path} is kept by another SPARQL endpoint.",
                hint="Use that endpoint, or build the graph into a directory of its own.",
            )
        self._view = self._read()
        self._stamp: tuple[int, ...] = ()

    def view(self) -> View:
        """The current generation's newest store, with leases that last as long as the view."""
        stamp = self._look()
        if stamp != self._stamp:
            try:
                self._view, self._stamp = self._read(), stamp
            except KgtableError as error:
                raise Problem("unavailable", str(error)) from error
        return self._view

    def _look(self) -> tuple[int, int, int, int]:
        return *stamp_of(self._pointer), *stamp_of(self._store_pointer)

    def _read(self) -> View:
        generation = self._directory.lease()
        prefixes = {**WIDELY_USED, **Namespaces(generation.base).prefixes}
        try:
            made = generation.catalogue_path.stat().st_mtime_ns
        except OSError as error:
            raise GraphVersionError(
                f"The catalogue {generation.catalogue_path} is missing.",
                hint="Build the graph again in an empty directory.",
            ) from error
        base = generation.first_store_path
        self._store_pointer = str(pointer_of(base))
        path, lease = leased(base)
        version = f"{generation.number}-{made:x}-{number_of(path, base)}"
        directory = str(self._directory.path.absolute())
        return View(str(path), version, prefixes, directory, str(base), (generation.lease, lease))


class ConnectedFolder:
    """A directory that stands for the graph behind a SPARQL endpoint: for operations on an open graph alone.

    Its view has no store (`path` is ""). Raises `GraphNotFoundError` and `GraphVersionError` as
    `GraphDirectory` does, `ServerError` for a directory with a graph of its own.
    """

    def __init__(self, path: Path) -> None:
        endpoint = GraphDirectory(path).endpoint()
        if endpoint is None:
            raise ServerError(f"{path} is not connected to an endpoint.", hint="Use: kgtable connect.")
        prefixes = {**WIDELY_USED, **Namespaces(endpoint.base).prefixes}
        self._view = View("", endpoint.url, prefixes, str(path.absolute()))

    def view(self) -> View:
        """Always the same: the endpoint knows what is newest."""
        return self._view


ENTRY_LIMIT = 256 * 1024
"""Longer answers are not kept."""
ENTRY_COST = 1_024
"""Bytes of an entry in addition to its body: key, headers and the objects around them."""


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """A response: content type, encoding, bytes, entity tag ("" for none), status 200 or 304.

    One with a `stream` goes on there, and is not kept. Any other can be sent again.
    """

    content_type: bytes
    encoding: bytes | None
    body: bytes
    tag: str = ""
    status: int = 200
    stream: ResultStream | None = None


class AnswerCache:
    """Least-recently-used cache of responses by digests of requests, bounded in bytes; a new version empties it."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._version: str | None = None
        self._answers: OrderedDict[bytes, CachedResponse] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, version: str, key: bytes) -> CachedResponse | None:
        """The cached response for the same request on the same version of the graph."""
        if version != self._version or key not in self._answers:
            return None
        self._answers.move_to_end(key)
        return self._answers[key]

    def put(self, version: str, key: bytes, answer: CachedResponse) -> None:
        """Store a response; evict the least recently used."""
        if len(answer.body) > ENTRY_LIMIT or not self._capacity:
            return
        if version != self._version:
            self._answers.clear()
            self._size, self._version = 0, version
        if key in self._answers:
            self._size -= _cost(self._answers.pop(key))
        self._size += _cost(answer)
        self._answers[key] = answer
        while self._size > self._capacity:
            self._size -= _cost(self._answers.popitem(last=False)[1])


def _cost(answer: CachedResponse) -> int:
    return len(answer.body) + ENTRY_COST


_LOG = logging.getLogger(__name__)

EXPLORERS = 3
"""Processes behind the pages and the HTTP API."""
PATIENCE = 30.0
"""Minimum seconds that a request waits if jobs may take long."""


@dataclass
class ServerState:
    """Settings, location of the graph, worker pools and counters.

    `writes` counts this server's writes. Each makes a new version of the store, which the next view names.
    """

    settings: ServerSettings
    source: StoreSource
    readers: Pool = field(init=False)
    writer: Pool | None = field(init=False)
    explorers: Pool = field(init=False)
    editors: Pool | None = field(init=False)
    cache: AnswerCache = field(init=False)
    metrics: Metrics = field(default_factory=Metrics)
    writes: int = 0
    _warming: asyncio.Task[None] | None = None
    _folder: TemporaryDirectory[str] | None = None
    _uploads: int = 0

    def __post_init__(self) -> None:
        settings = self.settings
        limits, queue = settings.limits, settings.queue
        single = replace(queue, processes=1, patience=max(queue.patience, PATIENCE))
        self.readers = Pool("read", queue, limits.memory)
        self.explorers = Pool("explore", replace(single, processes=EXPLORERS), limits.api_memory, EXPLORERS - 1)
        self.writer = Pool("write", single, limits.memory) if settings.writable else None
        self.editors = Pool("edit", single, limits.api_memory) if settings.editable else None
        self.cache = AnswerCache(settings.answer_cache)

    def view(self) -> View:
        """The current state of the store."""
        return self.source.view()

    async def read(
        self, job: Head, view: View, abandoned: Callable[[], Awaitable[None]] | None = None
    ) -> tuple[CachedResponse, bool]:
        """Execute a read job; its response, and whether it may be cached. Raises `Problem`."""
        stream = ResultStream() if job.get("stream") else None
        head, body = _checked(
            await self.readers.run(job, self.settings.limits.query_seconds, view, abandoned=abandoned, stream=stream)
        )
        encoding = head.get("encoding")
        answer = CachedResponse(
            head["type"].encode("latin-1"),
            encoding.encode() if encoding else None,
            body,
            head.get("tag", ""),
            head["status"],
            stream if stream is not None and stream.source is not None else None,
        )
        return answer, not head.get("volatile") and answer.stream is None and answer.status == 200

    async def explore(self, job: Head, events: Callable[[WorkerFrame], None] | None = None) -> bytes:
        """The JSON result of an operation on the open graph. Raises `Problem`.

        Where the call is cancelled, the operation is stopped if it takes long.
        """
        view = self.view()
        if view.directory is None:
            raise Problem("unavailable", "This server has a bare store: the API needs a graph directory.")
        if job["op"] in QUERIES:
            job = {**job, "query_seconds": self.settings.limits.query_seconds}
        _, body = _checked(
            await self.explorers.run(job, self.settings.limits.api_seconds, view, events=events, stoppable=True)
        )
        return body

    async def edit(self, job: Head, events: Callable[[WorkerFrame], None] | None = None) -> bytes:
        """The JSON result of a preview or a build of the graph directory. Raises `Problem`."""
        directory = self.view().directory
        if self.editors is None or directory is None:
            raise Problem("forbidden", "This server was not started with --editable.")
        seconds = self.settings.limits.build_seconds if job["op"] == "build" else self.settings.limits.api_seconds
        folder = self.settings.folder
        roots = [] if folder is None else [str(folder.absolute())]
        job = {**job, "directory": directory, "roots": roots}
        _, body = _checked(await self.editors.run(job, seconds, events=events))
        return body

    async def write(self, job: Head, body: bytes = b"") -> int:
        """Apply one write and return the HTTP status; the content is `body` or the job's ``file``.

        Raises `Problem`; nothing is stored then, unless the process ended after it had stored it.
        """
        if self.writer is None:
            raise Problem("forbidden", "This server was not started with --writable.")
        view = self.source.view()
        opening = {"base": view.base, "directory": view.directory}
        job = {**job, "prefixes": view.prefixes, "open": opening}
        head, _ = _checked(await self.writer.run(job, self.settings.limits.write_seconds, body=body))
        self.writes += 1
        return int(head["status"])

    @asynccontextmanager
    async def upload(self) -> AsyncIterator[Path]:
        """The folder for the body of a write, for as long as the block lasts.

        Raises `Problem` if too many are on the way already.
        """
        if self._uploads >= self.settings.queue.uploads or self._folder is None:
            raise busy("Too many uploads are on the way. Try again in a while.", 5)
        self._uploads += 1
        try:
            yield Path(self._folder.name)
        finally:
            self._uploads -= 1

    async def start(self) -> None:
        """Start the worker processes."""
        if self.writer is not None:
            self._folder = TemporaryDirectory(prefix="kgtable-uploads-")
        if self.source.view().path:
            await self.readers.start()
        if self.source.view().directory is not None:
            self._warming = asyncio.get_running_loop().create_task(self._start_explorers())
        if self.writer is not None:
            await self.writer.start()

    async def _start_explorers(self) -> None:
        """Start the explorer processes in the background, since they are slow to start."""
        try:
            await self.explorers.start()
        except (OSError, WorkerDiedError) as error:
            _LOG.warning("The processes behind the pages do not start yet: %s", error)

    async def close(self) -> None:
        """Finish running jobs and end the worker processes."""
        await self.readers.close()
        if self._warming is not None:
            self._warming.cancel()
        await self.explorers.close()
        if self.writer is not None:
            await self.writer.close()
        if self.editors is not None:
            await self.editors.close()
        if self._folder is not None:
            self._folder.cleanup()


def _checked(frame: WorkerFrame) -> WorkerFrame:
    """The frame; raises the `Problem` that it reports, if any."""
    head, body = frame
    if "problem" in head:
        raise Problem(head["problem"], body.decode("utf-8", "replace"), head["extra"], head.get("headers", {}))
    return frame
