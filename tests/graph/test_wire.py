from __future__ import annotations

from email.message import Message

import pytest

from kgtable.errors import RemoteStoreError, UsageError
from kgtable.graph.remote.http import USER, Credentials, HttpPolicy, HttpReply, Login, checked_url, send
from tests.graph.misbehaving import Answer, Misbehaving


@pytest.mark.parametrize(
    "url", ["http://x", "https://e.org:8080/a/b?c=d#e", "http://127.0.0.1/", "http://[::1]:3030/ds/query"]
)
def test_addresses_of_endpoints(url: str) -> None:
    assert checked_url(url) == url


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
        reply = send(
            "POST", server.url, body=b"q", headers={"X-Mine": "1"}, policy=HttpPolicy(timeout=5.0, retries=0)
        )
        assert reply.status == status
        assert server.asked[0].headers["x-mine"] == "1"
        assert server.asked[0].headers.get("authorization") is None


def test_a_redirect_is_not_followed_with_the_credentials() -> None:
    with Misbehaving().running() as server, Misbehaving().running() as other:
        server.answers = [Answer(307, headers={"Location": other.url})]
        reply = send(
            "GET",
            server.url,
            headers={},
            login=Login(Credentials("s3cret")),
            policy=HttpPolicy(timeout=5.0, retries=0),
        )
        assert reply.status == 307
        assert len(server.asked) == 1
        assert not other.asked


ONCE = HttpPolicy(timeout=5.0, retries=0)


def challenged(nonce: str) -> Answer:
    return Answer(401, headers={"WWW-Authenticate": f'Digest realm="x", nonce="{nonce}", qop="auth"'})


def test_a_body_is_sent_once_it_is_known_how_to_log_in() -> None:
    with Misbehaving().running() as server:
        server.answers = [challenged("a"), Answer(204)]
        login = Login(Credentials("s3cret", "me"))
        for _ in range(2):
            assert send("PUT", server.url, body=b"xyz", headers={}, login=login, policy=ONCE).status == 204
        asked = [(asked.method, asked.body) for asked in server.asked]
        assert asked == [("HEAD", b""), ("PUT", b"xyz"), ("PUT", b"xyz")]
        sent = [asked.headers.get("authorization", "") for asked in server.asked]
        assert not sent[0]
        assert all(header.startswith('Digest username="me"') for header in sent[1:])


def test_a_new_challenge_is_answered_once() -> None:
    with Misbehaving().running() as server:
        server.answers = [challenged("a"), challenged("b")]
        login = Login(Credentials("wrong", "me"))
        reply = send("GET", server.url, headers={}, login=login, policy=HttpPolicy(timeout=5.0, retries=3))
        assert reply.status == 401
        assert len(server.asked) == 2


def test_waits_grow_and_end() -> None:
    waits: list[float] = []
    with Misbehaving().running() as server:
        server.answers = [Answer(503), Answer(502, headers={"Retry-After": "later"}), Answer(429)]
        reply = send(
            "GET", server.url, headers={}, policy=HttpPolicy(timeout=5.0, retries=2, sleep=waits.append)
        )
    assert reply.status == 429
    assert waits == [0.5, 1.0]


def test_an_answer_without_a_type() -> None:
    assert HttpReply(200, Message(), b"").media_type == ""
    with pytest.raises(RemoteStoreError, match="cannot be reached"):
        send("GET", "http://name.invalid/", headers={}, policy=HttpPolicy(timeout=5.0, retries=0))
