"""Short SPARQL queries without an ASGI request: one read of the socket, one message to a process, one write.

A GET of ``/sparql`` with the one parameter ``query`` and headers without conditions, that arrives in one piece, needs
no task and no parser of its own. Every other request goes the ordinary way, and so does every answer that is no short
result, such as an error or a long result: what the process gave is then handed on as an `EarlyResult`. Both ways give
the same responses, within the same limits.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from urllib.parse import unquote_to_bytes

from kgtable.server import security
from kgtable.server.negotiation import accepts_gzip
from kgtable.server.requests import answer_headers, host_of
from kgtable.server.sparql_protocol import ProtocolOperation, query_job
from kgtable.server.state import AccessLog, CachedResponse, EarlyResult, ServerState, response_of
from kgtable.server.workers.messages import Head, Problem, busy, encode_head
from kgtable.server.workers.process import ResultStream, View, WorkerFrame, WorkerJob

_START, _END = b"GET /sparql?query=", b" HTTP/1.1"
_QUERY = re.compile(rb"[!-\"$-%'-~]*")
"""What can stand in an address after ``query=`` if that is its only parameter."""
_HEADERS = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[ \t]*[ -~\t]*\r\n)+\r\n")
_PLAIN = {
    b"accept", b"accept-encoding", b"accept-language", b"authorization", b"connection", b"host", b"user-agent"
}  # fmt: skip
"""Names of headers that a short query may have. All that change a response are read here."""


class Connection(Protocol):
    """A client's connection, as far as a short query needs it.

    `block` are the headers that its last request had, and `sender` what they say: clients repeat them.
    """

    block: bytes
    sender: Sender | None

    @property
    def address(self) -> str:
        """The client's address."""
        ...

    @property
    def common_headers(self) -> Sequence[tuple[bytes, bytes]]:
        """Headers that every response has, another list when they change."""
        ...

    @property
    def ending(self) -> bool:
        """Whether this is the last request of the connection."""
        ...

    def answered(self, response: bytes) -> None:
        """Send the response to the short query that is under way."""
        ...

    def hand_over(self, data: bytes, early: EarlyResult) -> None:
        """Answer the request of these bytes in the ordinary way, with the result that is there."""
        ...


@dataclass(slots=True, eq=False)
class Sender:
    """What the headers of a short query say: the job they ask for, and their part of the key of the cache.

    `version` is the version of the graph that `head` and `encoded` were made for.
    """

    accept: str
    compress: bool
    base: str
    key: tuple[bytes | None, ...]
    version: str = ""
    head: Head | None = None
    encoded: bytes = b""


class ShortQuery:
    """A short query under way; gets the result of its job."""

    __slots__ = (
        "_address",
        "_connection",
        "_data",
        "_key",
        "_over",
        "_owner",
        "_stream",
        "_version",
        "gone",
        "since",
    )

    def __init__(
        self,
        owner: ShortQueries,
        connection: Connection,
        data: bytes,
        address: bytes,
        key: Hashable,
        version: str,
        since: float,
        stream: ResultStream,
    ) -> None:
        self._owner, self._connection, self._data, self._stream = owner, connection, data, stream
        self._address, self._key, self._version, self.since = address, key, version, since
        self._over = self.gone = False

    def done(self) -> bool:
        """Whether it has its result."""
        return self._over

    def cancelled(self) -> bool:
        """Whether the client has gone."""
        return self.gone

    def set_result(self, frame: WorkerFrame, /) -> None:
        """Send the result, or have it sent in the ordinary way."""
        self._over = True
        self._owner.waiting.discard(self)
        try:
            answer, cacheable = response_of(frame, self._stream)
        except Problem as problem:
            self._fail(problem)
            return
        if cacheable:
            self._owner.keep(self._version, self._key, answer)
        if self.gone:
            if answer.stream is not None:
                answer.stream.close()
        elif answer.stream is not None or answer.status != 200:
            self._connection.hand_over(self._data, EarlyResult(frame, self.since, self._stream))
            return
        else:
            self._connection.answered(self._owner.response(self._connection, answer))
        self._owner.record(self._connection, self._address, answer.status, len(answer.body), self.since)

    def set_exception(self, error: Exception, /) -> None:
        """Have the error told in the ordinary way."""
        if not self._over:
            self._over = True
            self._owner.waiting.discard(self)
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self.gone:
            status = error.status if isinstance(error, Problem) else 500
            self._owner.record(self._connection, self._address, status, 0, self.since)
        else:
            self._connection.hand_over(self._data, EarlyResult(error, self.since))


