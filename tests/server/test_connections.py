"""What a client can do before a request is complete, and after its answer: bounded, checked on the wire."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import httpx
import pytest

from kgtable.server.options import ConnectionLimits, ServerSettings
from tests.server.conftest import DATA, QUEUE, SMALL
from tests.server.serving import TOKEN, Running, running, store_with

LIMITS = ConnectionLimits(head_bytes=8_000, headers=20, url_bytes=30_000, head_seconds=1.5, idle_seconds=1, total=10)
HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
UNAUTHORIZED = (
    b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Type: application/sparql-update\r\n\r\n"
)
CHUNK = b"10000\r\n" + b"x" * 65_536 + b"\r\n"


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    source = store_with(tmp_path_factory.mktemp("bounded") / "store", DATA)
    settings = ServerSettings(port=0, writable=True, token=TOKEN, limits=SMALL, queue=QUEUE, connections=LIMITS)
    with running(settings, source) as server:
        yield server


def connect(server: Running) -> socket.socket:
    host, port = server.url.split("/")[2].split(":")
    return socket.create_connection((host, int(port)), 20)


def received(connection: socket.socket) -> bytes:
    """Everything the server sends until it closes."""
    parts = []
    with suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            parts.append(part)
    return b"".join(parts)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def sent(server: Running, *parts: bytes, pause: float = 0.0) -> bytes:
    with closing(connect(server)) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
        return received(connection)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((HEAD, b"X: ", *[b"a" * 4_000] * 40), 431),
        ((HEAD, b"X" * 40_000), 431),
        ((b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n",), 414),
        ((HEAD, b"Transfer-Encoding: chunked\r\n\r\n1;", *[b"e" * 4_000] * 40), 400),
        ((b"no HTTP at all\r\n\r\n",), 400),
    ],
    ids=["endless value", "endless name", "endless address", "endless extension", "garbage"],
)
def test_endless_and_broken_heads_are_refused(bounded: Running, parts: tuple[bytes, ...], expected: int) -> None:
    # What follows a head that is complete may come after its answer.
    assert status(sent(bounded, *parts)) == expected or b"chunked" in parts[1]


@pytest.mark.parametrize("pause", [0.0, 0.2])
def test_what_follows_a_request_and_is_malformed_leaves_the_log_alone(
    bounded: Running, pause: float, capfd: pytest.CaptureFixture[str]
) -> None:
    chunked = b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert status(sent(bounded, chunked, b"zz\r\n\r\n", pause=pause)) in (400, 404)
    assert b" 400 " in sent(bounded, HEAD + b"\r\n", b"garbage\r\n\r\n", pause=pause)
    assert "Traceback" not in capfd.readouterr().err + bounded.log.getvalue()


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (HEAD + b"X: 1\r\n" * 50, 431),
        (HEAD + b"X: " + b"a" * 9_000 + b"\r\n", 431),
        (HEAD.replace(b"health", b"health?" + b"a" * 31_000), 414),
        (HEAD.replace(b"health", b"health?" + b"a&" * 200), 400),
    ],
    ids=["count", "size", "address", "parameters"],
)
def test_heads_beyond_the_limits_are_refused(bounded: Running, request_: bytes, expected: int) -> None:
    answer = sent(bounded, request_ + b"\r\n")
    assert status(answer) == expected
    assert b"application/problem+json" in answer
    assert b"connection: close" in answer.lower()


def test_what_is_within_the_limits_is_answered(bounded: Running) -> None:
    many = b"".join(b"X-%d: %s\r\n" % (n, b"a" * 300) for n in range(17))
    assert status(sent(bounded, HEAD, many, b"Connection: close\r\n\r\n")) == 200
    long = bounded.query("ASK {} #" + "a" * 19_000)
    assert long.status_code == 200


def test_dripping_and_silent_clients_are_ended(bounded: Running) -> None:
    drip = [HEAD, *[b"X"] * 30]
    assert status(sent(bounded, *drip, pause=0.1)) == 408
    assert status(sent(bounded)) == 408


def test_a_kept_connection_ends_when_nothing_comes(bounded: Running) -> None:
    with closing(connect(bounded)) as connection:
        connection.sendall(HEAD + b"\r\n")
        assert received(connection).count(b"HTTP/1.1 200") == 1
    with closing(connect(bounded)) as connection:
        for _ in range(3):
            connection.sendall(HEAD.replace(b"GET", b"HEAD") + b"\r\n")
            assert b"200" in connection.recv(65_536)
        connection.sendall(b"GET /hea")
        assert status(received(connection)) == 408


def test_pipelined_requests_are_answered(bounded: Running) -> None:
    last = HEAD + b"Connection: close\r\n\r\n"
    answer = sent(bounded, (HEAD + b"\r\n") * 5 + last)
    assert answer.count(b"HTTP/1.1 200") == 6


def test_the_number_of_connections_is_bounded(bounded: Running) -> None:
    bounded.client.close()
    time.sleep(0.2)
    opened = [connect(bounded) for _ in range(LIMITS.total)]
    try:
        time.sleep(0.1)
        assert status(sent(bounded, HEAD, b"Connection: close\r\n\r\n")) == 503
    finally:
        for connection in opened:
            connection.close()
    time.sleep(0.2)
    assert status(sent(bounded, HEAD, b"Connection: close\r\n\r\n")) == 200


def test_a_refused_body_is_not_kept_and_the_answer_arrives(bounded: Running) -> None:
    assert status(sent(bounded, UNAUTHORIZED, *[CHUNK] * 40)) == 401


def test_trailers_are_no_headers(bounded: Running) -> None:
    trailer = b"POST /api/ask HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    answer = sent(bounded, trailer, b"Content-Type: application/json\r\nConnection: close\r\n\r\n")
    assert status(answer) == 415
    assert status(sent(bounded, trailer, b"X: 1\r\n" * 100)) in (415, 431)


def test_a_small_body_that_comes_after_its_answer_leaves_the_connection_open(bounded: Running) -> None:
    with closing(connect(bounded)) as connection:
        connection.sendall(HEAD.replace(b"GET", b"HEAD") + b"Content-Length: 6\r\n\r\n")
        assert status(connection.recv(65_536)) == 200
        connection.sendall(b"broken" + HEAD + b"Connection: close\r\n\r\n")
        assert status(received(connection)) == 200


UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAA\r\n"
"""What Java's client sends with its first request, to change to HTTP/2."""


