"""PageRank against networkx, and the sparse graphs it walks on."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import scipy.sparse as sp

from kgtable.index.embedding import normalise
from kgtable.systems.trag.coarse_to_fine import all_near
from kgtable.systems.trag.pagerank import personalised_pagerank


def symmetric(seed: int, nodes: int = 30, density: float = 0.2) -> sp.csr_matrix:
    generator = np.random.default_rng(seed)
    dense = np.triu(generator.random((nodes, nodes)) * (generator.random((nodes, nodes)) < density), 1)
    dense += np.diag(np.ones(nodes - 1), 1) * 0.1  # connected
    return sp.csr_matrix(dense + dense.T)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("damping", [0.3, 0.85])
def test_it_is_networkx_pagerank_over_the_weights_of_the_nodes(seed: int, damping: float) -> None:
    weights = symmetric(seed)
    restart = np.random.default_rng(seed + 100).random(30).astype(np.float32)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    graph = networkx.from_scipy_sparse_array(weights)
    start = {node: float(share) for node, share in enumerate(restart * degrees)}
    walked = networkx.pagerank(graph, alpha=damping, personalization=start, tol=1e-12, max_iter=1_000)
    ours = personalised_pagerank(weights, restart, damping, most=1_000, tolerance=1e-12) * degrees
    assert ours / ours.sum() == pytest.approx([walked[node] for node in range(30)], abs=1e-6)


def test_it_is_a_fixed_point_of_the_papers_formula() -> None:
    weights = symmetric(7)
    restart = np.linspace(0.1, 1, 30, dtype=np.float32)
    found = personalised_pagerank(weights, restart, 0.85, most=1_000, tolerance=1e-10)
    step = weights.toarray() / weights.toarray().sum(axis=1, keepdims=True)
    assert found == pytest.approx(0.15 * restart / restart.sum() + 0.85 * step @ found, abs=1e-6)


def test_a_start_of_zeros_is_a_start_anywhere() -> None:
    found = personalised_pagerank(symmetric(1), np.zeros(30, dtype=np.float32))
    assert found == pytest.approx(1 / 30)


def test_near_tables_are_joined_from_the_threshold_on() -> None:
    rows = normalise(np.array([[1, 0], [1, 0.2], [0.4, 1], [0, -1]]))
    expected = rows @ rows.T
    np.fill_diagonal(expected, 0)
    expected[expected < 0.5] = 0
    assert all_near(rows, 0.5).toarray() == pytest.approx(expected, abs=1e-6)
    assert all_near(sp.csr_matrix(rows), 0.5).toarray() == pytest.approx(expected, abs=1e-6)
