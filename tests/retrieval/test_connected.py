"""Questions to a graph behind a SPARQL endpoint, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kgtable
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.candidates_query import containing_cells
from tests.graph.remote.engines import ENGINES, connected_graph
from tests.index.sample_graph import write_tables
from tests.retrieval.test_hybrid import by_index

QUESTION = "How many gold medals did Kenya win?"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> kgtable.KnowledgeGraph:
    folder = tmp_path_factory.mktemp("local")
    return kgtable.build(write_tables(folder / "tables"), folder / "kg", embedding="none")


@pytest.fixture(scope="module", params=ENGINES)
def connected(
    request: pytest.FixtureRequest, local: kgtable.KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("remote")
    with connected_graph(request.param, local, folder) as graph:
        yield graph


def test_the_best_triples_are_those_of_the_index(
    connected: kgtable.KnowledgeGraph, local: kgtable.KnowledgeGraph
) -> None:
    here, there = local.retrieve(QUESTION, 4), connected.retrieve(QUESTION, 4)
    assert [triple.cell for triple in there.triples] == [triple.cell for triple in here.triples]
    assert there.triples[0].object == "7"
    assert there.tables[0].table == "medals"
    steps = ["labels", "contains", "tables", "embedding", "expansion", "candidates", "scores", "triples"]
    assert [step for step in there.timings_ms if step != "total"] == steps


@pytest.mark.parametrize("label", ["cloud", "gold", "bay", "1921-12", "1,766", "7"])
def test_labels_lead_to_the_same_cells(
    connected: kgtable.KnowledgeGraph, local: kgtable.KnowledgeGraph, label: str
) -> None:
    index = local.retrievers.get("hybrid", kgtable.retrieval.registry.Choice())._index
    found = containing_cells([label], connected.store, connected.names)
    assert set(map(tuple, found[label])) == by_index((label,), index)


def test_an_answer_with_its_cells(connected: kgtable.KnowledgeGraph) -> None:
    answer = connected.ask(QUESTION, model="none")
    assert answer.text == "7"
    assert ("medals", 2, 2) in {(cell.table, cell.row, cell.column) for cell in answer.citations}


def test_a_model_answers_from_what_was_found_there(connected: kgtable.KnowledgeGraph) -> None:
    llm = ScriptedLLM([{"labels": ["Kenya"]}, {"tables": [1]}])
    found = connected.retrieve(QUESTION, 4, llm=llm)
    assert [request.stage for request in llm.requests] == ["labels", "rerank"]
    assert found.trace["labels"] == ("kenya",)
    assert found.triples[0].table == "medals"
