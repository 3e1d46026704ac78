"""Execute a run: every question under every system, in parallel, recorded as it goes.

Stages of a question: retrieve, answer, judge; a stage may fail without ending the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from kgtable.answering.answer import Answer, Status
from kgtable.errors import LLMAuthError, LLMError, LLMRateLimitError, LLMUnreachableError, StorageError
from kgtable.evaluation.benchmark import FIRST_LINE, BenchmarkQuestion
from kgtable.evaluation.records import PREPARATION, Failure, Record, RecordFile, added, spent
from kgtable.evaluation.run_plan import (
    RERANK,
    WEIGHTS,
    Answerer,
    RunPlan,
    System,
    answer_json,
    graph_state,
    judge_request,
)
from kgtable.evaluation.scoring import CUTOFFS, ShownGold, answer_scores, asked, retrieval_scores
from kgtable.llm.protocol import LLM, Completion, OnText, Request, UsageMeter, estimate_tokens, measured
from kgtable.retrieval.registry import Choice
from kgtable.retrieval.result import Retrieval, Retriever, ScoredTable, ScoredTriple
from kgtable.retrieval.table_texts import STAGE as SCHEMA
from kgtable.systems.tablerag.retriever import ShowingRetriever
from kgtable.systems.tablerag.vocabulary import ShownRetrieval

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph


REFUSED = {"labels_refused": "labels", "rerank_refused": "rerank"}
"""The keys of a retrieval's trace for an unusable reply replaced by rules, and the stage of each."""

PASSING = (LLMUnreachableError, LLMAuthError, LLMRateLimitError)
"""Errors that say nothing about the question: a resumed run tries it again."""

LONGEST_MESSAGE = 500
TRIPLES_SHOWN = 5
LONGEST_TRIPLE = 200


