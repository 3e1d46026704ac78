"""Graphs in other engines: directories that point to an endpoint, and copies of a graph sent to one.

A copy is sent in batches that are recorded: an interrupted push resumes where it ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import rdflib

from kgtable.building.catalogue import Catalogue, FileRecord, TableRecord
from kgtable.building.conversion_report import Progress, silent
from kgtable.building.export import write_rdf
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.errors import RemoteStoreError, StorageError
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.remote.endpoint import RemoteStore
from kgtable.graph.remote.http import checked_url
from kgtable.graph.store import TripleStore, select
from kgtable.graph.terms import DEFAULT_BASE, UNIT, Namespaces
from kgtable.graph.writers import Format
from kgtable.resources import read_shipped
from kgtable.storage import whole_file

_TABLES = "data/table/"


def connect(
    directory: Path | str, url: str, *, store: str | None = None, dialect: str = "generic", base: str | None = None
) -> StoreEndpoint:
    """Make `directory` point to the graph behind a SPARQL endpoint, once the endpoint has answered.

    `store` is its Graph Store Protocol address, `base` what the graph's IRIs begin with: without it
    the endpoint is asked for a table. Nothing is written where the endpoint does not answer.

    Raises `UsageError`, `RemoteStoreError`, `GraphVersionError` for a directory that holds something
    else, `StorageError`.
    """
    store = None if store is None else checked_url(store)
    endpoint = StoreEndpoint(checked_url(url), dialect, base or DEFAULT_BASE, store)
    remote = RemoteStore(endpoint, Namespaces(endpoint.base).prefixes)
    a_table = next(iter(select(remote, read_shipped("queries/remote/a-table.rq"))), None)
    found, mark, _ = ("" if a_table is None else a_table["table"].value).partition(_TABLES)
    if base is None and mark:
        endpoint = StoreEndpoint(url, dialect, found, store)
    GraphDirectory(directory).point_to_endpoint(endpoint)
    return endpoint


def list_tables(store: TripleStore) -> Catalogue:
    """The catalogue of the tables in a store, from its triples: sizes and sources, no counts of cells."""
    files: dict[str, list[TableRecord]] = {}
    for row in _rows(store, "tables"):
        path = row["path"] or row["id"]
        record = TableRecord(
            id=row["id"], path=path, sheet=row["sheet"], number=len(files.get(path, ())) + 1, media_type="",
            sha256="", title=row["title"] or "", rows=int(row["rows"] or 0), width=int(row["width"]), cells=0,
            quads=0,
        )  # fmt: skip
        files.setdefault(path, []).append(record)
    return Catalogue(FileRecord(path, tables[0].id, "", "", path, tuple(tables)) for path, tables in files.items())


def endpoint_generation(place: GraphDirectory, endpoint: StoreEndpoint) -> Generation:
    """A generation for a graph kept by an endpoint: its folder is the directory itself."""
    return Generation(0, place.path, endpoint.base)


def description(store: TripleStore, names: Namespaces) -> rdflib.Graph:
    """The default graph of a store: description of the dataset and ontology."""
    text = "".join(write_rdf(store, (), names, Format.NTRIPLES))
    return rdflib.Graph().parse(data=text, format="nt")


def in_memory(nquads: Iterable[str]) -> ox.Store:
    """Load N-Quads, given in pieces, into a store in memory."""
    store = ox.Store()
    store.load("".join(nquads), ox.RdfFormat.N_QUADS, lenient=True)
    return store


def endpoint_info(endpoint: StoreEndpoint, store: TripleStore) -> dict[str, Any]:
    """Counts of the graph behind an endpoint, computed by its engine."""
    catalogue = list_tables(store)
    return {
        "endpoint": endpoint.url,
        "dialect": endpoint.dialect,
        "base": endpoint.base,
        "files": len(catalogue.files),
        "tables": len(catalogue.tables),
        "rows": sum(record.members for record in catalogue.tables.values()),
        "quads_of_tables": sum(int(row["quads"]) for row in _rows(store, "quads")),
        "units": {row["unit"].removeprefix(UNIT): int(row["quantities"]) for row in _rows(store, "units")},
        "table_ids": list(catalogue.tables),
    }


def _rows(store: TripleStore, name: str) -> Iterator[dict[str, Any]]:
    found = select(store, read_shipped(f"queries/remote/{name}.rq"))
    names = [variable.value for variable in found.variables]
    for solution in found:
        yield {name: None if solution[name] is None else solution[name].value for name in names}


BATCH_BYTES = 8_000_000
"""N-Triples sent between two records of the progress."""

BATCH_GRAPHS = 256

AT_ONCE = 4
"""Graphs that are sent at the same time."""


@dataclass(frozen=True)
class GraphText:
    """A graph to send: its name (None for the default graph), its N-Triples, and how many there are."""

    name: str | None
    text: bytes
    triples: int

    @property
    def digest(self) -> str:
        """A hash of the statements."""
        return hashlib.blake2b(self.text, digest_size=16).hexdigest()


class PushRecord:
    """Which graphs an engine has, by the hash of the triples sent: a file next to the graph for each address."""

    def __init__(self, folder: Path, url: str) -> None:
        self._path = folder / "pushed" / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
        self._url = url
        self.sent: dict[str, str] = {}
        with suppress(OSError, ValueError, RecursionError):
            found = json.loads(self._path.read_text(encoding="utf-8"))
            sent = found.get("graphs") if isinstance(found, dict) and found.get("url") == url else None
            if isinstance(sent, dict):
                self.sent = {str(name): str(digest) for name, digest in sent.items()}

    def save(self) -> None:
        """Record what was sent; if that cannot be written, the next push sends everything again."""
        with suppress(OSError, StorageError):
            self._path.parent.mkdir(exist_ok=True)
            with whole_file(self._path) as file:
                file.write(json.dumps({"url": self._url, "graphs": self.sent}).encode())


def push(
    source: TripleStore,
    named: Sequence[str],
    target: RemoteStore,
    folder: Path,
    *,
    again: bool = False,
    progress: Progress = silent,
) -> int:
    """Make an engine hold the `named` graphs and the description as they are in `source`; returns the triples sent.

    Each graph replaces the graph of the same name. What was sent is recorded in `folder` after
    each batch, and not sent again unless it changed, or the engine does not have it any more: it is asked for
    the first graph that was sent. With `again` everything is sent. A graph that was sent before and is not among
    the `named` is deleted; graphs that never were are not touched.

    Raises `RemoteStoreError`, which says how many were sent.
    """
    record = PushRecord(folder, target.endpoint.store or target.endpoint.url)
    first = next(iter(record.sent), None)  # which is gone where the engine was emptied
    if again or first is None or next(iter(target.graph(first or None)), None) is None:
        record.sent.clear()
    graphs: list[str | None] = [*named, None]
    for name in sorted(record.sent.keys() - {_key(graph) for graph in graphs}):
        target.delete_graph(name)
        del record.sent[name]
    sent = done = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for batch in _batches(source, graphs):
            progress("push", done, len(graphs))
            new = [graph for graph in batch if record.sent.get(_key(graph.name)) != graph.digest]
            failed: RemoteStoreError | None = None
            for graph, error in zip(new, pool.map(partial(_put, target), new), strict=True):
                failed = failed or error
                if error is None:
                    record.sent.pop(_key(graph.name), None)
                    record.sent[_key(graph.name)] = graph.digest
                    sent += graph.triples
            if new:
                record.save()
            if failed is not None:
                raise RemoteStoreError(
                    f"{len(record.sent):,} of {len(graphs):,} graphs are there, then: {failed.message}",
                    hint=f"{failed.hint} Run it again: it goes on from there.".strip(),
                ) from failed
            done += len(batch)
    progress("push", len(graphs), len(graphs))
    return sent


def _key(name: str | None) -> str:
    return name or ""


def _batches(source: TripleStore, graphs: Sequence[str | None]) -> Iterator[list[GraphText]]:
    batch: list[GraphText] = []
    size = 0
    for name in graphs:
        found = list(source.graph(name))
        batch.append(GraphText(name, ox.serialize(found, format=ox.RdfFormat.N_TRIPLES) or b"", len(found)))
        size += len(batch[-1].text)
        if size >= BATCH_BYTES or len(batch) >= BATCH_GRAPHS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _put(target: RemoteStore, graph: GraphText) -> RemoteStoreError | None:
    """Send a graph; returns the error where that fails, so that the others of the batch are sent all the same."""
    try:
        target.put_graph(graph.name, graph.text)
    except RemoteStoreError as error:
        return error
    return None
