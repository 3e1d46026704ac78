from __future__ import annotations

import asyncio

import pytest

from kgtable.errors import LLMReplyError
from kgtable.llm.metering import MeteredLLM, measured
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM

OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
REQUEST = Request(({"role": "user", "content": "?"},), schema=OBJECT, stage="labels")


def test_usage_is_counted_by_stage_and_only_inside() -> None:
    model = MeteredLLM(ScriptedLLM(lambda _: {"a": 1}))
    model.complete(REQUEST)
    with measured() as meter:
        model.complete(REQUEST)
        asyncio.run(model.complete_async(REQUEST))
    assert {stage: used.requests for stage, used in meter.stages.items()} == {"labels": 2}


def test_replies_that_came_to_nothing_are_paid_for_too() -> None:
    model = MeteredLLM(ScriptedLLM(lambda _: "no object"))
    with measured() as meter, pytest.raises(LLMReplyError):
        model.complete(REQUEST)
    assert meter.total.requests == 2  # asked, and asked again for the right form
    with measured() as meter, pytest.raises(LLMReplyError):
        asyncio.run(model.complete_async(REQUEST))
    assert meter.total.requests == 2
