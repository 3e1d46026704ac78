from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import quote

import pytest

from kgtable.server import security
from kgtable.server.options import ServerSettings
from tests.server.refusals import refused

TOKEN = "a good token"
LOCAL = ServerSettings(token=TOKEN, writable=True)
OPEN = replace(LOCAL, host="0.0.0.0", hosts=("data.example",))


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("localhost", True), ("127.8.9.1", True), ("[::1]", True), ("::1", True), ("0.0.0.0", False),
     ("::", False), ("localhost.evil.example", False), ("127.0.0.1.evil.example", False), ("", False)],
)  # fmt: skip
def test_what_only_this_machine_can_reach(host: str, is_local: bool) -> None:
    assert security.is_loopback(host) is is_local


@pytest.mark.parametrize(
    ("given", "expected", "same"),
    [
        (TOKEN, TOKEN, True), ("", TOKEN, False), (TOKEN + "x", TOKEN, False), ("", None, False), ("", "", False),
        ("ü", TOKEN, False),
    ],
)  # fmt: skip
def test_secrets_are_the_same_only_where_there_is_one(given: str, expected: str | None, same: bool) -> None:
    assert security.same_secret(given, expected) is same


def test_writing_needs_the_token_and_a_server_that_takes_writes() -> None:
    headers = {b"authorization": f"bearer  {TOKEN} ".encode()}
    security.require_write_token(LOCAL, headers)
    with refused("forbidden"):
        security.require_write_token(replace(LOCAL, writable=False), headers)
    for wrong in (b"", b"Bearer", b"Bearer wrong", f"Basic {TOKEN}".encode(), TOKEN.encode()):
        with refused("unauthorized"):
            security.require_write_token(LOCAL, {b"authorization": wrong})
    with refused("unauthorized"):
        security.require_write_token(LOCAL, {b"cookie": f"{security.COOKIE}={TOKEN}".encode()})


def test_reading_needs_it_only_where_others_can_reach_the_server() -> None:
    security.require_read_token(LOCAL, {})
    with refused("unauthorized"):
        security.require_read_token(OPEN, {})
    security.require_read_token(OPEN, {b"authorization": f"Bearer {TOKEN}".encode()})
    security.require_read_token(OPEN, {b"cookie": f'a=b; {security.COOKIE}="{TOKEN}"'.encode()})
    long = b"a=" + b'\\1"' * 500_000
    started = time.monotonic()
    security.require_read_token(OPEN, {b"cookie": long + f"; {security.COOKIE}={quote(TOKEN)}".encode()})
    assert time.monotonic() - started < 2
    for cookie in (b"", b"\x00=;", b"kgtable-token", b"kgtable-token=wrong"):
        with refused("unauthorized"):
            security.require_read_token(OPEN, {b"cookie": cookie})


@pytest.mark.parametrize("host", ["localhost:7878", "127.0.0.1", "[::1]:1", "[::1]", "LOCALHOST"])
def test_names_of_this_machine_are_answered_to(host: str) -> None:
    security.require_known_host(LOCAL, {b"host": host.encode()})
    security.require_known_host(OPEN, {b"host": host.encode()})


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7878", "", "localhost.evil.example", "<script>"])
def test_names_of_others_are_not(host: str) -> None:
    for settings in (LOCAL, OPEN):
        with refused("misdirected"):
            security.require_known_host(settings, {b"host": host.encode()})
    security.require_known_host(OPEN, {b"host": b"data.example:80"})
    one_port = replace(OPEN, hosts=("data.example:80",))
    security.require_known_host(one_port, {b"host": b"data.example:80"})
    with refused("misdirected"):
        security.require_known_host(one_port, {b"host": b"data.example:81"})
    security.require_known_host(replace(OPEN, hosts=()), {b"host": host.encode()})


def test_origins_that_may_read() -> None:
    asked = {b"origin": b"https://a.example"}
    assert security.cors_headers(LOCAL, asked) == []
    one = dict(security.cors_headers(replace(LOCAL, origins=("https://a.example",)), asked))
    assert one[b"access-control-allow-origin"] == b"https://a.example"
    assert one[b"vary"] == b"Origin"
    every = dict(security.cors_headers(replace(LOCAL, origins=("*",)), asked))
    assert every[b"access-control-allow-origin"] == b"*"
    others = replace(LOCAL, origins=("https://b.example",))
    assert security.cors_headers(others, asked) == security.preflight_headers(others, asked) == []
    assert security.cors_headers(replace(LOCAL, origins=("*",)), {}) == []
    assert dict(security.preflight_headers(replace(LOCAL, origins=("*",)), asked))[b"access-control-max-age"]


@pytest.mark.parametrize(
    ("path", "query", "is_login"),
    [
        ("/", b"token=a+good%20token", True), ("/", b"token=wrong", False), ("/", b"", False),
        ("/x", b"token=a+good+token", False), ("/", b"token=%ff", False),
    ],
)  # fmt: skip
def test_a_token_in_the_address_is_taken_once(path: str, query: bytes, is_login: bool) -> None:
    assert security.is_login({"path": path, "query_string": query}, LOCAL) is is_login
