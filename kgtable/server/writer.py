"""The writing worker: updates and graph changes, each in one transaction, with the protocol's dataset.

SPARQL 1.1 Protocol, section 2.2.3: the dataset parameters act like USING clauses of every operation that has
a WHERE clause. The engine has no such argument, so the clauses are inserted into the text.
"""

from __future__ import annotations

import email
import email.policy
import errno
import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgtable.building.generations import LOCK, GraphDirectory
from kgtable.errors import GraphLockedError, KgtableError
from kgtable.graph.sparql_text import AmbiguousTextError, Token, tokens
from kgtable.server.execution import refuse_remote, syntax_problem
from kgtable.server.frames import Emit, Head
from kgtable.server.problems import Problem
from kgtable.storage import exclusive_lock


class DatasetConflictError(ValueError):
    """The update has USING or WITH beside the protocol's dataset parameters."""


def with_dataset(update: str, default: Sequence[str], named: Sequence[str]) -> str:
    """Insert USING clauses for the given graphs before the WHERE of each operation.

    >>> with_dataset("DELETE WHERE { ?s ?p 1 }", ["http://g"], [])
    'DELETE { ?s ?p 1 } USING <http://g> WHERE { ?s ?p 1 }'

    Raises `DatasetConflictError` if an operation has USING or WITH, `AmbiguousTextError` if the
    text cannot be read safely.
    """
    if not default and not named:
        return update
    parts = [f"USING <{iri}>" for iri in default] + [f"USING NAMED <{iri}>" for iri in named]
    clause = " ".join(parts) + " "
    words = list(tokens(update))
    output: list[str] = []
    done = 0
    for place, (token, depth) in enumerate(zip(words, _depths(words), strict=True)):
        if depth:
            continue
        if token.is_word("USING", "WITH"):
            raise DatasetConflictError(f"{token.text.upper()} may not be combined with using-graph-uri.")
        if token.is_word("WHERE"):
            output.append(update[done : token.start])
            if place and words[place - 1].is_word("DELETE"):
                output.append(_template(update, words, place) + " ")
            output.append(clause)
            done = token.start
    return "".join(output) + update[done:]


def _depths(words: Sequence[Token]) -> list[int]:
    """The brace nesting depth at each token."""
    depths, depth = [], 0
    for token in words:
        if token.kind == "sign" and token.text == "}":
            depth = max(0, depth - 1)
        depths.append(depth)
        if token.kind == "sign" and token.text == "{":
            depth += 1
    return depths


def _template(update: str, words: Sequence[Token], where: int) -> str:
    """The group graph pattern after ``DELETE WHERE``."""
    depth = 0
    for token in words[where + 1 :]:
        if token.kind == "sign" and token.text in "{}":
            depth += 1 if token.text == "{" else -1
            if depth == 0:
                return update[words[where + 1].start : token.start + 1]
    return ""


LOG_LIMIT = 8 << 20
"""Readers replay the write-ahead log when they open the store: beyond this many bytes it is folded in."""

_DATASETS = (ox.RdfFormat.N_QUADS, ox.RdfFormat.TRIG)

_REFUSALS = {
    "does not exist": "not-found",
    "already exists": "conflict",
    "custom function": "bad-request",
}
"""What the engine says of an update it cannot carry out, and the problem that is."""


class StoreWriter:
    """Opens graph and store for the duration of one write, so that a build can run in between."""

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """Apply one write; on return it survives a crash of any process."""
        opening = job["open"]
        try:
            with _locked_store(opening["directory"], opening["path"]) as path:
                status = _write(path, job, body)
        except GraphLockedError:
            detail = "The graph is being built. Try again when that is done."
            raise Problem("unavailable", detail, {}, {"retry-after": "10"}) from None
        except KgtableError as error:
            raise Problem("storage-full", str(error)) from error
        except (OSError, RuntimeError) as error:
            raise _storage_problem(error) from error
        return {"status": status}, b""


@contextmanager
def _locked_store(directory: str | None, path: str) -> Iterator[Path]:
    """The store to write to: of a graph directory, the current generation's, with the graph locked."""
    if directory is None:
        yield Path(path)
        return
    place = GraphDirectory(directory)
    with exclusive_lock(place.path / LOCK):
        yield place.current().store_path


def _write(path: Path, job: Head, body: bytes) -> int:
    store = ox.Store(str(path))
    try:
        status = _apply(store, job, body)
        if sum(log.stat().st_size for log in path.glob("*.log")) > LOG_LIMIT:
            store.flush()
    finally:
        del store
        gc.collect()
    return status


def _apply(store: ox.Store, job: Head, body: bytes) -> int:
    if job["op"] == "update":
        _update(store, job)
        return 204
    if job["op"] == "load":
        quads = list(_quads(job, body, dataset=True))
        _transact(store, [_insertion(quads)])
        return 204
    return _change_graph(store, job, body)


def _update(store: ox.Store, job: Head) -> None:
    text = job["update"]
    refuse_remote(text, job.get("allowed", ()))
    try:
        text = with_dataset(text, job["default_graphs"], job["named_graphs"])
        store.update(text, base_iri=job["base"], prefixes=job["prefixes"])
    except (DatasetConflictError, AmbiguousTextError) as error:
        raise Problem("bad-request", str(error)) from None
    except SyntaxError as error:
        raise syntax_problem(error) from None
    except ValueError as error:
        raise Problem("bad-request", str(error)) from None
    except RuntimeError as error:
        kind = next((kind for words, kind in _REFUSALS.items() if words in str(error)), None)
        if kind is None:
            raise
        raise Problem(kind, f"{error}.") from None


def _change_graph(store: ox.Store, job: Head, body: bytes) -> int:
    """PUT, POST or DELETE of one graph; the HTTP status depends on what existed before."""
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
    """An INSERT DATA update for some quads, so that several changes fit in one transaction."""
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
    """The quads of a request body, or of each part of a multipart body."""
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
        raise Problem("bad-data", "The multipart body has no valid parts.")
    for part in message.iter_parts():
        content: Any = part.get_payload(decode=True)
        yield part.get_content_type(), content or b""


def _storage_problem(error: OSError | RuntimeError) -> Problem:
    text = str(error)
    if getattr(error, "errno", None) == errno.ENOSPC or "No space left" in text:
        return Problem("storage-full", "The disk is full: nothing of this request was stored.")
    if "lock" in text.lower():
        retry = {"retry-after": "5"}
        return Problem("unavailable", "Another process is writing to this graph. Try again later.", {}, retry)
    return Problem("storage-full", f"The write could not be stored: {text}")
