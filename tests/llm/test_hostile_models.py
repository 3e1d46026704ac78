"""Endpoints that mean harm or misbehave: redirects, endless and dripping replies, half characters, echoed keys."""

from __future__ import annotations

import json
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kgtable.config import ModelEndpoint, Secret, load_settings
from kgtable.errors import ConfigError, LLMError
from kgtable.llm import client as client_module
from kgtable.llm.client import ChatModel, CompletionCache, Trace
from kgtable.llm.conversation import ReplyReader, RetryPolicy
from kgtable.llm.protocol import Completion, OnText, Request, Usage
from kgtable.llm.repair import LONGEST_REPAIRED, ReplyFault, read_object, whole_value, without_thoughts
from tests.llm.scripted_server import Fail, Raw, ScriptedServer

NEVER = RetryPolicy(retries=0)
PLAIN = Request(({"role": "user", "content": "the secret of the prompt"},))
SCHEMA = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
FORMED = Request(({"role": "user", "content": "Count."},), schema=SCHEMA)
KEY = "sk-" + "0123456789abcdef" * 3


def complete(model: ChatModel, request: Request, on_text: OnText | None = None) -> Completion:
    return model.complete(request, on_text=on_text)


@contextmanager
def raw_server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that reads the head of each request and then does as it likes; gives its base URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.recv(65_536)
                    answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(status: int) -> None:
    with ScriptedServer(["Hello"]) as foreign:
        move = Fail(status, headers={"Location": f"{foreign.base_url}/chat/completions"})
        with ScriptedServer([move]) as server, pytest.raises(LLMError, match="redirects"):
            complete(ChatModel("m", ModelEndpoint(server.base_url, Secret(KEY)), policy=NEVER), PLAIN, None)
        assert foreign.requests == []


HEAD = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n"


DRIPS = {
    "body": (HEAD % 200, b" "),
    "body of an error": (HEAD % 400, b" "),
    "1xx responses": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
    "header lines": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
}


@pytest.mark.parametrize("listening", [False, True])
@pytest.mark.parametrize("name", DRIPS)
def test_a_dripping_reply_ends_with_the_time_limit(name: str, listening: bool) -> None:
    over = threading.Event()
    first, drop = DRIPS[name]

    def drip(connection: socket.socket) -> None:
        connection.sendall(first)
        while not over.wait(0.05):
            connection.sendall(drop)

    try:
        with raw_server(drip) as url:
            model = ChatModel("m", ModelEndpoint(url), timeout=0.5, policy=NEVER)
            with pytest.raises(LLMError, match="did not answer in time"):
                complete(model, PLAIN, str if listening else None)
    finally:
        over.set()


@pytest.mark.parametrize("listening", [False, True])
def test_an_endless_reply_is_given_up(listening: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MOST_RECEIVED", 1 << 20)

    def pour(connection: socket.socket) -> None:
        connection.sendall(HEAD % 200)
        while True:
            connection.sendall(b" " * 65_536)

    with raw_server(pour) as url:
        model = ChatModel("m", ModelEndpoint(url), policy=NEVER)
        with pytest.raises(LLMError, match="longer than"):
            complete(model, PLAIN, str if listening else None)


def test_the_body_of_an_error_is_read_to_a_bound() -> None:
    def pour(connection: socket.socket) -> None:
        connection.sendall(HEAD % 418 + b"short and stout ")
        while True:
            connection.sendall(b"x" * 65_536)

    with raw_server(pour) as url, pytest.raises(LLMError, match="short and stout"):
        complete(ChatModel("m", ModelEndpoint(url), policy=NEVER), PLAIN, None)


@pytest.mark.parametrize("listening", [False, True])
def test_half_characters_are_replaced(listening: bool) -> None:
    heard: list[str] = []
    chunks = [{"content": "a\ud83d"}, {"content": "\ude00b\ud800"}, {"content": "c\udc00"}]
    if listening:
        events = [{"choices": [{"delta": delta}]} for delta in chunks]
        events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})  # type: ignore[dict-item]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    else:
        text = "".join(delta["content"] for delta in chunks)
        body = json.dumps({"choices": [{"message": {"content": text}}], "model": "\udfff"})
    with ScriptedServer([Raw(body)]) as server:
        model = ChatModel("m", ModelEndpoint(server.base_url), policy=NEVER)
        said = complete(model, PLAIN, heard.append if listening else None).text
    assert said == "a\U0001f600b\ufffdc\ufffd"
    assert "".join(heard) == (said if listening else "")


def test_half_characters_within_the_reply_are_replaced() -> None:
    schema = {"type": "object"}
    found = read_object(r'{"a\\ud800": ["\\udfff", {"b": "\\ud83d\\ude00"}]}'.replace("\\\\", "\\"), schema)
    assert found == {"a\ufffd": ["\ufffd", {"b": "\U0001f600"}]}
    assert whole_value([1, None, True]) == [1, None, True]


