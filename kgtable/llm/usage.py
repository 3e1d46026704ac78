"""Tokens and cost by stage; what is not known stays unknown."""

from __future__ import annotations

import re
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

PRICES_FILE = Path(__file__).with_name("prices.toml")
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests sent, tokens read and written, cost in US dollars; None where it is not known."""

    requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: Decimal | None = Decimal(0)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; the cost as a number of dollars."""
        return {
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost_usd": None if self.cost is None else float(self.cost),
        }


class UsageMeter:
    """Usage by stage, added up from any number of threads."""

    def __init__(self) -> None:
        self._stages: dict[str, Usage] = {}
        self._lock = threading.Lock()

    def add(self, stage: str, usage: Usage) -> None:
        """Add `usage` to `stage`."""
        with self._lock:
            self._stages[stage] = self._stages.get(stage, Usage()) + usage

    @property
    def stages(self) -> dict[str, Usage]:
        """A copy of what each stage used so far."""
        with self._lock:
            return dict(self._stages)

    @property
    def total(self) -> Usage:
        """All stages together."""
        return sum(self.stages.values(), Usage())

    def to_json(self) -> dict[str, Any]:
        """The total, and each stage under ``stages``."""
        return self.total.to_json() | {"stages": {name: used.to_json() for name, used in self.stages.items()}}


def price(
    model: str,
    prompt: int | None,
    completion: int | None,
    *,
    own: Mapping[str, Mapping[str, float]] | None = None,
    shipped: bool = True,
) -> Decimal | None:
    """What the tokens cost in US dollars, or None where the model's price or a count is not known.

    `own` are prices per million tokens, ``{model: {"input", "output"}}``; they go before the shipped
    table's, which is consulted where `shipped`.

    >>> price("gpt-4o-2024-08-06", 1_000_000, 0)
    Decimal('2.5')
    >>> price("some-local-model", 10, 10) is None
    True
    """
    table = {**(shipped_prices() if shipped else {}), **(own or {})}
    rates = table.get(model) or table.get(_DATED.sub("", model))
    if not rates or prompt is None or completion is None:
        return None
    if "input" not in rates or "output" not in rates:
        return None
    spent = prompt * Decimal(str(rates["input"])) + completion * Decimal(str(rates["output"]))
    return (spent / _MILLION).normalize()


@cache
def shipped_prices() -> dict[str, Mapping[str, float]]:
    """The shipped price table: US dollars per million tokens."""
    found: dict[str, Mapping[str, float]] = tomllib.loads(PRICES_FILE.read_text(encoding="utf-8"))["models"]
    return found


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
