"""Serving a graph directory: what ``kgtable serve`` and `KnowledgeGraph.serve` do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from kgtable.graph.build import start_empty
from kgtable.graph.generation import POINTER
from kgtable.server.running import run, with_token
from kgtable.server.security import is_loopback
from kgtable.server.settings import DefaultGraph, ServerSettings
from kgtable.server.sources import GraphFolder


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
