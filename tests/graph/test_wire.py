from __future__ import annotations

from email.message import Message

import pytest

from kgtable.errors import ConfigError, RemoteStoreError, UsageError
from kgtable.graph.wire import (
    ORIGINS,
    TOKEN,
    USER,
    Credentials,
    Policy,
    Reply,
    checked_url,
    credentials_for,
    send,
)
from tests.graph.misbehaving import Answer, Misbehaving

SECRET = {TOKEN: "s3cret"}


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


def test_credentials_are_bearer_tokens_or_passwords_and_do_not_show() -> None:
    assert Credentials("s3cret").header() == "Bearer s3cret"
    assert Credentials("pass:ü", "me").header() == "Basic bWU6cGFzczrDvA=="
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


@pytest.mark.parametrize("status", [204, 404, 500])
def test_any_status_is_an_answer(status: int) -> None:
    with Misbehaving().running() as server:
        server.answers = [Answer(status, "Text/Plain; charset=x", b"words")]
        reply = send(
            "POST", server.url, body=b"q", headers={"X-Mine": "1"}, policy=Policy(timeout=5.0, retries=0)
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
            credentials=Credentials("s3cret"),
            policy=Policy(timeout=5.0, retries=0),
        )
        assert reply.status == 307
        assert len(server.asked) == 1
        assert not other.asked


def test_waits_grow_and_end() -> None:
    waits: list[float] = []
    with Misbehaving().running() as server:
        server.answers = [Answer(503), Answer(502, headers={"Retry-After": "later"}), Answer(429)]
        reply = send("GET", server.url, headers={}, policy=Policy(timeout=5.0, retries=2, sleep=waits.append))
    assert reply.status == 429
    assert waits == [0.5, 1.0]


def test_an_answer_without_a_type() -> None:
    assert Reply(200, Message(), b"").media_type == ""
    with pytest.raises(RemoteStoreError, match="cannot be reached"):
        send("GET", "http://name.invalid/", headers={}, policy=Policy(timeout=5.0, retries=0))
