from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kgtable.config import OPENAI_URL, ModelEndpoint, Secret
from kgtable.llm.client import Tap, open_async_client, open_client, post, post_async
from kgtable.llm.conversation import ModelReply
from kgtable.llm.faults import RequestFault
from kgtable.llm.scripted_server import Act, Drop, Fail, Raw, Say, ScriptedServer

Post = Callable[[ModelEndpoint, Mapping[str, Any], Tap], ModelReply | RequestFault]
BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def blocking(endpoint: ModelEndpoint, body: Mapping[str, Any], tap: Tap) -> ModelReply | RequestFault:
    with open_client(endpoint, 5.0) as client:
        return post(client, body, tap)


def in_a_loop(endpoint: ModelEndpoint, body: Mapping[str, Any], tap: Tap) -> ModelReply | RequestFault:
    async def posted() -> ModelReply | RequestFault:
        async with open_async_client(endpoint, 5.0) as client:
            return await post_async(client, body, tap)

    return asyncio.run(posted())


@pytest.fixture(params=[blocking, in_a_loop])
def send(request: pytest.FixtureRequest) -> Post:
    found: Post = request.param
    return found


def test_a_tap_passes_text_on_and_is_open_for_one_attempt() -> None:
    pieces: list[str] = []
    tap = Tap(pieces.append)
    assert tap.open
    tap("a")
    assert not tap.open
    tap("b")
    assert pieces == ["a", "b"]
    assert not Tap(None).open
    closed = Tap(pieces.append)
    closed.close()
    assert not closed.open


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (Fail(418, "teapot"), 418),
        (Fail(503), 503),
        (Drop(), None),
        (Raw("<html>"), 502),
        (Raw('{"a":' * 100_000), 502),
        (Raw("[]"), 502),
    ],
)
def test_what_goes_wrong_is_a_fault_after_one_attempt(send: Post, act: Act, status: int | None) -> None:
    with ScriptedServer([act]) as server:
        outcome = send(ModelEndpoint(server.base_url), BODY, Tap(None))
    assert isinstance(outcome, RequestFault)
    assert outcome.status == status
    assert outcome.message
    assert len(server.requests) == 1


def test_replies_whole_and_streamed_are_the_same(send: Post) -> None:
    pieces: list[str] = []
    with ScriptedServer([Say("some words ü \u202e")]) as server:
        whole = send(ModelEndpoint(server.base_url), BODY, Tap(None))
        streamed = send(ModelEndpoint(server.base_url), BODY, Tap(pieces.append))
    assert whole == streamed == ModelReply("some words ü \u202e", "stop", "", 100, 4, "m")
    assert "".join(pieces) == "some words ü \u202e"


def test_an_error_of_the_listener_is_its_own(send: Post) -> None:
    def listen(piece: str) -> None:
        raise ValueError("the listener's")

    with ScriptedServer(["words"]) as server, pytest.raises(ValueError, match="the listener's"):
        send(ModelEndpoint(server.base_url), BODY, Tap(listen))
    assert len(server.requests) == 1


def test_the_key_of_the_endpoint_and_no_other_is_sent(send: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"other-{name}")
    with ScriptedServer(["x"]) as server:
        send(ModelEndpoint(server.base_url, Secret("mine")), BODY, Tap(None))
        send(ModelEndpoint(server.base_url), BODY, Tap(None))
    assert server.requests[0].headers["authorization"] == "Bearer mine"
    assert "other-" not in str(server.requests)


def test_the_account_is_named_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "mine")
    with open_client(ModelEndpoint(OPENAI_URL, Secret("k")), 1.0) as client:
        assert client.organization == "mine"
    with open_client(ModelEndpoint("http://e/v1", Secret("k")), 1.0) as client:
        assert client.organization is None
        assert client.max_retries == 0