def test_many_thoughts_are_passed_over_in_one_go() -> None:
    text = "<think>" * 30_000 + '{"total": 3}'
    assert read_object(text, SCHEMA) == {"total": 3}
    assert without_thoughts("<think>x</think>" * 3 + "y</think>") == "y</think>"


def test_a_long_broken_reply_is_not_repaired() -> None:
    with pytest.raises(ReplyFault):
        read_object('{"total": 3, "x": "' + "a" * LONGEST_REPAIRED + '",}', SCHEMA)


def test_a_key_that_the_message_cuts_is_masked() -> None:
    for shift in range(250, 300, 7):
        with ScriptedServer([Fail(401, "x" * shift + KEY)]) as server:
            model = ChatModel("m", ModelEndpoint(server.base_url, Secret(KEY)), policy=NEVER)
            with pytest.raises(LLMError) as caught:
                complete(model, PLAIN, None)
        assert KEY[:6] not in str(caught.value)


def test_extra_headers_that_the_other_side_repeats_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: Bearer gateway-secret\nX-Team: a")
    with ScriptedServer([Fail(401, "no entry for Bearer gateway-secret, nor for gateway-secret")]) as server:
        trace = Trace(tmp_path / "trace.jsonl")
        model = ChatModel("m", ModelEndpoint(server.base_url), policy=NEVER, trace=trace)
        with pytest.raises(LLMError, match="no entry for") as caught:
            complete(model, PLAIN, None)
    assert "gateway-secret" not in str(caught.value)
    assert "gateway-secret" not in trace.path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "kept",
    [
        [], "text", {"text": 5, "data": None, "model": "m"}, {"text": "x", "data": [1], "model": "m"},
        {"text": "x", "data": {"total": "many"}, "model": "m"}, {"text": "x", "data": None, "model": "m"},
        {"text": "x", "data": {"total": 1}, "model": None},
    ],
)  # fmt: skip
def test_a_kept_reply_of_another_shape_is_asked_for_again(kept: object, tmp_path: Path) -> None:
    cache = CompletionCache(tmp_path / "replies.sqlite")
    with ScriptedServer([{"total": 3}]) as server:
        model = ChatModel("m", ModelEndpoint(server.base_url), policy=NEVER, cache=cache)
        print_ = FORMED.fingerprint("m", server.base_url)
        cache.put(print_, Completion("x", {}, Usage(), "m"))
        with cache._connection() as connection:
            connection.execute("UPDATE completions SET reply = ?", (json.dumps(kept),))
        assert complete(model, FORMED, None).data == {"total": 3}
        assert len(server.requests) == 1


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_holds_prompts_is_for_its_owner_alone(tmp_path: Path) -> None:
    cache, trace = tmp_path / "new" / "folder" / "replies.sqlite", tmp_path / "trace.jsonl"
    trace.touch(0o644)
    with ScriptedServer(["Hello"]) as server:
        endpoint = ModelEndpoint(server.base_url)
        model = ChatModel("m", endpoint, policy=NEVER, cache=CompletionCache(cache), trace=Trace(trace))
        complete(model, PLAIN, None)
    assert mode(cache.parent) == mode(cache.parent.parent) == 0o700
    assert {mode(path) for path in (*cache.parent.iterdir(), trace)} == {0o600}


@pytest.mark.parametrize("url", ["http://[::1", "http://[", "http://h:99999/v1", "http://h:x/", "http:///v1"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(ConfigError, match="not an http or https address"):
        load_settings(environment={}, base_url=url)
    settings = load_settings(environment={"OPENAI_BASE_URL": url}, base_url="http://h/v1", api_key=KEY)
    assert settings.endpoint == ModelEndpoint("http://h/v1", Secret(KEY))


@pytest.mark.parametrize("value", ["nan", "inf", float("nan"), float("-inf")])
def test_times_that_are_none(value: object) -> None:
    with pytest.raises(ConfigError, match="not a finite number"):
        load_settings(environment={}, timeout=value)


def test_lines_of_a_stream_may_come_in_any_pieces() -> None:
    body = 'data: {"choices": [{"delta": {"content": "grün"}, "finish_reason": "stop"}]}\r\n\r\ndata: [DONE]'
    for size in (1, 2, 7, 1_000):
        heard: list[str] = []
        reader = ReplyReader(heard.append)
        content = body.encode()
        for start in range(0, len(content), size):
            reader.feed(content[start : start + size])
        assert reader.reply().text == "grün"  # type: ignore[union-attr]
        assert heard == ["grün"]
