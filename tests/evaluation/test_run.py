from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgtable.errors import LLMError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.records import PREPARATION, Failure, Record
from kgtable.evaluation.run import STOP_AFTER, execute
from kgtable.evaluation.run_plan import RunPlan, System

QUESTIONS = tuple(BenchmarkQuestion(f"q{number}", "?", tables=("t",)) for number in range(20))
PLAN = RunPlan("small", "dev", QUESTIONS, (System("bm25"), System("dense")))
PAID = {"requests": 1, "cost_usd": 0.5}
GRAPH: Any = SimpleNamespace(names=SimpleNamespace(base="http://x/"), catalogue=SimpleNamespace(tables={}))


class Stages:
    """Stands for the stages of a run; answers at once, and says who was asked."""

    def __init__(self, failing: frozenset[str] = frozenset(), unpaid: frozenset[str] = frozenset()) -> None:
        self.failing, self.unpaid = failing, unpaid
        self.prepared: list[str] = []
        self.asked: list[str] = []
        self.at_once = self.most = 0
        self._lock = threading.Lock()

    def prepare(self, system: System) -> Record:
        self.prepared.append(system.name)
        return Record(system.name, PREPARATION, usage={"requests": 1, "cost_usd": 1.0})

    def record(self, system: System, question: BenchmarkQuestion) -> Record:
        with self._lock:
            self.asked.append(question.id)
        if question.id in self.failing:
            failure = Failure("answer", "LLMUnreachableError", "gone", passing=True)
            return Record(system.name, question.id, failures=(failure,))
        usage = {} if question.id in self.unpaid else PAID
        return Record(system.name, question.id, ("t",), {"recall@5": 1.0}, usage=usage)


def run(stages: Any, **options: Any) -> Any:
    return execute(GRAPH, PLAN, stages, **options)


@pytest.mark.parametrize("workers", [1, 7])
def test_records_come_in_the_order_of_systems_and_questions(workers: int) -> None:
    found = run(Stages(), workers=workers)
    expected = [(system.name, question.id) for system in PLAN.systems for question in QUESTIONS]
    assert [(record.system, record.question) for record in found.records] == expected
    assert [record.system for record in found.preparations] == ["bm25", "dense"]


def test_progress_tells_the_dollars_of_preparation_and_questions() -> None:
    told: list[tuple[str, int, int, float | None]] = []
    run(Stages(), progress=lambda *step: told.append(step))
    assert told[0] == ("bm25", 0, 20, 1.0)
    assert told[-1] == ("dense", 20, 20, 2.0 + 40 * 0.5)


def test_an_endpoint_that_keeps_failing_stops_the_run_which_goes_on_later(tmp_path: Path) -> None:
    keep = tmp_path / "keep.jsonl"
    failing = frozenset(f"q{number}" for number in range(3, 20))
    stopped = Stages(failing)
    with pytest.raises(LLMError, match=r"5 questions in a row, the last being q7: gone 8 of 20") as raised:
        run(stopped, keep=keep, workers=1)
    assert "--resume" in str(raised.value)
    assert len(stopped.asked) <= 3 + STOP_AFTER + 2
    told: list[Any] = []
    resumed = Stages()
    found = run(resumed, keep=keep, resume=True, progress=lambda *step: told.append(step))
    assert not {"q0", "q1", "q2"} & set(resumed.asked[:17])
    assert told[0] == ("bm25", 3, 20, 1.0 + 3 * 0.5 + 1.0)
    assert found.preparations[0].usage["cost_usd"] == 2.0
    assert [record.scores for record in found.records] == [r.scores for r in run(Stages()).records]


def test_questions_that_ask_nothing_say_nothing_of_the_endpoint() -> None:
    failing = frozenset(f"q{number}" for number in range(0, 20, 2))
    unpaid = frozenset(f"q{number}" for number in range(1, 20, 2))
    with pytest.raises(LLMError, match="5 questions in a row"):
        run(Stages(failing, unpaid))
    assert run(Stages(failing)).records


def test_a_run_that_is_complete_is_not_prepared_again(tmp_path: Path) -> None:
    keep = tmp_path / "keep.jsonl"
    run(Stages(), keep=keep)
    again = Stages()
    found = run(again, keep=keep, resume=True)
    assert again.prepared == again.asked == []
    assert len(found.records) == 40
    assert found.preparations[0].usage["cost_usd"] == 1.0
