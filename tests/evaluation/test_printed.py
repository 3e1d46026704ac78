from __future__ import annotations

from dataclasses import replace

from kgtable.evaluation.evaluated_systems import System
from kgtable.evaluation.records import PREPARATION, Record
from kgtable.evaluation.run import Run
from kgtable.evaluation.summary import comparison_lines, result_json, run_lines
from tests.evaluation.test_summary import PLAN, RECORDS, SCHEMA

PAID = {"requests": 2, "prompt_tokens": 9, "completion_tokens": 1, "cost_usd": 0.25}


def printed(run: Run) -> str:
    return "\n".join(run_lines(run))


def test_means_intervals_failures_and_times_are_printed() -> None:
    text = printed(Run(PLAN, RECORDS, (SCHEMA,)))
    assert text.startswith("small, dev: 2 questions, 0 tables, k = 1,000\n\nbm25\n")
    assert "Recall@10              0.750  [0.500, 1.000]  of 2" in text
    assert "failed, answer: LLMUnreachableError: 1 (q2)" in text
    assert "failed, schema: LLMReplyError: 1 (ports)" in text
    assert "retrieval: 9.0 ms median" in text
    assert "requests" not in text


def test_cost_is_printed_by_stage_with_that_of_the_preparation() -> None:
    before = Record("bm25", PREPARATION, usage=PAID | {"stages": {"schema": PAID}})
    record = replace(RECORDS[0], usage=PAID | {"stages": {"answer": PAID}})
    text = printed(Run(PLAN, (record,), (before,)))
    assert "  4 requests, cost $0.5000\n    schema: 2 requests, cost $0.2500" in text
    unknown = replace(record, usage=PAID | {"cost_usd": None, "stages": {}})
    assert "2 requests, cost unknown" in printed(Run(PLAN, (unknown,)))


def test_systems_are_compared_with_the_first_and_with_an_earlier_run() -> None:
    plan = replace(PLAN, systems=(System("bm25"), System("dense")))
    other = [replace(record, system="dense", scores={"recall@5": 1.0}) for record in RECORDS]
    run = Run(plan, (*RECORDS, *other))
    assert "dense against bm25\n  Recall@5               +0.500" in printed(run)
    earlier = "\n".join(comparison_lines(result_json(Run(PLAN, RECORDS)), run))
    assert "bm25 against bm25 of small, dev, before" in earlier
    assert "dense against bm25 of small, dev, before" in earlier
    assert "p = 1.000, better 0, worse 0, equal 2" in earlier
