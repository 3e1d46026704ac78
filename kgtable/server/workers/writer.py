"""The writing worker: updates and graph changes, each stored whole or not at all, with the protocol's dataset.

SPARQL 1.1 Protocol, section 2.2.3: the dataset parameters act like USING clauses of every operation that has
a WHERE clause. The engine has no such argument, so the clauses are inserted into the text.
"""

from __future__ import annotations

import email
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import pyoxigraph as ox

from kgtable.building.generations import LOCK, LOCK_WAIT, GraphDirectory
from kgtable.errors import KgtableError
from kgtable.graph.sparql_text import AmbiguousTextError, Token, tokens
from kgtable.graph.store import WorkingStore, bounded_rdf
from kgtable.server.workers.execution import refuse_remote, remote_iris, service_problem, syntax_problem
from kgtable.server.workers.messages import Emit, Head, Problem, storage_problem, utf8
from kgtable.storage import exclusive_lock

SentContent: TypeAlias = bytes | Path
"""The content of a write: a short body, or the file a longer one was saved to."""


class DatasetConflictError(ValueError):
    """The update has USING or WITH in addition to the protocol's dataset parameters."""


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


BATCH = 50_000
"""Quads of an upload held in memory at a time."""

_DATASETS = (ox.RdfFormat.N_QUADS, ox.RdfFormat.TRIG)

_REFUSALS = {"does not exist": "not-found", "already exists": "conflict", "custom function": "bad-request"}
"""The engine's message about an update it cannot carry out, and the corresponding problem."""


class StoreWriter:
    """Applies writes to a working copy of the store, and publishes each as a new version.

    The graph is locked for the duration of one write, so that a build can run in between. Whether it is an error or
    the end of the process that interrupts a write, the last version stays as it was.
    """

    def __init__(self) -> None:
        self._copy: WorkingStore | None = None

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """Apply one write; on return it survives a crash of any process, and of the machine."""
        opening = job["open"]
        try:
            with _locked(opening["directory"], opening["base"]) as base:
                copy = self._of(base)
                status = _apply(copy.store, job, Path(job["file"]) if "file" in job else body)
                copy.publish()
        except BaseException as error:
            self._forget()
            if isinstance(error, KgtableError | OSError | RuntimeError):
                raise storage_problem(error) from error
            raise
        return {"status": status}, b""

    def _of(self, base: Path) -> WorkingStore:
        """The working copy of a store's newest version."""
        if self._copy is not None and (self._copy.base != base or not self._copy.is_current()):
            self._forget()
        if self._copy is None:
            self._copy = WorkingStore(base)
        return self._copy

    def _forget(self) -> None:
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.close()


@contextmanager
def _locked(directory: str | None, base: str) -> Iterator[Path]:
    """The store to write to: of a graph directory, the current generation's, with the graph locked."""
    if directory is None:
        yield Path(base)
        return
    place = GraphDirectory(directory)
    with exclusive_lock(place.path / LOCK, LOCK_WAIT):
        yield place.current().first_store_path


def _apply(store: ox.Store, job: Head, content: SentContent) -> int:
    if job["op"] == "update":
        _update(store, job, content)
        return 204
    if job["op"] == "load":
        _insert(store, _quads(job, content, dataset=True))
        return 204
    return _change_graph(store, job, content)


def _update(store: ox.Store, job: Head, content: SentContent) -> None:
    text = job["update"] if isinstance(content, bytes) else utf8(content.read_bytes())
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
    except OSError as error:
        if error.errno is None and job.get("allowed") and remote_iris(text):
            raise service_problem(error) from error
        raise
    except RuntimeError as error:
        kind = next((kind for words, kind in _REFUSALS.items() if words in str(error)), None)
        if kind is None:
            raise
        raise Problem(kind, f"{error}.") from None


def _change_graph(store: ox.Store, job: Head, content: SentContent) -> int:
    """PUT, POST or DELETE of one graph; the HTTP status depends on what existed before."""
    name = job["graph"]
    graph = ox.DefaultGraph() if name is None else ox.NamedNode(name)
    if isinstance(graph, ox.NamedNode):
        existed = store.contains_named_graph(graph)
    else:
        existed = next(store.quads_for_pattern(None, None, None, graph), None) is not None
    if job["op"] == "delete":
        if not existed and name is not None:
            raise Problem("not-found", f"There is no graph <{name}>.")
        store.remove_graph(graph)
        return 200
    if job["op"] == "put" and existed:
        store.remove_graph(graph)
    if name is not None:
        store.add_graph(graph)
    _insert(store, (ox.Quad(quad.subject, quad.predicate, quad.object, graph) for quad in _quads(job, content)))
    if not existed:
        return 201
    return 204 if job["op"] == "put" else 200


