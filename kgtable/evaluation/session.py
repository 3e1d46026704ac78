"""An evaluation from start to end: estimate its cost, connect models, run the questions, write the result."""

from __future__ import annotations

import json
import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kgtable.config import NO_MODEL, Settings
from kgtable.errors import LLMReplyError, UsageError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.run import Run, RunProgress, Stages, execute, quiet
from kgtable.evaluation.run_plan import (
    Answerer,
    RunPlan,
    System,
    judge_request,
    model_answerer,
    rule_answerer,
    solver_answerer,
)
from kgtable.evaluation.scoring import asked
from kgtable.evaluation.summary import result_json
from kgtable.graph.table_source import TableReader
from kgtable.llm import connect
from kgtable.llm.protocol import LLM, Completion, MeteredLLM, OnText, Request, price, prompt_tokens
from kgtable.retrieval.table_texts import STAGE as SCHEMA
from kgtable.retrieval.table_texts import WRITTEN_SCHEMA, schema_request
from kgtable.storage import output_file
from kgtable.systems.methods import make_solver
from kgtable.tables.linearize import TableFormat

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph


@dataclass
class Models:
    """The models of a run by name, each connected once; usage is counted by stage.

    Replies are kept in the user's cache, unless the settings say ``off`` or name a file.
    """

    settings: Settings
    connected: dict[str, MeteredLLM] = field(default_factory=dict)

    @property
    def reachable(self) -> bool:
        """Whether a default model is configured."""
        return self.settings.uses_llm

    def get(self, name: str | None) -> LLM:
        """The model of this name; None means the default. Raises `UsageError` if it is not configured."""
        wanted = name or self.settings.model
        if wanted not in self.connected:
            self.connected[wanted] = MeteredLLM(self._connect(wanted))
        return self.connected[wanted]

    def answering(self, system: System) -> LLM | None:
        """The model of a system, or None if rules answer because none is configured, or ``none`` is named."""
        without = system.model == NO_MODEL or (system.model is None and not self.reachable)
        return None if without and system.retrieves else self.get(system.model)

    def _connect(self, name: str) -> LLM:
        cache = self.settings.llm_cache or "on"
        found = connect(replace(self.settings, model=name, llm_cache=cache))
        if found is None:
            raise UsageError(
                "This run needs a language model, and none is configured.",
                hint="Set OPENAI_API_KEY, or KGTABLE_BASE_URL and KGTABLE_MODEL.",
            )
        return found


def evaluate(
    kg: KnowledgeGraph,
    plan: RunPlan,
    settings: Settings,
    *,
    keep: Path | None = None,
    resume: bool = False,
    progress: RunProgress = quiet,
) -> Run:
    """Run a plan. See `run.execute` for `keep`, `resume` and further errors.

    Raises `UsageError` if a model is needed and none is configured.
    """
    models = Models(settings)
    plan = plan.settled(settings, reachable=models.reachable)
    guides = {s.name: models.get(s.model) for s in plan.systems if plan.asks_in_retrieval(s)}
    judge = models.get(None) if plan.judge else None
    if plan.answers:
        for system in plan.systems:
            models.answering(system)
    prompts = _prompts(kg, plan, settings)
    with TemporaryDirectory(prefix="kgtable-eval-") as scratch:
        stages = Stages(
            kg,
            plan,
            lambda system: prompts(system, models.answering(system)),
            judge=judge,
            guides=guides,
            prompts=prompts,
            scratch=Path(scratch),
        )
        workers = settings.concurrency if models.connected and not plan.scaling else 1
        return execute(kg, plan, stages, workers=workers, keep=keep, resume=resume, progress=progress)


def _prompts(kg: KnowledgeGraph, plan: RunPlan, settings: Settings) -> Callable[[System, LLM | None], Answerer]:
    """What makes the answerer of a system with a model, or with none."""
    source = TableReader(kg.store, kg.names)

    def _for_system(system: System) -> Settings:
        return replace(
            settings,
            prompt=system.prompt or settings.prompt,
            presentation=system.presentation or settings.presentation,
            temperature=settings.temperature if plan.temperature is None else plan.temperature,
        )

    def make(system: System, llm: LLM | None) -> Answerer:
        solver = make_solver(system.method, kg.retrievers, source, _for_system(system)) if system.retrieves else None
        if solver is not None:
            return solver_answerer(solver, source, llm)
        if llm is None:
            return rule_answerer(source, lambda: kg.relations)
        return model_answerer(system, llm, source, settings, plan.temperature)

    return make


def write_result(run: Run, path: Path) -> None:
    """Write the result as JSON, atomically. Raises `StorageError`."""
    with output_file(path) as file:
        text = json.dumps(result_json(run), ensure_ascii=False, indent=1)
        file.write(text.encode("utf-8", "surrogatepass") + b"\n")


SAMPLE = 20
"""Questions whose prompts are counted for the estimate of a system's cost."""

REPLY_TOKENS: Mapping[str, int] = {"schema": 250, "labels": 40, "rerank": 30, "answer": 150, "judge": 50}
"""How long the replies of each stage are taken to be: about what the reply objects come to."""


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
    """Stand-in for a model that counts the requests of each stage instead of sending them."""

    model: str
    requests: dict[str, list[Request]] = field(default_factory=lambda: defaultdict(list))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """Count a request. Raises `LLMReplyError`, for which a template or the rules stand in."""
        with self._lock:
            self.requests[request.stage].append(request)
        raise LLMReplyError("Nothing is asked while the cost is estimated.")

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
    if system.format == WRITTEN_SCHEMA:
        requests = [schema_request(tables.read(id)) for id in kg.catalogue.tables]
        yield _estimate(llm.model, SCHEMA, len(requests), _mean_tokens(requests), settings)
        system = replace(system, format=TableFormat.SCHEMA.value)  # stands in for what the model would write
    stages = Stages(
        kg,
        replace(plan, questions=sample, judge=False),
        lambda asking: model_answerer(asking, llm, tables, settings),
        guides={system.name: llm} if guided else {},
    )
    stages.prepare(system)
    for question in sample:
        stages.record(system, question)
    for stage, requests in llm.requests.items():
        times = math.ceil(count * len(requests) / len(sample))
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
    tokens = [prompt_tokens(request) for request in requests]
    return sum(tokens) / len(tokens) if tokens else 0.0
