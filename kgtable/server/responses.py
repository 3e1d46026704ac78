"""Sending responses straight to the protocol server, without the cost of response objects."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Send

from kgtable.server.answer_cache import Answer
from kgtable.server.requests import text


def not_modified(headers: Mapping[bytes, bytes], tag: str) -> bool:
    """Whether the client already has this version (RFC 9110, section 13.1.2; weak comparison)."""
    known = text(headers, b"if-none-match")
    if not known:
        return False
    return known.strip() == "*" or tag.removeprefix("W/") in (
        part.strip().removeprefix("W/") for part in known.split(",")
    )


async def send_answer(send: Send, answer: Answer, tag: str, *, head: bool = False) -> None:
    """Sends an answer with its entity tag (none if empty); of a HEAD request only the headers."""
    headers = [
        (b"content-type", answer.content_type),
        (b"content-length", str(len(answer.body)).encode()),
        (b"vary", b"Accept, Accept-Encoding"),
    ]
    if answer.encoding is not None:
        headers.append((b"content-encoding", answer.encoding))
    if tag:
        headers.append((b"etag", tag.encode("latin-1")))
        headers.append((b"cache-control", b"no-cache"))
    else:
        headers.append((b"cache-control", b"no-store"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})


async def send_empty(send: Send, status: int, headers: Mapping[str, str] | None = None) -> None:
    """Sends a response without a body."""
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (headers or {}).items()]
    if status not in (204, 304):
        pairs.append((b"content-length", b"0"))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": b""})
