"""Messages between the server and its worker processes, and HTTP errors as RFC 9457 problem details.

A message has a JSON head and a binary body: two big-endian lengths of four bytes, the head, the body.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtable.errors import DamagedGraphError, GraphLockedError, GraphNotFoundError, GraphVersionError, NoSpaceError
from kgtable.storage import is_full

if TYPE_CHECKING:
    from starlette.responses import Response


Head: TypeAlias = dict[str, Any]
Emit: TypeAlias = Callable[[Head, bytes], None]
"""How a worker sends an event ahead of its answer."""
Tell: TypeAlias = Callable[[str, Any], None]
"""How an operation sends an event by its name."""
LIMIT = "limit"
"""The event by which an operation sets the seconds that it may still take."""

_LENGTHS = struct.Struct(">II")
_write = json.JSONEncoder(separators=(",", ":")).encode
_read = json.JSONDecoder().decode


def encode(head: Head, body: bytes = b"") -> bytes:
    """Encode one message as bytes."""
    text = _write(head).encode("ascii")
    return b"".join((_LENGTHS.pack(len(text), len(body)), text, body))


class Decoder:
    """Decode messages from bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Head, bytes]]:
        """Add received bytes and return the messages they complete, in order."""
        if self._buffer:
            self._buffer += data
        received = self._buffer or data
        place, frames = 0, []
        with memoryview(received) as view:
            while len(received) - place >= _LENGTHS.size:
                head_size, body_size = _LENGTHS.unpack_from(received, place)
                start = place + _LENGTHS.size
                end = start + head_size + body_size
                if len(received) < end:
                    break
                text = bytes(view[start : start + head_size])
                frames.append((_read(text.decode("ascii")), bytes(view[start + head_size : end])))
                place = end
        if self._buffer:
            del self._buffer[:place]
        else:
            self._buffer += data[place:]
        return frames


PROBLEM_TYPE = "https://w3id.org/kgtable/problems#"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A kind of error: its name, HTTP status and title."""

    name: str
    status: int
    title: str


KINDS = {
    kind.name: kind
    for kind in (
        ProblemKind("bad-request", 400, "The request is malformed"),
        ProblemKind("syntax-error", 400, "The query or update has a syntax error"),
        ProblemKind("too-complex", 400, "The query or update is nested too deeply or has too many parts"),
        ProblemKind("bad-data", 400, "The RDF in the request cannot be read"),
        ProblemKind("unauthorized", 401, "A token is needed"),
        ProblemKind("forbidden", 403, "This is not allowed here"),
        ProblemKind("remote-access", 403, "The request would make the server fetch something"),
        ProblemKind("not-found", 404, "There is nothing here"),
        ProblemKind("method-not-allowed", 405, "The method does not fit this address"),
        ProblemKind("not-acceptable", 406, "None of the accepted formats can be given"),
        ProblemKind("request-timeout", 408, "The request did not arrive in time"),
        ProblemKind("conflict", 409, "Conflict with the current state"),
        ProblemKind("too-large", 413, "The request is too large"),
        ProblemKind("address-too-long", 414, "The address of the request is too long"),
        ProblemKind("unsupported-media-type", 415, "The request's content type is not understood"),
        ProblemKind("misdirected", 421, "This server does not answer to that host name"),
        ProblemKind("headers-too-large", 431, "The headers of the request are too large"),
        ProblemKind("evaluation-error", 500, "The store could not evaluate the request"),
        ProblemKind("storage-failed", 500, "The write could not be stored"),
        ProblemKind("damaged", 500, "The graph is damaged"),
        ProblemKind("internal-error", 500, "The server made a mistake"),
        ProblemKind("remote-failed", 502, "What the request names could not be fetched"),
        ProblemKind("timeout", 503, "The request took too long"),
        ProblemKind("memory-limit", 503, "The request needed too much memory"),
        ProblemKind("result-too-large", 503, "The result is too large"),
        ProblemKind("busy", 503, "The server is busy"),
        ProblemKind("crashed", 503, "The process that worked on the request died"),
        ProblemKind("unavailable", 503, "The graph cannot be used right now"),
        ProblemKind("storage-full", 507, "There is no room left to store the write"),
    )
}


class Problem(Exception):
    """An HTTP error response; `extra` is added to the JSON body, `headers` to the response."""

    def __init__(
        self,
        kind: str,
        detail: str,
        extra: Mapping[str, Any] = MappingProxyType({}),
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.extra, self.headers = kind, detail, extra, headers

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return KINDS[self.kind].status

    def body(self) -> bytes:
        """The error as ``application/problem+json``."""
        kind = KINDS[self.kind]
        value = {
            "type": PROBLEM_TYPE + kind.name,
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            **self.extra,
        }
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")

    def response(self) -> Response:
        """The error as an HTTP response."""
        from starlette.responses import Response  # not needed by workers, which send bodies

        headers = {"cache-control": "no-store", **self.headers}
        return Response(self.body(), self.status, headers, "application/problem+json")


def busy(detail: str, seconds: int = 1) -> Problem:
    """A 503 that asks the client to retry after so many seconds."""
    return Problem("busy", detail, headers={"retry-after": str(seconds)})


def utf8(content: bytes) -> str:
    """A body as text. Raises `Problem` if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem("bad-request", f"Byte {error.start} of the body is not UTF-8.") from None


_LOCKED = re.compile(r"\block (file|hold)", re.IGNORECASE)
"""The engine's message if another process has opened the store for writing; its damaged *blocks* are not locks."""


def storage_kind(error: BaseException) -> str:
    """The name of the `ProblemKind` for an error of the system, of the triple store, or of kgtable."""
    if isinstance(error, NoSpaceError) or is_full(error):
        return "storage-full"
    if isinstance(error, DamagedGraphError) or (type(error) is RuntimeError and "orruption" in str(error)):
        return "damaged"
    if isinstance(error, GraphLockedError | GraphNotFoundError | GraphVersionError):
        return "unavailable"
    return "storage-failed"


def storage_problem(error: Exception) -> Problem:
    """The HTTP error for a write that could not be stored; nothing of it was."""
    kind, text = storage_kind(error), str(error)
    if isinstance(error, GraphLockedError):
        detail = "The graph is being built. Try again when that is done."
        return Problem(kind, detail, {}, {"retry-after": "10"})
    if kind == "storage-full":
        return Problem(kind, "The disk is full: nothing of this request was stored.")
    if isinstance(error, OSError | RuntimeError):
        if kind == "storage-failed" and _LOCKED.search(text):
            detail = "Another process is writing to this graph. Try again later."
            return Problem("unavailable", detail, {}, {"retry-after": "5"})
        return Problem(kind, f"The write could not be stored: {' '.join(text.split())}")
    return Problem(kind, text)
