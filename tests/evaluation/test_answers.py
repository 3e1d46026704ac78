from __future__ import annotations

import pytest

import kgtable
from kgtable.config import Settings
from kgtable.evaluation.evaluated_systems import System, answer_json, model_answerer, put, rule_answerer
from kgtable.graph.table_source import TableReader
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.result import Retrieval
from tests.evaluation.sample import answer

QUESTION = "How many ships has the port Fjell?"


@pytest.fixture
def found(graph: kgtable.KnowledgeGraph) -> Retrieval:
    return graph.retrieve(QUESTION, 20, "bm25", format="markdown")


@pytest.mark.parametrize(
    ("system", "shown", "temperature"),
    [
        (System("bm25"), "<td>Fjell</td><td>Norway</td><td>44</td>", 0.3),
        (System("bm25", presentation="markdown"), "| Fjell | Norway | 44 |", 0.3),
        (System("hybrid"), "\nr2 | Fjell | Norway | 44\n", 0.3),
        (System("zero-shot"), QUESTION, 0.9),
    ],
)
def test_each_system_asks_in_its_own_way(
    graph: kgtable.KnowledgeGraph, found: Retrieval, system: System, shown: str, temperature: float
) -> None:
    llm = ScriptedLLM([answer("44")])
    ask = model_answerer(system, llm, TableReader(graph.store, graph.names), Settings())
    assert ask(found).text == "44"
    (request,) = llm.requests
    assert shown in "\n".join(message["content"] for message in request.messages)
    assert request.temperature == temperature


def test_a_temperature_that_is_asked_for_is_used(graph: kgtable.KnowledgeGraph, found: Retrieval) -> None:
    llm = ScriptedLLM([answer("44")])
    tables = TableReader(graph.store, graph.names)
    model_answerer(System("bm25"), llm, tables, Settings(), 0.0)(found)
    assert llm.requests[0].temperature == 0.0


def test_no_model_is_asked_about_nothing(graph: kgtable.KnowledgeGraph) -> None:
    llm = ScriptedLLM([])
    ask = model_answerer(System("bm25"), llm, TableReader(graph.store, graph.names), Settings())
    assert ask(Retrieval("Which wind blows?", (), (), method="bm25")).text == ""
    assert llm.requests == []


def test_rules_answer_without_a_model(graph: kgtable.KnowledgeGraph, found: Retrieval) -> None:
    given = rule_answerer(TableReader(graph.store, graph.names))(found)
    kept = answer_json(given)
    assert kept["text"] == "44"
    assert kept["citations"] == [["ports", 2, 2, "44"]]
    assert put(found, "Other?").question == "Other?"
