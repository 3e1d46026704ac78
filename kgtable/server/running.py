"""Serve a graph directory: what `kgtable.serve` and ``kgtable serve`` do."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

import uvicorn
from starlette.types import ASGIApp

from kgtable.errors import GraphLockedError, ServerError, UsageError
from kgtable.server.app import Server
from kgtable.server.bounds import BoundedHeads, BoundedProtocol
from kgtable.server.options import (
    MEBIBYTE,
    MOST_HELD,
    ConnectionLimits,
    DefaultGraph,
    QueueLimits,
    ServerLimits,
    ServerSettings,
)
from kgtable.server.security import is_loopback
from kgtable.server.state import GraphFolder, ServerState, StoreSource
from kgtable.storage import POINTER, exclusive_lock, storage_errors

GRACE_SECONDS = 10
"""How long running requests may take when the server is asked to stop."""

WRITER_LOCK = ".kgtable.writer"
"""The file in a graph directory that its writable server holds a lock on, with the server's process id."""
WRITE_TIMES = 4
"""A write may take this many times as long as a query."""


def with_token(settings: ServerSettings) -> ServerSettings:
    """The settings with a generated token where one is needed and none is given."""
    needed = settings.writable or not is_loopback(settings.host)
    token = settings.token
    if token is not None and (len(token) < 8 or not (token.isascii() and token.isprintable())):
        raise ServerError(
            "The token is too short, or not what a request can carry.", hint="Use at least 8 letters and digits."
        )
    if needed and settings.token is None:
        return replace(settings, token=secrets.token_urlsafe(24))
    return settings


def bind(settings: ServerSettings) -> socket.socket:
    """Open the listening socket. Raises `ServerError` if the address is not available."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(1_024)
    except (OSError, ValueError) as error:  # a ValueError for what can be no name of a host
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise ServerError(
            f"Cannot listen on {settings.host}, port {settings.port}: {reason}.",
            hint="Choose another one with --port, or --port 0 for any that is free.",
        ) from error
    return listener


def address(listener: socket.socket) -> str:
    """The URL of the server for a browser."""
    host, port = listener.getsockname()[:2]
    host = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - shown, not bound
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def run(
    settings: ServerSettings,
    source: StoreSource,
    *,
    log: TextIO | None = sys.stdout,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until stopped by a signal; `ready` is called with the address once the server listens.

    Raises `ServerError` if the server cannot start.
    """
    with bind(settings) as listener:
        server = http_server(Server(ServerState(settings, source), log), settings.connections)
        ready(address(listener))
        server.run(sockets=[listener])
    if not server.started:
        raise ServerError("The server could not start.", hint="The lines above say why.")


def http_server(app: ASGIApp, limits: ConnectionLimits) -> uvicorn.Server:
    """Make an HTTP server around an application, with limits on its connections and on heads of requests."""
    protocol: Any = partial(BoundedProtocol, limits)
    return uvicorn.Server(
        uvicorn.Config(
            BoundedHeads(app, limits),
            http=protocol,
            ws="none",
            proxy_headers=False,
            access_log=False,
            log_level="error",
            server_header=False,
            lifespan="on",
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=GRACE_SECONDS,
            h11_max_incomplete_event_size=limits.url_bytes + limits.head_bytes,
            backlog=1_024,
            limit_concurrency=limits.total,
        )
    )


def _to_standard_error(line: str) -> None:
    sys.stderr.write(line + "\n")


