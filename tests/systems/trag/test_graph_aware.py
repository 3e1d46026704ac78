"""Answers by a model that is shown how tables are related."""

from __future__ import annotations

from typing import Any

import pytest

import kgtable
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from kgtable.systems.trag.trag_method import MOST_LINES
from tests.systems.trag.test_coarse_to_fine import QUESTION, cache, graph

__all__ = ["cache", "graph"]

NOTHING: dict[str, Any] = {
    "reasoning": "No table tells.", "program": None, "citations": [], "found": False, "answer": "", "alternatives": [],
}  # fmt: skip
BOTH = {"op": "table", "tables": ["T1", "T2"]}
LARGEST = NOTHING | {
    "reasoning": "T1 and T2 are parts of one table; the largest attendance of both is United's.",
    "found": True,
    "answer": "United",
    "program": {
        "op": "project",
        "source": {
            "op": "limit",
            "source": {
                "op": "sort",
                "source": BOTH,
                "keys": [{"expression": {"column": "Attendance"}, "descending": True}],
            },
            "count": 1,
        },
        "columns": [{"column": "Opponent"}],
    },
}


def scripted(reply: dict[str, Any]) -> ScriptedLLM:
    """A model that gives this answer; labels are left to the rules."""
    return ScriptedLLM(lambda request: {"labels": ["attendance"]} if request.stage == "labels" else reply)


def asked_for_answer(model: ScriptedLLM) -> Request:
    return next(request for request in model.requests if request.stage == "answer")


@pytest.mark.parametrize("method", ["trag", "trag:published=yes"])
def test_a_program_over_both_parts_is_executed_and_grounded(graph: kgtable.KnowledgeGraph, method: str) -> None:
    model = scripted(LARGEST)
    answer = graph.ask(QUESTION, method=method, llm=model, rerank=False)
    assert (answer.text, answer.grounded, answer.method) == ("United", True, "trag")
    assert "United" in {citation.text for citation in answer.citations}
    assert {citation.table for citation in answer.citations} <= {"season-r0", "season-r1"}
    prompt = answer.prompt
    assert "parts of one table (1.00)" in prompt
    assert "Work in three steps" in prompt
    assert prompt.index("Bridgetown season") < prompt.index("Relations between the tables:")


def test_the_relations_stand_inside_the_fenced_context(graph: kgtable.KnowledgeGraph) -> None:
    model = scripted(LARGEST)
    graph.ask(QUESTION, method="trag", llm=model, rerank=False)
    lines = str(asked_for_answer(model).messages[-1]["content"]).splitlines()
    told = next(number for number, line in enumerate(lines) if line.startswith("Relations between"))
    assert any("CONTEXT END" in line for line in lines[told:])
    assert 1 <= sum("(" in line and " – " in line for line in lines[told:]) <= MOST_LINES


def test_relations_and_long_reasoning_can_be_left_out(graph: kgtable.KnowledgeGraph) -> None:
    def prompt(options: str) -> str:
        return graph.ask(QUESTION, method=f"trag:{options}", llm=scripted(LARGEST), rerank=False).prompt

    without_graph, without_reasoning = prompt("graph=no"), prompt("reasoning=no")
    assert "elations between the tables" not in without_graph
    assert "how they are related" not in without_graph
    assert "Work in three steps" in without_graph
    assert "Relations between the tables:" in without_reasoning
    assert "Work in three steps" not in without_reasoning
    assert "<table" in graph.ask(QUESTION, method="trag:published=yes", llm=scripted(LARGEST), rerank=False).prompt


def test_an_answer_that_is_not_in_the_tables_is_refused(graph: kgtable.KnowledgeGraph) -> None:
    invented = LARGEST | {"answer": "Real Madrid", "program": None, "citations": []}
    assert not graph.ask(QUESTION, method="trag", llm=scripted(invented), rerank=False).grounded
    answer = graph.ask(QUESTION, method="trag", llm=scripted(NOTHING), rerank=False)
    assert (answer.text, answer.verified) == ("", False)
