"""What is done to one question: retrieve, answer, judge; each stage may fail without ending the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kgtable.answering.answer import Answer
from kgtable.errors import LLMAuthError, LLMRateLimitError, LLMUnreachableError, StorageError
from kgtable.evaluation.answers import Answerer, answer_json, put, usage_of
from kgtable.evaluation.batching import RequestPendingError
from kgtable.evaluation.benchmark import Question
from kgtable.evaluation.judge import STAGE as JUDGE
from kgtable.evaluation.judge import WEIGHTS, judge_request
from kgtable.evaluation.plan import Plan
from kgtable.evaluation.records import Failure, Record
from kgtable.evaluation.scoring import CUTOFFS, answer_scores, asked, retrieval_scores
from kgtable.evaluation.systems import System
from kgtable.llm.protocol import LLM
from kgtable.llm.usage import UsageMeter
from kgtable.retrieval.result import Retrieval

if TYPE_CHECKING:
    from kgtable.api import KnowledgeGraph

PASSING = (LLMUnreachableError, LLMAuthError, LLMRateLimitError)
"""Errors that say nothing about the question: a resumed run tries it again."""


class Stages:
    """The stages of a plan over a graph: `answerers` gives a system's answerer, `judge` judges."""

    def __init__(
        self,
        kg: KnowledgeGraph,
        plan: Plan,
        answerers: Callable[[System], Answerer] | None = None,
        judge: LLM | None = None,
    ) -> None:
        self._kg, self._plan, self._judge = kg, plan, judge
        self._make, self._answerers = answerers, dict[str, Answerer]()

    def prepare(self, system: System) -> None:
        """Makes index and answerer, so that no question's time includes it."""
        if system.retrieves:
            question = self._plan.questions[0].text
            self._kg.retrieve(question, 1, system.method, format=system.format, embedding=system.embedding)
        if self._make is not None and self._plan.answers:
            self._answerers[system.name] = self._make(system)

    def record(self, system: System, question: Question) -> Record | None:
        """The record of one question, or None where a request of it waits for a batch."""
        work = _Work(system, question)
        try:
            found = self._retrieve(work)
            if self._plan.answers:
                answer = self._answer(work, found)
                if self._plan.judge:
                    self._judged(work, answer)
        except RequestPendingError:
            return None
        return work.record(found)

    def _retrieve(self, work: _Work) -> Retrieval:
        system, question = work.system, work.question
        found = Retrieval(question.text, (), (), method=system.method)
        if not system.retrieves:
            return found
        with work.stage("retrieval"):
            found = self._kg.retrieve(
                question.text, self._plan.k, system.method, format=system.format, embedding=system.embedding
            )
        work.scores |= retrieval_scores(question, found, self._plan.k)
        return found

    def _answer(self, work: _Work, found: Retrieval) -> Answer | None:
        answer = None
        if not work.failures:
            with work.stage("answer"):
                answer = self._answerers[work.system.name](put(found, asked(work.question)))
                work.meter.add("answer", usage_of(answer))
        text, value = (answer.text, answer.value) if answer else ("", None)
        work.answer = answer
        work.scores |= answer_scores(work.question, text, value)
        if answer:
            work.scores["verified"] = float(answer.verified)
        return answer

    def _judged(self, work: _Work, answer: Answer | None) -> None:
        if answer is None or not answer.text:
            work.verdict = "none"
        else:
            work.verdict = None
            with work.stage("judge"):
                work.verdict = self._verdict(work, answer.text)
        work.scores["judged"] = WEIGHTS.get(work.verdict or "none", 0.0)
        if work.verdict is not None:
            work.scores["agreement"] = float((work.verdict == "exact") == bool(work.scores["match"]))

    def _verdict(self, work: _Work, text: str) -> str:
        assert self._judge is not None
        question = work.question
        gold = (
            ("true" if question.extra["label"] else "false",)
            if "label" in question.extra
            else question.answers
        )
        request = judge_request(asked(question), gold, str(question.extra.get("scale") or ""), text)
        completion = self._judge.complete(request)
        work.meter.add(JUDGE, completion.usage)
        return str((completion.data or {})["verdict"])


class _Work:
    """What has become of a question so far."""

    def __init__(self, system: System, question: Question) -> None:
        self.system, self.question = system, question
        self.meter = UsageMeter()
        self.scores: dict[str, float] = {}
        self.failures: list[Failure] = []
        self.ms: dict[str, float] = {}
        self.answer: Answer | None = None
        self.verdict: str | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times the block; its error becomes a failure of the question, whatever it is."""
        started = time.perf_counter()
        try:
            yield
        except (RequestPendingError, StorageError):
            raise
        except Exception as error:  # a question that breaks a stage counts as wrong and is listed
            passing = isinstance(error, PASSING)
            self.failures.append(Failure(name, type(error).__name__, str(error)[:500], passing))
        finally:
            self.ms[name] = round((time.perf_counter() - started) * 1e3, 3)

    def record(self, found: Retrieval) -> Record:
        """All of it as a record."""
        return Record(
            system=self.system.name,
            question=self.question.id,
            tables=tuple(table.table for table in found.tables[: CUTOFFS[-1]]),
            scores=self.scores,
            answer=None if self.answer is None else answer_json(self.answer),
            verdict=self.verdict,
            failures=tuple(self.failures),
            ms=self.ms,
            usage=self.meter.total.to_json(),
            prompt="" if self.answer is None else self.answer.prompt,
        )
