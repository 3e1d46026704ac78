"""Estimate the cost of a run from a sample of its prompts; no request is sent."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from kgtable.answering.prompting import estimate_tokens
from kgtable.config import Settings
from kgtable.errors import LLMPendingError, LLMReplyError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.evaluated_systems import System, judge_request, model_answerer
from kgtable.evaluation.run import Stages
from kgtable.evaluation.run_plan import RunPlan
from kgtable.evaluation.scoring import asked
from kgtable.graph.table_source import TableReader
from kgtable.llm.protocol import Completion, OnText, Request, price
from kgtable.tables.linearize import TableFormat

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph


SAMPLE = 20
REPLY_TOKENS: Mapping[str, int] = {"schema": 250, "labels": 40, "rerank": 30, "answer": 150, "judge": 50}
"""How long the replies of each stage are taken to be: about what the reply objects come to."""

PER_TABLE = "schema"
"""The stage that asks once a table, before any question; every one of its requests is prepared."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests, tokens and dollars of one stage with one model; dollars are None if the price is unknown."""

    model: str
    stage: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None

    def __str__(self) -> str:
        money = "its price is not known" if self.cost is None else f"about ${self.cost:.2f}"
        return (
            f"{self.model}, {self.stage}: {self.requests:,} requests, about {self.prompt_tokens:,} prompt "
            f"tokens and {self.completion_tokens:,} completion tokens, {money}"
        )


@dataclass
class CountedLLM:
    """Counts the requests of each stage instead of sending them."""

    model: str
    requests: dict[str, list[Request]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """Count a request. Raises `LLMPendingError` for once-per-table requests, else `LLMReplyError`."""
        with self._lock:
            self.requests[request.stage].append(request)
        if request.stage == PER_TABLE:
            raise LLMPendingError("Nothing is asked while the cost is estimated.")
        raise LLMReplyError("Nothing is asked while the cost is estimated.")

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """`complete` for async code."""
        return self.complete(request, on_text=on_text)

    def close(self) -> None:
        """Nothing to close."""


def estimate(kg: KnowledgeGraph, plan: RunPlan, settings: Settings) -> list[Estimate]:
    """Estimates for each model and stage; empty if the plan uses no model.

    Up to `SAMPLE` questions of each system are retrieved and prepared, and their prompts counted. It is
    assumed that a model is available and that no reply is cached.
    """
    plan = plan.settled(settings, reachable=True)
    found: dict[tuple[str, str], Estimate] = {}
    for system in plan.systems:
        for part in _of_system(kg, plan, system, settings):
            before = found.get((part.model, part.stage))
            found[part.model, part.stage] = part if before is None else _together(before, part, settings)
    return list(found.values())


def _of_system(kg: KnowledgeGraph, plan: RunPlan, system: System, settings: Settings) -> Iterator[Estimate]:
    guided = plan.asks_in_retrieval(system)
    if not (guided or plan.answers):
        return
    count = len(plan.questions)
    sample = plan.questions[:: max(1, count // SAMPLE)][:SAMPLE]
    llm = CountedLLM(system.model or settings.model)
    tables = TableReader(kg.store, kg.names)
    stages = Stages(
        kg,
        replace(plan, questions=sample, judge=False),
        lambda asking: model_answerer(asking, llm, tables, settings),
        guides={system.name: llm} if guided else {},
    )
    try:
        stages.prepare(system)
    except LLMPendingError:  # the template stands in for what the model would write
        system = replace(system, format=TableFormat.SCHEMA)
        stages.prepare(system)
    for question in sample:
        stages.record(system, question)
    for stage, requests in llm.requests.items():
        asked_once = stage == PER_TABLE
        times = len(requests) if asked_once else math.ceil(count * len(requests) / len(sample))
        yield _estimate(llm.model, stage, times, _mean_tokens(requests), settings)
    if plan.judge:
        judging = [_judging(question) for question in sample]
        yield _estimate(settings.model, "judge", count, _mean_tokens(judging), settings)


def _estimate(model: str, stage: str, requests: int, tokens: float, settings: Settings) -> Estimate:
    prompt, completion = round(requests * tokens), requests * REPLY_TOKENS[stage]
    cost = price(model, prompt, completion, own=settings.prices, shipped=settings.endpoint.is_openai)
    return Estimate(model, stage, requests, prompt, completion, cost)


def _together(one: Estimate, other: Estimate, settings: Settings) -> Estimate:
    requests = one.requests + other.requests
    tokens = (one.prompt_tokens + other.prompt_tokens) / requests
    return _estimate(one.model, one.stage, requests, tokens, settings)


def _judging(question: BenchmarkQuestion) -> Request:
    """A judge request in which the gold answer stands for an answer of its length."""
    return judge_request(asked(question), question.answers, "", "; ".join(question.answers))


def _mean_tokens(requests: list[Request]) -> float:
    tokens = [sum(estimate_tokens(m["content"]) for m in request.messages) for request in requests]
    return sum(tokens) / len(tokens) if tokens else 0.0
