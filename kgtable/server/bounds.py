"""Bounds on connections and on the heads of requests, around any ASGI application.

uvicorn bounds the size of a head that is incomplete, the time between two requests, and the number of connections.
`BoundedProtocol` adds the time for a head and the time for a client that does not read; `BoundedHeads` the
number and size of fields and parameters, before anything parses them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from kgtable.server.options import ConnectionLimits
from kgtable.server.workers.messages import Problem


def _malformed() -> Problem:
    return Problem("bad-request", "This is not HTTP/1.1.")


def _long_headers(limits: ConnectionLimits) -> Problem:
    detail = f"The headers are more than {limits.headers}, or longer than {limits.head_bytes:,} bytes."
    return Problem("headers-too-large", detail, {"limit": limits.head_bytes})


def _long_address(limits: ConnectionLimits) -> Problem:
    detail = f"The address is longer than {limits.url_bytes:,} bytes. Long queries are sent by POST."
    return Problem("address-too-long", detail, {"limit": limits.url_bytes})


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol on h11, with limits on time.

    `_late` ends a connection that sends something other than a complete head while no response is under way: a
    slow head, or a body that the response did not wait for. `_stalled` ends one whose client does not read.
    """

    def __init__(self, limits: ConnectionLimits, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limits = limits
        self._late: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and its timers."""
        super().connection_lost(exc)
        for timer in (self._late, self._stalled):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Handle what arrived, and note whether it completed a head."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._watch_head()

    def _watch_head(self) -> None:
        waiting = self.cycle is None or self.cycle.response_complete
        if waiting and self._late is None:
            self._late = self.loop.call_later(self._limits.head_seconds, self._end_late_head)
        elif not waiting and self._late is not None:
            self._late.cancel()
            self._late = None

    def _end_late_head(self) -> None:
        detail = f"The head of the request took longer than {self._limits.head_seconds:g} seconds."
        self._refuse(Problem("request-timeout", detail))

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read as HTTP; a request under way ends as if its client had gone."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._refuse(self._unreadable(self.conn.trailing_data[0]))
            return
        cycle.disconnected = True
        cycle.message_event.set()
        if cycle.response_started:
            self.transport.close()
        else:
            self._refuse(_malformed())

    def _unreadable(self, head: bytes) -> Problem:
        """The problem of a head that cannot be read: malformed, or too long in its first line or its fields."""
        if len(head) <= self._limits.url_bytes + self._limits.head_bytes:
            return _malformed()
        is_address = len(head.partition(b"\n")[0]) > self._limits.url_bytes
        return _long_address(self._limits) if is_address else _long_headers(self._limits)

    def _refuse(self, problem: Problem) -> None:
        """Answer without the application, and close."""
        body = problem.body()
        lines = [f"HTTP/1.1 {problem.status} ".encode() + STATUS_PHRASES[problem.status]]
        lines += [b"content-type: application/problem+json", b"content-length: %d" % len(body)]
        lines += [f"{name}: {value}".encode("latin-1") for name, value in problem.headers.items()]
        self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", body]))
        self.transport.close()

    def pause_writing(self) -> None:
        """Watch a client that does not read its response."""
        super().pause_writing()
        if self._stalled is None:
            self._watch_writing()

    def _watch_writing(self) -> None:
        before = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(self._limits.idle_seconds, self._check_writing, before)

    def _check_writing(self, before: int) -> None:
        self._stalled = None
        left = self.transport.get_write_buffer_size()
        if left >= before > 0:
            self.transport.abort()
        elif left:
            self._watch_writing()


class BoundedHeads:
    """ASGI middleware that refuses large heads before anything parses them: 400, 414 and 431."""

    def __init__(self, app: ASGIApp, limits: ConnectionLimits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that is within the limits; refuse any other."""
        problem = self._problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": problem.status, "headers": headers})
        await send({"type": "http.response.body", "body": problem.body()})

    def _problem(self, scope: Scope) -> Problem | None:
        limits, headers, query = self._limits, scope["headers"], scope["query_string"]
        size = sum(len(name) + len(value) + 4 for name, value in headers)
        if size > limits.head_bytes or len(headers) > limits.headers:
            return _long_headers(limits)
        if len(scope["raw_path"]) + len(query) > limits.url_bytes:
            return _long_address(limits)
        if query.count(b"&") >= limits.parameters:
            return Problem("bad-request", f"There are more than {limits.parameters} parameters.")
        return None