def _insert(store: ox.Store, quads: Iterator[ox.Quad]) -> None:
    """Insert quads a batch at a time, so that the memory needed does not grow with their number."""
    batch = list(islice(quads, BATCH))
    if len(batch) < BATCH:
        store.extend(batch)
        return
    while batch:
        store.bulk_extend(batch)
        batch = list(islice(quads, BATCH))


def _quads(job: Head, content: SentContent, *, dataset: bool = False) -> Iterator[ox.Quad]:
    """The quads of a request body, or of each part of a multipart body."""
    for media_type, part in _parts(job["type"], content):
        form = ox.RdfFormat.from_media_type(media_type)
        if form is None or (form in _DATASETS and not dataset):
            raise Problem("unsupported-media-type", f"{media_type or 'No type'} is not a format for a graph.")
        try:
            yield from ox.parse(bounded_rdf(part, form), form, base_iri=job["base"], rename_blank_nodes=True)
        except SyntaxError as error:
            place = {"line": error.lineno, "column": error.offset} if error.lineno else {}
            raise Problem("bad-data", str(error.msg or error), place) from None
        except ValueError as error:
            raise Problem("bad-data", str(error)) from None
        except MemoryError as error:
            if "buffer" not in str(error):  # what the parser says of one term of more than 16 MiB
                raise
            raise Problem("bad-data", f"A term is too long: {error}.") from None


def _parts(content_type: str, content: SentContent) -> Iterator[tuple[str, IO[bytes]]]:
    """Media type and content of the body, or of each part of a form (RFC 7578), without reading it whole."""
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as file:
        if not content_type.lower().startswith("multipart/form-data"):
            yield content_type, file
            return
        boundary = email.message_from_string(f"Content-Type: {content_type}\r\n\r\n").get_boundary()
        if not boundary:
            raise Problem("bad-data", "The multipart body has no valid parts.")
        yield from _form_parts(file, b"--" + boundary.encode("latin-1", "replace"))


def _form_parts(file: IO[bytes], boundary: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    line = file.readline(_LONGEST_LINE)
    while line and line.rstrip(b"\r\n") != boundary:
        line = file.readline(_LONGEST_LINE)
    if not line:
        raise Problem("bad-data", "The multipart body has no valid parts.")
    last = False
    while not last:
        head = b""
        while line := file.readline(_LONGEST_LINE).strip():
            head += line + b"\r\n"
            if len(head) > _LONGEST_LINE:
                raise Problem("bad-data", "The head of a part is too long.")
        fields = email.message_from_bytes(head + b"\r\n")
        if fields.get("content-transfer-encoding", "binary").lower() not in ("7bit", "8bit", "binary"):
            raise Problem("bad-data", "Parts may not be encoded for transfer.")
        part = _FormPart(file, boundary)
        yield fields.get_content_type(), cast(IO[bytes], io.BufferedReader(part))
        part.skip()
        last = part.last


class _FormPart(io.RawIOBase):
    """The content of one part of a form, up to the line with the boundary. `last` is whether none follows."""

    def __init__(self, file: IO[bytes], boundary: bytes) -> None:
        self._file, self._boundary = file, boundary
        self._held, self._ready = b"", b""
        self._ended = self.last = False

    def readable(self) -> bool:
        """See `io.IOBase`."""
        return True

    def readinto(self, room: Any) -> int:
        """See `io.RawIOBase`."""
        while not self._ready and not self._ended:
            self._advance()
        size = min(len(room), len(self._ready))
        room[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _advance(self) -> None:
        """Read one line; the end of the line before the boundary belongs to the boundary."""
        line = self._file.readline(_LONGEST_LINE)
        starts = self._held.endswith(b"\n") or not self._held
        if starts and line.rstrip(b"\r\n").rstrip(b" \t") in (self._boundary, self._boundary + b"--"):
            self._ended, self.last = True, line.startswith(self._boundary + b"--")
            self._ready = self._held.removesuffix(b"\n").removesuffix(b"\r")
            return
        if not line:
            raise Problem("bad-data", "The multipart body ends within a part.")
        self._ready, self._held = self._held, line

    def skip(self) -> None:
        """Read to the end of the part."""
        while not self._ended:
            self._advance()


_LONGEST_LINE = 1 << 16
