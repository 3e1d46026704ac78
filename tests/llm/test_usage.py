from __future__ import annotations

from decimal import Decimal

from kgtable.llm.usage import Usage, UsageMeter, price, shipped_prices


def test_what_is_unknown_stays_unknown() -> None:
    total = Usage(1, 10, 5, Decimal("0.1")) + Usage(1, None, 5, None)
    assert total == Usage(2, None, 10, None)
    assert total.to_json() == {
        "requests": 2,
        "prompt_tokens": None,
        "completion_tokens": 10,
        "cost_usd": None,
    }


def test_stages_are_counted_apart_and_together() -> None:
    meter = UsageMeter()
    meter.add("labels", Usage(1, 10, 2, Decimal("0.25")))
    meter.add("answer", Usage(1, 20, 3, Decimal("0.5")))
    meter.add("answer", Usage(1, 1, 1, Decimal(0)))
    assert meter.stages["answer"] == Usage(2, 21, 4, Decimal("0.5"))
    found = meter.to_json()
    assert (found["requests"], found["prompt_tokens"], found["cost_usd"]) == (3, 31, 0.75)
    assert list(found["stages"]) == ["labels", "answer"]


def test_prices_are_positive_and_found_under_dated_names() -> None:
    assert all(rates["input"] > 0 and rates["output"] > 0 for rates in shipped_prices().values())
    assert (
        price("gpt-4o-mini-2024-07-18", 1000, 1000) == price("gpt-4o-mini", 1000, 1000) == Decimal("0.00075")
    )


def test_no_price_is_guessed() -> None:
    assert price("gpt-9", 1, 1) is None
    assert price("gpt-4o", None, 1) is None
    assert price("gpt-4o", 1, 1, shipped=False) is None
    assert price("gpt-4o", 1, 1, own={"gpt-4o": {"input": 1.0}}) is None
