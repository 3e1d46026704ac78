"""The method ``thesis``: each step, each switch, and the same triples on another engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kgtable
from kgtable.errors import RetrievalError
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.candidates_query import candidates_query, matching_cells
from kgtable.systems.thesis.thesis_method import indexed_candidates, queried_candidates
from tests.graph.remote.engines import ENGINES, connected_graph
from tests.index.sample_graph import write_tables

QUESTION = "How many gold medals did Kenya win?"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("thesis")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGTABLE_CACHE", str(folder / "cache"))
        with kgtable.build(write_tables(folder / "tables"), folder / "kg") as kg:
            yield kg


def test_the_embedding_of_the_call_is_that_of_the_filter(graph: kgtable.KnowledgeGraph) -> None:
    with pytest.raises(RetrievalError, match="filter of thesis needs an embedding"):
        graph.retrieve(QUESTION, 3, "thesis", embedding="none")
    assert len(graph.retrieve(QUESTION, 3, "thesis", embedding="minilm").triples) == 3


def places(found: kgtable.Retrieval) -> list[tuple[str, int, int]]:
    return [tuple(at) for at in found.addresses]


def test_every_step_is_told(graph: kgtable.KnowledgeGraph) -> None:
    llm = ScriptedLLM([{"labels": ["Kenya", "gold"]}])
    found = graph.retrieve(QUESTION, 10, "thesis", llm=llm)
    assert found.trace["labels"] == ("kenya", "gold")
    assert set(found.trace["expanded"]) == {"subjects", "predicates", "groups"}
    assert found.trace["expanded"]["predicates"]["gold"] == pytest.approx(1, abs=0.01)
    assert found.triples[0].object == "7"
    queried = graph.sparql(found.trace["query"])
    assert len(queried[["table", "rowNumber", "columnNumber"]].drop_duplicates()) == found.trace["candidates"]
    assert queried["term"].value_counts()["kenya"] == found.trace["brought"]["kenya"] > 0
    explained = str(found.explain())
    assert "gold" in explained
    assert 'VALUES (?term) { ("kenya") ("gold")' in explained
    assert [step for step in found.timings_ms if step != "total"] == [
        "labels", "expansion", "sparql", "filter", "triples",
    ]  # fmt: skip


def test_the_query_finds_what_the_index_finds(graph: kgtable.KnowledgeGraph) -> None:
    found = graph.retrieve("What did the cloud cost in 2020?", 20_000, "thesis:filter=no,budget=20000")
    corpus = graph.index.corpus
    cells = matching_cells(found.trace["brought"], graph.index)
    rows = corpus.places.cell_row[cells]
    expected = zip(
        (corpus.table_ids[table] for table in corpus.places.row_table[rows].tolist()),
        corpus.places.row_number[rows].tolist(),
        corpus.places.column_number[corpus.places.cell_column[cells]].tolist(),
        strict=True,
    )
    assert set(places(found)) == set(expected)


@pytest.mark.parametrize("question", [QUESTION, "What did the cloud cost in 2020?", "Kenya, Mali and gold; total of 7"])
def test_the_query_and_the_index_give_the_same_candidates(graph: kgtable.KnowledgeGraph, question: str) -> None:
    material = graph.retrievers.material
    terms = graph.retrieve(question, 10, "thesis").trace["brought"]
    query = candidates_query(terms)
    by_query, held, brought = queried_candidates(terms, query, material.store, material.names)
    by_index, also_held, also_brought = indexed_candidates(terms, graph.index)
    assert (held, brought) == (also_held, also_brought)
    assert [by_query(at) for at in held] == [by_index(at) for at in held]


def test_each_step_can_be_switched_off(graph: kgtable.KnowledgeGraph) -> None:
    assert "expanded" not in graph.retrieve(QUESTION, 10, "thesis:expansion=no").trace
    assert "labels" not in graph.retrieve(QUESTION, 10, "thesis:labels=none").trace
    nothing = graph.retrieve(QUESTION, 10, "thesis:labels=none,expansion=no")
    assert not nothing.triples
    assert "query" not in nothing.trace
    one = graph.retrieve(QUESTION, 10, "thesis:k=1")
    assert all(len(terms) == 1 for terms in one.trace["expanded"].values())
    assert len(graph.retrieve(QUESTION, 10, "thesis:budget=2").triples) == 2
    llm = ScriptedLLM([])
    assert graph.retrieve(QUESTION, 10, "thesis:labels=rules", llm=llm).triples
    assert not llm.requests
    orders = {tuple(places(graph.retrieve(QUESTION, 30, f"thesis:filter={name}"))) for name in ("no", "hybrid")}
    assert len({*orders, tuple(places(graph.retrieve(QUESTION, 30, "thesis")))}) == 3


def test_the_tables_may_be_named(graph: kgtable.KnowledgeGraph) -> None:
    found = graph.retrieve("gold and cloud", 100, "thesis", tables=["medals"])
    assert {table for table, _, _ in places(found)} == {"medals"}


def test_a_filter_needs_an_embedding(tmp_path: Path) -> None:
    with kgtable.build(write_tables(tmp_path / "tables"), tmp_path / "kg", embedding="none") as kg:
        assert kg.retrieve(QUESTION, 10, "thesis:filter=no,embedding=none").triples
        with pytest.raises(RetrievalError, match="needs an embedding"):
            kg.retrieve(QUESTION, 10, "thesis:embedding=none")


@pytest.mark.parametrize("grouping", ["sequential", "by-table", "by-subject"])
def test_a_model_sees_the_grouped_triples(graph: kgtable.KnowledgeGraph, grouping: str) -> None:
    reply = {"reasoning": "", "program": None, "citations": [], "found": False, "answer": "", "alternatives": []}
    llm = ScriptedLLM([{"labels": ["Kenya", "gold"]}, reply])
    answer = graph.ask(QUESTION, method=f"thesis:grouping={grouping}", llm=llm)
    assert ("r2 Kenya\n  c" in answer.prompt) == (grouping == "by-subject")
    assert ("] Kenya | " in answer.prompt) == (grouping != "by-subject")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("method", ["thesis", "hybrid"])
def test_another_engine_gives_the_same_triples(
    engine: str, method: str, graph: kgtable.KnowledgeGraph, tmp_path: Path
) -> None:
    with connected_graph(engine, graph, tmp_path) as there:
        url, dialect = there.endpoint.url, there.endpoint.dialect  # type: ignore[union-attr]
        assert "expanded" not in there.retrieve(QUESTION, 20, "thesis").trace
        with kgtable.connect(url, tmp_path / "connected", dialect=dialect, index="minilm") as indexed:
            for question in (QUESTION, "What did the cloud cost in 2020?"):
                here, found = graph.retrieve(question, 50, method), indexed.retrieve(question, 50, method)
                assert places(found) == places(here)
                assert found.trace["expanded"] == here.trace["expanded"]
                assert [t.value for t in found.triples] == [t.value for t in here.triples]
