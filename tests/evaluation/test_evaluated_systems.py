from __future__ import annotations

import pytest

import kgtable
from kgtable.config import Settings
from kgtable.errors import RetrievalError, UsageError
from kgtable.evaluation.run_plan import WEIGHTS, System, judge_request, model_answerer, systems
from kgtable.graph.table_source import TableReader
from kgtable.llm.repair import mismatch
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.result import Retrieval
from tests.evaluation.sample import answer


def test_choices_go_only_where_they_make_sense() -> None:
    found = systems(
        ("hybrid", "bm25", "dense", "thesis:k=2", "zero-shot"),
        formats=("csv", "markdown"),
        embeddings=("minilm", "none"),
        presentations=("subtable",),
        assists=("rules", "labels"),
        models=("m",),
    )
    by_method: dict[str, list[System]] = {}
    for system in found:
        by_method.setdefault(system.method, []).append(system)
    assert [system.assist for system in by_method["hybrid"]] == ["rules", "labels"]
    assert [system.format for system in by_method["bm25"]] == ["csv", "markdown"]
    assert {system.embedding for system in by_method["dense"]} == {"minilm", "none"}
    assert {system.embedding for system in by_method["bm25"]} == {None}
    assert [system.embedding for system in by_method["thesis:k=2"]] == ["minilm", "none"]
    (zero_shot,) = by_method["zero-shot"]
    assert (zero_shot.presentation, zero_shot.model) == (None, "m")
    assert not zero_shot.retrieves
    assert by_method["bm25"][0].retrieves


@pytest.mark.parametrize(
    "choice",
    [
        {"methods": ("nonsense",)}, {"formats": ("pdf",)}, {"presentations": ("<b>",)}, {"prompts": ("",)},
        {"assists": ("all",)}, {"methods": ()},
    ],
)  # fmt: skip
def test_unknown_names_list_the_known(choice: dict[str, tuple[str, ...]]) -> None:
    methods = choice.pop("methods", ("hybrid",))
    with pytest.raises((UsageError, RetrievalError), match=r"There are: |nothing to evaluate"):
        systems(methods, **choice)


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


def test_only_the_three_verdicts_are_taken() -> None:
    request = judge_request("?", ["1"], "", "2")
    assert request.schema is not None
    for verdict in WEIGHTS:
        found = ScriptedLLM([{"reason": "", "verdict": verdict}]).complete(request)
        assert found.data == {"reason": "", "verdict": verdict}
    assert mismatch({"reason": "", "verdict": "maybe"}, request.schema)
    assert WEIGHTS["exact"] > WEIGHTS["partial"] > WEIGHTS["none"] == 0
