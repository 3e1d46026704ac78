from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message, Receive

from kgtable.server import requests
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


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))), max_size=5))
def test_parameters_come_back_in_order(pairs: list[tuple[str, str]]) -> None:
    found = requests.parameters(urlencode(pairs).encode())
    assert [(name, value) for name, values in found.items() for value in values] == sorted(
        pairs, key=lambda pair: [name for name, _ in pairs].index(pair[0])
    )


@pytest.mark.parametrize("encoded", [b"a=%ff", b"a=\xff", "a=ü&b=%C3".encode(), b"&".join([b"a=1"] * 513)])
def test_parameters_that_cannot_be_read(encoded: bytes) -> None:
    with refused("bad-request"):
        requests.parameters(encoded)


@pytest.mark.parametrize("iri", ["", "relative", "//x/y", "http://x/ y", "http://x/<script>", '"', "http://x/\n"])
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
    ("host", "origin"),
    [
        (b"data.example:80", "https://data.example:80"), (b"[::1]:7878", "https://[::1]:7878"),
        (b"evil.example/path", "https://me:1"), (b"a b", "https://me:1"), (b'"><script>', "https://me:1"),
        (b"", "https://me:1"),
    ],
)  # fmt: skip
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
