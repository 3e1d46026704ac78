"""Retrieval of tables and passages, each in an order of its own.

TableRAG (Huawei, section 3.3) recalls 30 chunks of text and of tables written as Markdown by their vectors, and
reranks them by a cross-encoder. Here tables are recalled by kgtable's own retriever, passages by words and vectors of
their pieces; the two lists are taken in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

import numpy as np

from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.passage_index import IndexedPassage, PassageIndex
from kgtable.index.postings import FloatArray
from kgtable.llm.protocol import LLM
from kgtable.retrieval.hybrid import Clock
from kgtable.retrieval.result import ModelRetriever, Retrieval, Retriever, ScoredPassage
from kgtable.retrieval.table_texts import TriplesOf, within

PASSAGES_KEPT = 100
SIGNALS = (0.5, 0.5, 1.0)
"""How much a passage's words count, the words of its best piece, and the meaning of its best piece."""


@dataclass(frozen=True)
class DocumentOptions:
    """The options of the method ``documents``.

    `rounds` bounds the questions to a model, `recall` the passages and tables that are listed, `keep` those that
    are read.
    """

    rounds: int = 5
    recall: int = 30
    keep: int = 3


class DocumentRetriever:
    """Ranks the tables and the passages of a graph. With a model, its tables are those `hybrid` ranks with one."""

    name = "documents"

    def __init__(
        self,
        tables: Retriever,
        index: GraphIndex,
        passages: PassageIndex,
        recall: int,
        triples_of: TriplesOf,
        only: frozenset[str] | None = None,
    ) -> None:
        self._tables, self._index, self._passages = tables, index, passages
        self._recall, self._triples_of, self._only = recall, triples_of, only

    def with_model(self, llm: LLM | None, *, rerank: bool = True) -> DocumentRetriever:
        """The same retriever with a language model that guides the ranking of tables, or with none."""
        tables = self._tables
        if llm is not None and isinstance(tables, ModelRetriever):
            tables = tables.with_model(llm, rerank=rerank)
        return self._with(tables, self._only)

    def within(self, tables: Sequence[str]) -> DocumentRetriever:
        """The same retriever over these tables alone, and the passages beside them."""
        return self._with(within(self._tables, tables, self._triples_of), frozenset(tables))

    def _with(self, tables: Retriever, only: frozenset[str] | None) -> DocumentRetriever:
        return DocumentRetriever(tables, self._index, self._passages, self._recall, self._triples_of, only)

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples, the tables as `hybrid` ranks them, and the passages by how well they fit.

        The trace's ``evidence`` lists both in turn: kind (``table``, ``passage``), id or IRI, score.
        """
        found = self._tables.retrieve(question, k)
        clock = Clock()
        with clock("passages"):
            passages = self._passages.passages
            vector = self._index.embed([question]) if passages else None
            logits = self._logits(self.passage_signals(question, vector))
            order = np.argsort(-logits, kind="stable")[:PASSAGES_KEPT].tolist()
            fitting = [at for at in order if np.isfinite(logits[at])]
            powers = np.exp(logits[fitting] - logits[fitting].max()) if fitting else logits[:0]
            shares = (powers / powers.sum()).tolist()
            texts = tuple(_scored(passages[at], share) for at, share in zip(fitting, shares, strict=True))
        of_tables = (("table", table.table, table.score) for table in found.tables)
        of_texts = (("passage", text.passage, text.score) for text in texts)
        listed = [item for item in chain.from_iterable(zip_longest(of_tables, of_texts)) if item is not None]
        times = {**found.timings_ms, **{step: ms for step, ms in clock.times.items() if step != "total"}}
        times["total"] = found.timings_ms.get("total", 0.0) + clock.times.get("total", 0.0)
        trace = {**found.trace, "evidence": listed[: max(self._recall, 1)]}
        return replace(found, passages=texts, method=self.name, timings_ms=times, trace=trace)

    def passage_signals(self, question: str, vector: Matrix | None) -> list[FloatArray]:
        """How well each passage fits, standardised: by its words, and by the words and the vector of its best piece."""
        index = self._passages
        if not index.passages:
            return [np.zeros(0, dtype=np.float32)] * len(SIGNALS)
        words, cosines = index.piece_scores(question, vector)
        scores = index.passage_scores(question), index.best_of_pieces(words), index.best_of_pieces(cosines)
        return [_standardized(score) for score in scores]

    def _logits(self, signals: Sequence[FloatArray]) -> FloatArray:
        """The signals together; minus infinity for passages that are not looked at."""
        logits = np.zeros(len(self._passages.passages), dtype=np.float32)
        for weight, signal in zip(SIGNALS, signals, strict=True):
            logits += weight * signal
        if self._only is not None:
            apart = [self._only.isdisjoint(passage.tables) for passage in self._passages.passages]
            logits[np.array(apart, dtype=bool)] = -np.inf
        return logits


def _standardized(scores: FloatArray) -> FloatArray:
    return np.asarray((scores - scores.mean()) / (scores.std() + 1e-6), dtype=np.float32)


def _scored(passage: IndexedPassage, score: float) -> ScoredPassage:
    return ScoredPassage(
        passage.iri,
        passage.document,
        passage.path,
        passage.page,
        passage.tables,
        passage.title,
        passage.text,
        score,
        passage.paragraphs,
        passage.offset,
    )
