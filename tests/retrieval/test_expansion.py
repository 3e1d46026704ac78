from __future__ import annotations

from kgtable.index.open import GraphIndex
from kgtable.retrieval.hybrid import expand


def test_the_nearest_terms_of_the_graph_join_the_labels(index: GraphIndex) -> None:
    expanded = expand(index.embed(["costs of the cloud", "gold"]), index, count=2)
    assert expanded["groups"][0] == "costs:"
    assert expanded["predicates"][0] == "gold"
    assert "- cloud" in expanded["subjects"]
    assert all(len(terms) == 2 for terms in expanded.values())


def test_without_vectors_nothing_joins(index: GraphIndex) -> None:
    assert expand(None, index) == {}
