from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.evaluation.records import added

counts = st.fixed_dictionaries(
    {
        "requests": st.integers(0, 9),
        "prompt_tokens": st.none() | st.integers(0, 999),
        "completion_tokens": st.none() | st.integers(0, 999),
        "cost_usd": st.none() | st.integers(0, 99),
    }
)
usages = st.builds(
    lambda total, stages: {**total, "stages": stages}, counts, st.dictionaries(st.sampled_from("abc"), counts)
)


@settings(max_examples=40)
@given(usages, usages)
def test_what_is_not_known_stays_unknown_and_nothing_is_lost(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    total = added(one, other)
    assert total == {**added(other, one), "stages": total["stages"]}
    for name in ("requests", "prompt_tokens", "completion_tokens", "cost_usd"):
        parts = (one[name], other[name])
        assert total[name] == (None if None in parts else sum(parts))
    assert set(total["stages"]) == {*one["stages"], *other["stages"]}
    assert added(other, one)["stages"] == total["stages"]


@settings(max_examples=40)
@given(usages, usages, usages)
def test_the_order_of_adding_does_not_matter(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert added(added(a, b), c) == added(a, added(b, c))
