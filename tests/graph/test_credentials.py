from __future__ import annotations

from email.message import Message
from hashlib import md5
from urllib.request import Request, parse_http_list, parse_keqv_list

import pytest

from kgtable.errors import ConfigError
from kgtable.graph.remote.http import ORIGINS, TOKEN, USER, Credentials, Login, credentials_for

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
