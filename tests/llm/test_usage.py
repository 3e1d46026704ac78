from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from kgtable.llm.protocol import MeteredLLM, Request, Usage, measured, price, shipped_prices
from kgtable.llm.scripted import ScriptedLLM

OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
REQUEST = Request(({"role": "user", "content": "?"},), schema=OBJECT, stage="labels")


def test_usage_is_counted_by_stage_and_only_inside() -> None:
    model = MeteredLLM(ScriptedLLM(lambda _: {"a": 1}))
    model.complete(REQUEST)
    with measured() as meter:
        model.complete(REQUEST)
        model.complete(REQUEST)
    assert {stage: used.requests for stage, used in meter.stages.items()} == {"labels": 2}


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

    expected = [{str(number): number} for number in range(1, 6)]
    with ThreadPoolExecutor(5) as pool:
        assert list(pool.map(ask, range(1, 6))) == expected


def test_what_is_unknown_stays_unknown() -> None:
    total = Usage(1, 10, 5, Decimal("0.1")) + Usage(1, None, 5, None)
    assert total == Usage(2, None, 10, None)
    assert total.to_json() == {"requests": 2, "prompt_tokens": None, "completion_tokens": 10, "cost_usd": None}


def test_prices_are_positive_and_found_under_dated_names() -> None:
    assert all(rates["input"] > 0 and rates["output"] > 0 for rates in shipped_prices().values())
    assert price("gpt-4o-mini-2024-07-18", 1000, 1000) == price("gpt-4o-mini", 1000, 1000) == Decimal("0.00075")


def test_no_price_is_guessed() -> None:
    assert price("gpt-9", 1, 1) is None
    assert price("gpt-4o", None, 1) is None
    assert price("gpt-4o", 1, 1, shipped=False) is None
    assert price("gpt-4o", 1, 1, own={"gpt-4o": {"input": 1.0}}) is None
