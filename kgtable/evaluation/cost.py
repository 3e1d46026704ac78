"""What a run would cost, before it is run: a sample is prepared, nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from kgtable.answering.graph_tables import GraphTables
from kgtable.answering.tokens import estimate_tokens
from kgtable.config import Settings
from kgtable.evaluation.answers import model_answerer
from kgtable.evaluation.batching import BatchLLM
from kgtable.evaluation.benchmark import Question
from kgtable.evaluation.judge import judge_request
from kgtable.evaluation.plan import Plan
from kgtable.evaluation.scoring import asked
from kgtable.evaluation.stages import Stages
from kgtable.llm.protocol import Request
from kgtable.llm.usage import price

if TYPE_CHECKING:
    from kgtable.api import KnowledgeGraph

SAMPLE = 20
REPLY_TOKENS: Mapping[str, int] = {"answer": 150, "judge": 50}
"""How long replies are taken to be: about what the reply objects come to with short answers."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and tokens of a run, and dollars, None where the model's price is not known."""

    model: str
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None

    def __str__(self) -> str:
        money = "its price is not known" if self.cost is None else f"about ${self.cost:.2f}"
        return (
            f"{self.model}: {self.requests:,} requests, about {self.prompt_tokens:,} prompt tokens and "
            f"{self.completion_tokens:,} completion tokens, {money}"
        )


def estimate(kg: KnowledgeGraph, plan: Plan, settings: Settings) -> list[Estimate]:
    """One estimate a model; none where the plan asks no model.

    Up to `SAMPLE` questions of each system are retrieved and prepared, and their prompts counted.
    """
    if not plan.answers:
        return []
    found: dict[str, Estimate] = {}
    for system in plan.systems:
        model = system.model or settings.model
        collected = BatchLLM(model)
        tables = GraphTables(kg.store, kg.names)
        sample = plan.questions[:: max(1, len(plan.questions) // SAMPLE)][:SAMPLE]
        part = replace(plan, questions=sample, systems=(system,), judge=False)
        stages = Stages(kg, part, lambda s, c=collected, t=tables: model_answerer(s, c, t, settings))  # type: ignore[misc]
        stages.prepare(system)
        for question in sample:
            stages.record(system, question)
        answers = _mean_tokens(list(collected.pending.values()))
        judged = _mean_tokens([_judging(question) for question in sample]) if plan.judge else 0
        count = len(plan.questions)
        prompt = count * (answers + judged)
        completion = count * (REPLY_TOKENS["answer"] + (REPLY_TOKENS["judge"] if plan.judge else 0))
        known = found.get(model, Estimate(model, 0, 0, 0, Decimal(0)))
        prompt, completion = known.prompt_tokens + prompt, known.completion_tokens + completion
        cost = price(model, prompt, completion, own=settings.prices, shipped=settings.endpoint.is_openai)
        requests = known.requests + count * (2 if plan.judge else 1)
        found[model] = Estimate(model, requests, prompt, completion, cost)
    return list(found.values())


def _judging(question: Question) -> Request:
    """A request to judge, with the gold standing for an answer of its length."""
    return judge_request(asked(question), question.answers, "", "; ".join(question.answers))


def _mean_tokens(requests: list[Request]) -> int:
    tokens = [sum(estimate_tokens(m["content"]) for m in request.messages) for request in requests]
    return round(sum(tokens) / len(tokens)) if tokens else 0
