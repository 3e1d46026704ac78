"""Serving a graph directory: what ``kgtable serve`` and `KnowledgeGraph.serve` do."""

from __future__ import annotations

import secrets
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import uvicorn

from kgtable.building.generations import POINTER
from kgtable.building.pipeline import start_empty
from kgtable.errors import ServerError
from kgtable.server.app import Server
from kgtable.server.options import DefaultGraph, ServerSettings
from kgtable.server.security import is_loopback
from kgtable.server.state import GraphFolder, ServerState, StoreSource

GRACE_SECONDS = 10
"""How long requests that are under way may take when the server is told to stop."""


def with_token(settings: ServerSettings) -> ServerSettings:
    """The settings with a token made up where one is needed and none is given."""
    needed = settings.writable or not is_loopback(settings.host)
    token = settings.token
    if token is not None and (len(token) < 8 or not (token.isascii() and token.isprintable())):
        raise ServerError(
            "The token is too short, or not what a request can carry.",
            hint="Use at least 8 letters and digits.",
        )
    if needed and settings.token is None:
        return replace(settings, token=secrets.token_urlsafe(24))
    return settings


def bind(settings: ServerSettings) -> socket.socket:
    """The listening socket. Raises `ServerError` where the address cannot be had."""
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
    """Where a browser finds the server."""
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
    """Serves until told to stop by a signal; `ready` is told the address once it listens.

    Raises `ServerError` if the server cannot start.
    """
    listener = bind(settings)
    server = make_server(Server(ServerState(settings, source), log))
    ready(address(listener))
    with listener:
        server.run(sockets=[listener])
    if not server.started:
        raise ServerError("The server could not start.", hint="The lines above say why.")


def make_server(app: Server) -> uvicorn.Server:
    """The HTTP server around the application."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            proxy_headers=False,
            access_log=False,
            log_level="error",
            server_header=False,
            lifespan="on",
            timeout_keep_alive=30,
            timeout_graceful_shutdown=GRACE_SECONDS,
            backlog=1_024,
        )
    )


def serve(
    directory: Path | str,
    *,
    host: str = "127.0.0.1",
    port: int = 7878,
    writable: bool = False,
    token: str | None = None,
    default_graph: str = "union",
) -> None:
    """Serves the graph in a directory until the process is told to stop, as ``kgtable serve`` does.

    Raises `ServerError` if it cannot, and what opening the graph raises.
    """
    settings = ServerSettings(host, port, writable, token, DefaultGraph(default_graph))
    serve_directory(Path(directory), settings, log=None, say=lambda line: sys.stderr.write(line + "\n"))


def serve_directory(
    directory: Path, settings: ServerSettings, *, log: TextIO | None, say: Callable[[str], object]
) -> None:
    """Serves the graph in a directory until told to stop; `say` gets lines for the person who started it.

    A writable server makes an empty graph in a new or empty directory. Raises `ServerError`, and what
    opening the graph raises.
    """
    asked_for = settings.token
    settings = with_token(settings)
    if settings.writable and not (directory / POINTER).exists():
        start_empty(directory)
    source = GraphFolder(directory)

    def ready(url: str) -> None:
        say(f"kgtable serves {directory} at {url} (SPARQL at {url}sparql). Ctrl+C ends it.")
        if not is_loopback(settings.host):
            say(f"Warning: other machines can reach this server on {settings.host}. Reading needs the token.")
        if settings.token is not None and asked_for is None:
            say(f"Token: {settings.token}")
        if not is_loopback(settings.host):
            say(f"In a browser: {url}?token=TOKEN")

    run(settings, source, log=log, ready=ready)
