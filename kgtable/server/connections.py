"""Limits of connections: size, number and time of request headers, idle clients, connections of one peer.

The checks of the application come after uvicorn has read a request's head. What a client can do before that,
and after its answer, is bounded here, in the protocol itself.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from kgtable.server.direct import Sender, ShortQueries, ShortQuery
from kgtable.server.options import ConnectionLimits
from kgtable.server.state import EARLY_RESULT, EarlyResult
from kgtable.server.workers.messages import Problem, busy

LINGER_SECONDS = 2.0
"""How long the rest of a refused body is read and thrown away, so that the client sees the answer."""
_FRAMING = (b"content-length", b"transfer-encoding")
"""The headers of a request that has a body."""
MOST_DRAINED = 1 << 20
"""A connection whose refused body is longer than this is closed, not kept for the next request."""


def peer_of(client: tuple[str, int] | None) -> str:
    """The key of a peer: an IPv4 address, or the 64 bits of an IPv6 network.

    >>> peer_of(("192.0.2.7", 5000)), peer_of(("2001:db8::1", 5000)), peer_of(None)
    ('192.0.2.7', '2001:db8::', '')
    """
    if client is None:
        return ""
    host = client[0].partition("%")[0]
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return host
    return str(address.ipv4_mapped or ipaddress.IPv6Address(int(address) >> 64 << 64))


def protocol_with(limits: ConnectionLimits, direct: ShortQueries | None) -> type[asyncio.Protocol]:
    """The protocol with these limits, which counts the connections of one server."""
    members: dict[str, object] = {"limits": limits, "direct": direct, "peers": Counter()}
    return type("LimitedProtocol", (BoundedProtocol,), members)


class _RefusedRequestError(Exception):
    """Ends parsing; the refusal is in the protocol."""


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits: 431, 414 and 408 for heads of requests, 503 for too many connections.

    `_head` is whether the head of a request is awaited, `_late` the timer that ends it; `_quiet` are the
    bytes received since the parser last made something of them.

    Short queries are answered by `direct`, where there is one: `_short` is the one under way, `_behind` what
    came after it, `_early` a result for the request that is parsed now. `_rest` is the timer that ends a
    connection at rest since `_rested`. `_skipped` is whether the parser has skipped a body that is to be read,
    `_resuming` whether another parser is being told of it.
    """

    limits: ConnectionLimits
    direct: ShortQueries | None
    peers: Counter[str]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head, self._begun, self._advanced, self._over = True, False, False, False
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._quiet = self._size = self._drained = 0
        self._draining = False
        self._peer: str | None = None
        self._refusal: Problem | None = None
        self._skipped = self._resuming = False
        self.block = b""
        self.sender: Sender | None = None
        self.ending = False
        self._short: ShortQuery | None = None
        self._behind = bytearray()
        self._early: EarlyResult | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._rested = 0.0

    @property
    def address(self) -> str:
        """The client's address."""
        return self.client[0] if self.client else ""

    @property
    def common_headers(self) -> list[tuple[bytes, bytes]]:
        """Headers that every response has."""
        return self.server_state.default_headers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection; refuse it where there are too many."""
        super().connection_made(transport)
        peer, limits = peer_of(self.client), self.limits
        if len(self.connections) > 2 * limits.total:
            self._over = True
            transport.abort()
            return
        full = self.peers.total() >= limits.total
        if full or self.peers[peer] >= limits.of_peer:
            where = "." if full else " from your address."
            self._refuse(busy(f"There are too many connections{where}", 5))
            return
        self._peer = peer
        self.peers[peer] += 1
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        super().connection_lost(exc)
        self._over = True
        self._disarm()
        if self._stalled is not None:
            self._stalled.cancel()
        if self._rest is not None:
            self._rest.cancel()
        if self._short is not None:
            self._short.gone = True
        if self._peer is not None:
            self.peers[self._peer] -= 1
            if not self.peers[self._peer]:
                del self.peers[self._peer]

    def data_received(self, data: bytes) -> None:
        """Answer a short query; parse anything else that arrived, as long as it makes progress."""
        if self._over:
            return
        if self._short is not None:
            self._behind += data
            if len(self._behind) > self.limits.head_bytes:
                self.flow.pause_reading()
        elif not self._is_at_rest() or not self._begin_short(data):
            self._parse(data)

    def _is_at_rest(self) -> bool:
        """Whether no request is under way, and no part of one has come."""
        answered = self.cycle is None or self.cycle.response_complete
        busy = self._begun or self._quiet or self._draining or self.pipeline or self.flow.write_paused
        return self._head and answered and not busy and not self.transport.is_closing()

    def _begin_short(self, data: bytes) -> bool:
        """Begin a short query, or answer it at once; false for any other request."""
        begun = None if self.direct is None else self.direct.begin(self, data)
        if begun is None:
            return False
        self._disarm()
        self._unset_keepalive_if_required()
        if isinstance(begun, bytes):
            self.answered(begun)
        elif isinstance(begun, ShortQuery):
            self._short = begun
        else:
            self.hand_over(data, begun)
        return True

    def answered(self, response: bytes) -> None:
        """Send the response to the short query that is under way."""
        self._short = None
        self.transport.write(response)
        self.server_state.total_requests += 1
        if self.ending:
            self.transport.close()
            return
        self._rested = self.loop.time()
        if self._rest is None:
            self._rest = self.loop.call_later(self.limits.idle_seconds, self._end_rest)
        self._go_on()

    def hand_over(self, data: bytes, early: EarlyResult) -> None:
        """Answer the request of these bytes in the ordinary way, with the result that is there."""
        self._short, self._early = None, early
        self._parse(data)
        if self.ending:
            super().shutdown()
        self._go_on()

    def _go_on(self) -> None:
        """Take what came after a short query."""
        if self._behind:
            behind = bytes(self._behind)
            self._behind.clear()
            self.flow.resume_reading()
            self.data_received(behind)

    def _end_rest(self) -> None:
        """Close a connection that has been at rest since its last short query for long enough."""
        self._rest = None
        if self._short is not None or not self._is_at_rest() or self.timeout_keep_alive_task is not None:
            return
        left = self._rested + self.limits.idle_seconds - self.loop.time()
        if left > 0:
            self._rest = self.loop.call_later(left, self._end_rest)
        else:
            self.transport.close()

    def shutdown(self) -> None:
        """Close the connection, after the answer to a request that is under way."""
        if self._short is not None:
            self.ending = True
        else:
            super().shutdown()

    def _parse(self, data: bytes) -> None:
        self._advanced = False
        self._feed(data)
        if not self._advanced:
            self._quiet += len(data)
        else:  # a head may have begun in this data with a line that does not end
            self._quiet = len(data) - data.rfind(b"\n") - 1 if self._head and self._begun else 0
        if self._draining:
            self._drained += len(data)
            if self._drained > MOST_DRAINED:
                self.linger()
                return
        if self._quiet > self.limits.head_bytes + (len(self.url) if self._begun else 0):
            self._refuse(_too_large(self.limits))
        elif self._head and self._late is None and (self._begun or not self._advanced):
            self._await_head()

    def _feed(self, data: bytes) -> None:
        """Parse; a request that offers another protocol, as Java's clients do with HTTP/2, is read as any other.

        httptools stops after the head of such a request and takes its body for the other protocol.
        """
        self._unset_keepalive_if_required()
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
                return
            except httptools.HttpParserUpgrade as stop:
                data = data[stop.args[0] :]
                if self._skipped:
                    self._resume()

    def _resume(self) -> None:
        """Begin another parser with the body of the request whose head was read."""
        framing = [b"%s: %s\r\n" % header for header in self.headers if header[0] in _FRAMING]
        self._skipped, self._resuming = False, True
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.parser.feed_data(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing))
        self._resuming = False

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        if self._resuming:
            return
        super().on_message_begin()
        self._begun, self._advanced, self._size = True, True, 0
        if self._early is not None:
            cast(dict[str, Any], self.scope)["extensions"] = {EARLY_RESULT: self._early}
            self._early = None

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        if self._resuming:
            return
        super().on_url(url)
        if len(self.url) > self.limits.url_bytes:
            detail = f"The address is longer than {self.limits.url_bytes:,} bytes."
            self._give_up(Problem("address-too-long", detail, {"limit": self.limits.url_bytes}))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header; trailers are counted and dropped."""
        if self._resuming:
            return
        self._size += len(name) + len(value) + 4
        if self._size > self.limits.head_bytes or len(self.headers) >= self.limits.headers:
            self._give_up(_too_large(self.limits))
        if self._head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Take a complete head; a body that may follow is read to its end, or the connection closed."""
        if self._resuming:
            return
        self._head, self._advanced = False, True
        self._disarm()
        if len(self.pipeline) >= self.limits.pipelined:
            self._give_up(Problem("busy", "Too many requests are waiting in this connection."))
        super().on_headers_complete()
        if any(name in _FRAMING for name, _ in self.headers):
            self._skipped = self.parser.should_upgrade() and (b"content-length", b"0") not in self.headers
            self.cycle.transport = cast(asyncio.Transport, _LingeringTransport(self.transport, self))

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note the end of a request."""
        if self._skipped:
            return
        self._head, self._begun, self._advanced = True, False, True
        self.cycle.more_body = False
        super().on_message_complete()
        if self._draining:
            self._draining = False
            self._disarm()
            super().on_response_complete()

    def on_response_complete(self) -> None:
        """Go on to the next request; where the body of this one has not come, when it has."""
        if self.cycle.more_body and self.cycle.response_complete and not self.transport.is_closing():
            self._draining, self._drained = True, 0
            self._disarm()
            self._late = self.loop.call_later(LINGER_SECONDS, self.linger)
            self.flow.resume_reading()
        else:
            super().on_response_complete()

    def linger(self) -> None:
        """Throw away what still comes for a while, then close."""
        if self._over:
            return
        self._over = True
        self._disarm()
        self.flow.resume_reading()
        self._late = self.loop.call_later(LINGER_SECONDS, self.transport.close)
        if self.transport.can_write_eof():
            try:
                self.transport.write_eof()
            except OSError:  # the client is gone already
                self.transport.close()

    def eof_received(self) -> None:
        """Close when the client is done."""
        if self._over:
            self.transport.close()

    def pause_writing(self) -> None:
        """Watch a client that does not take its answer."""
        super().pause_writing()
        if self._stalled is None:
            self._watch_writing()

    def _watch_writing(self) -> None:
        before = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self.limits.idle_seconds, self._check_writing, before)

    def _check_writing(self, before: int) -> None:
        self._stalled = None
        left = self.transport.get_write_buffer_size()
        if left >= before > 0:
            self.transport.abort()
        elif left:
            self._watch_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser cannot read or a limit ended."""
        self._refuse(self._refusal or Problem("bad-request", msg))

    def _await_head(self) -> None:
        if not self._over:
            self._late = self.loop.call_later(self.limits.head_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        self._late = None
        detail = f"The head of the request took longer than {self.limits.head_seconds:g} seconds."
        self._refuse(Problem("request-timeout", detail))

    def _disarm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self, problem: Problem) -> None:
        self._refusal = problem
        raise _RefusedRequestError

    def _refuse(self, problem: Problem) -> None:
        """Answer and close; only close where an answer is under way already."""
        if self._over or self.transport.is_closing():
            return
        self.headers = []
        if self.cycle is not None and not self.cycle.response_complete:
            self._over = True
            self.transport.close()
            return
        body = problem.body()
        lines = [
            b"content-type: application/problem+json\r\n",
            b"content-length: %d\r\n" % len(body),
            b"cache-control: no-store\r\n",
            *(f"{name}: {value}\r\n".encode("latin-1") for name, value in problem.headers.items()),
            b"connection: close\r\n\r\n",
        ]
        self.transport.write(b"".join([STATUS_LINE[problem.status], *lines, body]))
        self.linger()


class _LingeringTransport:
    """The transport of a request with a body: closing it before the body has come lets the client read."""

    __slots__ = ("_protocol", "_transport")

    def __init__(self, transport: asyncio.Transport, protocol: BoundedProtocol) -> None:
        self._transport, self._protocol = transport, protocol

    def write(self, data: bytes) -> None:
        """See `asyncio.Transport.write`."""
        self._transport.write(data)

    def is_closing(self) -> bool:
        """See `asyncio.Transport.is_closing`."""
        return self._transport.is_closing()

    def close(self) -> None:
        """Close at once where the request was read, else after a while."""
        if self._protocol.cycle.more_body:
            self._protocol.linger()
        else:
            self._transport.close()


def _too_large(limits: ConnectionLimits) -> Problem:
    detail = f"The headers are more than {limits.headers}, or longer than {limits.head_bytes:,} bytes."
    return Problem("headers-too-large", detail, {"limit": limits.head_bytes})
