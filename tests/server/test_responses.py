from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message, Send

from kgtable.server.requests import not_modified, send_answer, send_empty
from kgtable.server.state import CachedResponse

TAG = 'W/"3-a"'


def sent(send_it: Callable[[Send], Awaitable[None]]) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of what is sent."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    asyncio.run(send_it(send))  # type: ignore[arg-type]
    start, body = messages
    return start["status"], dict(start["headers"]), body["body"]


@pytest.mark.parametrize("known", [TAG, '"3-a"', f'"1", {TAG}', " * ", '"x",W/"3-a"'])
def test_a_client_that_has_this_version(known: str) -> None:
    assert not_modified({b"if-none-match": known.encode()}, TAG)


@pytest.mark.parametrize("known", ["", "3-a", '"3-b"', "*x", '"*"', 'w/"3-a'])
def test_a_client_that_has_not(known: str) -> None:
    assert not not_modified({b"if-none-match": known.encode()}, TAG)
    assert not not_modified({}, TAG)


def test_an_answer_and_its_head() -> None:
    answer = CachedResponse(b"text/csv", b"gzip", b"12345")
    status, headers, body = sent(lambda send: send_answer(send, answer, TAG))
    assert (status, body) == (200, b"12345")
    assert headers[b"content-length"] == b"5"
    assert (headers[b"content-encoding"], headers[b"etag"]) == (b"gzip", TAG.encode())
    assert b"Accept-Encoding" in headers[b"vary"]
    assert sent(lambda send: send_answer(send, answer, TAG, head=True)) == (status, headers, b"")


def test_an_answer_without_a_tag_is_not_stored() -> None:
    _, headers, _ = sent(lambda send: send_answer(send, CachedResponse(b"text/csv", None, b""), ""))
    assert headers[b"cache-control"] == b"no-store"
    assert b"etag" not in headers
    assert b"content-encoding" not in headers


@pytest.mark.parametrize(("status", "has_length"), [(204, False), (304, False), (303, True), (200, True)])
def test_responses_without_a_body(status: int, has_length: bool) -> None:
    found, headers, body = sent(lambda send: send_empty(send, status, {"location": "/query"}))
    assert (found, body, headers[b"location"]) == (status, b"", b"/query")
    assert (b"content-length" in headers) == has_length
