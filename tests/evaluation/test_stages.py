from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import kgtable
from kgtable.answering.answer import Answer
from kgtable.errors import LLMError, LLMRateLimitError, StorageError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.records import PREPARATION
from kgtable.evaluation.run import Stages
from kgtable.evaluation.run_plan import RunPlan, System, make_plan
from kgtable.llm.protocol import MeteredLLM
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.result import Retrieval

BM25 = System("bm25", "csv")


@pytest.fixture
def plan(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> RunPlan:
    return make_plan(graph, benchmark_folder, (BM25,), judge=True)


def answering(text: str | Exception) -> Any:
    def answer(found: Retrieval) -> Answer:
        if isinstance(text, Exception):
            raise text
        return Answer(found.question, text, prompt="asked", retrieval=found)

    return lambda system: answer


def judging(verdict: str | LLMError) -> MeteredLLM:
    reply = verdict if isinstance(verdict, LLMError) else {"reason": "", "verdict": verdict}
    return MeteredLLM(ScriptedLLM(lambda _: reply))


def test_a_question_goes_through_all_stages(graph: kgtable.KnowledgeGraph, plan: RunPlan) -> None:
    stages = Stages(graph, plan, answering("44"), judge=judging("partial"))
    prepared = stages.prepare(BM25)
    assert (prepared.question, list(prepared.ms)) == (PREPARATION, ["preparation"])
    record = stages.record(BM25, plan.questions[0])
    assert list(record.ms) == ["retrieval", "answer", "judge"]
    assert (record.scores["exact"], record.scores["judged"], record.scores["agreement"]) == (1.0, 0.5, 0.0)
    assert record.usage["stages"]["judge"]["requests"] == 1
    assert record.triples[0].startswith("ports, row 2: ")
    assert record.prompt == "asked"


def test_gold_tables_given_to_be_shown_do_not_count_as_found(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    method = System("read-schema:base=bm25")
    plan = make_plan(graph, benchmark_folder, (method,), oracle_tables=True)
    wrong = next(id for id in graph.tables if id not in plan.questions[0].tables)
    question = replace(plan.questions[0], tables=(wrong,), cells=())
    record = Stages(graph, plan).record(method, question)
    assert not record.failures
    assert {triple.partition(",")[0] for triple in record.triples} == {wrong}
    assert record.tables[0] != wrong
    assert record.scores["recall@1"] == 0.0


@pytest.mark.parametrize(
    ("error", "passing"), [(ZeroDivisionError("by nought"), False), (LLMRateLimitError("slow down"), True)]
)
def test_a_stage_that_breaks_leaves_the_question_in_every_mean(
    graph: kgtable.KnowledgeGraph, plan: RunPlan, error: Exception, passing: bool
) -> None:
    stages = Stages(graph, plan, answering(error), judge=judging("exact"))
    stages.prepare(BM25)
    record = stages.record(BM25, plan.questions[0])
    (failure,) = record.failures
    assert (failure.stage, failure.cause, failure.passing) == ("answer", type(error).__name__, passing)
    assert record.to_be_tried_again is passing
    assert record.scores["recall@1"] == 1.0
    assert (record.scores["match"], record.scores["judged"], record.verdict) == (0.0, 0.0, "none")


def test_a_retrieval_that_breaks_is_not_answered(
    graph: kgtable.KnowledgeGraph, plan: RunPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = Stages(graph, plan, answering("44"), judge=judging("exact"))
    stages.prepare(BM25)
    monkeypatch.setattr(type(graph), "retrieve", lambda *_, **__: 1 // 0)
    record = stages.record(BM25, plan.questions[0])
    assert [failure.stage for failure in record.failures] == ["retrieval"]
    assert record.answer is None
    assert (record.scores["recall@30"], record.scores["no_table"], record.scores["match"]) == (0.0, 1.0, 0.0)


def test_a_judge_that_fails_gives_nothing_and_agrees_with_nobody(graph: kgtable.KnowledgeGraph, plan: RunPlan) -> None:
    stages = Stages(graph, plan, answering("44"), judge=judging(LLMRateLimitError("no")))
    stages.prepare(BM25)
    record = stages.record(BM25, plan.questions[0])
    assert record.scores["judged"] == 0.0
    assert "agreement" not in record.scores
    assert record.verdict is None


def test_a_full_disk_ends_the_run(graph: kgtable.KnowledgeGraph, plan: RunPlan) -> None:
    full = Stages(graph, plan, answering(StorageError("no space")))
    full.prepare(BM25)
    with pytest.raises(StorageError):
        full.record(BM25, plan.questions[0])


def test_refusals_in_retrieval_are_failures_that_are_answered_all_the_same(
    graph: kgtable.KnowledgeGraph, plan: RunPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    retrieve = type(graph).retrieve

    def refused(self: Any, *arguments: Any, **options: Mapping[str, Any]) -> Retrieval:
        found = retrieve(self, *arguments, **options)  # type: ignore[arg-type]
        return replace(found, trace={"labels_refused": "no list", "rerank_refused": "no order"})

    stages = Stages(graph, plan, answering("44"), judge=judging("exact"))
    stages.prepare(BM25)
    monkeypatch.setattr(type(graph), "retrieve", refused)
    record = stages.record(BM25, plan.questions[0])
    assert [(f.stage, f.message) for f in record.failures] == [("labels", "no list"), ("rerank", "no order")]
    assert (record.scores["exact"], record.to_be_tried_again) == (1.0, False)
