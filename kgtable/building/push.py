"""Copying a graph to another engine, in batches that are remembered: a push goes on where the last one ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyoxigraph as ox

from kgtable.building.conversion_report import Progress, silent
from kgtable.errors import RemoteStoreError, StorageError
from kgtable.graph.remote.endpoint import RemoteStore
from kgtable.graph.store import TripleStore
from kgtable.storage import whole_file

BATCH_BYTES = 8_000_000
"""N-Triples that are sent before what was sent is remembered."""

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
    """Which graphs an engine has, by the hash of what was sent: a file beside the graph for each address."""

    def __init__(self, folder: Path, url: str) -> None:
        self._path = folder / "pushed" / f"{hashlib.sha256(url.encode()).hexdigest()[:16]}.json"
        self._url = url
        self.sent: dict[str, str] = self._read()

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        sent = found.get("graphs") if isinstance(found, dict) and found.get("url") == self._url else None
        return {str(name): str(digest) for name, digest in sent.items()} if isinstance(sent, dict) else {}

    def save(self) -> None:
        """Remember what was sent; where nothing can be written, the next push sends everything again."""
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
    """Make an engine hold the `named` graphs and the description as they are in `source`; gives the triples sent.

    Each graph takes the place of what was there under its name. What was sent is remembered in `folder` after
    each batch, and not sent again unless it changed, or the engine does not have it any more: it is asked for
    the first graph that was sent. With `again` everything is sent. A graph that was sent before and is not among
    the `named` is deleted; graphs that never were are not touched.

    Raises `RemoteStoreError`, which tells how far it came.
    """
    record = PushRecord(folder, target.endpoint.store or target.endpoint.url)
    if again or not _is_there(record, target):
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


def _is_there(record: PushRecord, target: RemoteStore) -> bool:
    """Whether the engine has the first graph that was sent: it may have been emptied."""
    first = next(iter(record.sent), None)
    return first is not None and next(iter(target.graph(first or None)), None) is not None


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
    """Send a graph; gives the error where that fails, so that the others of the batch are sent all the same."""
    try:
        target.put_graph(graph.name, graph.text)
    except RemoteStoreError as error:
        return error
    return None