def written(word: str, *headers: bytes, chunked: bool = False) -> tuple[bytes, bytes]:
    """The head and the body of an update."""
    body = f'INSERT DATA {{ <urn:upgrade> <urn:word> "{word}" }}'.encode()
    framing = b"Transfer-Encoding: chunked\r\n" if chunked else b"Content-Length: %d\r\n" % len(body)
    head = b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sparql-update\r\n" + framing
    sent_body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    return head + b"".join(headers) + b"\r\n", sent_body


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_a_write_that_offers_another_protocol_is_written(bounded: Running, chunked: bool, apart: bool) -> None:
    word = f"{'chunked' if chunked else 'sized'}-{'apart' if apart else 'together'}"
    token = f"Authorization: Bearer {TOKEN}\r\n".encode()
    refused = written("refused", UPGRADE, chunked=chunked)
    accepted = written(word, UPGRADE, token, chunked=chunked)
    again = written(f"{word}-again", token, b"Connection: close\r\n", chunked=chunked)
    parts = [*refused, *accepted, *again] if apart else [b"".join(refused), b"".join([*accepted, *again])]
    answers = sent(bounded, *parts, pause=0.3)
    assert re.findall(rb"HTTP/1\.1 (\d+)", answers) == [b"401", b"204", b"204"]
    asked = {"query": "SELECT ?word { <urn:upgrade> <urn:word> ?word }", "format": "csv"}
    found = httpx.get(bounded.sparql, params=asked).text.split()[1:]
    assert {word, f"{word}-again"} <= set(found)
    assert "refused" not in found


def test_requests_behind_one_that_offers_another_protocol_are_answered(bounded: Running) -> None:
    last = HEAD + b"Connection: close\r\n\r\n"
    answers = sent(bounded, HEAD + UPGRADE + b"\r\n" + HEAD + UPGRADE + b"Content-Length: 0\r\n\r\n" + last)
    assert answers.count(b"HTTP/1.1 200") == 3