class Stages:
    """The stages of a plan over a graph.

    `answerers` make the answerer of a system, `judge` is the judging model, `guides` are the models used in
    retrieval, by system name. Where the plan measures sizes, `prompts` makes the answerer of a system with a given
    model, and `scratch` is an empty folder.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        plan: RunPlan,
        answerers: Callable[[System], Answerer] | None = None,
        *,
        judge: LLM | None = None,
        guides: Mapping[str, LLM] | None = None,
        prompts: Callable[[System, LLM], Answerer] | None = None,
        scratch: Path | None = None,
    ) -> None:
        self._kg, self._plan, self._judge, self._guides = kg, plan, judge, guides or {}
        self._prompts, self._scratch = prompts, scratch
        self._make, self._answerers = answerers, dict[str, Answerer]()
        self._shown = ShownGold(kg.reader.content)

    def prepare(self, system: System) -> Record:
        """Load index and answerer before the first question is timed; returns a record of the preparation.

        Tables whose schema the model did not write are among its failures. Raises a leaf of `LLMError`
        where the model that is to write them cannot be used.
        """
        started = time.perf_counter()
        found = None
        with measured() as meter:
            if system.retrieves:
                retriever = self._retriever(system)
                if isinstance(retriever, ShowingRetriever) and self._plan.oracle_tables:
                    folder = None  # an empty one for the databases of a system whose making is measured
                    if self._plan.scaling and self._scratch is not None:
                        folder = self._scratch / str(self._plan.systems.index(system))
                    retriever.prepare(self._plan.questions[0].text, folder)
                else:
                    found = retriever.retrieve(self._plan.questions[0].text, 1)
            if self._make is not None and self._plan.answers:
                self._answerers[system.name] = self._make(system)
        substitutes = found.trace.get("substitutes", {}) if found else {}
        return Record(
            system=system.name,
            question=PREPARATION,
            failures=tuple(Failure(SCHEMA, "LLMReplyError", s, table=t) for t, s in substitutes.items()),
            ms={"preparation": _ms_since(started)},
            usage=meter.to_json(),
        )

    def record(self, system: System, question: BenchmarkQuestion) -> Record:
        """Process one question."""
        work = _Work(system, question)
        with measured() as meter:
            found = self._retrieve(work)
            if self._plan.scaling:
                self._measure(work, found)
            if self._plan.answers:
                self._answer(work, found)
                if self._plan.judge:
                    self._judged(work)
        return work.record(found, meter)

    def _retrieve(self, work: _Work) -> Retrieval:
        system, question = work.system, work.question
        found = Retrieval(question.text, (), (), method=system.method)
        if not system.retrieves:
            return found
        with work.stage("retrieval"):
            found = self._found(system, question, question.tables if self._of_gold(system, question) else None)
        if self._of_gold(system, question) and work.reached("retrieval"):
            with work.stage("tables"):
                found = replace(found, tables=self._picked(system, question))
        for trace, stage in REFUSED.items():
            if trace in found.trace:
                work.failures.append(Failure(stage, "LLMReplyError", str(found.trace[trace])[:LONGEST_MESSAGE]))
        work.scores |= retrieval_scores(question, found, self._plan.k)
        work.ranked = [table.table for table in found.tables[: CUTOFFS[-1]]]
        if isinstance(found, ShownRetrieval):
            work.scores |= self._shown.scores(question, found)
        return found

    def _of_gold(self, system: System, question: BenchmarkQuestion) -> bool:
        """Whether the system retrieves from the gold tables of a question alone.

        Where those are given, methods that show tables do, and where sizes are measured, all do.
        """
        if not (self._plan.oracle_tables and question.tables):
            return False
        return self._plan.scaling or isinstance(self._retriever(system), ShowingRetriever)

    def _retriever(self, system: System) -> Retriever:
        choice = Choice(system.format, system.embedding)
        return self._kg.retrievers.get(system.method, choice, self._guides.get(system.name))

    def _found(self, system: System, question: BenchmarkQuestion, tables: Sequence[str] | None = None) -> Retrieval:
        """What the system finds, in all tables or in these."""
        return self._kg.retrieve(
            question.text,
            self._plan.k,
            system.method,
            format=system.format,
            embedding=system.embedding,
            llm=self._guides.get(system.name),
            rerank=self._plan.assist_of(system) == RERANK,
            tables=tables,
        )

    def _picked(self, system: System, question: BenchmarkQuestion) -> tuple[ScoredTable, ...]:
        """The tables that the system finds in the whole graph, the best first."""
        retriever = self._retriever(system)
        if isinstance(retriever, ShowingRetriever):
            return retriever.picked(question.text)
        return tuple(self._found(system, question).tables)

    def _measure(self, work: _Work, found: Retrieval) -> None:
        """Measure what the question's first prompt holds, and what was encoded for it."""
        question = work.question
        if self._prompts is None or not question.tables or not work.reached("retrieval"):
            return
        records = (self._kg.catalogue.tables[table] for table in question.tables)
        work.size = {"cells": sum((record.rows - FIRST_LINE) * record.width for record in records)}
        if isinstance(found, ShownRetrieval):
            work.size |= {"encoded": found.encoded, "shown": int(bool(found.shown))}
        probe = PromptProbe()
        with work.stage("prompt"), suppress(PromptMeasured):
            self._prompts(work.system, probe)(replace(found, question=asked(question)))
        if probe.tokens is not None:
            work.size["tokens"] = probe.tokens

    def _answer(self, work: _Work, found: Retrieval) -> None:
        answer = None
        if self._plan.oracle_tables and not isinstance(found, ShownRetrieval):
            found = with_gold_tables(found, work.question.tables)
        if work.reached("retrieval"):
            with work.stage("answer"):
                answer = self._answerers[work.system.name](replace(found, question=asked(work.question)))
        work.answer = answer
        if answer is None:
            work.scores |= answer_scores(work.question, "")
            return
        work.scores |= answer_scores(work.question, answer.text, answer.value) | status_scores(work.question, answer)
        if "rounds" in answer.context:
            work.scores["rounds"] = float(answer.context["rounds"])

    def _judged(self, work: _Work) -> None:
        if work.answer is None or not work.answer.text:
            work.verdict = "none"
        else:
            with work.stage("judge"):
                work.verdict = self._verdict(work, work.answer.text)
        work.scores["judged"] = WEIGHTS.get(work.verdict or "none", 0.0)
        if work.verdict is not None:
            work.scores["agreement"] = float((work.verdict == "exact") == bool(work.scores["match"]))

    def _verdict(self, work: _Work, text: str) -> str:
        assert self._judge is not None
        question = work.question
        gold = ("true" if question.extra["label"] else "false",) if "label" in question.extra else question.answers
        request = judge_request(asked(question), gold, str(question.extra.get("scale") or ""), text)
        return str((self._judge.complete(request).data or {})["verdict"])


STATUSES = (Status.VERIFIED, Status.SURE, Status.LIKELY, Status.SEVERAL)


