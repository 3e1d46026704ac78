"""A language model in retrieval: what it is asked on the way to an answer."""

from __future__ import annotations

from typing import Any

import pytest

import kgtable
from kgtable.graph.terms import CellAddress
from kgtable.llm.protocol import Request
from kgtable.llm.scripted import ScriptedLLM
from tests.index.sample_graph import write_tables

QUESTION = "How many gold medals does Kenya have?"
REPLIES: dict[str, dict[str, Any]] = {
    "labels": {"labels": ["Kenya", "gold"]},
    "rerank": {"tables": [1]},
    "answer": {
        "reasoning": "Row Kenya.", "citations": ["T1.r2.c2"], "program": None, "found": True, "answer": "7",
        "alternatives": [],
    },
}  # fmt: skip


def reply(request: Request) -> dict[str, Any]:
    return REPLIES[request.stage]


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("model")
    return kgtable.build(write_tables(folder / "tables"), folder / "kg", embedding="none")


@pytest.mark.parametrize(
    ("options", "stages"), [({}, ["labels", "rerank", "answer"]), ({"rerank": False}, ["labels", "answer"])]
)
def test_it_names_labels_and_orders_tables_before_it_answers(
    kg: kgtable.KnowledgeGraph, options: dict[str, Any], stages: list[str]
) -> None:
    llm = ScriptedLLM(reply)
    answer = kg.ask(QUESTION, llm=llm, **options)
    assert [request.stage for request in llm.requests] == stages
    assert (answer.text, answer.verified) == ("7", True)
    assert answer.retrieval is not None
    assert answer.retrieval.trace["labels"] == ("kenya", "gold")
    assert ("reranked" in answer.retrieval.trace) == ("rerank" in stages)
    assert set(stages) <= set(answer.to_json()["usage"]["stages"])


def test_where_it_says_that_no_table_fits_nothing_is_answered(kg: kgtable.KnowledgeGraph) -> None:
    llm = ScriptedLLM(lambda request: {"tables": [0]} if request.stage == "rerank" else REPLIES[request.stage])
    answer = kg.ask(QUESTION, llm=llm)
    assert [request.stage for request in llm.requests] == ["labels", "rerank"]
    assert (answer.text, answer.reasons) == ("", ("The model found no table that fits the question.",))


def test_its_labels_take_the_place_of_those_by_rule(kg: kgtable.KnowledgeGraph) -> None:
    llm = ScriptedLLM([{"labels": ["bay bridge"]}, {"tables": []}])
    found = kg.retrieve("How long is that one?", 5, llm=llm)
    assert found.trace["labels"] == ("bay bridge",)
    assert found.trace["candidates"] > 0
    assert kg.retrieve("How long is that one?", 5).trace["labels"] != ("bay bridge",)


def test_other_methods_do_without_it(kg: kgtable.KnowledgeGraph) -> None:
    llm = ScriptedLLM([])
    assert kg.retrieve(QUESTION, 5, "bm25", llm=llm).triples
    assert llm.requests == []


def test_labels_of_a_model_rank(kg: kgtable.KnowledgeGraph) -> None:
    question = "Where was it?"

    def ranked(*labels: str) -> list[CellAddress]:
        llm = ScriptedLLM([{"labels": list(labels)}])
        return list(kg.retrieve(question, 5, llm=llm, rerank=False).addresses)

    assert ranked("gold", "Kenya")[0].table == "medals"
    assert ranked("Old Bay Bridge")[0].table == "bridges"
