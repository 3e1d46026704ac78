from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from kgtable.errors import LLMRateLimitError, LLMReplyError
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from tests.llm.scripted_server import Drop, Fail, Hang, Raw, Say, ScriptedServer, WithoutFormats


def asked(server: ScriptedServer, **body: Any) -> Any:
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions", json.dumps(body).encode(), {"X-Mine": "1"}
    )
    with urllib.request.urlopen(request, timeout=5) as response:
        return response.read().decode()


def content(text: str) -> str:
    return str(json.loads(text)["choices"][0]["message"]["content"])


def test_acts_answer_in_order_and_the_last_one_all_that_follow() -> None:
    with ScriptedServer(["one", {"total": "ü"}, Raw("{}"), Say('<b>"')]) as server:
        assert content(asked(server, model="m")) == "one"
        assert json.loads(content(asked(server))) == {"total": "ü"}
        assert asked(server) == "{}"
        assert content(asked(server)) == content(asked(server)) == '<b>"'
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 5
    assert server.requests[0].headers["x-mine"] == "1"
    assert server.requests[0].body == {"model": "m"}


def test_a_function_may_act() -> None:
    with ScriptedServer(lambda body: str(body["model"])) as server:
        assert content(asked(server, model="mine")) == "mine"


def test_failures_have_their_status_and_headers() -> None:
    with (
        ScriptedServer([Fail(429, "slow down", "quota", {"Retry-After": "7"})]) as server,
        pytest.raises(urllib.error.HTTPError) as caught,
    ):
        asked(server)
    with caught.value as error:
        assert (error.code, error.headers["Retry-After"]) == (429, "7")
        assert json.loads(error.read())["error"]["code"] == "quota"


def test_formats_are_refused_by_their_name() -> None:
    with ScriptedServer([WithoutFormats("fine", ("json_schema",))]) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            asked(server, response_format={"type": "json_schema"})
        caught.value.close()
        assert content(asked(server, response_format={"type": "json_object"})) == "fine"
        assert content(asked(server)) == "fine"


def test_a_stream_ends_and_one_that_breaks_off_does_not() -> None:
    with ScriptedServer(
        [Say("a reply of several pieces"), Say("a reply of several pieces", breaks_after=1)]
    ) as server:
        assert asked(server, stream=True).endswith("data: [DONE]\n\n")
        with pytest.raises((OSError, http.client.HTTPException)):
            asked(server, stream=True)


def test_dropped_and_hanging_connections_do_not_outlive_the_server() -> None:
    with ScriptedServer([Drop(), Hang()]) as server:
        with pytest.raises((OSError, http.client.HTTPException)):
            asked(server)
        connection = http.client.HTTPConnection("127.0.0.1", int(server.base_url.split(":")[2].split("/")[0]))
        connection.request("POST", "/v1/chat/completions", b"{}")
    assert len(server.requests) <= 2
    connection.close()
    with pytest.raises(urllib.error.URLError):
        asked(server)


SCHEMA = {"type": "object", "required": ["total"]}
QUESTION = Request(({"role": "user", "content": "Add."},), schema=SCHEMA)


def test_replies_come_in_order_and_are_checked() -> None:
    model = ScriptedLLM([{"total": 1}, "no JSON", {"total": 2}])
    assert model.complete(QUESTION).data == {"total": 1}
    assert model.complete(QUESTION).data == {"total": 2}
    assert len(model.requests) == 3


def test_a_function_may_write_the_replies() -> None:
    model = ScriptedLLM(lambda request: {"total": len(request.messages)})
    assert model.complete(QUESTION).data == {"total": 1}


def test_an_error_is_raised_and_an_ended_script_is_one() -> None:
    model = ScriptedLLM([LLMRateLimitError("enough")])
    with pytest.raises(LLMRateLimitError, match="enough"):
        model.complete(QUESTION)
    with pytest.raises(LLMReplyError, match="no further reply"):
        model.complete(QUESTION)


def test_text_is_streamed_line_by_line() -> None:
    pieces: list[str] = []
    ScriptedLLM(["one\ntwo"]).complete(Request(QUESTION.messages), on_text=pieces.append)
    assert pieces == ["one\n", "two"]
