"""Personalised PageRank over a graph of tables (T-RAG, section 3.3)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kgtable.index.postings import FloatArray
from kgtable.systems.trag.trag_options import DAMPING

MOST_STEPS = 50
TOLERANCE = 1e-6


def transitions(weights: sp.csr_matrix) -> sp.csr_matrix:
    """The weights with each row divided by its sum; a node without edges has one to itself."""
    sums = np.asarray(weights.sum(axis=1)).ravel()
    alone = sums <= 0
    scaled = sp.diags(1 / np.where(alone, 1.0, sums)) @ weights
    return sp.csr_matrix(scaled + sp.diags(alone.astype(np.float64)))


def personalised_pagerank(
    weights: sp.csr_matrix,
    restart: FloatArray,
    damping: float = DAMPING,
    *,
    most: int = MOST_STEPS,
    tolerance: float = TOLERANCE,
) -> FloatArray:
    """The fixed point of ``v = (1 - α) h + α P v``, where α is `damping` and P the `transitions`.

    `weights` are the edges' weights, symmetric, shape (nodes, nodes), none negative; `restart` is h, shape
    (nodes,), none negative, scaled to sum to 1. As in the paper a node takes the mean of its neighbours. The walk
    of textbooks multiplies by the transpose of P and yields v times the sum of the node's weights, started by h
    times the same: it ranks tables with many near ones above all others, see ``docs/trag.md``.
    """
    total = float(restart.sum())
    if total <= 0:
        return np.full(len(restart), 1 / max(len(restart), 1), dtype=np.float32)
    start = restart.astype(np.float64) / total
    step = transitions(weights)
    found = start
    for _ in range(most):
        moved = damping * (step @ found) + (1 - damping) * start
        change = float(np.abs(moved - found).sum())
        found = moved
        if change < tolerance:
            break
    return np.asarray(found, dtype=np.float32)