class _Work:
    """State of a question between stages."""

    def __init__(self, system: System, question: BenchmarkQuestion) -> None:
        self.system, self.question = system, question
        self.scores: dict[str, float] = {}
        self.ranked: list[str] = []
        self.failures: list[Failure] = []
        self.ms: dict[str, float] = {}
        self.size: dict[str, int] = {}
        self.answer: Answer | None = None
        self.verdict: str | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a block; an error becomes a failure of the question."""
        started = time.perf_counter()
        try:
            yield
        except (PromptMeasured, StorageError):
            raise
        except Exception as error:  # a question that breaks a stage counts as wrong and is listed
            passing = isinstance(error, PASSING)
            self.failures.append(Failure(name, type(error).__name__, str(error)[:LONGEST_MESSAGE], passing))
        finally:
            self.ms[name] = _ms_since(started)

    def reached(self, stage: str) -> bool:
        """Whether no stage failed so far."""
        return all(failure.stage != stage for failure in self.failures)

    def record(self, found: Retrieval, meter: UsageMeter) -> Record:
        """The record of the finished question."""
        return Record(
            system=self.system.name,
            question=self.question.id,
            tables=tuple(self.ranked),
            scores=self.scores,
            answer=None if self.answer is None else answer_json(self.answer),
            verdict=self.verdict,
            failures=tuple(self.failures),
            ms=self.ms,
            usage=meter.to_json(),
            prompt="" if self.answer is None else self.answer.prompt,
            triples=tuple(map(_in_words, found.triples[:TRIPLES_SHOWN])),
            size=self.size,
        )


def with_gold_tables(found: Retrieval, tables: Sequence[str]) -> Retrieval:
    """The retrieval as if the gold tables, and no others, had been found."""
    triples = tuple(triple for triple in found.triples if triple.table in tables)
    return replace(found, triples=triples, tables=tuple(ScoredTable(table, 1.0) for table in tables))


def status_scores(question: BenchmarkQuestion, answer: Answer) -> dict[str, float]:
    """Share of answers with each status, share of those that are right, and whether the gold is named at all.

    ``verified``, ``sure``, ``likely`` and ``several`` are shares of all questions; ``verified_right`` and so on
    are there for answers of that status only, so that their mean is a precision. ``named`` is whether
    the answer or one of its alternatives is right.
    """
    right = answer_scores(question, answer.text, answer.value)["match"]
    named = [answer_scores(question, other.text, other.value)["match"] for other in answer.alternatives]
    scores = {status.value: float(answer.status == status) for status in STATUSES}
    if answer.status in STATUSES:
        scores[f"{answer.status.value}_right"] = right
    return {**scores, "named": max([right, *named])}


def _in_words(triple: ScoredTriple) -> str:
    predicate = triple.predicate.replace("#", "/").rpartition("/")[2]
    said = f"{triple.subject} · {predicate} · {triple.object}"[:LONGEST_TRIPLE]
    return f"{triple.table}, row {triple.row + 1}: {said}"


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1e3, 3)


STOP_AFTER = 5
"""Consecutive endpoint failures after which the run stops, to be resumed later."""

RunProgress = Callable[[str, int, int, float | None], None]
"""Called with the system's name, questions done, total questions, and dollars so far (None: unknown)."""


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
    progress: RunProgress = quiet,
) -> Run:
    """Execute the plan; `keep` is the file that holds the records until the caller has saved the result.

    With `resume`, questions that `keep` holds are not repeated, except those that failed at the endpoint.

    Raises `LLMError` if the endpoint keeps failing, `StorageError` if records cannot be written, and
    `UsageError` if `keep` exists or belongs to another run.
    """
    if keep is None:
        return _run(plan, list(_records(plan, stages, {}, workers, progress, lambda record: None)))
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
    return Run(plan, tuple(record for record in found if record.question != PREPARATION), preparations)


def _records(
    plan: RunPlan,
    stages: Stages,
    known: Mapping[tuple[str, str], Record],
    workers: int,
    progress: RunProgress,
    keep: Callable[[Record], None],
) -> Iterator[Record]:
    dollars = spent(known.values())["cost_usd"]
    for system in plan.systems:
        kept = {q.id: known[system.name, q.id] for q in plan.questions if (system.name, q.id) in known}
        todo = [question for question in plan.questions if question.id not in kept]
        prepared = known.get((system.name, PREPARATION))
        if todo:
            now = stages.prepare(system)
            dollars = _dollars(dollars, now)
            prepared = now if prepared is None else replace(now, usage=added(prepared.usage, now.usage))
            keep(prepared)
        broken = 0
        progress(system.name, len(kept), len(plan.questions), dollars)
        for record in _in_parallel(lambda q, s=system: stages.record(s, q), todo, workers):  # type: ignore[misc]
            keep(record)
            kept[record.question] = record
            dollars = _dollars(dollars, record)
            progress(system.name, len(kept), len(plan.questions), dollars)
            if record.to_be_tried_again:
                broken += 1
            elif record.usage.get("requests"):  # without a request it says nothing about the endpoint
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


def _in_parallel(
    work: Callable[[BenchmarkQuestion], Record], questions: Sequence[BenchmarkQuestion], workers: int
) -> Iterator[Record]:
    """Results as they arrive, those that are there at once in order; only a few questions are started ahead."""
    pool, waiting = ThreadPoolExecutor(workers), iter(questions)
    try:
        begun = [pool.submit(work, question) for question in islice(waiting, 2 * workers)]
        while begun:
            ended, _ = wait(begun, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in begun if future in ended)
            begun = [future for future in begun if future not in ended]
            begun += [pool.submit(work, question) for question in islice(waiting, len(ended))]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class PromptMeasured(Exception):
    """Ends an answer whose first prompt has been measured."""


class PromptProbe:
    """Stand-in for a model that measures the first prompt and ends the answer there."""

    model = "none"

    def __init__(self) -> None:
        self.tokens: int | None = None
        """Estimated tokens of the first prompt; None while there was none."""

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """Measure a request. Raises `PromptMeasured`."""
        if self.tokens is None:
            self.tokens = estimate_tokens("\n\n".join(message["content"] for message in request.messages))
        raise PromptMeasured

    def close(self) -> None:
        """Nothing to close."""
