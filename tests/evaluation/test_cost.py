from __future__ import annotations

import pytest

import kgtable
from kgtable.config import load_settings
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.run_plan import System, make_plan, systems
from kgtable.evaluation.session import estimate

PRICES = {"m": {"input": 2.0, "output": 10.0}}


def test_an_estimate_counts_prompts_and_sends_nothing(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    plan = make_plan(graph, benchmark_folder, systems(("bm25", "zero-shot")), judge=True)
    settings = load_settings(environment={}, file="/dev/null", model="m", prices=PRICES)
    found = estimate(graph, plan, settings)
    # bm25 finds nothing for q5, so nothing is asked; to judge it is counted all the same
    assert {stage: part["requests"] for stage, part in found["stages"].items()} == {"answer": 4 + 5, "judge": 2 * 5}
    for part in found["stages"].values():
        assert part["completion_tokens"] >= part["requests"] * 300
        assert part["prompt_tokens"] > part["requests"] * 100
        assert part["cost_usd"] == pytest.approx(
            (2 * part["prompt_tokens"] + 10 * part["completion_tokens"]) / 1_000_000
        )


def test_every_stage_that_asks_a_model_is_estimated(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    chosen = (System("hybrid"), System("bm25", "written-schema"))
    plan = make_plan(graph, benchmark_folder, chosen, answers=True)
    settings = load_settings(environment={}, file="/dev/null", model="m", prices=PRICES)
    found = estimate(kgtable.open(graph.path), plan, settings)
    requests = {stage: part["requests"] for stage, part in found["stages"].items()}
    # once a question, except q5: no word of it is in any table, so nothing is ordered or answered
    assert requests == {"labels": 5, "rerank": 4, "schema": 3, "answer": 4 + 4}


def test_an_unknown_price_is_said_to_be_unknown(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    plan = make_plan(graph, benchmark_folder, systems(("bm25",)), answers=True)
    found = estimate(graph, plan, load_settings(environment={}, file="/dev/null", model="m"))
    assert found["cost_usd"] is None