class ShortQueries:
    """Answers short queries of all connections of one server. `waiting` are those without a result."""

    def __init__(self, state: ServerState, log: AccessLog, *, largest: int) -> None:
        self.waiting: set[ShortQuery] = set()
        self._state, self._log, self._largest = state, log, largest
        self._view: View | None = None
        self._common: Sequence[tuple[bytes, bytes]] = ()
        self._first_lines = b""

    def begin(self, connection: Connection, data: bytes) -> bytes | ShortQuery | EarlyResult | None:
        """The response to a request, or the query that will give it to the connection; None for no short query.

        A query that is refused is an `EarlyResult`, to be told in the ordinary way.
        """
        if not (data.startswith(_START) and data.endswith(b"\r\n\r\n")) or len(data) > self._largest:
            return None
        since = time.perf_counter()
        line, _, block = data.partition(b"\r\n")
        if block != connection.block:
            connection.block, connection.sender = block, self._sender(block)
        sender = connection.sender
        encoded = line[len(_START) : -len(_END)]
        if sender is None or not line.endswith(_END) or _QUERY.fullmatch(encoded) is None:
            return None
        query = unquote_to_bytes(encoded.replace(b"+", b" "))
        if len(query) > self._state.settings.limits.query_text or not _is_text(query):
            return None
        address = b"query=" + encoded
        try:
            return self._answer(connection, data, sender, address, query, since)
        except Exception as error:  # told in the ordinary way
            return EarlyResult(error, since)

    def _answer(
        self, connection: Connection, data: bytes, sender: Sender, address: bytes, query: bytes, since: float
    ) -> bytes | ShortQuery:
        """The response from the cache, or the query handed to a process. Raises `Problem`."""
        view = self._view or self._look()
        key = (address, *sender.key)
        answer = self._state.cache.get(view.version, key)
        if answer is not None:
            self._state.metrics.hit_cache()
            self.record(connection, address, 200, len(answer.body), since)
            return self.response(connection, answer)
        stream = ResultStream()
        short = ShortQuery(self, connection, data, address, key, view.version, since, stream)
        self._state.readers.begin(self._job(sender, view, query, short, stream))
        self.waiting.add(short)
        return short

    def close(self) -> None:
        """Refuse what has no result yet, since the server ends."""
        for short in list(self.waiting):
            short.set_exception(busy("The server is shutting down."))

    def keep(self, version: str, key: Hashable, answer: CachedResponse) -> None:
        """Cache an answer."""
        self._state.cache.put(version, key, answer)

    def response(self, connection: Connection, answer: CachedResponse) -> bytes:
        """The bytes of a response."""
        if connection.common_headers is not self._common:
            self._common = connection.common_headers
            self._first_lines = b"HTTP/1.1 200 OK\r\n" + _lines(self._common)
        before, after = _around_length(answer.content_type, answer.encoding, answer.tag)
        close = b"connection: close\r\n" if connection.ending else b""
        length = b"%d\r\n" % len(answer.body)
        return b"".join((self._first_lines, before, length, after, close, b"\r\n", answer.body))

    def record(self, connection: Connection, address: bytes, status: int, size: int, since: float) -> None:
        """Count and log one request."""
        seconds = time.perf_counter() - since
        self._state.metrics.record("sparql", status, seconds, size)
        self._log.record(connection.address, "GET", "/sparql", address.decode("ascii"), status, size, seconds)

    def _look(self) -> View:
        """The graph's view, which holds for all requests that are read in one turn of the event loop."""
        self._view = view = self._state.view()
        asyncio.get_running_loop().call_soon(self._forget)
        return view

    def _forget(self) -> None:
        self._view = None

    def _job(
        self, sender: Sender, view: View, query: bytes, short: ShortQuery, stream: ResultStream
    ) -> WorkerJob:
        settings = self._state.settings
        seconds = settings.limits.query_seconds
        if sender.head is None or sender.version != view.version:
            operation = ProtocolOperation(None, None, (), (), sender.accept)
            sender.head = query_job(
                settings, operation, "", sender.base, view.version, compress=sender.compress
            )
            sender.encoded = encode_head({**sender.head, "seconds": seconds})
            sender.version = view.version
        return WorkerJob(
            sender.head,
            query,
            seconds,
            short,
            self._state.readers.now(),
            view=view,
            encoded=sender.encoded,
            stream=stream,
            stoppable=True,
        )

    def _sender(self, block: bytes) -> Sender | None:
        """What a block of headers says; None where the ordinary way has to look at it."""
        if len(block) > self._largest or _HEADERS.fullmatch(block) is None:
            return None
        headers: dict[bytes, bytes] = {}
        for line in block.split(b"\r\n")[:-2]:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name in headers or name not in _PLAIN:
                return None
            headers[name] = value.strip(b" \t")
        if headers.get(b"connection", b"keep-alive").lower() != b"keep-alive":
            return None
        host = host_of(headers)
        if host is None or not self._may_read(headers):
            return None
        accept, encoding = headers.get(b"accept"), headers.get(b"accept-encoding")
        return Sender(
            (accept or b"").decode("ascii"),
            accepts_gzip((encoding or b"").decode("ascii")),
            f"http://{host}/sparql",
            (accept, encoding, headers.get(b"host")),
        )

    def _may_read(self, headers: Mapping[bytes, bytes]) -> bool:
        try:
            security.require_known_host(self._state.settings, headers)
            security.require_read_token(self._state.settings, headers)
        except Problem:
            return False
        return True


def _is_text(query: bytes) -> bool:
    if query.isascii():
        return True
    try:
        query.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"".join(b"%s: %s\r\n" % (name, value) for name, value in headers)


@lru_cache(maxsize=256)
def _around_length(content_type: bytes, encoding: bytes | None, tag: str) -> tuple[bytes, bytes]:
    """The lines of headers before the number of bytes and after it."""
    headers = answer_headers(content_type, encoding, tag)
    before = _lines(headers[:1]) + b"content-length: "
    return before, _lines([*headers[1:], *security.SECURITY_HEADERS])
