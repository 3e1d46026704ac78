"""The hypergraph: tables as nodes, clusters by three features as hyperedges (T-RAG, sections 3.1 and 3.2).

`TableHypergraph` is that of an open graph's tables; its parts are made when they are asked for, and kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgtable.errors import MissingExtraError
from kgtable.index.corpus import CorpusParts
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.inferred.column_profiles import TableHead
from kgtable.index.postings import FloatArray, IntArray
from kgtable.resources import cache_folder
from kgtable.storage import whole_file
from kgtable.systems.trag.table_features import (
    FeatureRows,
    FeatureSpace,
    installed_tagger,
    linearised,
    mean_of,
    shapes_of,
    similarities,
)
from kgtable.systems.trag.trag_options import CLUSTERS, TYPICAL, Feature

SEED, TRIALS = 42, 10
ALL_AT_ONCE = 20_000
"""Tables up to which KMeans sees all of them in each step; beyond, it takes them in batches."""

VERSION = 3


@dataclass(frozen=True)
class Hyperedge:
    """A cluster of tables by one feature: their numbers, the typical ones first to last by nearness to its centre."""

    feature: Feature
    number: int
    members: IntArray
    typical: IntArray

    @property
    def name(self) -> str:
        """The name within the hypergraph, such as ``semantic-3``."""
        return f"{self.feature}-{self.number}"


@dataclass(frozen=True)
class Hypergraph:
    """Hyperedges over the tables of a graph.

    `digests` are hashes of the linearised tables, `labels` give the cluster of each table by each feature.
    """

    tables: tuple[str, ...]
    digests: tuple[str, ...]
    clusters: int
    typical: int
    labels: Mapping[Feature, IntArray]
    hyperedges: tuple[Hyperedge, ...]
    _typical_means: Mapping[Feature, Matrix]
    embedding: str = ""

    @classmethod
    def build(
        cls,
        tables: Sequence[str],
        texts: Sequence[str],
        space: FeatureSpace,
        clusters: int = CLUSTERS,
        typical: int = TYPICAL,
        embedding: str = "",
    ) -> Hypergraph:
        """Cluster all tables by each feature; `embedding` names what the features were made by.

        Raises `MissingExtraError` without scikit-learn."""
        labels = {feature: clustered(rows, clusters) for feature, rows in space.rows.items()}
        return cls._of(tuple(tables), _digests(texts), clusters, typical, labels, space, embedding)

    @classmethod
    def _of(
        cls,
        tables: tuple[str, ...],
        digests: tuple[str, ...],
        clusters: int,
        typical: int,
        labels: Mapping[Feature, IntArray],
        space: FeatureSpace,
        embedding: str,
    ) -> Hypergraph:
        edges: list[Hyperedge] = []
        means: dict[Feature, Matrix] = {}
        for feature, of_tables in labels.items():
            rows = space.rows[feature]
            of_feature = [_hyperedge(feature, rows, of_tables, n, typical) for n in range(clusters)]
            of_feature = [edge for edge in of_feature if len(edge.members)]
            edges += of_feature
            width = rows.shape[1]
            found = [mean_of(rows, edge.typical) for edge in of_feature]
            means[feature] = np.stack(found) if found else np.zeros((0, width), dtype=np.float32)
        return cls(tables, digests, clusters, typical, labels, tuple(edges), means, embedding)

    def nearest(self, question: Mapping[Feature, FloatArray]) -> list[Hyperedge]:
        """For each feature the hyperedge whose typical tables fit the question best (T-RAG, equation 5)."""
        found: list[Hyperedge] = []
        for feature, vector in question.items():
            of_feature = [edge for edge in self.hyperedges if edge.feature is feature]
            if of_feature:
                # The mean cosine with the typical tables is the product with their mean: all have length 1.
                found.append(of_feature[int(np.argmax(self._typical_means[feature] @ vector))])
        return found

    def save(self, path: Path) -> None:
        """Write what `load` reads: the assignment of tables. The hyperedges follow from it and the features."""
        content = {
            "version": VERSION,
            "embedding": self.embedding,
            "tables": self.tables,
            "digests": self.digests,
            "clusters": self.clusters,
            "typical": self.typical,
            "labels": {feature.value: labels.tolist() for feature, labels in self.labels.items()},
        }
        with whole_file(path) as file:
            file.write(json.dumps(content, separators=(",", ":")).encode())

    @classmethod
    def load(
        cls, path: Path, tables: Sequence[str], texts: Sequence[str], space: FeatureSpace, embedding: str = ""
    ) -> Hypergraph | None:
        """The saved hypergraph; None if there is none, or one of other tables or by other features."""
        with suppress(OSError, ValueError, KeyError, TypeError):  # a damaged file is made again
            saved = json.loads(path.read_text(encoding="utf-8"))
            labels = {Feature(name): np.array(found, dtype=np.int64) for name, found in saved["labels"].items()}
            digests = _digests(texts)
            made_of = saved["version"], saved["embedding"], tuple(saved["tables"]), tuple(saved["digests"])
            if made_of == (VERSION, embedding, tuple(tables), digests) and labels.keys() == space.rows.keys():
                clusters, typical = int(saved["clusters"]), int(saved["typical"])
                return cls._of(tuple(tables), digests, clusters, typical, labels, space, embedding)
        return None


def _hyperedge(feature: Feature, rows: FeatureRows, labels: IntArray, number: int, typical: int) -> Hyperedge:
    members = np.flatnonzero(labels == number)
    if not len(members):
        return Hyperedge(feature, number, members, members)
    near = similarities(rows[members], mean_of(rows, members))
    return Hyperedge(feature, number, members, members[np.argsort(-near, kind="stable")[:typical]])


def clustered(rows: FeatureRows, clusters: int) -> IntArray:
    """The cluster of each row by KMeans, seeded; with fewer different rows there are fewer clusters."""
    try:
        from sklearn.cluster import KMeans, MiniBatchKMeans
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingExtraError("The method trag", "trag") from None
    count = min(clusters, _distinct(rows, clusters))
    if count < 2:
        return np.zeros(rows.shape[0], dtype=np.int64)
    options = {"n_clusters": count, "random_state": SEED}
    if rows.shape[0] > ALL_AT_ONCE:
        model: Any = MiniBatchKMeans(n_init=3, batch_size=4_096, **options)
    else:
        model = KMeans(n_init=TRIALS, **options)
    with threadpool_limits(1):  # the sums of several threads would differ from run to run
        return np.asarray(model.fit_predict(rows), dtype=np.int64)


def _distinct(rows: FeatureRows, enough: int) -> int:
    """How many different rows there are; counted only up to `enough`."""
    seen: set[bytes] = set()
    for place in range(rows.shape[0]):
        row = rows[place]
        seen.add((row if isinstance(row, np.ndarray) else row.toarray()).tobytes())
        if len(seen) >= enough:
            break
    return len(seen)


def _digests(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for text in texts)


class TableHypergraph:
    """The features and hyperedges of the tables of an open graph, made when they are asked for.

    `stored` is the file with hyperedges that were written to the graph, where there are any; others are
    kept in the user's cache.
    """

    def __init__(self, index: GraphIndex, texts: Sequence[str], stored: Path | None = None) -> None:
        self.index, self.texts = index, texts
        self._stored, self._tagger = stored, installed_tagger()
        self._hypergraphs: dict[tuple[int, int], Hypergraph] = {}

    @cached_property
    def space(self) -> FeatureSpace:
        """The features of the tables."""
        vectors = (
            None if self.index.vectors is None else self._kept("schema", lambda: self.index.embed(list(self.texts)))
        )
        shapes = self._kept("shapes", lambda: shapes_of(self.texts, self._tagger))
        return FeatureSpace.of(self.texts, vectors, shapes, self._tagger)

    def _kept(self, name: str, make: Callable[[], Matrix | None]) -> Matrix:
        """Rows that are made of the texts, kept in the user's cache."""
        key = hashlib.sha256(repr((name, self.made_by, self.texts)).encode("utf-8", "surrogatepass")).hexdigest()
        path = cache_folder() / "hypergraphs" / f"{key}.npy"
        with suppress(OSError, ValueError):
            return np.asarray(np.load(path, allow_pickle=False), dtype=np.float32)
        rows = make()
        assert rows is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            np.save(file, rows, allow_pickle=False)
        return rows

    @property
    def made_by(self) -> str:
        """The embedding and the tagger that the features are made by."""
        tagger = self._tagger.meta if self._tagger else {}
        return ", ".join(filter(None, (self.index.embedding, tagger.get("name"), tagger.get("version"))))

    def hyperedges(self, clusters: int, typical: int) -> Hypergraph:
        """The hypergraph with so many clusters and typical tables."""
        wanted = (clusters, typical)
        if wanted not in self._hypergraphs:
            self._hypergraphs[wanted] = self._read(clusters, typical) or self._make(clusters, typical)
        return self._hypergraphs[wanted]

    def _read(self, clusters: int, typical: int) -> Hypergraph | None:
        if self._stored is None:
            return None
        ids = self.index.corpus.table_ids
        found = Hypergraph.load(self._stored, ids, self.texts, self.space, self.made_by)
        return found if found and (found.clusters, found.typical) == (clusters, typical) else None

    def _make(self, clusters: int, typical: int) -> Hypergraph:
        tables, texts = self.index.corpus.table_ids, self.texts
        key = hashlib.sha256(repr((self.made_by, clusters, typical, tables, texts)).encode())
        path = cache_folder() / "hypergraphs" / f"{key.hexdigest()}.json"
        found = Hypergraph.load(path, tables, texts, self.space, self.made_by)
        if found is None:
            found = Hypergraph.build(tables, texts, self.space, clusters, typical, self.made_by)
            path.parent.mkdir(parents=True, exist_ok=True)
            found.save(path)
        return found

    @classmethod
    def open(cls, index: GraphIndex, stored: Path | None) -> TableHypergraph:
        """The hypergraph of the tables of an index; `stored` is the file to take hyperedges up from."""
        heads = map(json.loads, CorpusParts.open(index.folder).heads)
        return cls(index, [linearised(TableHead.from_list(head)) for head in heads], stored)
