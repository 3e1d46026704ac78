"""Sparse weighted graphs of tables that are near to each other, and PageRank over them (T-RAG, section 3.3).

Two tables are near by their vectors, or by the terms that they share in the RDF graph.
"""

from __future__ import annotations

import faiss
import numpy as np
import scipy.sparse as sp

from kgtable.index.corpus import NONE, Places
from kgtable.index.postings import FloatArray, IntArray
from kgtable.index.vectors import one_thread
from kgtable.systems.trag.table_features import FeatureRows
from kgtable.systems.trag.trag_options import DAMPING, NEIGHBOURS

ROWS_AT_ONCE = 1_000
"""Rows of sparse features that are compared with all others at a time."""

COMMONEST = 100
"""Tables that share a subject or predicate beyond which it tells nothing."""


def nearest_tables(rows: FeatureRows, threshold: float, neighbours: int = NEIGHBOURS) -> sp.csr_matrix:
    """Each table with those whose rows have the largest cosine with its own, from `threshold` on.

    Symmetric, weighted by the cosine.
    """
    count = rows.shape[0]
    if not isinstance(rows, np.ndarray):
        # a part of the rows at a time: common words would fill the matrix of all pairs
        columns = sp.csr_matrix(rows.T)
        parts = [
            _strongest(sp.csr_matrix(rows[start : start + ROWS_AT_ONCE] @ columns), neighbours, threshold, start)
            for start in range(0, count, ROWS_AT_ONCE)
        ]
        return _both_ways(sp.csr_matrix(sp.vstack(parts)) if parts else sp.csr_matrix((0, 0)))
    index = faiss.IndexFlatIP(rows.shape[1])
    dense = np.ascontiguousarray(rows, dtype=np.float32)
    index.add(dense)
    with one_thread():
        cosines, places = index.search(dense, min(neighbours + 1, count)) if count else (dense, dense)
    owner = np.repeat(np.arange(count), places.shape[1])
    places, cosines = places.ravel(), cosines.ravel()
    kept = (cosines >= threshold) & (places != owner) & (cosines > 0)
    return _both_ways(sp.csr_matrix((cosines[kept], (owner[kept], places[kept])), shape=(count, count)))


def all_near(rows: FeatureRows, threshold: float) -> sp.csr_matrix:
    """All pairs of rows whose cosine is at least `threshold`, without loops (equation 8 of the paper)."""
    pairs = sp.coo_matrix(rows @ rows.T)
    kept = (pairs.data >= threshold) & (pairs.data > 0) & (pairs.row != pairs.col)
    return sp.csr_matrix((pairs.data[kept], (pairs.row[kept], pairs.col[kept])), shape=pairs.shape)


def _both_ways(edges: sp.csr_matrix) -> sp.csr_matrix:
    """The symmetric graph with the edges of either direction."""
    return sp.csr_matrix(edges.maximum(edges.T))


def heaviest(weights: sp.csr_matrix, neighbours: int, least: float = 0.0) -> sp.csr_matrix:
    """The graph with the heaviest edges of each node alone, without loops, symmetric."""
    return _both_ways(_strongest(weights, neighbours, least))


def _strongest(weights: sp.csr_matrix, neighbours: int, least: float = 0.0, first_node: int = 0) -> sp.csr_matrix:
    """The heaviest entries of each row without loops; row 0 is the node `first_node`."""
    entries = sp.coo_matrix(weights)
    kept = (entries.row + first_node != entries.col) & (entries.data > 0) & (entries.data >= least)
    row, column, weight = entries.row[kept], entries.col[kept], entries.data[kept]
    order = np.lexsort((column, -weight, row))
    row, column, weight = row[order], column[order], weight[order]
    first = np.searchsorted(row, row, side="left")
    kept = np.arange(len(row)) - first < neighbours
    return sp.csr_matrix((weight[kept], (row[kept], column[kept])), shape=weights.shape)


def sharing_terms(
    tables: IntArray, terms: IntArray, count: int, size: int, neighbours: int = NEIGHBOURS
) -> sp.csr_matrix:
    """Tables joined by the terms they share: the cosine of their terms, weighted by rarity.

    `tables` and `terms` are pairs; there are `count` tables and `size` terms. Terms of more than
    `COMMONEST` tables join none.
    """
    pairs = np.unique(tables.astype(np.int64) * size + terms)
    owner, term = np.divmod(pairs, max(size, 1))
    having = np.bincount(term, minlength=size)
    rarity = np.log(max(count, 1) / np.maximum(having, 1)) + 1e-6
    lengths = np.sqrt(np.bincount(owner, weights=rarity[term] ** 2, minlength=count))
    shared = (having[term] > 1) & (having[term] <= COMMONEST)
    owner, term = owner[shared], term[shared]
    weights = rarity[term] / np.maximum(lengths[owner], 1e-9)
    incidence = sp.csr_matrix((weights, (owner, term)), shape=(count, size))
    return heaviest(sp.csr_matrix(incidence @ incidence.T), neighbours)


def sharing_subjects(places: Places, texts: int, neighbours: int = NEIGHBOURS) -> sp.csr_matrix:
    """Tables with rows of the same label: the shared entities of the RDF graph."""
    known = (places.row_label != NONE) & ~places.row_is_header
    return sharing_terms(places.row_table[known], places.row_label[known], places.tables, texts, neighbours)


def sharing_predicates(places: Places, neighbours: int = NEIGHBOURS) -> sp.csr_matrix:
    """Tables whose cells have the same predicates."""
    size = int(places.column_predicate.max(initial=-1)) + 1
    return sharing_terms(places.column_table, places.column_predicate, places.tables, size, neighbours)


ALIKE = 0.5
"""The least weight of an edge between tables that are taken for parts of one without a common title."""


def parts_of_one(places: Places, near: sp.csr_matrix, shared: sp.csr_matrix) -> sp.csr_matrix:
    """Tables under the same title and headings: the parts of one that was split, or tables side by side.

    Of the tables whose title no other has, those are joined that are `near` each other, and whose predicates or
    subjects are `shared` (weights up to 1): their product is the weight, from `ALIKE` on.
    """
    kin = places.table_kin
    groups = sp.csr_matrix(
        (np.ones(len(kin), dtype=np.float32), (np.arange(len(kin)), kin)),
        shape=(len(kin), int(kin.max(initial=-1)) + 1),
    )
    titled = heaviest(sp.csr_matrix(groups @ groups.T), len(kin))
    alone = sp.diags((np.asarray(titled.sum(axis=1)).ravel() == 0).astype(np.float32))
    alike = heaviest(sp.csr_matrix(alone @ near.multiply(shared) @ alone), len(kin), ALIKE)
    return sp.csr_matrix(titled + alike)


def within(weights: sp.csr_matrix, nodes: IntArray) -> sp.csr_matrix:
    """The subgraph of some nodes, numbered in their order."""
    return sp.csr_matrix(weights[nodes][:, nodes])


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
    of textbooks multiplies by the transpose of P and gives v times the sum of the node's weights, started by h
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
