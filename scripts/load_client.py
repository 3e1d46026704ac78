"""Minimal HTTP client for load tests: persistent connections, requests as prepared bytes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

_LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
_CHUNKED = re.compile(rb"(?i)transfer-encoding: *chunked")


@dataclass(frozen=True, slots=True)
class Shot:
    """A request: its kind, its bytes, and the expected response."""

    kind: str
    content: bytes
    sound: Callable[[int, bytes], bool]


@dataclass(frozen=True, slots=True)
class Hit:
    """A response: its kind, status, seconds, and whether it was as expected."""

    kind: str
    status: int
    seconds: float
    sound: bool


def get(path: str, query: str) -> bytes:
    """The bytes of a SPARQL query by GET."""
    target = f"{path}?{urlencode({'query': query})}"
    accept = "Accept: application/sparql-results+json"
    return f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{accept}\r\n\r\n".encode()


async def client(host: str, port: int, shots: Iterator[Shot], until: float, hits: list[Hit]) -> None:
    """Send one request after the other on one connection until the time is up."""
    reader, writer = await asyncio.open_connection(host, port, limit=1 << 26)
    while time.perf_counter() < until:
        shot = next(shots)
        started = time.perf_counter()
        try:
            writer.write(shot.content)
            status, body, closing = await _answer(reader)
        except (OSError, asyncio.IncompleteReadError):
            hits.append(Hit(shot.kind, 0, time.perf_counter() - started, False))
            status, body, closing = 0, b"", True
        else:
            seconds = time.perf_counter() - started
            hits.append(Hit(shot.kind, status, seconds, shot.sound(status, body)))
        if closing:
            writer.close()
            reader, writer = await asyncio.open_connection(host, port, limit=1 << 26)
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes, bool]:
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = _LENGTH.search(head)
    if length is not None:
        body = await reader.readexactly(int(length[1]))
    elif _CHUNKED.search(head):
        body = await _chunks(reader)
    else:
        body = b""
    return status, body, b"connection: close" in head.lower()


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int((await reader.readline()).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(parts)


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of the sorted `values` lies; 0 if there are none."""
    return values[min(len(values) - 1, int(share * len(values)))] if values else 0.0
