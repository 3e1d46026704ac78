from __future__ import annotations

from email.message import Message
from hashlib import md5
from urllib.request import Request, parse_http_list, parse_keqv_list

import pytest

from kgtable.errors import ConfigError, RemoteStoreError, UsageError
from kgtable.graph.remote.http import (
    ORIGINS,
    TOKEN,
    USER,
    Credentials,
    HttpPolicy,
    HttpReply,
    Login,
    checked_url,
    credentials_for,
    send,
)
from tests.graph.remote.misbehaving import Answer, Misbehaving


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


SECRET = {TOKEN: "s3cret"}
REQUEST = Request("http://127.0.0.1:8890/store?graph=urn%3Ax", data=b"x", method="PUT")


def test_credentials_are_bearer_tokens_or_passwords_and_do_not_show() -> None:
    assert Login(Credentials("s3cret")).header(REQUEST) == "Bearer s3cret"
    assert Login(Credentials("pass:ü", "me")).header(REQUEST) == "Basic bWU6cGFzczrDvA=="
    assert "s3cret" not in repr(Credentials("s3cret", "me"))


@pytest.mark.parametrize("url", ["http://localhost:1/", "https://127.0.0.1/", "http://[::1]:3030/q"])
def test_this_machine_may_have_them(url: str) -> None:
    assert credentials_for(url, SECRET) == Credentials("s3cret")
    assert credentials_for(url, {**SECRET, USER: "me"}) == Credentials("s3cret", "me")
    assert credentials_for(url, {}) is None


@pytest.mark.parametrize(
    ("url", "origins", "may"),
    [
        ("https://e.org/q", "https://e.org", True),
        ("https://e.org/q", "http://other https://e.org/", True),
        ("https://e.org:8080/q", "https://e.org", False),
        ("http://e.org/q", "https://e.org", False),
        ("https://e.org.evil.org/q", "https://e.org", False),
        ("http://localhost.evil.org/", "", False),
        ("http://127.0.0.1.evil.org/", "", False),
    ],
)
def test_others_only_where_their_origin_is_named(url: str, origins: str, may: bool) -> None:
    environment = {**SECRET, ORIGINS: origins}
    if may:
        assert credentials_for(url, environment) == Credentials("s3cret")
        return
    with pytest.raises(ConfigError, match=ORIGINS) as caught:
        credentials_for(url, environment)
    assert "s3cret" not in str(caught.value)


def challenge(*texts: str) -> Message:
    headers = Message()
    for text in texts:
        headers["WWW-Authenticate"] = text
    return headers


def hashed(*parts: str) -> str:
    return md5(":".join(parts).encode(), usedforsecurity=False).hexdigest()


def test_a_digest_is_that_of_the_standard() -> None:
    login = Login(Credentials("s3cret", "me"))
    assert login.is_unsure
    assert login.learn(challenge('Basic realm="x"', 'Digest realm="SPARQL", nonce="n0nce", qop="auth"'))
    assert not login.is_unsure
    for count in ("00000001", "00000002"):
        scheme, _, text = login.header(REQUEST).partition(" ")
        found = parse_keqv_list(parse_http_list(text))
        assert scheme == "Digest"
        assert found["nc"] == count
        assert found["uri"] == "/store?graph=urn%3Ax"
        who, what = hashed("me", "SPARQL", "s3cret"), hashed("PUT", found["uri"])
        assert found["response"] == hashed(who, "n0nce", count, found["cnonce"], "auth", what)


def test_what_is_no_new_challenge_changes_nothing() -> None:
    login = Login(Credentials("s3cret", "me"))
    assert not login.learn(challenge('Basic realm="x"'))
    assert not login.learn(challenge("Digest"))
    assert not login.learn(challenge())
    assert login.header(REQUEST).startswith("Basic ")
    assert login.learn(challenge('Digest realm="a", nonce="b", qop="auth"'))
    assert not login.learn(challenge('Digest realm="a", nonce="b", qop="auth"'))


def test_a_token_is_never_made_a_digest() -> None:
    login = Login(Credentials("s3cret"))
    assert not login.is_unsure
    assert not login.learn(challenge('Digest realm="a", nonce="b", qop="auth"'))
    assert login.header(REQUEST) == "Bearer s3cret"
