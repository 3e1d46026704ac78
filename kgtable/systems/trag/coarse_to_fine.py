"""Retrieval from coarse to fine: hyperedges, a local graph of their tables, PageRank (T-RAG, 3.2 and 3.3).

As published the walk starts by the cosine of question and table and goes along cosines. kgtable's own variant
starts by the table scores of `hybrid`, looks at its best tables too, and goes along the parts of one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from kgtable.building.generations import Generation
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex
from kgtable.index.inferred.relations import TableRelations, UnionableTables
from kgtable.index.postings import FloatArray, IntArray
from kgtable.retrieval.cell_scores import Scored, softmax
from kgtable.retrieval.hybrid import TABLES_KEPT, HybridRetriever
from kgtable.retrieval.result import UNGUIDED, Clock, Guide, Retrieval, ScoredTable
from kgtable.retrieval.table_texts import TriplesOf, among, triples_within
from kgtable.systems.trag.hyperedge_graph import stored_hypergraph
from kgtable.systems.trag.hypergraph import TableHypergraph
from kgtable.systems.trag.pagerank import personalised_pagerank
from kgtable.systems.trag.table_features import FeatureRows, similarities
from kgtable.systems.trag.trag_options import TableRelation, TragOptions

CANDIDATES = 200
"""Tables of `hybrid` that join those of the hyperedges."""

TEMPERATURE = 2.0
"""Flattens the table scores of `hybrid` before they become chances to start at a table."""


def all_near(rows: FeatureRows, threshold: float) -> sp.csr_matrix:
    """All pairs of rows whose cosine is at least `threshold`, without loops (equation 8 of the paper)."""
    pairs = sp.coo_matrix(rows @ rows.T)
    kept = (pairs.data >= threshold) & (pairs.data > 0) & (pairs.row != pairs.col)
    return sp.csr_matrix((pairs.data[kept], (pairs.row[kept], pairs.col[kept])), shape=pairs.shape)


def parts_of_one(unions: Iterable[UnionableTables], tables: Sequence[str]) -> sp.csr_matrix:
    """The tables that the graph states to be parts of one, joined by that score."""
    places = {table: place for place, table in enumerate(tables)}
    edges = sp.lil_matrix((len(tables), len(tables)))
    for union in unions:
        members = [places[table] for table in union.tables if table in places]
        for place in members:
            edges[place, [other for other in members if other != place]] = union.score
    return sp.csr_matrix(edges)


class TragRetriever:
    """Finds tables from coarse to fine, and in them the triples."""

    name = "trag"

    def __init__(
        self,
        hypergraph: TableHypergraph,
        hybrid: HybridRetriever,
        triples_of: TriplesOf,
        relations: TableRelations,
        options: TragOptions | None = None,
    ) -> None:
        self.hypergraph, self.options = hypergraph, options or TragOptions()
        self._hybrid, self._triples_of, self._relations = hybrid, triples_of, relations
        self._parts = parts_of_one(relations.unions, hypergraph.index.corpus.table_ids)

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> Retrieval:
        """At most `k` triples, the best first; those of named tables and of the published variant table by table.

        Raises a leaf of `LLMError`.
        """
        return among(self._found(question, k, replace(guide, tables=None)), k, guide.tables, self._triples_of)

    def _found(self, question: str, k: int, guide: Guide) -> Retrieval:
        clock, trace = Clock(), dict[str, Any]()
        scored: Scored | None = None
        if not self.options.published:
            scored = self._hybrid.score(question, k, guide, clock, trace)
            if scored is None:
                return Retrieval(question, (), (), clock.times, self.name, trace)
        with clock("tables"):
            nodes, shares = self.ranked_tables(question, None if scored is None else scored.table_logits, trace)
        tables = self._scored_tables(nodes, shares)
        with clock("triples"):
            if scored is None:
                whole = tuple(triples_within(tables, k, self._triples_of))
                return Retrieval(question, whole, tables, clock.times, self.name, trace)
            triples = self._hybrid.triples(replace(scored, table_logits=self._logits(nodes, shares)), k)
        return Retrieval(question, triples, tables, clock.times, self.name, trace)

    def ranked_tables(
        self, question: str, hybrid: FloatArray | None, trace: dict[str, Any] | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Numbers of the candidate tables and their shares of the walk, the best first.

        `hybrid` are the table scores of `hybrid`, shape (tables,), where the walk starts by them.
        """
        options, space = self.options, self.hypergraph.space
        vectors = self.hypergraph.index.embed([question])
        asked = space.of_question(question, None if vectors is None else vectors[0])
        chosen = self.hypergraph.hyperedges(options.clusters, options.typical).nearest(
            {feature: row for feature, row in asked.items() if feature in options.features}
        )
        taken = np.zeros(self.hypergraph.index.corpus.places.tables, dtype=np.bool_)
        for edge in chosen:
            taken[edge.members] = True
        if hybrid is not None:
            taken[np.argsort(-hybrid, kind="stable")[:CANDIDATES]] = True
        nodes = np.flatnonzero(taken)
        if hybrid is None:
            near = space.nearness
            start = np.clip(similarities(space.rows[near][nodes], asked[near]), 0, None)
            # As in the paper a table is similar to itself.
            edges = self._edges(TableRelation.SIMILARITY, nodes) + sp.identity(len(nodes), format="csr")
        else:
            start = softmax(hybrid[nodes] / TEMPERATURE)
            edges = self._edges(TableRelation.PARTS, nodes)
        shares = personalised_pagerank(edges, start, options.damping)
        order = np.argsort(-shares, kind="stable")
        if trace is not None:
            trace |= {"hyperedges": [f"{edge.name} ({len(edge.members)} tables)" for edge in chosen]}
            trace |= {"candidate_tables": len(nodes)}
        return nodes[order], shares[order]

    def _edges(self, relation: TableRelation, nodes: IntArray) -> sp.csr_matrix:
        """The edges of one relation among some tables."""
        if relation is TableRelation.PARTS:
            return sp.csr_matrix(self._parts[nodes][:, nodes])
        space = self.hypergraph.space
        return all_near(space.rows[space.nearness][nodes], self.options.threshold)

    def relations_among(self, tables: Sequence[str]) -> list[tuple[str, str, TableRelation, float]]:
        """The edges between these tables by every relation: both ids, the relation and its weight."""
        numbers = {id: number for number, id in enumerate(self.hypergraph.index.corpus.table_ids)}
        nodes = np.array([numbers[id] for id in tables if id in numbers], dtype=np.int64)
        found: list[tuple[str, str, TableRelation, float]] = []
        ids = self.hypergraph.index.corpus.table_ids
        for relation in TableRelation:
            local = sp.coo_matrix(sp.triu(self._edges(relation, nodes), k=1))
            found += (
                (ids[nodes[row]], ids[nodes[column]], relation, float(weight))
                for row, column, weight in zip(local.row, local.col, local.data, strict=True)
            )
        return found

    def _scored_tables(self, nodes: IntArray, shares: FloatArray) -> tuple[ScoredTable, ...]:
        ids = self.hypergraph.index.corpus.table_ids
        pairs = zip(nodes[:TABLES_KEPT].tolist(), shares[:TABLES_KEPT].tolist(), strict=True)
        return tuple(ScoredTable(ids[table], share) for table, share in pairs if share > 0)

    def _logits(self, nodes: IntArray, shares: FloatArray) -> FloatArray:
        """The shares as logarithms for all tables, those that are not candidates last."""
        logits = np.full(self.hypergraph.index.corpus.places.tables, np.log(1e-12), dtype=np.float32)
        logits[nodes] = np.log(np.maximum(shares, 1e-11))
        return logits


def open_hypergraph(index: GraphIndex, names: Namespaces) -> TableHypergraph:
    """The hypergraph of a graph on disk, as written by its last ``kgtable hypergraph``, or computed here."""
    return TableHypergraph.open(index, stored_hypergraph(Generation(0, index.folder.parent, names.base)))
