"""Engines that tests connect to: kgtable's own server, and Oxigraph's where the program is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError
from urllib.request import urlopen

import pytest

import kgtable
from kgtable.building.pipeline import start_empty
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.serving import TOKEN, running

ENGINES = ("kgtable", "oxigraph")


class Engine(NamedTuple):
    """A running engine: its dialect, and the addresses of its queries and its Graph Store."""

    dialect: str
    query: str
    store: str


@contextmanager
def running_engine(dialect: str, folder: Path) -> Iterator[Engine]:
    """Runs an engine with an empty store until the block ends."""
    if dialect == "kgtable":
        start_empty(folder / "kg")
        settings = ServerSettings(port=0, writable=True, token=TOKEN)
        with running(settings, GraphFolder(folder / "kg")) as server:
            yield Engine(dialect, f"{server.url}sparql", f"{server.url}store")
        return
    beside_python = Path(sys.executable).parent
    program = shutil.which("oxigraph", path=f"{beside_python}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        pytest.skip("the program oxigraph is not installed (pip install oxigraph)")
    url = f"http://127.0.0.1:{free_port()}"
    with subprocess.Popen([program, "serve", "--bind", url.removeprefix("http://")]) as process:
        try:
            _wait_for(url)
            yield Engine(dialect, f"{url}/query", f"{url}/store")
        finally:
            process.terminate()


@contextmanager
def connected_graph(dialect: str, local: kgtable.KnowledgeGraph, folder: Path) -> Iterator[kgtable.KnowledgeGraph]:
    """A graph that is pushed to an engine, opened there until the block ends."""
    with running_engine(dialect, folder) as engine, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGTABLE_SPARQL_TOKEN", TOKEN)
        local.push(engine.store, dialect=engine.dialect)
        yield kgtable.connect(engine.query, folder / "connected", dialect=engine.dialect)


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(url: str) -> None:
    for _ in range(200):
        try:
            with urlopen(url):
                return
        except URLError:
            time.sleep(0.05)
    raise AssertionError(f"{url} did not start")