def serve(
    directory: Path | str,
    *,
    host: str = "127.0.0.1",
    port: int = 7878,
    writable: bool = False,
    token: str | None = None,
    default_graph: str = "union",
    cors: Sequence[str] = (),
    allow_hosts: Sequence[str] = (),
    allow_services: Sequence[str] = (),
    allow_loads: Sequence[str] = (),
    timeout: float = 30.0,
    memory: int = 1_024,
    result_size: int = 1_024,
    workers: int | None = None,
    connections: int = 512,
    access_log: bool = False,
    editable: bool = False,
    folder: Path | str | None = None,
    browser: bool = False,
    say: Callable[[str], object] = _to_standard_error,
) -> None:
    """Serve the graph in a directory until the process gets a signal to stop, as ``kgtable serve`` does.

    `token` is the bearer token; one is generated where it is needed and None. `default_graph` is ``union`` or
    ``own``. `cors` are web origins that may call the server, `allow_hosts` further names it answers to,
    `allow_services` and `allow_loads` the IRIs that SERVICE and LOAD may name. A query may take `timeout`
    seconds, a write four times as long, and either `memory` MiB; a result may have `result_size` MiB.
    `workers` queries run side by side, None for two for each processor. At most `connections` are
    open at a time. `access_log` writes a JSON object for each
    request to standard output; `say` gets lines for the person who started it. With `editable`, pages bring
    tables to the graph and decide about columns, on the loopback interface without a token; `folder` is the
    one that the graph was built from, if it was one. `browser` opens a browser once the server listens.

    Raises `ServerError` if it cannot, `UsageError` for another default graph, and what opening the graph
    raises.
    """
    if default_graph not in list(DefaultGraph):
        raise UsageError(f"default_graph is {' or '.join(DefaultGraph)}, not {default_graph!r}.")
    settings = ServerSettings(
        host=host,
        port=port,
        writable=writable,
        token=token,
        default_graph=DefaultGraph(default_graph),
        origins=tuple(cors),
        hosts=tuple(name.lower() for name in allow_hosts),
        services=tuple(allow_services),
        loads=tuple(allow_loads),
        limits=ServerLimits(
            query_seconds=timeout,
            write_seconds=WRITE_TIMES * timeout,
            memory=memory * MEBIBYTE,
            result=result_size * MEBIBYTE,
            held=min(result_size * MEBIBYTE, MOST_HELD),
        ),
        queue=QueueLimits() if workers is None else QueueLimits(processes=workers),
        connections=ConnectionLimits(total=connections),
        access_log=access_log,
        editable=editable,
        folder=None if folder is None else Path(folder),
    )
    serve_directory(Path(directory), settings, log=sys.stdout, say=say, browser=browser)


@contextmanager
def _only_writer(directory: Path) -> Iterator[None]:
    """Keep other writable servers off the graph. Raises `ServerError` if there is one."""
    path = directory / WRITER_LOCK
    with ExitStack() as held:
        try:
            held.enter_context(exclusive_lock(path))
        except GraphLockedError as error:
            with suppress(OSError, ValueError):
                number = int(path.read_text(encoding="ascii"))
                raise ServerError(
                    f"Another writable server (process {number}) serves the graph in {directory}.",
                    hint="Use that one, or serve the graph here without --writable.",
                ) from error
            raise ServerError(f"Another writable server serves the graph in {directory}.") from error
        with storage_errors(path):
            path.write_text(str(os.getpid()), encoding="ascii")
        yield


def serve_directory(
    directory: Path,
    settings: ServerSettings,
    *,
    log: TextIO | None,
    say: Callable[[str], object],
    browser: bool = False,
) -> None:
    """Serve the graph in a directory until stopped; `say` receives messages for the terminal.

    A writable or editable server makes an empty graph in a new or empty directory. Raises `ServerError`, and what
    opening the graph raises.
    """
    asked_for = settings.token
    settings = with_token(settings)
    changes = settings.writable or settings.editable
    if changes and not (directory / POINTER).exists():
        from kgtable.building.pipeline import start_empty  # imports the whole conversion

        start_empty(directory)
    with _only_writer(directory) if changes else nullcontext():
        _serve_graph(directory, settings, asked_for, log=log, say=say, browser=browser)


def _serve_graph(
    directory: Path,
    settings: ServerSettings,
    asked_for: str | None,
    *,
    log: TextIO | None,
    say: Callable[[str], object],
    browser: bool,
) -> None:
    source = GraphFolder(directory)

    def ready(url: str) -> None:
        say(f"kgtable serves {directory} at {url} (SPARQL at {url}sparql). Ctrl+C ends it.")
        if not is_loopback(settings.host):
            say(f"Warning: other machines can reach this server on {settings.host}. Reading needs the token.")
        if settings.token is not None and asked_for is None:
            say(f"Token: {settings.token}")
        if not is_loopback(settings.host):
            say(f"In a browser: {url}?token=TOKEN")
        if browser:
            login = "" if settings.token is None else f"?token={settings.token}"
            Thread(target=webbrowser.open, args=(url + login,), daemon=True).start()

    run(settings, source, log=log, ready=ready)
