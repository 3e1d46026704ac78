"""The client against a local HTTP server that fails as real ones do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kgtable.config import ModelEndpoint, Secret, load_settings
from kgtable.errors import (
    LLMAuthError,
    LLMContextError,
    LLMError,
    LLMRateLimitError,
    LLMReplyError,
    LLMUnreachableError,
)
from kgtable.llm.client import ChatModel, CompletionCache, Tap, Trace, connect, open_client, post
from kgtable.llm.conversation import ModelReply, RetryPolicy
from kgtable.llm.protocol import Completion, OnText, Request, RequestFault
from tests.llm.scripted_server import Act, Drop, Fail, Hang, Raw, Say, ScriptedServer, WithoutFormats

KEY = "sk-test-0123456789"
SCHEMA = {
    "title": "sum", "type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"],
    "additionalProperties": False,
}  # fmt: skip
PLAIN = Request(({"role": "user", "content": "Say hello."},))
FORMED = Request(({"role": "user", "content": "Add 1 and 2."},), schema=SCHEMA)
QUICK = RetryPolicy(retries=2, pause=0.01)


def ask(model: ChatModel, request: Request, on_text: OnText | None = None) -> Completion:
    try:
        return model.complete(request, on_text=on_text)
    finally:
        model.close()


def model_at(server: ScriptedServer, **options: Any) -> ChatModel:
    endpoint = ModelEndpoint(server.base_url, Secret(KEY))
    return ChatModel("tiny", endpoint, **({"policy": QUICK, "timeout": 5.0} | options))


def test_a_reply_comes_with_usage_and_without_an_invented_cost() -> None:
    with ScriptedServer(["Hello there."]) as server:
        found = ask(model_at(server), PLAIN, None)
    assert (found.text, found.model, found.from_cache) == ("Hello there.", "tiny", False)
    assert (found.usage.requests, found.usage.prompt_tokens, found.usage.completion_tokens) == (1, 100, 2)
    assert found.usage.cost is None
    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["messages"] == list(PLAIN.messages)


def test_cost_follows_the_users_own_prices() -> None:
    with ScriptedServer(["Hello there."]) as server:
        found = ask(model_at(server, prices={"tiny": {"input": 10.0, "output": 100.0}}), PLAIN, None)
    assert found.usage.cost == Decimal("0.0012")


def test_usage_that_the_server_does_not_tell_is_unknown() -> None:
    with ScriptedServer([Say("Hello", usage=False)]) as server:
        found = ask(model_at(server), PLAIN, None)
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (None, None)


@pytest.mark.parametrize(
    "passing",
    [Fail(429, headers={"Retry-After": "0"}), Fail(500), Fail(503), Drop(), Raw("<html>oops</html>"), Raw('{"a": ')],
    ids=["429", "500", "503", "drop", "html", "half"],
)
def test_a_passing_failure_is_tried_again(passing: Act) -> None:
    with ScriptedServer([passing, {"total": 3}]) as server:
        found = ask(model_at(server), FORMED, None)
    assert found.data == {"total": 3}
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("act", "kind", "says", "requests"),
    [
        (Fail(401, f"Incorrect API key provided: {KEY}"), LLMAuthError, "refused the key", 1),
        (Fail(403), LLMAuthError, "refused the key", 1), (Fail(429), LLMRateLimitError, "3 attempts", 3),
        (Fail(429, code="insufficient_quota"), LLMRateLimitError, "quota", 1),
        (Fail(429, headers={"Retry-After": "3600"}), LLMRateLimitError, "3600 seconds", 1),
        (Fail(500), LLMUnreachableError, "failed", 3),
        (Fail(404, "The model `tiny` does not exist"), LLMReplyError, "model's name", 1),
        (Fail(400, "too long", code="context_length_exceeded"), LLMContextError, "KGTABLE_WINDOW", 1),
        (Fail(400, "This model's maximum context length is 4096 tokens."), LLMContextError, "CONTEXT_TOKENS", 1),
        (Fail(400, "the request exceeds the available context size"), LLMContextError, "context window", 1),
        (Drop(), LLMUnreachableError, "could not be reached", 3),
        (Raw("not json at all"), LLMReplyError, "not a chat completion", 3),
        (Raw('{"choices": []}'), LLMReplyError, "not a chat completion", 3),
        (Say("", refusal="I cannot help with that."), LLMReplyError, "refused to answer: I cannot", 1),
        (Say("", refusal=f"I do not take {KEY}."), LLMReplyError, "do not take", 1),
        (f"You sent {KEY}.", LLMReplyError, "You sent", 2), ({"total": KEY}, LLMReplyError, "not of type number", 2),
        (Say("x", finish="content_filter"), LLMReplyError, "content filter", 1),
        ("I do not feel like JSON.", LLMReplyError, "no JSON object", 2),
        ('{"total": 3', LLMReplyError, "cannot be read", 2),
        (Say('{"note": "the sum of the', finish="length"), LLMReplyError, "cut off at the token limit", 2),
        ('{"note": "the sum of the', LLMReplyError, "cannot be read", 2),
        ({"total": "three"}, LLMReplyError, "not of type number", 2), ("", LLMReplyError, "it is empty", 2),
    ],
)  # fmt: skip
def test_each_lasting_failure_has_its_error(act: Act, kind: type[LLMError], says: str, requests: int) -> None:
    with ScriptedServer([act]) as server, pytest.raises(kind, match=says) as caught:
        ask(model_at(server), FORMED, None)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert len(server.requests) == requests


def test_a_server_that_hangs_is_given_up() -> None:
    with ScriptedServer([Hang()]) as server, pytest.raises(LLMUnreachableError, match="did not answer in time"):
        ask(model_at(server, timeout=0.1, policy=RetryPolicy(retries=1, pause=0.01)), PLAIN, None)
    assert len(server.requests) == 2


def test_an_endpoint_that_is_not_there() -> None:
    with ScriptedServer(["x"]) as server:
        gone = ModelEndpoint(server.base_url)
    with pytest.raises(LLMUnreachableError, match="could not be reached"):
        ask(ChatModel("tiny", gone, policy=QUICK), PLAIN, None)


def test_the_error_is_told_and_the_second_reply_taken() -> None:
    with ScriptedServer([{"sum": 3}, 'Sorry! ```json\n{"total": 3,}\n```']) as server:
        found = ask(model_at(server), FORMED, None)
    assert found.data == {"total": 3}
    assert found.usage.requests == 2
    said = server.requests[1].body["messages"]
    assert said[1] == {"role": "assistant", "content": '{"sum": 3}'}
    assert "$.total is missing" in said[2]["content"]


@pytest.mark.parametrize(
    ("refused", "forms"),
    [
        (("json_schema",), ["json_schema", "json_object", "json_object"]),
        (("json_schema", "json_object"), ["json_schema", "json_object", None, None]),
    ],
)
def test_weaker_forms_are_tried_once_and_remembered(refused: tuple[str, ...], forms: list[str]) -> None:
    with ScriptedServer([WithoutFormats({"total": 3}, refused)]) as server:
        model = model_at(server)
        assert ask(model, FORMED, None).data == {"total": 3}
        assert ask(model, FORMED, None).data == {"total": 3}
    bodies = [request.body for request in server.requests]
    assert [(body.get("response_format") or {}).get("type") for body in bodies] == forms
    assert "JSON Schema" not in bodies[0]["messages"][0]["content"]
    assert '"total"' in bodies[-1]["messages"][0]["content"]


def test_parameters_that_a_model_refuses_are_left_out() -> None:
    def choosy(body: Any) -> Act:
        if "max_tokens" in body:
            return Fail(400, "Unsupported parameter: use 'max_completion_tokens' instead")
        return Fail(400, "Unsupported value: 'temperature'") if "temperature" in body else "Hello"

    with ScriptedServer(choosy) as server:
        assert ask(model_at(server), PLAIN, None).text == "Hello"
    last = server.requests[-1].body
    assert last["max_completion_tokens"] == PLAIN.max_tokens
    assert "temperature" not in last


def test_a_reply_is_streamed() -> None:
    pieces: list[str] = []
    with ScriptedServer(["A reply of several pieces."]) as server:
        found = ask(model_at(server), PLAIN, pieces.append)
    assert "".join(pieces) == found.text == "A reply of several pieces."
    assert len(pieces) > 1
    assert found.usage.completion_tokens == 5
    assert server.requests[0].body["stream"] is True


def test_a_stream_that_breaks_off_is_asked_for_again_in_one_piece() -> None:
    pieces: list[str] = []
    with ScriptedServer([Say("A reply of several pieces.", breaks_after=2), "A whole reply."]) as server:
        found = ask(model_at(server), PLAIN, pieces.append)
    assert found.text == "A whole reply."
    assert "".join(pieces) == "A reply of sever"
    assert "stream" not in server.requests[1].body


def test_a_server_without_streams_is_asked_without() -> None:
    def plain(body: Any) -> Act:
        return Fail(400, "unknown field stream_options") if body.get("stream") else "Hello"

    with ScriptedServer(plain) as server:
        assert ask(model_at(server), PLAIN, lambda piece: None).text == "Hello"


def test_a_stream_of_garbage_has_an_error() -> None:
    with (
        ScriptedServer([Raw("data: {nonsense\n\n", "text/event-stream")]) as server,
        pytest.raises(LLMReplyError, match="not a chunk"),
    ):
        ask(model_at(server), PLAIN, lambda piece: None)


def test_the_cache_answers_the_second_time_and_keeps_no_key(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "replies.sqlite"
    with ScriptedServer([{"total": 3}]) as server:
        first = ask(model_at(server, cache=CompletionCache(path)), FORMED, None)
        second = ask(model_at(server, cache=CompletionCache(path)), FORMED, None)
        ask(model_at(server, cache=CompletionCache(path)), PLAIN, None)
    assert (first.from_cache, second.from_cache) == (False, True)
    assert second.data == first.data
    assert second.usage.requests == 0
    assert len(server.requests) == 2
    assert all(KEY.encode() not in file.read_bytes() for file in path.parent.iterdir())


def test_a_damaged_cache_costs_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    path.write_bytes(b"this is no database, it only stands in its place" * 50)
    with ScriptedServer(["Hello"]) as server:
        assert ask(model_at(server, cache=CompletionCache(path)), PLAIN, None).text == "Hello"


def test_the_trace_shows_every_attempt_and_no_key(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with ScriptedServer([Fail(500, f"what is {KEY}?"), {"total": 3}]) as server:
        ask(model_at(server, trace=Trace(path)), FORMED, None)
    text = path.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [("fault" in line, "reply" in line) for line in lines] == [(True, False), (False, True)]
    assert lines[1]["request"]["messages"] == list(FORMED.messages)
    assert json.loads(lines[1]["reply"]["text"]) == {"total": 3}
    assert KEY not in text


def test_what_the_environment_holds_for_openai_is_not_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"secret-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: secret-gateway")
    with ScriptedServer(["Hello"]) as server:
        ask(ChatModel("tiny", ModelEndpoint(server.base_url), policy=QUICK), PLAIN, None)
    assert "secret-" not in str(server.requests[0])


@pytest.fixture
def busy() -> tuple[Callable[[Any], Act], list[int]]:
    lock, now, peaks = threading.Lock(), [0], [0]

    def act(body: Any) -> Act:
        with lock:
            now[0] += 1
            peaks[0] = max(peaks[0], now[0])
        time.sleep(0.05)
        with lock:
            now[0] -= 1
        return "Hello"

    return act, peaks


def test_no_more_requests_than_allowed_are_on_the_way(busy: tuple[Callable[[Any], Act], list[int]]) -> None:
    act, peaks = busy
    with ScriptedServer(act) as server:
        model = model_at(server, concurrency=2)
        threads = [threading.Thread(target=model.complete, args=(PLAIN,)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model.close()
    assert len(server.requests) == 6
    assert peaks[0] == 2


BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def send(endpoint: ModelEndpoint, body: Mapping[str, Any], tap: Tap) -> ModelReply | RequestFault:
    with open_client(endpoint, 5.0) as client:
        return post(client, body, tap, 30.0)


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (Fail(418, "teapot"), 418), (Fail(503), 503), (Drop(), None), (Raw("<html>"), 502),
        (Raw('{"a":' * 100_000), 502), (Raw("[]"), 502),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_a_fault_after_one_attempt(act: Act, status: int | None) -> None:
    with ScriptedServer([act]) as server:
        outcome = send(ModelEndpoint(server.base_url), BODY, Tap(None))
    assert isinstance(outcome, RequestFault)
    assert outcome.status == status
    assert outcome.message
    assert len(server.requests) == 1


def test_replies_whole_and_streamed_are_the_same() -> None:
    pieces: list[str] = []
    with ScriptedServer([Say("some words ü \u202e")]) as server:
        whole = send(ModelEndpoint(server.base_url), BODY, Tap(None))
        streamed = send(ModelEndpoint(server.base_url), BODY, Tap(pieces.append))
    assert whole == streamed == ModelReply("some words ü \u202e", "stop", "", 100, 4, "m")
    assert "".join(pieces) == "some words ü \u202e"


def test_the_key_of_the_endpoint_and_no_other_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"other-{name}")
    with ScriptedServer(["x"]) as server:
        send(ModelEndpoint(server.base_url, Secret("mine")), BODY, Tap(None))
        send(ModelEndpoint(server.base_url), BODY, Tap(None))
    assert server.requests[0].headers["authorization"] == "Bearer mine"
    assert "other-" not in str(server.requests)


QUESTION = Request(({"role": "user", "content": "Say hello."},))


def test_the_settings_model_is_reached(tmp_path: Path) -> None:
    with ScriptedServer(["Hello"]) as server:
        env = {"KGTABLE_BASE_URL": server.base_url, "KGTABLE_API_KEY": "k", "KGTABLE_MODEL": "tiny"}
        settings = load_settings(environment=env, llm_cache=tmp_path / "c.sqlite", trace=tmp_path / "t.jsonl")
        for _ in range(2):
            model = connect(settings)
            assert model is not None
            assert model.complete(QUESTION).text == "Hello"
            model.close()
    assert [request.body["model"] for request in server.requests] == ["tiny"]
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 1


def test_nothing_imports_the_openai_package_before_a_request() -> None:
    code = "import sys, kgtable.llm, kgtable.llm.scripted; sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
