"""One deadline for a whole exchange over HTTP: connecting, 1xx responses, header lines and body.

The timeout of httpx is for silence alone: a server that sends a byte now and then could hold a call forever.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

_Client = TypeVar("_Client")
_UNTIL: ContextVar[float] = ContextVar("until")


class DeadlineError(TimeoutError):
    """An exchange took longer than it may."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """After this time, end this thread's exchanges by clients of `keeps_deadlines` with a `DeadlineError`."""
    token = _UNTIL.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def keeps_deadlines(client: _Client) -> _Client:
    """An httpx client, of either of its packages, whose connections end with the deadline set by `within`."""
    found: Any = client
    for transport in (found._transport, *found._mounts.values()):
        pool = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Bounded(pool._network_backend)
    return client


_WITH_STREAM = frozenset(("connect_tcp", "connect_unix_socket", "start_tls"))


class _Bounded:
    """A network backend, or one of its streams, whose calls never begin or wait beyond the deadline."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in _WITH_STREAM and name not in ("read", "write"):
            return found

        def call(*given: Any, timeout: float | None = None, **named: Any) -> Any:
            result = found(*given, timeout=_left(timeout), **named)
            return _Bounded(result) if name in _WITH_STREAM else result

        return call


def _left(timeout: float | None) -> float | None:
    until = _UNTIL.get(None)
    if until is None:
        return timeout
    left = until - time.monotonic()
    if left <= 0:
        raise DeadlineError("no whole reply in time")
    return left if timeout is None else min(timeout, left)
