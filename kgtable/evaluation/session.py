"""An evaluation from start to end: estimate its cost, connect models, run the questions, write the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import answer_by_rules
from kgtable.config import NO_MODEL, Settings
from kgtable.errors import UsageError
from kgtable.evaluation.records import Record, Used, added, spent, times
from kgtable.evaluation.run import Run, RunProgress, Stages, execute, quiet
from kgtable.evaluation.run_plan import (
    Answerer,
    RunPlan,
    System,
    judge_request,
    model_answerer,
    solver_answerer,
)
from kgtable.evaluation.scoring import asked
from kgtable.evaluation.summary import result_json
from kgtable.graph.table_source import TableReader
from kgtable.llm import connect
from kgtable.llm.protocol import LLM, MeteredLLM, measured, price
from kgtable.llm.scripted import ScriptedLLM
from kgtable.storage import output_file
from kgtable.systems.methods import make_solver

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
        """Whether a default model is configured, or none is asked."""
        return self.settings.uses_llm or self.settings.dry_run

    def get(self, name: str | None) -> LLM:
        """The model of this name; None means the default. Raises `UsageError` if it is not configured."""
        wanted = name or self.settings.model
        if wanted not in self.connected:
            settings = self.settings
            pricing = partial(price, own=settings.prices, shipped=settings.endpoint.is_openai)
            model = ScriptedLLM((), model=wanted) if settings.dry_run else self._connect(wanted)
            self.connected[wanted] = MeteredLLM(model, pricing, dry_run=settings.dry_run)
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

    def make(system: System, llm: LLM | None) -> Answerer:
        own = replace(
            settings,
            prompt=system.prompt or settings.prompt,
            presentation=system.presentation or settings.presentation,
            temperature=settings.temperature if plan.temperature is None else plan.temperature,
        )
        solver = make_solver(system.method, kg.retrievers, source, own) if system.retrieves else None
        if solver is not None:
            return solver_answerer(solver, source, llm)
        if llm is None:
            return lambda found: answer_by_rules(Evidence(found, source, lambda: kg.relations))
        return model_answerer(system, llm, source, settings, plan.temperature)

    return make


def write_result(run: Run, path: Path) -> None:
    """Write the result as JSON, atomically. Raises `StorageError`."""
    with output_file(path) as file:
        text = json.dumps(result_json(run), ensure_ascii=False, indent=1)
        file.write(text.encode("utf-8", "surrogatepass") + b"\n")


SAMPLE = 20
"""Number of questions whose prompts are counted to estimate a run's cost."""


def estimate(kg: KnowledgeGraph, plan: RunPlan, settings: Settings) -> Used:
    """The maximum usage of a run, in the form of `spent`; nothing is sent.

    Up to `SAMPLE` questions are retrieved and their prompts made, with replies as long as the requests allow. It is
    assumed that a model is available and that no reply is cached.
    """
    count = len(plan.questions)
    sample = plan.questions[:: max(1, count // SAMPLE)][:SAMPLE]
    dry = replace(settings, dry_run=True)
    run = evaluate(kg, replace(plan, questions=sample, judge=False), dry)
    with measured() as meter:
        for question in sample if plan.judge else ():  # the gold answer stands for an answer of its length
            request = judge_request(asked(question), question.answers, "", "; ".join(question.answers))
            Models(dry).get(None).complete(request)
    judged = Record("", "", usage=meter.to_json())
    questions = spent((*run.records, *[judged] * len(plan.systems)))
    return added(spent(run.preparations), times(questions, count / len(sample)))
