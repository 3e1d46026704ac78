from __future__ import annotations

from hashlib import md5
from urllib.request import parse_http_list, parse_keqv_list

import httpx
import pytest

from kgtable.errors import ConfigError
from kgtable.graph.remote.http import ORIGINS, TOKEN, USER, Credentials, Login, credentials_for

SECRET = {TOKEN: "s3cret"}
URL = "http://127.0.0.1:8890/store?graph=urn%3Ax"


def test_credentials_are_bearer_tokens_or_passwords_and_do_not_show() -> None:
    assert authorization(asked(Login(Credentials("s3cret")))[0]) == "Bearer s3cret"
    assert authorization(asked(Login(Credentials("pass:ü", "me")))[-1]) == "Basic bWU6cGFzczrDvA=="
    assert "s3cret" not in repr(Credentials("s3cret", "me"))


@pytest.mark.parametrize("url", ["http://localhost:1/", "https://127.0.0.1/", "http://[::1]:3030/q"])
def test_this_machine_may_have_them(url: str) -> None:
    assert credentials_for(url, SECRET) == Credentials("s3cret")
    assert credentials_for(url, {**SECRET, USER: "me"}) == Credentials("s3cret", "me")
    assert credentials_for(url, {}) is None


@pytest.mark.parametrize(
    ("url", "origins", "may"),
    [
        ("https://e.org/q", "https://e.org", True), ("https://e.org/q", "http://other https://e.org/", True),
        ("https://e.org:8080/q", "https://e.org", False), ("http://e.org/q", "https://e.org", False),
        ("https://e.org.evil.org/q", "https://e.org", False), ("http://localhost.evil.org/", "", False),
        ("http://127.0.0.1.evil.org/", "", False),
    ],
)  # fmt: skip
def test_others_only_where_their_origin_is_named(url: str, origins: str, may: bool) -> None:
    environment = {**SECRET, ORIGINS: origins}
    if may:
        assert credentials_for(url, environment) == Credentials("s3cret")
        return
    with pytest.raises(ConfigError, match=ORIGINS) as caught:
        credentials_for(url, environment)
    assert "s3cret" not in str(caught.value)


def asked(login: Login, *challenges: str) -> list[httpx.Request]:
    """The requests of one login, the endpoint refusing all but the last with these challenges."""
    request = httpx.Request("PUT", URL, content=b"x")
    flow = login.sync_auth_flow(request)
    sent = [next(flow)]
    headers = [("WWW-Authenticate", challenge) for challenge in challenges]
    first = True
    while True:
        # Requests are changed in place by the login.
        sent[-1] = httpx.Request(sent[-1].method, sent[-1].url, headers=sent[-1].headers)
        refusal = httpx.Response(401, headers=headers, request=sent[-1])
        try:
            sent.append(flow.send(refusal if first else httpx.Response(200, request=sent[-1])))
        except StopIteration:
            return sent
        first = False


def authorization(request: httpx.Request) -> str:
    return str(request.headers.get("authorization", ""))


def hashed(*parts: str) -> str:
    return md5(":".join(parts).encode(), usedforsecurity=False).hexdigest()


def test_a_digest_is_that_of_the_standard() -> None:
    login = Login(Credentials("s3cret", "me"))
    probe, first = asked(login, 'Basic realm="x"', 'Digest realm="SPARQL", nonce="n0nce", qop="auth"')
    assert (probe.method, authorization(probe)) == ("HEAD", "")
    (second,) = asked(login)
    counts = []
    for request in (first, second):
        scheme, _, text = authorization(request).partition(" ")
        found = parse_keqv_list(parse_http_list(text))
        assert scheme == "Digest"
        assert found["uri"] == "/store?graph=urn%3Ax"
        who, what = hashed("me", "SPARQL", "s3cret"), hashed("PUT", found["uri"])
        assert found["response"] == hashed(who, "n0nce", found["nc"], found["cnonce"], "auth", what)
        counts.append(int(found["nc"], 16))
    assert counts[1] == counts[0] + 1


@pytest.mark.parametrize("challenges", [(), ('Basic realm="x"',), ("Digest",)])
def test_what_is_no_challenge_for_a_digest_leaves_basic(challenges: tuple[str, ...]) -> None:
    login = Login(Credentials("s3cret", "me"))
    assert [authorization(request)[:6] for request in asked(login, *challenges)] == ["", "Basic "]
    assert [authorization(request)[:6] for request in asked(login, *challenges)] == ["Basic "]


def test_a_token_is_never_made_a_digest() -> None:
    sent = asked(Login(Credentials("s3cret")), 'Digest realm="a", nonce="b", qop="auth"')
    assert [authorization(request) for request in sent] == ["Bearer s3cret"]
