from __future__ import annotations

import pytest

from kgtable.errors import UsageError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.evaluated_systems import System
from kgtable.evaluation.records import PREPARATION, Failure, Record
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import RunPlan
from kgtable.evaluation.summary import (
    causes,
    compare_records,
    latency,
    means,
    metric_name,
    records_of,
    result_json,
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
        with pytest.raises(UsageError, match="no result of kgtable eval"):
            records_of(other)


def test_every_metric_has_a_name_for_people() -> None:
    assert [metric_name(name) for name in ("all@30", "ndcg@10", "no_cell", "exact")] == [
        "all@30",
        "nDCG@10",
        "no gold cell",
        "exact match",
    ]
