"""An evaluation from start to end: connect models, run the questions, write the result."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kgtable.config import NO_MODEL, Settings
from kgtable.errors import BenchmarkError, LLMError, LLMPendingError, UsageError
from kgtable.evaluation.evaluated_systems import (
    Answerer,
    System,
    model_answerer,
    rule_answerer,
    solver_answerer,
)
from kgtable.evaluation.run import Run, RunProgress, Stages, execute, quiet
from kgtable.evaluation.run_plan import RunPlan
from kgtable.evaluation.summary import result_json
from kgtable.graph.table_source import TableReader
from kgtable.llm import connect
from kgtable.llm.conversation import completion_of, raw_results, write_batch
from kgtable.llm.protocol import LLM, Completion, MeteredLLM, OnText, Request
from kgtable.storage import storage_errors, whole_file
from kgtable.systems.methods import make_solver

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph


_ID_LENGTH = 40


class BatchLLM:
    """Replies from batch results; collects the requests that have no result yet.

    Raises `LLMReplyError` for an invalid result file.
    """

    def __init__(self, model: str, results: Sequence[Path] = ()) -> None:
        self.model = model
        self.pending: dict[str, Request] = {}
        self._results: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()
        for path in results:
            with storage_errors(path):
                self._results.update(raw_results(path))

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """The reply in the results. Raises `LLMPendingError` if there is none, or its `LLMError`."""
        identity = request.fingerprint(self.model, "batch:")[:_ID_LENGTH]
        result = self._results.get(identity)
        if result is None:
            with self._lock:
                self.pending[identity] = request
            raise LLMPendingError("This request waits for the batch.")
        outcome = completion_of(identity, dict(result), request)
        if isinstance(outcome, LLMError):
            raise outcome
        if on_text is not None:
            on_text(outcome.text)
        return outcome

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """`complete` for async code."""
        return self.complete(request, on_text=on_text)

    def close(self) -> None:
        """Nothing to close."""

    def export(self, path: Path) -> int:
        """Write the pending requests as OpenAI Batch JSONL, in a stable order; returns their number."""
        with storage_errors(path):
            return write_batch(sorted(self.pending.items()), self.model, path)


@dataclass(frozen=True)
class Batches:
    """Files of a batch run: results to read, and the file for requests still to be sent."""

    results: tuple[Path, ...] = ()
    export: Path | None = None

    @property
    def used(self) -> bool:
        """Whether the run uses batches at all."""
        return bool(self.results or self.export)


@dataclass
class Models:
    """The models of a run by name, each connected once; usage is counted by stage.

    Replies are kept in the user's cache, unless the settings say ``off`` or name a file.
    """

    settings: Settings
    batches: Batches = field(default_factory=Batches)
    connected: dict[str, MeteredLLM] = field(default_factory=dict)
    batching: dict[str, BatchLLM] = field(default_factory=dict)

    @property
    def reachable(self) -> bool:
        """Whether a default model is configured."""
        return self.settings.uses_llm or self.batches.used

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
        if self.batches.used:
            return self.batching.setdefault(name, BatchLLM(name, self.batches.results))
        cache = self.settings.llm_cache or "on"
        found = connect(replace(self.settings, model=name, llm_cache=cache))
        if found is None:
            raise UsageError(
                "This run needs a language model, and none is configured.",
                hint="Set OPENAI_API_KEY, or KGTABLE_BASE_URL and KGTABLE_MODEL.",
            )
        return found

    def pending(self) -> dict[str, BatchLLM]:
        """The models with unsent requests, by name."""
        return {name: llm for name, llm in self.batching.items() if llm.pending}


def evaluate(
    kg: KnowledgeGraph,
    plan: RunPlan,
    settings: Settings,
    *,
    batches: Batches | None = None,
    keep: Path | None = None,
    resume: bool = False,
    progress: RunProgress = quiet,
) -> Run | int:
    """Run a plan; returns the run, or the number of requests written for a batch.

    See `run.execute` for `keep`, `resume` and further errors.

    Raises `UsageError` if a model is needed and none is configured, or if a batch would need several models,
    and `BenchmarkError` if batch results lack replies and there is no file to write the requests to.
    """
    models = Models(settings, batches or Batches())
    plan = plan.settled(settings, reachable=models.reachable)
    guides = {s.name: models.get(s.model) for s in plan.systems if plan.asks_in_retrieval(s)}
    judge = models.get(None) if plan.judge else None
    if plan.answers:
        for system in plan.systems:
            models.answering(system)
    if models.batches.used and len(models.connected) > 1:
        raise UsageError("A batch holds the requests of one model.", hint="Run one model at a time.")
    with TemporaryDirectory(prefix="kgtable-eval-") as scratch:
        stages = Stages(
            kg,
            plan,
            _answerers(kg, plan, settings, models),
            judge=judge,
            guides=guides,
            prompts=_prompts(kg, plan, settings),
            scratch=Path(scratch),
        )
        workers = settings.concurrency if models.connected and not plan.scaling else 1
        run = execute(kg, plan, stages, workers=workers, keep=keep, resume=resume, progress=progress)
    waiting = models.pending()
    if not waiting:
        return run
    (llm,) = waiting.values()
    if models.batches.export is None:
        raise BenchmarkError(
            f"{len(llm.pending):,} requests have no reply in the batch results.",
            hint="Write them with --batch-export, send them, and import those results too.",
        )
    return llm.export(models.batches.export)


def _answerers(
    kg: KnowledgeGraph, plan: RunPlan, settings: Settings, models: Models
) -> Callable[[System], Answerer]:
    prompts = _prompts(kg, plan, settings)

    def make(system: System) -> Answerer:
        return prompts(system, models.answering(system))

    return make


def _prompts(
    kg: KnowledgeGraph, plan: RunPlan, settings: Settings
) -> Callable[[System, LLM | None], Answerer]:
    """What makes the answerer of a system with a model, or with none."""
    source = TableReader(kg.store, kg.names)

    def make(system: System, llm: LLM | None) -> Answerer:
        solver = make_solver(system.method, kg.retrievers, source) if system.retrieves else None
        if solver is not None:
            return solver_answerer(solver, source, llm)
        if llm is None:
            return rule_answerer(source, lambda: kg.relations)
        return model_answerer(system, llm, source, settings, plan.temperature)

    return make


def write_result(run: Run, path: Path) -> None:
    """Write the result as JSON, atomically. Raises `StorageError`."""
    with whole_file(path) as file:
        text = json.dumps(result_json(run), ensure_ascii=False, indent=1)
        file.write(text.encode("utf-8", "surrogatepass") + b"\n")


def read_result(path: Path) -> Mapping[str, Any]:
    """Read a result written by `write_result`. Raises `UsageError` for any other file."""
    with storage_errors(path):
        content = path.read_bytes()
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON.", hint="Give a file written by --json.") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path} is not a result of kgtable eval.", hint="Give a file written by --json.")
    return found
