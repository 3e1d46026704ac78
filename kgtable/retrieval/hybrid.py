"""`hybrid`: the thesis's SPARQL-based hybrid retrieval (section 4.4), ranked without a model call each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from kgtable.errors import LLMReplyError
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.corpus import NONE
from kgtable.index.opened import GraphIndex
from kgtable.llm.protocol import LLM
from kgtable.retrieval.candidates import matching_cells
from kgtable.retrieval.expansion import expand
from kgtable.retrieval.filling import fill
from kgtable.retrieval.labels import extract_labels, question_labels
from kgtable.retrieval.query import Query, cosines
from kgtable.retrieval.rerank import reranked
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.retrieval.scoring import Scored, score
from kgtable.retrieval.weights import Weights

TABLES_KEPT = 100
LEAST_COSINE = 0.3
"""The cosine of question and nearest table below which a question without known words finds nothing."""


class HybridRetriever:
    """Finds triples by labels, expansion, substring candidates and scores; the trace tells of each step.

    With a language model (`llm`) it names the labels, and orders the best tables in one more call if
    `rerank` is kept.
    """

    name = "hybrid"

    def __init__(
        self,
        store: TripleStore,
        names: Namespaces,
        index: GraphIndex,
        *,
        llm: LLM | None = None,
        rerank: bool = True,
        weights: Weights | None = None,
    ) -> None:
        self._store, self._names, self._index = store, names, index
        self._llm, self._rerank = llm, rerank
        self._weights = weights or Weights()

    def with_model(self, llm: LLM | None, *, rerank: bool = True) -> HybridRetriever:
        """The same retriever with another language model, or none."""
        return HybridRetriever(
            self._store, self._names, self._index, llm=llm, rerank=rerank, weights=self._weights
        )

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples, the best first; none where nothing in the graph is near the question.

        Raises a leaf of `LLMError` where there is a model that cannot be used; replies it cannot
        understand are done without.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = question_labels(question, self._llm, partial(extract_labels, index=self._index), trace)
        return self.retrieve_labelled(question, labels, k, clock, trace)

    def retrieve_labelled(
        self, question: str, labels: tuple[str, ...], k: int, clock: Clock, trace: dict[str, Any]
    ) -> Retrieval:
        """The steps that follow once the labels are known; `clock` and `trace` go on from the ones before."""
        index = self._index
        with clock("embedding"):
            asked = index.embed([question] if self._llm is None else [question, *labels])
        with clock("expansion"):
            expanded = expand(asked, index)
        with clock("candidates"):
            everything = dict.fromkeys((*labels, *(term for terms in expanded.values() for term in terms)))
            matching = matching_cells(everything, index)
        with clock("scores"):
            query = Query.of(question, index.corpus, None if asked is None else asked[0])
            scored = score(query, index, matching, self._weights, k)
        trace |= {"labels": labels, "expanded": expanded}
        trace |= {"candidates": len(matching), "scored": len(scored.cells)}
        if not self._near(query, labels):
            return Retrieval(question, (), (), clock.times, self.name, trace)
        if self._llm is not None and self._rerank:
            with clock("reranking"):
                scored = self._reranked(scored, query, trace)
        with clock("triples"):
            filled = fill(self._store, self._names, list(self._cells(scored, k)))
        trace["sparql"] = filled.queries
        tables = self._tables(scored)
        return Retrieval(question, filled.triples, tables, clock.times, self.name, trace)

    def _reranked(self, scored: Scored, query: Query, trace: dict[str, Any]) -> Scored:
        assert self._llm is not None
        try:
            scored, trace["reranked"] = reranked(
                scored, query, self._index, self._store, self._names, self._llm
            )
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

    def _cells(self, scored: Scored, k: int) -> Iterator[tuple[CellAddress, str | None, float]]:
        corpus = self._index.corpus
        places = corpus.places
        cells, scores = scored.best(k)
        rows, columns = places.cell_row[cells], places.cell_column[cells]
        numbers = np.where(places.row_is_header[rows], NONE, places.column_predicate[columns]).tolist()
        predicates = {number: corpus.predicates[number] for number in set(numbers) - {NONE}}
        for table, row, column, number, probability in zip(
            places.row_table[rows].tolist(),
            places.row_number[rows].tolist(),
            places.column_number[columns].tolist(),
            numbers,
            scores.tolist(),
            strict=True,
        ):
            yield CellAddress(corpus.table_ids[table], row, column), predicates.get(number), probability

    def _tables(self, scored: Scored) -> tuple[ScoredTable, ...]:
        probabilities = scored.table_probabilities
        order = np.argsort(-scored.table_logits, kind="stable")[:TABLES_KEPT]
        ids = self._index.corpus.table_ids
        return tuple(ScoredTable(ids[table], float(probabilities[table])) for table in order.tolist())


class Clock:
    """Milliseconds of each step."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            ended = time.perf_counter()
            self.times[step] = (ended - started) * 1e3
            self.times["total"] = (ended - self._started) * 1e3
