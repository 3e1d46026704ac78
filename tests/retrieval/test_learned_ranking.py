from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex
from kgtable.retrieval import learned_ranking
from kgtable.retrieval.cell_scores import Scored, Weights, score
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.learned_ranking import NAMES, LearnedRanking, TableFeatures, TableNetwork
from kgtable.retrieval.question_terms import Query

QUESTION = "How many gold medals did Kenya win?"


def asked(question: str, index: GraphIndex) -> tuple[Query, Scored]:
    vectors = index.embed([question])
    query = Query.of(question, index.corpus, None if vectors is None else vectors[0])
    return query, score(query, index, np.zeros(0, dtype=np.int64), Weights(), 10)


def network_of(feature: str, weight: float) -> TableNetwork:
    """One that adds the feature's value, which must not be negative, times the weight."""
    inputs = np.zeros((len(NAMES), 1), dtype=np.float32)
    inputs[NAMES.index(feature)] = 1
    zeros, ones = np.zeros(len(NAMES), dtype=np.float32), np.ones(len(NAMES), dtype=np.float32)
    return TableNetwork(zeros, ones, inputs, zeros[:1], np.array([weight], dtype=np.float32))


def test_features_tell_where_the_words_of_the_question_stand(index: GraphIndex) -> None:
    query, scored = asked(QUESTION, index)
    order = np.argsort(-scored.table_logits, kind="stable")
    features = TableFeatures(index).of(query, scored.table_logits[order], order)
    assert features.shape == (len(order), len(NAMES))
    assert np.isfinite(features).all()
    ids = [index.corpus.table_ids[table] for table in order.tolist()]
    by_table = {id: dict(zip(NAMES, row, strict=True)) for id, row in zip(ids, features.tolist(), strict=True)}
    medals = by_table.pop("medals")
    assert medals["whole cells"] > 0
    assert medals["row and header"] > max(other["row and header"] for other in by_table.values())
    assert medals["row and header against the best"] > 0
    assert medals["asks for a number"] == 1


def test_the_order_changes_and_the_scores_stay(index: GraphIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    query, scored = asked(QUESTION, index)
    monkeypatch.setattr(learned_ranking, "_network", lambda: network_of("rank", 1_000))
    found, moved = LearnedRanking(index).reordered(query, scored)
    before, after = (np.argsort(-logits, kind="stable") for logits in (scored.table_logits, found.table_logits))
    assert after.tolist() == before[::-1].tolist()
    assert np.sort(found.table_logits).tolist() == np.sort(scored.table_logits).tolist()
    last = index.corpus.table_ids[before[-1]]
    assert moved[last].startswith(f"{len(before)} → 1 by rank")
    assert index.corpus.table_ids[before[0]] not in moved


def test_without_vectors_and_for_a_single_table_nothing_changes(
    index: GraphIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, scored = asked(QUESTION, index)
    monkeypatch.setattr(learned_ranking, "_network", lambda: network_of("rank", 1_000))
    ranking = LearnedRanking(index)
    assert ranking.reordered(replace(query, vector=None), scored) == (scored, {})
    alone = np.full_like(scored.table_logits, -np.inf)
    alone[0] = 1
    single = replace(scored, table_logits=alone)
    assert ranking.reordered(query, single) == (single, {})


def test_hybrid_explains_what_moved_a_table_and_can_do_without(
    store: EmbeddedStore, names: Namespaces, index: GraphIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned_ranking, "_network", lambda: network_of("rank", 1_000))
    learned = HybridRetriever(store, names, index).retrieve(QUESTION, 5)
    plain = HybridRetriever(store, names, index, learned=False).retrieve(QUESTION, 5)
    assert plain.tables[0].table == "medals"
    assert "moved" not in plain.trace
    assert [table.table for table in learned.tables] == [table.table for table in plain.tables][::-1]
    assert "→ 1 by rank" in str(learned.explain())


def test_the_packaged_network_takes_the_features(index: GraphIndex) -> None:
    network = learned_ranking._network()
    assert network.inputs.shape == (len(NAMES), len(network.output))
    assert len(network.mean) == len(network.deviation) == len(NAMES)
    query, scored = asked(QUESTION, index)
    found, _ = LearnedRanking(index).reordered(query, scored)
    assert index.corpus.table_ids[int(found.table_logits.argmax())] == "medals"
