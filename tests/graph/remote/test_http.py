from __future__ import annotations

import base64
import gzip
import json
import socket
import threading
import tracemalloc
from contextlib import suppress
from urllib.parse import quote

import pytest

from kgtable.errors import RemoteStoreError, UsageError
from kgtable.graph.remote.http import USER, Credentials, EndpointClient, HttpPolicy, Login, checked_url
from tests.graph.remote.misbehaving import Answer, Misbehaving

ONCE = HttpPolicy(timeout=5.0, retries=0)


@pytest.mark.parametrize(
    "url",
    ["", "ftp://x/", "sparql", "http://", "http:///x", "http://x/\n", "http://x/ y", "http://x:y/", "http://ü/",
     "file:///etc/passwd", "javascript:alert(1)", "http://[::1", "http://x:99999/", "http://x/\x00"],
)  # fmt: skip
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="not the URL of an endpoint"):
        checked_url(url)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    for url in ("http://me:hidden@x/", "http://hidden@x/", "http://:hidden@x/"):
        with pytest.raises(UsageError, match=USER) as caught:
            checked_url(url)
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("status", [204, 404, 500])
def test_any_status_is_an_answer(status: int) -> None:
    with Misbehaving().running() as server:
        server.answers = [Answer(status, "Text/Plain; charset=x", b"words")]
        reply = EndpointClient(ONCE).send("POST", server.url, body=b"q", headers={"X-Mine": "1"})
        assert reply.status == status
        assert server.asked[0].headers["x-mine"] == "1"
        assert server.asked[0].headers.get("authorization") is None


def test_a_redirect_is_not_followed_with_the_credentials() -> None:
    with Misbehaving().running() as server, Misbehaving().running() as other:
        server.answers = [Answer(307, headers={"Location": other.url})]
        reply = EndpointClient(ONCE).send("GET", server.url, login=Login(Credentials("s3cret")))
        assert reply.status == 307
        assert len(server.asked) == 1
        assert not other.asked


@pytest.mark.parametrize("user", [None, "me"])
def test_an_error_that_repeats_the_secret_does_not_show_it(user: str | None) -> None:
    secret = 's3cret "ü&'
    with Misbehaving().running() as server:
        login = Login(Credentials(secret, user))
        sent = base64.b64encode(f"{user or ''}:{secret}".encode()).decode()
        said = f"{secret} {quote(secret, safe='')} {json.dumps(secret)} {sent}".encode()
        server.answers = [Answer(401, "text/plain", said, {"Location": f"http://e/?token={quote(secret)}"})]
        reply = EndpointClient(ONCE).send("GET", server.url, login=login)
        assert reply.body == b'*** *** "***" ***'
        assert reply.location == "http://e/?token=***"
        server.answers = [Answer(200, "text/plain", said)]
        assert EndpointClient(ONCE).send("GET", server.url, login=login).body == said


def challenged(nonce: str) -> Answer:
    return Answer(401, headers={"WWW-Authenticate": f'Digest realm="x", nonce="{nonce}", qop="auth"'})


def test_a_body_is_sent_once_it_is_known_how_to_log_in() -> None:
    with Misbehaving().running() as server:
        server.answers = [challenged("a"), Answer(204)]
        login = Login(Credentials("s3cret", "me"))
        for _ in range(2):
            assert EndpointClient(ONCE).send("PUT", server.url, body=b"xyz", login=login).status == 204
        asked = [(asked.method, asked.body) for asked in server.asked]
        assert asked == [("HEAD", b""), ("PUT", b"xyz"), ("PUT", b"xyz")]
        sent = [asked.headers.get("authorization", "") for asked in server.asked]
        assert not sent[0]
        assert all(header.startswith('Digest username="me"') for header in sent[1:])


def test_a_new_challenge_is_answered_once() -> None:
    with Misbehaving().running() as server:
        server.answers = [challenged("a"), challenged("b")]
        login = Login(Credentials("wrong", "me"))
        reply = EndpointClient(HttpPolicy(timeout=5.0, retries=3)).send("GET", server.url, login=login)
        assert reply.status == 401
        assert len(server.asked) == 2


def test_waits_grow_and_end() -> None:
    waits: list[float] = []
    with Misbehaving().running() as server:
        server.answers = [Answer(503), Answer(502, headers={"Retry-After": "later"}), Answer(429)]
        policy = HttpPolicy(timeout=5.0, retries=2, sleep=waits.append)
        reply = EndpointClient(policy).send("GET", server.url)
    assert reply.status == 429
    assert waits == [0.5, 1.0]


