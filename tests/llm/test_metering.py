from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

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


def request(stage: str) -> Request:
    return Request(({"role": "user", "content": "x"},), stage=stage)


def test_inner_blocks_count_for_themselves_and_blocks_are_closed_by_errors() -> None:
    model = MeteredLLM(ScriptedLLM(lambda request: "yes"))
    with measured() as outer:
        with pytest.raises(KeyError), measured() as inner:  # noqa: PT012 - what was asked before counts
            model.complete(request("a"))
            raise KeyError("x")
        model.complete(request("b"))
    assert list(inner.stages) == ["a"]
    assert list(outer.stages) == ["b"]


def test_questions_asked_side_by_side_do_not_mix() -> None:
    model = MeteredLLM(ScriptedLLM(lambda request: "yes"))

    def ask(number: int) -> dict[str, int]:
        with measured() as meter:
            for _ in range(number):
                model.complete(request(str(number)))
        return {stage: used.requests for stage, used in meter.stages.items()}

    async def ask_async(number: int) -> dict[str, int]:
        with measured() as meter:
            for _ in range(number):
                await model.complete_async(request(str(number)))
                await asyncio.sleep(0)
        return {stage: used.requests for stage, used in meter.stages.items()}

    async def all_at_once() -> list[dict[str, int]]:
        return await asyncio.gather(*map(ask_async, range(1, 6)))

    expected = [{str(number): number} for number in range(1, 6)]
    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(ask, range(1, 6))) == expected
    assert asyncio.run(all_at_once()) == expected
