"""A server with a store that the query and update tests fill and change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox

from kgtable.server.options import DefaultGraph, ServerSettings
from tests.server.serving import TOKEN, WRITER, Running, running, store_with


@contextmanager
def writable_endpoint(folder: Path) -> Iterator[Running]:
    """Runs a server over an empty store in `folder`; its default graph is its own."""
    settings = ServerSettings(port=0, writable=True, token=TOKEN, default_graph=DefaultGraph.OWN)
    with running(settings, store_with(folder / "store")) as server:
        yield server


def load(server: Running, dataset: ox.Dataset) -> None:
    """Makes the store hold this and nothing else."""
    assert server.update("DROP ALL").status_code == 204
    headers = {**WRITER, "content-type": "application/n-triples"}
    for graph in {quad.graph_name for quad in dataset}:
        triples = ox.serialize(
            (quad.triple for quad in dataset.quads_for_graph_name(graph)), None, ox.RdfFormat.N_TRIPLES
        )
        place = {"graph": graph.value} if isinstance(graph, ox.NamedNode) else {"default": ""}
        answer = server.client.put("/store", params=place, content=triples, headers=headers)
        assert answer.status_code in (201, 204), answer.text
