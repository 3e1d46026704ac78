"""A server of our own for a test: started on a free port in a thread, stopped at the end."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pyoxigraph as ox

from kgtable.server.app import Server
from kgtable.server.options import ServerSettings
from kgtable.server.running import address, bind, make_server
from kgtable.server.state import ServerState, StoreFolder, StoreSource

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
    """Runs a server until the block ends."""
    with bind(settings) as listener:
        state, log = ServerState(settings, source), io.StringIO()
        server = make_server(Server(state, log))
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


def store_with(path: Path, trig: str = "") -> StoreFolder:
    """A store on disk with some data."""
    store = ox.Store(str(path))
    if trig:
        store.load(trig, ox.RdfFormat.TRIG)
    store.flush()
    del store
    return StoreFolder(path)
