from __future__ import annotations

import pytest

from kgtable.errors import LLMRateLimitError, LLMReplyError
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM

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
