"""The role of the one worker that writes: updates and graphs, each in one transaction."""

from __future__ import annotations

import email
import email.policy
import errno
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgtable.server import rewriting, scan
from kgtable.server.evaluation import refuse_remote, syntax_problem
from kgtable.server.frames import Head
from kgtable.server.problems import Problem

if TYPE_CHECKING:
    from kgtable.server.worker import Emit

LOG_LIMIT = 8 << 20
"""Readers replay the write-ahead log when they open the store: beyond this many bytes it is folded in."""

_DATASETS = (ox.RdfFormat.N_QUADS, ox.RdfFormat.TRIG)


class Writer:
    """Keeps the live store open, which no other process may write to meanwhile."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._store: ox.Store | None = None

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """Applies one write; when this returns, the write survives the end of any process."""
        opening = job.get("open")
        if opening is not None and Path(opening["path"]) != self._path:
            self._store, self._path = None, Path(opening["path"])
        try:
            status = self._apply(self._opened(), job, body)
            self._fold_log()
        except OSError as error:
            self._store = None
            raise _storage_problem(error) from error
        return {"status": status}, b""

    def _opened(self) -> ox.Store:
        if self._path is None:
            raise ValueError("The first job of a writer must open a store.")
        if self._store is None:
            self._store = ox.Store(str(self._path))
        return self._store

    def _apply(self, store: ox.Store, job: Head, body: bytes) -> int:
        if job["op"] == "update":
            _update(store, job)
            return 204
        if job["op"] == "load":
            quads = list(_quads(job, body, dataset=True))
            _transact(store, [_insertion(quads)])
            return 204
        return _change_graph(store, job, body)

    def _fold_log(self) -> None:
        if self._path is not None and self._store is not None:
            size = sum(log.stat().st_size for log in self._path.glob("*.log"))
            if size > LOG_LIMIT:
                self._store.flush()


def _update(store: ox.Store, job: Head) -> None:
    text = job["update"]
    refuse_remote(text, job.get("allowed", ()))
    try:
        text = rewriting.with_dataset(text, job["default_graphs"], job["named_graphs"])
        store.update(text, base_iri=job["base"], prefixes=job["prefixes"])
    except (rewriting.DatasetConflictError, scan.AmbiguousTextError) as error:
        raise Problem("bad-request", str(error)) from None
    except SyntaxError as error:
        raise syntax_problem(error) from None
    except ValueError as error:
        raise Problem("bad-request", str(error)) from None


def _change_graph(store: ox.Store, job: Head, body: bytes) -> int:
    """PUT, POST or DELETE of one graph; the status that fits what was there before."""
    name = job["graph"]
    graph = ox.DefaultGraph() if name is None else ox.NamedNode(name)
    if isinstance(graph, ox.NamedNode):
        existed = store.contains_named_graph(graph)
        reference = f"GRAPH {graph}"
    else:
        existed = next(store.quads_for_pattern(None, None, None, graph), None) is not None
        reference = "DEFAULT"
    if job["op"] == "delete":
        if not existed and name is not None:
            raise Problem("not-found", f"There is no graph <{name}>.")
        _transact(store, [f"DROP {reference}"])
        return 200
    quads = [ox.Quad(quad.subject, quad.predicate, quad.object, graph) for quad in _quads(job, body)]
    steps = [] if job["op"] == "post" else [f"DROP SILENT {reference}"]
    if name is not None:
        steps.append(f"CREATE SILENT {reference}")
    _transact(store, [*steps, _insertion(quads)])
    if not existed:
        return 201
    return 204 if job["op"] == "put" else 200


def _insertion(quads: Iterable[ox.Quad]) -> str:
    """INSERT DATA for some quads: the one way to change several things in one transaction."""
    by_graph: dict[str, list[str]] = {}
    for quad in quads:
        name = "" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)
        by_graph.setdefault(name, []).append(f"{quad.triple} .")
    blocks = []
    for name, triples in by_graph.items():
        content = "\n".join(triples)
        blocks.append(f"GRAPH {name} {{\n{content}\n}}" if name else content)
    return "INSERT DATA {\n" + "\n".join(blocks) + "\n}"


def _transact(store: ox.Store, steps: list[str]) -> None:
    store.update(" ;\n".join(steps))


def _quads(job: Head, body: bytes, *, dataset: bool = False) -> Iterable[ox.Quad]:
    """The quads of a request body, or of each part of a multipart one."""
    for media_type, content in _parts(job["type"], body):
        form = ox.RdfFormat.from_media_type(media_type)
        if form is None or (form in _DATASETS and not dataset):
            raise Problem("unsupported-media-type", f"{media_type or 'No type'} is not a format for a graph.")
        try:
            yield from ox.parse(content, form, base_iri=job["base"], rename_blank_nodes=True)
        except SyntaxError as error:
            place = {"line": error.lineno, "column": error.offset} if error.lineno else {}
            raise Problem("bad-data", str(error.msg or error), place) from None
        except ValueError as error:
            raise Problem("bad-data", str(error)) from None


def _parts(content_type: str, body: bytes) -> Iterable[tuple[str, bytes]]:
    if not content_type.lower().startswith("multipart/form-data"):
        yield content_type, body
        return
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = email.message_from_bytes(head + body, policy=email.policy.HTTP)
    if not message.is_multipart():
        raise Problem("bad-data", "The multipart body has no parts that can be told apart.")
    for part in message.iter_parts():
        content: Any = part.get_payload(decode=True)
        yield part.get_content_type(), content or b""


def _storage_problem(error: OSError) -> Problem:
    text = str(error)
    if error.errno == errno.ENOSPC or "No space left" in text:
        return Problem("storage-full", "The disk is full: nothing of this request was stored.")
    if "lock" in text.lower():
        retry = {"retry-after": "5"}
        return Problem("unavailable", "Another process is writing to this graph. Try again later.", {}, retry)
    return Problem("storage-full", f"The write could not be stored: {text}")
