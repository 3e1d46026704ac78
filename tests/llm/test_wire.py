from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.llm.conversation import ModelReply, StreamReader, read_reply
from kgtable.llm.protocol import GARBLED, Request, RequestFault

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "delta", "content", "text", "usage", "finish_reason", "error"]),
            inner,
        )
    ),
    max_leaves=12,
)


def completion(message: Any, **more: Any) -> str:
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more})


def streamed(*lines: str) -> tuple[ModelReply | RequestFault, list[str]]:
    pieces: list[str] = []
    reader = StreamReader(pieces.append)
    for line in lines:
        reader.take_line(line)
    return reader.reply(), pieces


def chunk(content: Any = None, finish: str | None = None, **more: Any) -> str:
    choice = {"delta": {"content": content}, "finish_reason": finish}
    return "data: " + json.dumps({"choices": [choice], **more})


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": 'a"\u2028<b>'}, 'a"\u2028<b>'),
        ({"content": [{"type": "text", "text": "a"}, {"text": "b"}, {}]}, "ab"),
        ({"content": None, "refusal": "no"}, ""), ({}, ""), ({"content": 5}, "5"),
    ],
)  # fmt: skip
def test_the_text_of_a_reply(message: Any, text: str) -> None:
    found = read_reply(completion(message))
    assert isinstance(found, ModelReply)
    assert found.text == text
    assert found.refusal == (message.get("refusal") or "")


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "<html>", '{"choices": []}', '{"choices": [5]}', '{"choices": [{}]}', '{"a":' * 100_000]
)
def test_what_is_no_completion_is_a_fault_with_its_beginning(text: str) -> None:
    found = read_reply(text)
    assert isinstance(found, RequestFault)
    assert (found.status, found.code) == (502, GARBLED)
    assert len(found.message) < 200


@given(any_json)
def test_any_json_is_a_reply_or_a_fault_whole_and_streamed(value: Any) -> None:
    text = json.dumps(value)
    assert isinstance(read_reply(text), ModelReply | RequestFault)
    assert isinstance(streamed(f"data: {text}", f"data: {text}")[0], ModelReply | RequestFault)


def test_a_stream_is_put_together() -> None:
    found, pieces = streamed(
        ": a comment", "", "event: x", chunk("one "), chunk(None), chunk("two"),
        chunk(finish="length", model="m"),
        'data: {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}', "data: [DONE]",
    )  # fmt: skip
    assert found == ModelReply("one two", "length", "", 1, 2, "m")
    assert pieces == ["one ", "two"]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([chunk("one")], "broke off"),
        ([], "broke off"),
        ([chunk("one"), "data: {", chunk(finish="stop")], "not a chunk"),
        ([chunk("one"), 'data: {"choices": {"a": 1}}', chunk(finish="stop")], "not a chunk"),
        (["data: " + '{"a":' * 100_000], "not a chunk"),
        ([chunk("one"), 'data: {"error": {"message": "out of memory"}}', chunk(finish="stop")], "out of memory"),
    ],
)
def test_a_stream_that_is_not_whole_is_a_fault(lines: list[str], says: str) -> None:
    found, _ = streamed(*lines)
    assert isinstance(found, RequestFault)
    assert says in found.message
    assert found.worth_retrying


ASKED = Request(({"role": "user", "content": "Add 1 and 2."},), schema={"type": "object", "title": "sum"})
URL = "http://e/v1"


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, messages=({"role": "system", "content": "Add 1 and 2."},)),
        replace(ASKED, messages=(*ASKED.messages, *ASKED.messages)),
        replace(ASKED, messages=({"role": "user", "content": "Add 1 and 2. "},)), replace(ASKED, schema=None),
        replace(ASKED, temperature=None), replace(ASKED, temperature=0.5), replace(ASKED, max_tokens=1),
    ],
)  # fmt: skip
def test_another_question_has_another(other: Request) -> None:
    assert other.fingerprint("m", URL) != ASKED.fingerprint("m", URL)