PACKED = {"Content-Encoding": "gzip"}


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_gzip_bomb_does_not_fill_the_memory(status: int) -> None:
    bomb = Answer(
        status,
        body=gzip.compress(bytes(150 << 20)),
        headers={**PACKED, "WWW-Authenticate": 'Digest realm="x", nonce="a", qop="auth"'},
    )
    with Misbehaving().running() as server:
        server.answers = [bomb]
        tracemalloc.start()
        try:
            with pytest.raises(RemoteStoreError, match=r"larger than 67,108,864 bytes unpacked"):
                EndpointClient(ONCE).send("GET", server.url, login=Login(Credentials("s3cret", "me")))
            assert tracemalloc.get_traced_memory()[1] < 80 << 20
        finally:
            tracemalloc.stop()


def test_the_size_of_a_reply_is_bounded_as_sent_and_unpacked() -> None:
    policy = HttpPolicy(timeout=5.0, retries=0, most_sent=1_000, most_unpacked=3_000, ratio_from=2_000)
    text = bytes(range(250))
    sizes = {
        "sent": [(Answer(body=text * 4), 1_000), (Answer(body=text * 4 + b"x"), None)],
        "unpacked": [
            (Answer(body=gzip.compress(text * 12), headers=PACKED), 3_000),
            (Answer(body=gzip.compress(text * 12 + b"x"), headers=PACKED), None),
        ],
    }
    for answers in sizes.values():
        for answer, size in answers:
            with Misbehaving().running() as server:
                server.answers = [answer]
                if size is not None:
                    assert len(EndpointClient(policy).send("GET", server.url).body) == size
                    continue
                with pytest.raises(RemoteStoreError, match="is larger than"):
                    EndpointClient(policy).send("GET", server.url)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "deflate"])
def test_an_encoding_that_was_not_asked_for_is_refused(encoding: str) -> None:
    with Misbehaving().running() as server:
        server.answers = [Answer(body=b"xyz", headers={"Content-Encoding": encoding})]
        with pytest.raises(RemoteStoreError, match="not asked for"):
            EndpointClient(ONCE).send("GET", server.url)


def test_packed_lines_that_break_off_are_no_whole_answer() -> None:
    lines = b"".join(b'<http://e/s> <http://e/p> "%d" .\n' % number for number in range(100))
    with Misbehaving().running() as server:
        for missing in range(1, 9):
            server.answers = [Answer(body=gzip.compress(lines)[:-missing], headers=PACKED)]
            with pytest.raises(RemoteStoreError, match="broke off"):
                EndpointClient(ONCE).send("GET", server.url)
        server.answers = [Answer(body=gzip.compress(lines[:50]) + gzip.compress(lines[50:]), headers=PACKED)]
        assert EndpointClient(ONCE).send("GET", server.url).body == lines


@pytest.mark.parametrize(
    "challenge",
    ['Digest realm="x"', 'Digest realm="x", nonce="a", qop="auth-int"', "Digest x",
     'Digest realm="x", nonce="a", algorithm="NONE"'],
)  # fmt: skip
def test_a_digest_of_another_kind_is_named(challenge: str) -> None:
    with Misbehaving().running() as server:
        server.answers = [Answer(401, headers={"WWW-Authenticate": challenge})]
        with pytest.raises(RemoteStoreError, match="not supported") as caught:
            EndpointClient(ONCE).send("GET", server.url, login=Login(Credentials("s3cret", "me")))
    assert "s3cret" not in str(caught.value)


def test_connections_are_closed_and_opened_again() -> None:
    with Misbehaving().running() as server:
        server.answers = [Answer(204)]
        client = EndpointClient(ONCE)
        for _ in range(2):
            assert client.send("GET", server.url).status == 204
            client.close()
        client.close()


@pytest.mark.parametrize(
    ("first", "drop"), [(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n")]
)
def test_a_head_without_end_is_given_up_in_time(first: bytes, drop: bytes) -> None:
    over = threading.Event()

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(first)
            while not over.wait(0.05):
                connection.sendall(drop)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        client = EndpointClient(HttpPolicy(timeout=0.5, retries=0))
        try:
            with pytest.raises(RemoteStoreError, match="no whole answer within"):
                client.send("GET", f"http://127.0.0.1:{listener.getsockname()[1]}/")
        finally:
            over.set()
            client.close()
