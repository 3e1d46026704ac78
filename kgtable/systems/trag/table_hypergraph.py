"""The hypergraph of an open graph's tables, its parts made when they are asked for and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kgtable.building.contents import read_contents
from kgtable.building.generations import Generation
from kgtable.index.graph_index import GraphIndex
from kgtable.resources import cache_folder
from kgtable.systems.trag.hypergraph import Hypergraph
from kgtable.systems.trag.table_features import FeatureSpace, linearised
from kgtable.systems.trag.table_graph import (
    nearest_tables,
    parts_of_one,
    sharing_predicates,
    sharing_subjects,
)
from kgtable.systems.trag.trag_options import TableRelation


class TableHypergraph:
    """The features, hyperedges and edges over the tables of an open graph, made when they are asked for.

    `stored` is the file with hyperedges that were written to the graph, where there are any; others are
    kept in the user's cache.
    """

    def __init__(self, index: GraphIndex, texts: Sequence[str], stored: Path | None = None) -> None:
        self.index = index
        self.texts = texts
        self._stored = stored
        self._edges: dict[tuple[TableRelation, float, int], sp.csr_matrix] = {}
        self._hypergraphs: dict[tuple[int, int], Hypergraph] = {}

    @cached_property
    def space(self) -> FeatureSpace:
        """The features of the tables."""
        vectors = self.index.vectors
        return FeatureSpace.of(self.texts, None if vectors is None else vectors.tables)

    def hyperedges(self, clusters: int, typical: int) -> Hypergraph:
        """The hypergraph with so many clusters and typical tables."""
        wanted = (clusters, typical)
        if wanted not in self._hypergraphs:
            self._hypergraphs[wanted] = self._read(clusters, typical) or self._make(clusters, typical)
        return self._hypergraphs[wanted]

    def _read(self, clusters: int, typical: int) -> Hypergraph | None:
        if self._stored is None:
            return None
        ids, embedding = self.index.corpus.table_ids, self.index.embedding
        found = Hypergraph.load(self._stored, ids, self.texts, self.space, embedding)
        return found if found and (found.clusters, found.typical) == (clusters, typical) else None

    def _make(self, clusters: int, typical: int) -> Hypergraph:
        tables, texts = self.index.corpus.table_ids, self.texts
        key = hashlib.sha256(repr((self.index.embedding, clusters, typical, tables, texts)).encode())
        if self.index.vectors is not None:
            key.update(np.ascontiguousarray(self.index.vectors.tables).tobytes())
        path = cache_folder() / "hypergraphs" / f"{key.hexdigest()}.json"
        embedding = self.index.embedding
        found = Hypergraph.load(path, tables, texts, self.space, embedding)
        if found is None:
            found = Hypergraph.build(tables, texts, self.space, clusters, typical, embedding)
            path.parent.mkdir(parents=True, exist_ok=True)
            found.save(path)
        return found

    def edges(self, relation: TableRelation, threshold: float, neighbours: int) -> sp.csr_matrix:
        """The tables joined by one relation, shape (tables, tables), symmetric."""
        key = (relation, threshold, neighbours)
        if key not in self._edges:
            self._edges[key] = self._joined(*key)
        return self._edges[key]

    def _joined(self, relation: TableRelation, threshold: float, neighbours: int) -> sp.csr_matrix:
        corpus = self.index.corpus
        if relation is TableRelation.SUBJECTS:
            return sharing_subjects(corpus.places, len(corpus.texts), neighbours)
        if relation is TableRelation.PREDICATES:
            return sharing_predicates(corpus.places, neighbours)
        if relation is TableRelation.PARTS:
            near = self.edges(TableRelation.SIMILARITY, threshold, neighbours)
            subjects = self.edges(TableRelation.SUBJECTS, threshold, neighbours)
            predicates = self.edges(TableRelation.PREDICATES, threshold, neighbours)
            return parts_of_one(corpus.places, near, subjects.maximum(predicates))
        return nearest_tables(self.space.rows[self.space.nearness], threshold, neighbours)

    @classmethod
    def open(cls, index: GraphIndex, generation: Generation, stored: Path | None) -> TableHypergraph:
        """The hypergraph of a generation with its index; `stored` is the file to take hyperedges up from."""
        contents = read_contents(generation, index.corpus.table_ids)
        return cls(index, [linearised(content) for content in contents], stored)
