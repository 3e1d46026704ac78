from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgtable.building.catalogue import Catalogue
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.build import build_index
from kgtable.index.open import GraphIndex
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.hybrid import HybridRetriever
from tests.index.sample_graph import build, load_words, write_tables


@pytest.fixture
def hybrid(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> HybridRetriever:
    return HybridRetriever(store, names, index)


def test_triples_and_tables_come_by_falling_score(hybrid: HybridRetriever) -> None:
    found = hybrid.retrieve("How many gold medals did Kenya win?", 6)
    assert len(found.triples) == 6
    assert (found.triples[0].table, found.triples[0].object) == ("medals", "7")
    assert found.method == "hybrid"
    for scores in ([t.score for t in found.triples], [t.score for t in found.tables]):
        assert scores == sorted(scores, reverse=True)
    assert found.tables[0].table == "medals"
    assert len(found.tables) == 3


def test_each_step_is_timed_and_told_of(hybrid: HybridRetriever) -> None:
    found = hybrid.retrieve("How many gold medals did Kenya win?", 6)
    steps = ["labels", "embedding", "expansion", "candidates", "scores", "triples"]
    assert [step for step in found.timings_ms if step != "total"] == steps
    assert found.timings_ms["total"] >= sum(found.timings_ms[step] for step in steps) * 0.99
    assert found.trace["labels"] == ("gold", "kenya")
    assert set(found.trace["expanded"]) == {"subjects", "predicates", "groups"}
    assert found.trace["candidates"] > 0
    assert found.trace["scored"] > 0


@pytest.mark.parametrize("question", ["", "   ", "xyzzy plugh", "你好吗", "?" * 500])
def test_a_question_about_nothing_here_finds_nothing(hybrid: HybridRetriever, question: str) -> None:
    found = hybrid.retrieve(question, 10)
    assert found.triples == ()
    assert found.tables == ()


def test_an_endless_question_is_answered(hybrid: HybridRetriever) -> None:
    assert hybrid.retrieve("gold of Kenya? " * 7_000, 3).triples[0].table == "medals"


def test_a_budget_of_none(hybrid: HybridRetriever) -> None:
    assert hybrid.retrieve("gold", 0).triples == ()


def test_threads_get_the_same(hybrid: HybridRetriever) -> None:
    questions = ["gold of Kenya", "length of the Old Bay Bridge", "costs in 2019"] * 6
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda question: hybrid.retrieve(question, 5).triples, questions))
    assert found[:3] * 6 == found


def test_a_lexical_index_does_without_vectors(tmp_path: Path) -> None:
    generation = build(write_tables(tmp_path / "tables"), tmp_path / "kg", "none")
    names = Namespaces(generation.base)
    hybrid = HybridRetriever(
        EmbeddedStore(generation.store_path, names.prefixes),
        names,
        GraphIndex(generation.index_path, load_words),
    )
    found = hybrid.retrieve("How many gold medals did Kenya win?", 3)
    assert found.triples[0].table == "medals"
    assert found.trace["expanded"] == {}
    assert hybrid.retrieve("xyzzy", 3).triples == ()


def test_a_model_names_labels_and_orders_tables(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces
) -> None:
    llm = ScriptedLLM([{"labels": ["Kenya"]}, {"tables": [2]}])
    found = HybridRetriever(store, names, index, llm=llm).retrieve("How many gold medals did Kenya win?", 5)
    assert [request.stage for request in llm.requests] == ["labels", "rerank"]
    assert found.trace["labels"] == ("kenya",)
    assert found.trace["reranked"] == (found.tables[0].table,)
    assert found.tables[0].table != "medals"
    assert "reranking" in found.timings_ms


def test_reranking_can_be_turned_off(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> None:
    llm = ScriptedLLM([{"labels": ["Kenya"]}])
    found = HybridRetriever(store, names, index, llm=llm, rerank=False).retrieve("Gold of Kenya?", 5)
    assert found.triples[0].table == "medals"
    assert len(llm.requests) == 1


@pytest.mark.parametrize("embedding", ["none", "words"])
def test_a_graph_without_tables_finds_nothing(tmp_path: Path, embedding: str) -> None:
    generation = build(write_tables(tmp_path / "tables"), tmp_path / "kg", embedding)
    names = Namespaces(generation.base)
    Catalogue().save(tmp_path / "catalogue.sqlite")
    (tmp_path / "catalogue.sqlite").replace(generation.catalogue_path)
    shutil.rmtree(generation.index_path)
    build_index(generation, embedding=embedding, load=load_words)
    index = GraphIndex(generation.index_path, load_words)
    found = HybridRetriever(EmbeddedStore(generation.store_path), names, index).retrieve("gold of Kenya?", 5)
    assert (found.triples, found.tables) == ((), ())
