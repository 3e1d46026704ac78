from __future__ import annotations

from decimal import Decimal

import kgtable
from kgtable.config import load_settings
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.cost import REPLY_TOKENS, estimate
from kgtable.evaluation.plan import make_plan
from kgtable.evaluation.systems import systems

PRICES = {"m": {"input": 2.0, "output": 10.0}}


def test_an_estimate_counts_prompts_and_sends_nothing(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    plan = make_plan(graph, benchmark_folder, systems(("bm25", "zero-shot")), judge=True)
    settings = load_settings(environment={}, file="/dev/null", model="m", prices=PRICES)
    (found,) = estimate(graph, plan, settings)
    assert found.requests == 2 * 2 * 5
    assert found.completion_tokens == 2 * 5 * sum(REPLY_TOKENS.values())
    assert found.prompt_tokens > 2 * 5 * 100
    assert found.cost == Decimal(2 * found.prompt_tokens + 10 * found.completion_tokens) / 1_000_000
    assert f"${found.cost:.2f}" in str(found)


def test_an_unknown_price_is_said_to_be_unknown(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    plan = make_plan(graph, benchmark_folder, systems(("bm25",)), answers=True)
    (found,) = estimate(graph, plan, load_settings(environment={}, file="/dev/null", model="m"))
    assert found.cost is None
    assert "price is not known" in str(found)


def test_retrieval_alone_costs_nothing(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    plan = make_plan(graph, benchmark_folder, systems(("bm25",)))
    assert estimate(graph, plan, load_settings(environment={}, file="/dev/null")) == []
