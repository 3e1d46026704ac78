"""What a run has used, by stage: requests, tokens and dollars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kgtable.evaluation.records import Record

Used = dict[str, Any]
_COUNTED = ("requests", "prompt_tokens", "completion_tokens", "cost_usd")


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> Used:
    """Two usages together, as `UsageMeter.to_json` gives them; what is not known of either stays None.

    >>> added({"requests": 1, "cost_usd": 0.5}, {"requests": 1, "cost_usd": None})["cost_usd"] is None
    True
    """
    stages = [usage.get("stages", {}) for usage in (one, other)]
    names = dict.fromkeys((*stages[0], *stages[1]))
    return _sum(one, other) | {
        "stages": {name: _sum(stages[0].get(name, {}), stages[1].get(name, {})) for name in names}
    }


def spent(records: Iterable[Record]) -> Used:
    """Requests, tokens and dollars of all records, and of each stage under ``stages``."""
    total: Used = {**dict.fromkeys(_COUNTED, 0), "stages": {}}
    for record in records:
        if record.usage.get("requests"):
            total = added(total, record.usage)
    return total


def _sum(one: Mapping[str, Any], other: Mapping[str, Any]) -> Used:
    pairs = {name: (one.get(name, 0), other.get(name, 0)) for name in _COUNTED}
    return {name: None if a is None or b is None else a + b for name, (a, b) in pairs.items()}
