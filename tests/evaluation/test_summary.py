from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import UsageError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.records import PREPARATION, Failure, Record
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import RunPlan, System
from kgtable.evaluation.summary import compare, compare_records, mean_interval, means, result_json

GONE = Failure("answer", "LLMUnreachableError", "port 1234 refused")
RECORDS = (
    Record("bm25", "q1", ("a",), {"recall@5": 1.0, "recall@10": 1.0, "match": 1.0}, ms={"retrieval": 5.0}),
    Record("bm25", "q2", (), {"recall@5": 0.0, "recall@10": 0.5}, failures=(GONE,), ms={"retrieval": 9.0}),
)
SCHEMA = Record("bm25", PREPARATION, failures=(Failure("schema", "LLMReplyError", "empty", table="ports"),))
PLAN = RunPlan("small", "dev", (BenchmarkQuestion("q1", "?"), BenchmarkQuestion("q2", "?")), (System("bm25"),))


def test_each_metric_is_averaged_over_the_questions_that_have_it() -> None:
    found = means(RECORDS)
    assert list(found) == ["recall@5", "recall@10", "match"]
    assert (found["recall@10"].mean, found["recall@10"].n) == (0.75, 2)
    assert (found["match"].mean, found["match"].n) == (1.0, 1)


def test_two_runs_are_compared_over_what_both_have() -> None:
    other = (Record("dense", "q2", scores={"recall@5": 1.0}), Record("dense", "q3", scores={"recall@5": 0.0}))
    found = compare_records(RECORDS, other)
    assert list(found) == ["recall@5"]
    assert (found["recall@5"].difference.mean, found["recall@5"].wins) == (1.0, 1)
    with pytest.raises(UsageError, match="no question in common"):
        compare_records(RECORDS, other[1:])


def test_a_result_holds_no_time_no_cost_and_no_message() -> None:
    result = result_json(Run(PLAN, RECORDS, (SCHEMA,)))
    (system,) = result["systems"]
    assert [question["id"] for question in system["questions"]] == ["q1", "q2"]
    assert system["questions"][1]["failures"] == [{"stage": "answer", "cause": "LLMUnreachableError"}]
    assert system["failures"]["schema: LLMReplyError"] == ["ports"]
    assert not {"ms", "usage"} & {key for question in system["questions"] for key in question}
    assert "1234" not in str(result)


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


def test_a_clear_difference_is_found_and_an_even_one_is_not() -> None:
    better = compare([0.0] * 50 + [1.0] * 50, [1.0] * 40 + [0.0] * 10 + [1.0] * 50)
    assert (better.wins, better.losses, better.ties) == (40, 0, 60)
    assert better.difference.mean == pytest.approx(0.4)
    assert better.p < 0.01
    assert compare([0.0, 1.0] * 20, [1.0, 0.0] * 20).p > 0.5
    assert compare([1.0], [1.0]).p == 1.0
