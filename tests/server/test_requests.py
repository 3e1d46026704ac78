from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Send

from kgtable.server import requests
from kgtable.server.requests import not_modified, send_answer, send_empty
from kgtable.server.state import CachedResponse
from kgtable.server.workers.messages import utf8
from tests.server.refusals import refused


def coming(*messages: Message) -> Receive:
    left = list(messages)

    async def receive() -> Message:
        return left.pop(0)

    return receive


def part(content: bytes, *, more: bool = False) -> Message:
    return {"type": "http.request", "body": content, "more_body": more}


def body(*messages: Message, limit: int = 10, **headers: bytes) -> bytes:
    named = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return asyncio.run(requests.body(coming(*messages), named, limit))


@given(
    st.lists(
        st.tuples(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))), max_size=5
    )
)
def test_parameters_come_back_in_order(pairs: list[tuple[str, str]]) -> None:
    found = requests.parameters(urlencode(pairs).encode())
    assert [(name, value) for name, values in found.items() for value in values] == sorted(
        pairs, key=lambda pair: [name for name, _ in pairs].index(pair[0])
    )


@pytest.mark.parametrize("encoded", [b"a=%ff", b"a=\xff", "a=ü&b=%C3".encode(), b"&".join([b"a=1"] * 513)])
def test_parameters_that_cannot_be_read(encoded: bytes) -> None:
    with refused("bad-request"):
        requests.parameters(encoded)


def test_parameters_once_or_not_at_all() -> None:
    found = requests.parameters(b"a=1&b=2&b=3&c=")
    assert (requests.single(found, "a"), requests.single(found, "c"), requests.single(found, "d")) == (
        "1",
        "",
        None,
    )
    with refused("bad-request"):
        requests.single(found, "b")


@pytest.mark.parametrize(
    "iri", ["", "relative", "//x/y", "http://x/ y", "http://x/<script>", '"', "http://x/\n"]
)
def test_what_is_no_absolute_iri(iri: str) -> None:
    with refused("bad-request"):
        requests.iris({"graph": ["http://e/", iri]}, "graph")


def test_iris_that_are_allowed_and_files_that_are_not() -> None:
    assert requests.iris({"graph": ["http://e/ü", "urn:x:y"]}, "graph") == ("http://e/ü", "urn:x:y")
    assert requests.iris({}, "graph") == ()
    for iri in ("file:///etc/passwd", "FILE:x"):
        with refused("remote-access"):
            requests.check_iri(iri, "graph")


@pytest.mark.parametrize(
    ("header", "name"),
    [("text/Turtle", "text/turtle"), ('text/csv; Charset = "UTF-8"', "text/csv"), ("", ""), ("a;b;c=d", "a")],
)
def test_media_types(header: str, name: str) -> None:
    assert requests.media_type(header) == name
    with refused("unsupported-media-type"):
        requests.media_type("text/csv; charset=latin-1")


def test_repeated_headers_are_joined() -> None:
    headers = requests.header_map({"headers": [(b"accept", b"a"), (b"host", b"x\xff"), (b"accept", b"b")]})
    assert headers == {b"accept": b"a, b", b"host": b"x\xff"}
    assert requests.text(headers, b"host") == "xÿ"
    assert requests.text(headers, b"absent") == ""


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (b"data.example:80", "https://data.example:80"),
        (b"[::1]:7878", "https://[::1]:7878"),
        (b"evil.example/path", "https://me:1"),
        (b"a b", "https://me:1"),
        (b'"><script>', "https://me:1"),
        (b"", "https://me:1"),
    ],
)
def test_the_origin_is_the_host_if_it_is_one(host: bytes, origin: str) -> None:
    assert requests.origin_of({"scheme": "https", "server": ("me", 1)}, {b"host": host}) == origin
    assert requests.origin_of({"scheme": "http", "server": None}, {}) == "http://localhost"


def test_a_body_in_parts_up_to_the_limit() -> None:
    assert body(part(b"12345", more=True), part(b"", more=True), part(b"67890")) == b"1234567890"
    with refused("too-large"):
        body(part(b"12345", more=True), part(b"678901", more=True))
    with refused("too-large"):
        body(content_length=b"11")
    with refused("too-large"):
        body(content_length=b"9" * 5_000)
    assert body(part(b"x"), content_length=b"many") == b"x"


def test_a_body_that_cannot_be_taken() -> None:
    with refused("unsupported-media-type"):
        body(part(b"x"), content_encoding=b"gzip")
    assert body(part(b"x"), content_encoding=b"Identity") == b"x"
    with refused("bad-request"):
        body(part(b"x", more=True), {"type": "http.disconnect"})


def test_a_body_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> Message:
        return await asyncio.Future()

    monkeypatch.setattr(requests, "BODY_SECONDS", 0)
    with refused("request-timeout"):
        asyncio.run(requests.body(never, {}, 10))


def test_texts_are_utf8() -> None:
    assert utf8("ü\u202e".encode()) == "ü\u202e"
    with refused("bad-request"):
        utf8(b"a\xff")


def test_waiting_for_the_end_of_a_connection() -> None:
    wait = requests.until_disconnect(coming(part(b""), {"type": "http.disconnect"}))
    asyncio.run(wait())  # type: ignore[arg-type]


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
