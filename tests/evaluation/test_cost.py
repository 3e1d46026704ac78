from __future__ import annotations

from decimal import Decimal

import kgtable
from kgtable.config import load_settings
from kgtable.evaluation.benchmark import Benchmark
from kgtable.evaluation.run_plan import System, make_plan, systems
from kgtable.evaluation.session import REPLY_TOKENS, estimate

PRICES = {"m": {"input": 2.0, "output": 10.0}}


def test_an_estimate_counts_prompts_and_sends_nothing(
    graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark
) -> None:
    plan = make_plan(graph, benchmark_folder, systems(("bm25", "zero-shot")), judge=True)
    settings = load_settings(environment={}, file="/dev/null", model="m", prices=PRICES)
    found = estimate(graph, plan, settings)
    assert [part.stage for part in found] == ["answer", "judge"]
    # bm25 finds nothing for q5, so nothing is asked; to judge it is counted all the same
    assert [part.requests for part in found] == [4 + 5, 2 * 5]
    for part in found:
        assert part.completion_tokens == part.requests * REPLY_TOKENS[part.stage]
        assert part.prompt_tokens > part.requests * 100
        assert part.cost == Decimal(2 * part.prompt_tokens + 10 * part.completion_tokens) / 1_000_000
        assert f"${part.cost:.2f}" in str(part)


def test_every_stage_that_asks_a_model_is_estimated(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    chosen = (System("hybrid"), System("bm25", "written-schema"))
    plan = make_plan(graph, benchmark_folder, chosen, answers=True)
    settings = load_settings(environment={}, file="/dev/null", model="m", prices=PRICES)
    requests = {part.stage: part.requests for part in estimate(graph, plan, settings)}
    # once a question, except q5: no word of it is in any table, so nothing is ordered or answered
    assert requests == {"labels": 5, "rerank": 4, "schema": 3, "answer": 4 + 4}


def test_an_unknown_price_is_said_to_be_unknown(graph: kgtable.KnowledgeGraph, benchmark_folder: Benchmark) -> None:
    plan = make_plan(graph, benchmark_folder, systems(("bm25",)), answers=True)
    (found,) = estimate(graph, plan, load_settings(environment={}, file="/dev/null", model="m"))
    assert found.cost is None
    assert "price is not known" in str(found)
