"""Options of the server, as immutable values."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

MEBIBYTE = 1 << 20

UPLOADS = "uploads"
"""The folder in a graph directory with the files uploaded through the pages."""
MOST_HELD = 64 * MEBIBYTE
"""Maximum size of a result that is completed before it is sent."""
STREAM_TIMES = 10
"""Sending a result to a slow client may take this many times as long as its query."""

LIST_SORTS = ("title", "file", "rows", "columns")
"""What the list of tables can be sorted by."""
LIST_FACETS = ("unit", "kind", "folder")
"""What the list of tables can be filtered by."""

COSTLY = frozenset(("ask", "chart", "explore", "file", "retrieve", "search", "sql"))
"""Operations that may take long. They leave one process to others, and pages of other sites cannot start them."""
QUERIES = frozenset(("chart", "explore", "sql"))
"""Operations with a client's query: parsing, planning and running it each have the timeout of a query."""


class DefaultGraph(StrEnum):
    """The default graph of a query that names no dataset."""

    UNION = "union"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits of one request: times in seconds, sizes in bytes.

    `result` is the size of a result that is sent while it is made; one that is made whole first, as XML and
    pages are, may have `held` as well.
    """

    query_seconds: float = 30.0
    write_seconds: float = 120.0
    api_seconds: float = 120.0
    build_seconds: float = 3_600.0
    memory: int = 1024 * MEBIBYTE
    api_memory: int = 8192 * MEBIBYTE
    result: int = 1024 * MEBIBYTE
    held: int = MOST_HELD
    query_text: int = 1 * MEBIBYTE
    upload: int = 256 * MEBIBYTE


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of connections and of the heads of requests: times in seconds, sizes in bytes.

    A head has at most `headers` headers of `head_bytes` together, an address of `url_bytes` with `parameters`
    parameters, and arrives within `head_seconds`. A connection without a request, or whose client does not read its
    response, ends after `idle_seconds`. At most `total` connections are open at a time.
    """

    head_bytes: int = 16 << 10
    headers: int = 100
    url_bytes: int = 64 << 10
    parameters: int = 100
    head_seconds: float = 10.0
    idle_seconds: int = 30
    total: int = 512


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Limits on requests that run and wait at the same time.

    `processes` queries run in parallel. At most `waiting` requests queue, each for `patience` seconds, and `uploads`
    bodies of writes are taken.
    """

    processes: int = field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    waiting: int = 256
    patience: float = 5.0
    uploads: int = 16


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The options of ``kgtable serve``.

    `token` is the bearer token that writes need, and reads as well where the server is not bound to
    the loopback interface. `services` and `loads` are the IRIs that SERVICE and LOAD may name.
    `hosts` are further names under which the server may be addressed, `origins` the web origins
    that other pages may call it from (``*`` for all). With `editable`, pages take uploads of tables and decide about
    columns; on the loopback interface that needs no token. `folder` is the one the graph is built from.
    """

    host: str = "127.0.0.1"
    port: int = 7878
    writable: bool = False
    token: str | None = None
    default_graph: DefaultGraph = DefaultGraph.UNION
    origins: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    limits: ServerLimits = field(default_factory=ServerLimits)
    queue: QueueLimits = field(default_factory=QueueLimits)
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    editable: bool = False
    folder: Path | None = None
    answer_cache: int = 32 * MEBIBYTE
    access_log: bool = True
