"""The method `hybrid`: labels, expansion, candidates and scores, by the index of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from kgtable.errors import LLMReplyError
from kgtable.graph.store import TripleStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import BoolArray
from kgtable.llm.protocol import LLM
from kgtable.retrieval.candidates_query import matching_cells
from kgtable.retrieval.cell_scores import Scored, Weights, score
from kgtable.retrieval.expansion import expand
from kgtable.retrieval.labels import extract_labels, question_labels
from kgtable.retrieval.learned_ranking import LearnedRanking
from kgtable.retrieval.question_terms import Query, cosines
from kgtable.retrieval.reranking import reranked
from kgtable.retrieval.result import UNGUIDED, Clock, Guide, LateTriples, Retrieval, ScoredTable
from kgtable.retrieval.triples import RetrievedCells

TABLES_KEPT = 100
LEAST_COSINE = 0.3
"""The cosine of question and nearest table below which a question without known words finds nothing."""


class HybridRetriever:
    """Retriever by labels, expansion, substring candidates and scores; the trace describes each step.

    A language model, if there is one, names the labels, and orders the best tables in one more call.
    """

    name = "hybrid"

    def __init__(
        self,
        store: TripleStore,
        names: Namespaces,
        index: GraphIndex,
        *,
        weights: Weights | None = None,
        from_index: bool | None = None,
        learned: bool = True,
    ) -> None:
        """`from_index`: whether the index's cells are up to date; None checks whether the store changed.

        `learned`: whether a learned ranking orders the first tables.
        """
        self._store, self._names, self._index = store, names, index
        self._reader = TableReader(store, names)
        self._from_index = index.describes(store) if from_index is None else from_index
        self._weights = weights or Weights()
        self._ranking = LearnedRanking(index) if learned else None

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> Retrieval:
        """At most `k` triples, the best first; none if nothing in the graph is close to the question.

        Raises a leaf of `LLMError` if there is a model that cannot be used; replies it cannot
        parse are ignored.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = question_labels(question, guide.llm, partial(extract_labels, index=self._index), trace)
        return self.retrieve_labelled(question, labels, k, guide, clock, trace)

    def retrieve_labelled(
        self, question: str, labels: tuple[str, ...], k: int, guide: Guide, clock: Clock, trace: dict[str, Any]
    ) -> Retrieval:
        """The steps that follow once the labels are known; `clock` and `trace` continue from earlier steps."""
        scored = self._score(question, labels, k, guide, clock, trace)
        if scored is None:
            return Retrieval(question, (), (), clock.times, self.name, trace)
        with clock("triples"):
            triples = self.triples(scored, k)
        return Retrieval(question, triples, self._tables(scored), clock.times, self.name, trace)

    @property
    def index(self) -> GraphIndex:
        """The index it searches."""
        return self._index

    def score(self, question: str, k: int, guide: Guide, clock: Clock, trace: dict[str, Any]) -> Scored | None:
        """The scores of tables and cells for a question, for a request of `k` triples.

        None if nothing in the graph is near the question. Raises as `retrieve` does.
        """
        with clock("labels"):
            labels = question_labels(question, guide.llm, partial(extract_labels, index=self._index), trace)
        return self._score(question, labels, k, guide, clock, trace)

    def _score(
        self, question: str, labels: tuple[str, ...], k: int, guide: Guide, clock: Clock, trace: dict[str, Any]
    ) -> Scored | None:
        index = self._index
        with clock("embedding"):
            asked = index.embed([question] if guide.llm is None else [question, *labels])
        with clock("expansion"):
            expanded = expand(asked, index)
        with clock("candidates"):
            everything = dict.fromkeys((*labels, *(term for terms in expanded.values() for term in terms)))
            matching = matching_cells(everything, index)
        with clock("scores"):
            query = self._query(question, labels, asked, by_model=guide.llm is not None)
            scored = score(query, index, matching, self._weights, k, self._allowed(guide.tables))
            if self._ranking is not None:
                scored, moved = self._ranking.reordered(query, scored)
                trace |= {"moved": moved} if moved else {}
        trace |= {"labels": labels, "expanded": expanded}
        trace |= {"candidates": len(matching), "scored": len(scored.cells)}
        trace["read_from"] = "index" if self._from_index else "graph"
        if not self._near(query, labels):
            return None
        if guide.llm is not None and guide.rerank and guide.tables is None:
            with clock("reranking"):
                ordered = self._reranked(scored, query, guide.llm, trace)
            if ordered is None:
                return None
            scored = ordered
        return self.regrouped(scored, query, guide, clock, trace)

    def _query(self, question: str, labels: tuple[str, ...], asked: Matrix | None, *, by_model: bool) -> Query:
        """The query for a question; labels of a model count where they are part of a text of the graph."""
        corpus, weights = self._index.corpus, self._weights.labels
        vector = None if asked is None else asked[0]
        if not by_model:
            return Query.of(question, corpus, vector)
        held = [place for place, label in enumerate(labels) if self._index.lexical.is_known(label)]
        if asked is not None and held and weights.vector:
            vector = asked[0] + weights.vector * asked[1:][held].mean(axis=0)
            vector /= max(float(np.linalg.norm(vector)), 1e-6)
        return Query.of(question, corpus, vector, [labels[place] for place in held], weights.added)

    def _allowed(self, tables: Sequence[str] | None) -> BoolArray | None:
        """Whether each table of the index may be searched; None for all."""
        if tables is None:
            return None
        wanted = set(tables)
        return np.array([id in wanted for id in self._index.corpus.table_ids], dtype=np.bool_)

    def regrouped(self, scored: Scored, query: Query, guide: Guide, clock: Clock, trace: dict[str, Any]) -> Scored:
        """Hook for methods that score tables together, such as ``dmral``; here the scores unchanged."""
        return scored

    def _reranked(self, scored: Scored, query: Query, llm: LLM, trace: dict[str, Any]) -> Scored | None:
        """The scores after the model has ordered the tables; None if it says that none fits."""
        try:
            ordered, trace["reranked"] = reranked(scored, query, self._index, self._reader, llm)
            trace |= {"none_fits": True} if ordered is None else {}
            return ordered
        except LLMReplyError as error:
            trace["rerank_refused"] = error.message
        return scored

    def _near(self, query: Query, labels: tuple[str, ...]) -> bool:
        """Whether anything in the graph has to do with the question."""
        if len(query.terms[~query.asking]) or labels:
            return True
        vectors = self._index.vectors
        if vectors is None or query.vector is None or not len(vectors.tables):
            return bool(len(query.terms))
        return bool(cosines(vectors.tables, query.vector).max() >= LEAST_COSINE)

    def nearest_tables(self, question: str, count: int) -> list[str]:
        """The ids of the tables nearest in meaning; none if the index has no vectors."""
        vectors = self._index.vectors
        asked = None if vectors is None else self._index.embed([question])
        if vectors is None or asked is None:
            return []
        order = np.argsort(-cosines(vectors.tables, asked[0]), kind="stable")
        return [self._index.corpus.table_ids[place] for place in order[:count].tolist()]

    def triples(self, scored: Scored, k: int) -> LateTriples:
        """The `k` best of the scored cells as triples."""
        cells, scores = scored.best(k)
        corpus, reader = self._index.corpus, self._reader
        return RetrievedCells(corpus, cells, scores, reader, from_index=self._from_index).triples()

    def _tables(self, scored: Scored) -> tuple[ScoredTable, ...]:
        probabilities = scored.table_probabilities
        order = np.argsort(-scored.table_logits, kind="stable")[:TABLES_KEPT]
        order = order[np.isfinite(scored.table_logits[order])]
        ids = self._index.corpus.table_ids
        return tuple(ScoredTable(ids[table], float(probabilities[table])) for table in order.tolist())
