from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import UsageError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.records import PREPARATION, Failure, Record
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import RunPlan, System
from kgtable.evaluation.summary import (
    causes,
    compare,
    compare_records,
    comparison_lines,
    latency,
    mean_interval,
    means,
    metric_name,
    records_of,
    result_json,
    run_lines,
)

GONE = Failure("answer", "LLMUnreachableError", "port 1234 refused")
RECORDS = (
    Record("bm25", "q1", ("a",), {"recall@5": 1.0, "recall@10": 1.0, "match": 1.0}, ms={"retrieval": 5.0}),
    Record("bm25", "q2", (), {"recall@5": 0.0, "recall@10": 0.5}, failures=(GONE,), ms={"retrieval": 9.0}),
)
SCHEMA = Record("bm25", PREPARATION, failures=(Failure("schema", "LLMReplyError", "empty", table="ports"),))
PLAN = RunPlan(
    "small", "dev", (BenchmarkQuestion("q1", "?"), BenchmarkQuestion("q2", "?")), (System("bm25"),)
)


def test_each_metric_is_averaged_over_the_questions_that_have_it() -> None:
    found = means(RECORDS)
    assert list(found) == ["recall@5", "recall@10", "match"]
    assert (found["recall@10"].mean, found["recall@10"].n) == (0.75, 2)
    assert (found["match"].mean, found["match"].n) == (1.0, 1)


def test_causes_name_questions_and_tables() -> None:
    assert causes((SCHEMA, *RECORDS)) == {
        "answer: LLMUnreachableError": ["q2"],
        "schema: LLMReplyError": ["ports"],
    }


def test_two_runs_are_compared_over_what_both_have() -> None:
    other = (Record("dense", "q2", scores={"recall@5": 1.0}), Record("dense", "q3", scores={"recall@5": 0.0}))
    found = compare_records(RECORDS, other)
    assert list(found) == ["recall@5"]
    assert (found["recall@5"].difference.mean, found["recall@5"].wins) == (1.0, 1)
    with pytest.raises(UsageError, match="no question in common"):
        compare_records(RECORDS, other[1:])


def test_times_are_median_and_tail() -> None:
    many = [Record("s", str(n), ms={"retrieval": float(n)}) for n in range(100)]
    assert latency(many)["retrieval"] == {"median": 50.0, "p95": 95.0}


def test_a_result_holds_no_time_no_cost_and_no_message() -> None:
    result = result_json(Run(PLAN, RECORDS, (SCHEMA,)))
    (system,) = result["systems"]
    assert [question["id"] for question in system["questions"]] == ["q1", "q2"]
    assert system["questions"][1]["failures"] == [{"stage": "answer", "cause": "LLMUnreachableError"}]
    assert system["failures"]["schema: LLMReplyError"] == ["ports"]
    assert not {"ms", "usage"} & {key for question in system["questions"] for key in question}
    assert "1234" not in str(result)


def test_records_come_back_from_a_result() -> None:
    result = result_json(Run(PLAN, RECORDS))
    assert records_of(result, "absent")[0] == "bm25"
    _, records = records_of(result)
    assert [record.scores for record in records] == [dict(record.scores) for record in RECORDS]
    for other in ({}, {"systems": []}, {"systems": [{"name": "x"}]}, {"systems": 3}):
        with pytest.raises(UsageError, match="not a result of kgtable eval"):
            records_of(other)


def test_every_metric_has_a_name_for_people() -> None:
    assert [metric_name(name) for name in ("all@30", "ndcg@10", "no_cell", "exact")] == [
        "all@30",
        "nDCG@10",
        "no gold cell",
        "exact match",
    ]


SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(SCORES)
def test_the_interval_holds_the_mean_and_is_the_same_every_time(scores: list[float]) -> None:
    interval = mean_interval(scores)
    assert interval.mean == pytest.approx(np.mean(scores))
    assert interval.low - 1e-9 <= interval.mean <= interval.high + 1e-9
    assert interval == mean_interval(scores)


def test_the_interval_is_near_the_normal_one() -> None:
    scores = [0.0, 1.0] * 200
    interval = mean_interval(scores)
    half = 1.96 * 0.5 / 400**0.5
    assert interval.low == pytest.approx(0.5 - half, abs=0.01)
    assert interval.high == pytest.approx(0.5 + half, abs=0.01)


def test_no_scores() -> None:
    assert mean_interval([]).n == 0


def test_a_clear_difference_is_found_and_an_even_one_is_not() -> None:
    better = compare([0.0] * 50 + [1.0] * 50, [1.0] * 40 + [0.0] * 10 + [1.0] * 50)
    assert (better.wins, better.losses, better.ties) == (40, 0, 60)
    assert better.difference.mean == pytest.approx(0.4)
    assert better.p < 0.01
    assert compare([0.0, 1.0] * 20, [1.0, 0.0] * 20).p > 0.5
    assert compare([1.0], [1.0]).p == 1.0


def test_runs_of_different_length() -> None:
    with pytest.raises(ValueError, match="different numbers"):
        compare([1.0], [])


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
