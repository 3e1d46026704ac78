"""A model in retrieval: labels, order of tables, written schemas; over HTTP, in batches, with failures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.errors import LLMUnreachableError, UsageError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.records import spent
from kgtable.evaluation.report import report_html
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import LABELS, RERANK, RULES, RunPlan, System, make_plan
from kgtable.evaluation.session import evaluate
from kgtable.evaluation.summary import as_markdown, causes, means, result_json
from tests.evaluation.sample import answer
from tests.evaluation.test_session import settings_for
from tests.llm.scripted_server import Fail, Say, ScriptedServer

PRICES = {"m": {"input": 1.0, "output": 1.0}}
ASSISTED = (System("hybrid", assist=RERANK),)
WRITTEN = (System("bm25", "written-schema"),)


def stage_of(body: Mapping[str, Any]) -> str:
    form = json.dumps(body["response_format"])
    marks = {"labels": '"labels"', "rerank": '"tables"', "schema": "table_schema", "judge": '"verdict"'}
    if "table_schema" in form:
        return "schema"
    return next((stage for stage, mark in marks.items() if mark in form), "answer")


def reply(body: Mapping[str, Any]) -> Say | Fail:
    """Labels that name the rivers whatever is asked; the last table shown comes first."""
    text = "\n".join(message["content"] for message in body["messages"])
    match stage_of(body):
        case "labels":
            return Say({"labels": ["Rhine", "Skarv", "Physics"]})
        case "rerank":
            listing = body["messages"][-1]["content"]
            return Say({"tables": [listing.count("\n\n[") + 1]})
        case "schema":
            kind = "whirlwinds" if "Rhine" in text else "harbours"
            return Say({"description": kind, "columns": "c", "labels": "l", "example": "e"})
        case "judge":
            return Say({"reason": "So.", "verdict": "exact"})
        case _:
            return Say(answer("44"))


def run_over_http(
    graph: kgtable.KnowledgeGraph, plan: RunPlan, script: Callable[..., Any] = reply, **options: Any
) -> tuple[Run, list[str]]:
    asked: list[str] = []

    def noting(body: Mapping[str, Any]) -> Say | Fail:
        asked.append(stage_of(body))
        found: Say | Fail = script(body)
        return found

    settings = {name: options.pop(name) for name in ("rerank", "llm_cache") if name in options}
    with ScriptedServer(noting) as server:
        run = evaluate(graph, plan, settings_for(server.base_url, prices=PRICES, **settings), **options)
    assert isinstance(run, Run)
    return run, asked


def test_a_system_says_what_the_model_does_in_its_retrieval(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    chosen = tuple(System("hybrid", assist=assist) for assist in (RULES, LABELS, RERANK))
    plan = make_plan(graph, benchmark_folder, (*chosen, System("bm25")))
    run, asked = run_over_http(graph, plan)
    assert sorted(set(asked)) == ["labels", "rerank"]
    assert asked.count("labels") == 2 * 5
    used = {system.name: spent(run.with_preparation(system))["stages"] for system in plan.systems}
    assert {name: {stage: part["requests"] for stage, part in stages.items()} for name, stages in used.items()} == {
        "hybrid/rules": {}, "hybrid/labels": {"labels": 5}, "hybrid/labels+rerank": {"labels": 5, "rerank": 5},
        "bm25": {},
    }  # fmt: skip
    first = {s.assist: run.of(s)[0].tables[0] for s in chosen}
    assert first[RULES] == "ports"
    assert first[RERANK] != first[LABELS]
    assert spent(run.records)["cost_usd"] > 0
    assert "| hybrid/labels | labels | 5 |" in as_markdown(run)
    page = report_html(run)
    assert "<td>hybrid/labels+rerank</td><td>rerank</td><td>5</td>" in page
    assert "<td>hybrid/labels+rerank</td><td>total</td><td>10</td>" in page


@pytest.mark.parametrize(("rerank", "stages"), [(True, {"labels", "rerank", "answer"}), (False, {"labels", "answer"})])
def test_answers_by_a_model_are_retrieved_for_as_in_ask(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark, rerank: bool, stages: set[str]
) -> None:
    plan = make_plan(graph, benchmark_folder, (System("hybrid"),), answers=True)
    run, asked = run_over_http(graph, plan, rerank=rerank)
    assert set(asked) == stages
    assert run.plan.assist == (RERANK if rerank else LABELS)
    assert result_json(run)["model"] == "m"


def test_retrieval_alone_asks_nothing_unless_told(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    run, asked = run_over_http(graph, make_plan(graph, benchmark_folder, (System("hybrid"),)))
    assert asked == []
    assert (run.plan.assist, run.plan.model) == (RULES, None)
    without = settings_for("http://unused.example/v1", model="none")
    with pytest.raises(UsageError, match="needs a language model"):
        evaluate(graph, make_plan(graph, benchmark_folder, ASSISTED), without)
    with pytest.raises(UsageError, match="needs a language model"):
        evaluate(graph, make_plan(graph, benchmark_folder, WRITTEN), without)


def test_written_schemas_are_what_is_indexed(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    fresh = kgtable.open(graph.path)
    run, asked = run_over_http(fresh, make_plan(fresh, benchmark_folder, WRITTEN))
    assert asked == ["schema"] * 3
    (prepared,) = run.preparations
    assert prepared.usage["stages"]["schema"]["requests"] == 3
    assert spent(run.with_preparation(WRITTEN[0]))["requests"] == 3
    found = fresh.retrieve("whirlwinds", 5, "bm25", format="written-schema", llm=_Named("m"))
    assert [table.table for table in found.tables] == ["rivers"]


def test_replies_that_cannot_be_used_are_done_without_and_listed(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    def poor(body: Mapping[str, Any]) -> Say | Fail:
        text = body["messages"][-1]["content"]
        return Say("I cannot say") if "Rhine" in str(body["messages"]) or "cannot be used" in text else reply(body)

    fresh = kgtable.open(graph.path)
    run, _ = run_over_http(fresh, make_plan(fresh, benchmark_folder, (*ASSISTED, *WRITTEN), answers=True), poor)
    listed = causes(run.with_preparation(ASSISTED[0]))
    assert listed["labels: LLMReplyError"] == ["q2"]
    assert set(listed) == {"labels: LLMReplyError", "rerank: LLMReplyError", "answer: LLMReplyError"}
    assert causes(run.with_preparation(WRITTEN[0]))["schema: LLMReplyError"] == ["rivers"]
    assert result_json(run)["systems"][1]["failures"]["schema: LLMReplyError"] == ["rivers"]
    # every question is in the mean, and those that were done without the model were still retrieved for
    assert means(run.of(ASSISTED[0]))["recall@30"].n == 5
    assert all(record.tables for record in run.of(ASSISTED[0]) if record.question == "q2")


def test_a_model_that_is_gone_stops_the_schemas_and_is_resumed(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark, tmp_path: Path
) -> None:
    keep, cache = tmp_path / "run.partial.jsonl", str(tmp_path / "replies.sqlite")
    served = 0

    def dying(body: Mapping[str, Any]) -> Say | Fail:
        nonlocal served
        served += 1
        return reply(body) if served == 1 else Fail(503, "down")

    plan = make_plan(graph, benchmark_folder, WRITTEN)
    fresh = kgtable.open(graph.path)
    with pytest.raises(LLMUnreachableError):
        run_over_http(fresh, plan, dying, keep=keep, llm_cache=cache)
    run, asked = run_over_http(fresh, plan, keep=keep, resume=True, llm_cache=cache)
    assert len(asked) >= 2
    undisturbed, _ = run_over_http(kgtable.open(graph.path), plan)
    assert result_json(run) == result_json(undisturbed)


class _Named:
    """Stands for a model whose schemas were written before; asks nothing."""

    def __init__(self, model: str) -> None:
        self.model = model

    def complete(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nothing is left to be asked")

    def close(self) -> None:
        """Nothing."""
