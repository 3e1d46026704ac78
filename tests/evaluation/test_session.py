"""A whole run over HTTP: retrieve, answer, judge, report; against a scripted server that fails at times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.config import load_settings
from kgtable.errors import UsageError
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.report import report_html
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import RunPlan, make_plan, systems
from kgtable.evaluation.session import evaluate, write_result
from kgtable.evaluation.summary import causes, means
from tests.evaluation.sample import answer
from tests.llm.scripted_server import Fail, Say, ScriptedServer

QUESTION = re.compile(r"How many ships|How long is|Which ports|prize of physics|Which wind")
ANSWERS = {
    "How many ships": answer("44", "T1.r2.c2"), "How long is": answer("1231 km", "T1.r1.c1"),
    "Which ports": answer("Skarv"), "prize of physics": answer("No"), "Which wind": answer("", found=False),
}  # fmt: skip
VERDICTS = {"How many ships": "exact", "How long is": "none", "Which ports": "partial"}


def settings_for(url: str, **options: Any):  # type: ignore[no-untyped-def]
    options = {"base_url": url, "model": "m", "retries": 0, "llm_cache": "off", **options}
    return load_settings(environment={}, file="/dev/null", **options)


def stage_of(body: Mapping[str, Any]) -> tuple[str, str]:
    text = next(m["content"] for m in body["messages"] if m["role"] == "user")
    asked = QUESTION.findall(text)
    return ("judge" if "verdict" in text else "answer"), asked[-1]


def reply(body: Mapping[str, Any]) -> Say | Fail:
    stage, question = stage_of(body)
    if stage == "judge":
        if question == "prize of physics":
            return Fail(400, "the judge is unwell")
        return Say({"reason": "So.", "verdict": VERDICTS[question]})
    return Say(ANSWERS[question])


def plan_for(graph: kgtable.KnowledgeGraph, benchmark: Benchmark, **options: Any) -> RunPlan:
    return make_plan(graph, benchmark, systems(("bm25",), formats=("markdown",)), **options)


def run_over_http(graph: kgtable.KnowledgeGraph, plan: RunPlan, script: Callable[..., Any], **options: Any) -> Run:
    with ScriptedServer(script) as server:
        workers = options.pop("concurrency", 8)
        run = evaluate(graph, plan, settings_for(server.base_url, concurrency=workers), **options)
    assert isinstance(run, Run)
    return run


@pytest.fixture(scope="module")
def run(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> Run:
    return run_over_http(graph, plan_for(graph, benchmark_folder, judge=True), reply)


def test_the_numbers_are_those_counted_by_hand(run: Run) -> None:
    found = {name: interval.mean for name, interval in means(run.records).items()}
    # q1 right; q2 wrong; q3 half; q4 the statement is false, answered no; q5 not answered
    assert found["exact"] == 1 / 4
    assert found["numeric"] == 1 / 2
    assert found["fact"] == 1.0
    assert found["match"] == 2 / 5
    # exact 1, none 0, partial 1/2, the judge failed on q4, nothing to judge in q5
    assert found["judged"] == pytest.approx((1 + 0 + 0.5 + 0 + 0) / 5)
    # q1 exact and right, q2 none and wrong, q3 partial and wrong, q5 none and wrong
    assert found["agreement"] == 1.0
    assert means(run.records)["agreement"].n == 4
    assert found["recall@30"] == pytest.approx((1 + 1 + 1 + 1 + 0) / 5)
    assert found["no_table"] == 1 / 5
    assert found["verified"] == pytest.approx(
        sum(bool(record.answer and record.answer["verified"]) for record in run.records) / 5
    )


def test_failures_are_listed_by_cause_and_count_as_wrong(run: Run) -> None:
    (cause,) = causes(run.records)
    assert cause.startswith("judge: ")
    assert causes(run.records)[cause] == ["q4"]


def test_the_report_shows_the_same_numbers_and_only_text(run: Run) -> None:
    page = report_html(run)
    assert "<td>0.400 [" in page
    assert "<b>none</b>" not in page
    assert "script" not in page
    assert not re.search(r"""(src|href)=["']|url\(|@import""", page)
    assert "&lt;b&gt;none&lt;/b&gt;" in page
    assert "<summary>Prompt</summary><pre>" in page
    assert "<p>ports, row 2: Skarv · hasPort · Skarv</p>" in page
    assert "<p>ports C3: 44</p>" in page


def test_two_runs_give_the_same_file(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark, tmp_path: Path, run: Run
) -> None:
    again = run_over_http(graph, plan_for(graph, benchmark_folder, judge=True), reply)
    write_result(run, tmp_path / "one.json")
    write_result(again, tmp_path / "two.json")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert "ms" not in json.loads((tmp_path / "one.json").read_text())["systems"][0]["questions"][0]


def test_an_answer_that_fails_counts_as_wrong(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    def broken(body: Mapping[str, Any]) -> Say | Fail:
        return Say("not JSON") if stage_of(body)[1] == "How many ships" else reply(body)

    found = run_over_http(graph, plan_for(graph, benchmark_folder, answers=True), broken)
    assert causes(found.records) == {"answer: LLMReplyError": ["q1"]}
    assert means(found.records)["match"].mean == 1 / 5
    assert means(found.records)["match"].n == 5


def test_without_a_model_answers_are_computed_by_rules(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    settings = load_settings(environment={}, file="/dev/null")
    found = evaluate(graph, plan_for(graph, benchmark_folder, answers=True), settings)
    assert isinstance(found, Run)
    assert all(record.answer is not None for record in found.records)
    with pytest.raises(UsageError, match="needs a language model"):
        evaluate(graph, plan_for(graph, benchmark_folder, judge=True), settings)
    # one that is configured is not asked where "none" is named
    configured = load_settings(environment={"KGTABLE_BASE_URL": "http://127.0.0.1:9/v1"}, file="/dev/null")
    named = make_plan(graph, benchmark_folder, systems(("hybrid", "tablerag"), models=("none",)), answers=True)
    again = evaluate(graph, named, configured)
    assert isinstance(again, Run)
    assert {record.system for record in again.records} == {"hybrid/none", "tablerag/none"}
    assert all(record.answer is not None and not record.usage["requests"] for record in again.records)
