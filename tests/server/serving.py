"""A server of our own for a test: started on a free port in a thread, stopped at the end."""

from __future__ import annotations

import asyncio
import io
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pyoxigraph as ox

from kgtable.graph.store import leased, number_of, pointer_of
from kgtable.graph.terms import FIXED_PREFIXES
from kgtable.server.app import Server
from kgtable.server.options import QueueLimits, ServerSettings
from kgtable.server.running import address, bind, http_server
from kgtable.server.state import WIDELY_USED, ServerState, StoreSource, stamp_of
from kgtable.server.workers.process import View

TOKEN = "a token for tests"
WRITER = {"authorization": f"Bearer {TOKEN}"}


class Running:
    """A running server: its address, its state, and what it logged."""

    def __init__(self, url: str, state: ServerState, log: io.StringIO) -> None:
        self.url, self.state, self.log = url, state, log
        self.client = httpx.Client(base_url=url, timeout=60)

    @property
    def sparql(self) -> str:
        return self.url + "sparql"

    def query(self, query: str, accept: str = "", **parameters: str) -> httpx.Response:
        """A query by GET."""
        return self.client.get("/sparql", params={"query": query, **parameters}, headers={"accept": accept})

    def update(self, update: str) -> httpx.Response:
        """An update with the token."""
        headers = {**WRITER, "content-type": "application/sparql-update"}
        return self.client.post("/sparql", content=update, headers=headers)


@contextmanager
def running(settings: ServerSettings, source: StoreSource) -> Iterator[Running]:
    """Runs a server until the block ends, with two processes for queries unless the settings say how many."""
    if settings.queue == QueueLimits():
        settings = replace(settings, queue=QueueLimits(processes=2))
    with bind(settings) as listener:
        state, log = ServerState(settings, source), io.StringIO()
        server = http_server(Server(state, log), settings.connections)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        handle = Running(address(listener), state, log)
        try:
            yield handle
        finally:
            handle.client.close()
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive(), "the server did not stop"


class StoreFolder:
    """A bare Oxigraph store without a graph directory; its versions are made beside it."""

    def __init__(self, path: Path, prefixes: Mapping[str, str] | None = None) -> None:
        self._base, self._pointer = path, str(pointer_of(path))
        self._prefixes = {**WIDELY_USED, **FIXED_PREFIXES, **(prefixes or {})}
        self._nonce = secrets.token_hex(4)
        self._stamp = stamp_of(self._pointer)
        self._view = self._read()

    def view(self) -> View:
        """The newest version; only servers can change it."""
        stamp = stamp_of(self._pointer)
        if stamp != self._stamp:
            self._view, self._stamp = self._read(), stamp
        return self._view

    def _read(self) -> View:
        path, lease = leased(self._base)
        version = f"{self._nonce}-{number_of(path, self._base)}"
        return View(str(path), version, self._prefixes, None, str(self._base), (lease,))


def store_with(path: Path, trig: str = "") -> StoreFolder:
    """A store on disk with some data."""
    store = ox.Store(str(path))
    if trig:
        store.load(trig, ox.RdfFormat.TRIG)
    store.flush()
    del store
    return StoreFolder(path)
