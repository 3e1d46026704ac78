"""Execute a run: every question under every system, in parallel, recorded as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgtable.errors import LLMError, LLMPendingError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.evaluated_systems import System
from kgtable.evaluation.records import PREPARATION, Record, RecordFile, added, spent
from kgtable.evaluation.run_plan import RunPlan, graph_state
from kgtable.evaluation.scoring import ranking_scores
from kgtable.evaluation.stages import Stages

if TYPE_CHECKING:
    from kgtable.api import KnowledgeGraph


STOP_AFTER = 5
"""So many questions in a row that the endpoint failed, and the run stops to be resumed later."""

Progress = Callable[[str, int, int, float | None], None]
"""Told the system's name, questions done, questions in all, and the dollars so far (None: not known)."""


def quiet(system: str, done: int, total: int, dollars: float | None) -> None:
    """No-op progress callback."""


@dataclass(frozen=True)
class Run:
    """Results of a run: records ordered by system and question.

    `preparations` hold the work done before the first question of a system.
    """

    plan: RunPlan
    records: tuple[Record, ...]
    preparations: tuple[Record, ...] = ()

    def of(self, system: System) -> tuple[Record, ...]:
        """The records of one system, in the order of the questions."""
        return tuple(record for record in self.records if record.system == system.name)

    def with_preparation(self, system: System) -> tuple[Record, ...]:
        """The records of one system, its preparation first."""
        return tuple(r for r in self.preparations if r.system == system.name) + self.of(system)


def execute(
    kg: KnowledgeGraph,
    plan: RunPlan,
    stages: Stages,
    *,
    workers: int = 1,
    keep: Path | None = None,
    resume: bool = False,
    progress: Progress = quiet,
) -> Run:
    """Execute the plan; `keep` is the file that holds the records until the caller has saved the result.

    With `resume`, questions that `keep` holds are not repeated, except those that failed at the endpoint.

    Raises `LLMError` if the endpoint keeps failing, `StorageError` if records cannot be written, and
    `UsageError` if `keep` exists or belongs to another run.
    """
    if keep is None:
        return _run(plan, list(_records(plan, stages, {}, workers, progress, _forget)))
    file = RecordFile(keep, plan.fingerprint(graph_state(kg)))
    with closing(file):
        done: list[Record] = file.resume() if resume else []
        if not resume:
            file.start()
        known = {(record.system, record.question): record for record in done}
        found = list(_records(plan, stages, known, workers, progress, file.add))
    return _run(plan, found)


def _run(plan: RunPlan, found: Sequence[Record]) -> Run:
    preparations = tuple(record for record in found if record.question == PREPARATION)
    return Run(plan, _ranked(plan, [r for r in found if r.question != PREPARATION]), preparations)


def _forget(record: Record) -> None:
    """No-op record callback."""


def _records(
    plan: RunPlan,
    stages: Stages,
    known: Mapping[tuple[str, str], Record],
    workers: int,
    progress: Progress,
    keep: Callable[[Record], None],
) -> Iterator[Record]:
    dollars = spent(known.values())["cost_usd"]
    for system in plan.systems:
        kept = {q.id: known[system.name, q.id] for q in plan.questions if (system.name, q.id) in known}
        todo = [question for question in plan.questions if question.id not in kept]
        prepared = known.get((system.name, PREPARATION))
        if todo:
            try:
                now = stages.prepare(system)
            except LLMPendingError:
                continue
            dollars = _dollars(dollars, now)
            prepared = _prepared_again(prepared, now)
            keep(prepared)
        broken = 0
        progress(system.name, len(kept), len(plan.questions), dollars)
        for record in _in_parallel(lambda q, s=system: stages.record(s, q), todo, workers):  # type: ignore[misc]
            if record is None:
                continue
            keep(record)
            kept[record.question] = record
            dollars = _dollars(dollars, record)
            progress(system.name, len(kept), len(plan.questions), dollars)
            if record.to_be_tried_again:
                broken += 1
            elif record.usage.get("requests"):  # one that asked nothing tells nothing of the endpoint
                broken = 0
            if broken >= STOP_AFTER:
                failure = next(failure for failure in record.failures if failure.passing)
                raise LLMError(
                    f"The model failed {STOP_AFTER} questions in a row, the last being {record.question}: "
                    f"{failure.message} {len(kept)} of {len(plan.questions)} questions were reached.",
                    hint="When the model is available again, repeat the command with --resume.",
                )
        if prepared is not None:
            yield prepared
        yield from (kept[question.id] for question in plan.questions if question.id in kept)


def _dollars(total: float | None, record: Record) -> float | None:
    more = record.usage.get("cost_usd", 0.0)
    return None if total is None or more is None else total + more


def _prepared_again(before: Record | None, now: Record) -> Record:
    """The preparation of a resumed run, with the usage of the earlier one added."""
    return now if before is None else replace(now, usage=added(before.usage, now.usage))


def _in_parallel(
    work: Callable[[BenchmarkQuestion], Record | None], questions: Sequence[BenchmarkQuestion], workers: int
) -> Iterator[Record | None]:
    """Results as they arrive; only a few questions are started ahead."""
    pool = ThreadPoolExecutor(workers)
    try:
        begun: set[Future[Record | None]] = set()
        for question in questions:
            begun.add(pool.submit(work, question))
            if len(begun) >= 2 * workers:
                ended, begun = wait(begun, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in ended)
        while begun:
            ended, begun = wait(begun, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ended)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _ranked(plan: RunPlan, records: Sequence[Record]) -> tuple[Record, ...]:
    """The records with ranking metrics, which are computed over all questions of a system at once."""
    done: list[Record] = []
    for system in plan.systems:
        own = [record for record in records if record.system == system.name]
        asked = {record.question for record in own}
        questions = [question for question in plan.questions if question.id in asked]
        if not any(record.scores for record in own) or not system.retrieves:
            done += own
            continue
        scores = ranking_scores(questions, {record.question: record.tables for record in own})
        done += [replace(r, scores={**r.scores, **scores.get(r.question, {})}) for r in own]
    return tuple(done)
