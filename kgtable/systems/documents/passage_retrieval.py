"""Passages and tables retrieved together: each is the likelier for what stands beside it.

TableRAG (Huawei, section 3.3) recalls 30 chunks of text and of tables written as Markdown by their vectors, and
reranks them. Here tables are ranked by kgtable's own retriever, passages by words and vectors of their pieces, and
both are merged: the probability of an item is its own plus that of the best item it is linked with
(``kgt:describes``), as long as that one is not listed already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.passage_index import IndexedPassage, PassageIndex
from kgtable.index.postings import Floats
from kgtable.llm.protocol import LLM
from kgtable.retrieval.hybrid import Clock
from kgtable.retrieval.result import ModelRetriever, Retrieval, Retriever, ScoredPassage, ScoredTable
from kgtable.retrieval.table_texts import TriplesOf, within
from kgtable.systems.documents.asked_kinds import text_share

MOST_SHARE, SHARE_OF_TEXT = 0.95, 0.85
"""How much of the probability tables have together where the question is surely not about a text, and how much of it
passages get where it surely is; they have the rest."""

TABLE_FLATTENING, PASSAGE_FLATTENING = 1.5, 1.25
"""What the logits of tables and of passages are divided by: both rankings are surer than they should be."""

REPEATED = 0.6
"""What the own score of an item counts where the item it is linked with is listed before it."""

PASSAGES_KEPT = 100
_WORDS, _PIECE_WORDS, _COSINE = 0.5, 0.5, 1.0


@dataclass(frozen=True)
class DocumentOptions:
    """The options of the method ``documents``.

    `rounds` bounds the questions to a model, `recall` the passages and tables that are ranked, `keep` those that
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
        """At most `k` triples, the tables by what they and the passages beside them say, and the passages.

        The trace's ``evidence`` lists the best of both: kind (``table``, ``passage``), id or IRI, score;
        ``tables`` are the tables as they were ranked without the passages.
        """
        found = self._tables.retrieve(question, k)
        clock = Clock()
        with clock("passages"):
            vector = self._index.embed([question]) if self._passages.passages else None
            logits = self.passage_logits(question, vector)
            if self._only is not None:
                apart = [self._only.isdisjoint(passage.tables) for passage in self._passages.passages]
                logits[np.array(apart, dtype=bool)] = -np.inf
        with clock("merging"):
            passages = self._passages.passages
            of_tables = MOST_SHARE - SHARE_OF_TEXT * text_share(question)
            shares = np.zeros_like(logits)
            if np.isfinite(logits).any():
                shares = (1 - of_tables) * _softmax(logits / PASSAGE_FLATTENING)
            order = np.argsort(-shares, kind="stable")[:PASSAGES_KEPT].tolist()
            own_passages = {at: float(shares[at]) for at in order if shares[at] > 0}
            own_tables = _flattened(found.tables, of_tables)
            items = merge(own_tables, own_passages, {at: passages[at].tables for at in own_passages})
        ranked = [item for item in items if isinstance(item[0], str)]
        tables = tuple(ScoredTable(str(key), score) for key, score in ranked)
        texts = tuple(_scored(passages[key], score) for key, score in items if isinstance(key, int))
        named = [
            ("table", key, score) if isinstance(key, str) else ("passage", passages[key].iri, score)
            for key, score in items[: max(self._recall, 1)]
        ]
        times = {**found.timings_ms, **{step: ms for step, ms in clock.times.items() if step != "total"}}
        times["total"] = found.timings_ms.get("total", 0.0) + clock.times.get("total", 0.0)
        trace = {**found.trace, "evidence": named, "tables": found.tables}
        return replace(found, tables=tables, passages=texts, method=self.name, timings_ms=times, trace=trace)

    def passage_logits(self, question: str, vector: Matrix | None) -> Floats:
        """How well each passage fits: its words, and the words and the vector of its best piece."""
        index = self._passages
        if not index.passages:
            return np.zeros(0, dtype=np.float32)
        words, cosines = index.piece_scores(question, vector)
        parts = (
            (_WORDS, index.passage_scores(question)),
            (_PIECE_WORDS, index.best_of_pieces(words)),
            (_COSINE, index.best_of_pieces(cosines)),
        )
        logits = np.zeros(len(index.passages), dtype=np.float32)
        for weight, scores in parts:
            logits += weight * _standardized(scores)
        return logits


def merge(
    tables: Mapping[str, float], passages: Mapping[int, float], describes: Mapping[int, Sequence[str]]
) -> list[tuple[str | int, float]]:
    """Tables and passages by falling score.

    The score of an item is its own probability and that of the best item it is linked with; once one of two linked
    items is listed, the other counts alone, so that a list tells of as many places as it can.

    >>> merge({"a": 0.4, "b": 0.3}, {0: 0.2, 1: 0.1}, {0: ["b"], 1: []})
    [('b', 0.5), ('a', 0.4), (0, 0.12), (1, 0.1)]
    """
    linked: dict[str | int, list[str | int]] = defaultdict(list)
    for passage, described in describes.items():
        for table in described:
            if table in tables and passage in passages:
                linked[passage].append(table)
                linked[table].append(passage)
    own: dict[str | int, float] = {}
    own.update({table: score for table, score in tables.items()})  # noqa: C416
    own.update({passage: score for passage, score in passages.items()})  # noqa: C416
    waiting = dict(own)
    for key in own:
        waiting[key] += max((own[other] for other in linked[key]), default=0.0)
    ranked: list[tuple[str | int, float]] = []
    order = {key: place for place, key in enumerate(sorted(own, key=lambda key: (-own[key], str(key))))}
    while waiting:
        best = min(waiting, key=lambda key: (-round(waiting[key], 12), order[key]))
        ranked.append((best, round(waiting.pop(best), 12)))
        for other in linked[best]:
            if other in waiting:
                waiting[other] = own[other] * REPEATED
    return ranked


def _flattened(tables: Sequence[ScoredTable], together: float) -> dict[str, float]:
    if not tables:
        return {}
    scores = np.array([table.score for table in tables], dtype=np.float32)
    logits = np.log(np.maximum(scores, 1e-30)) / TABLE_FLATTENING
    shares = together * _softmax(np.asarray(logits, dtype=np.float32))
    return {table.table: float(share) for table, share in zip(tables, shares, strict=True)}


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float32)


def _standardized(scores: Floats) -> Floats:
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
