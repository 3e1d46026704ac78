"""Joint retrieval of passages and tables: each ranks higher if the text or table beside it fits as well.

TableRAG (Huawei, section 3.3) recalls 30 chunks of text and of tables written as Markdown by their vectors, and
reranks them by a cross-encoder. Here tables are recalled by kgtable's own retriever, passages by words and vectors of
their pieces. A place is a table with the passages beside it, or a passage alone; places are ranked by `place_ranking`.
The probability of a place is divided among its table and passages; an item's score is its own plus that of the best
item linked with it (``kgt:describes``), as long as that one is not listed already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import log

import numpy as np

from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.passage_index import IndexedPassage, PassageIndex
from kgtable.index.postings import FloatArray
from kgtable.llm.protocol import LLM
from kgtable.retrieval.hybrid import Clock
from kgtable.retrieval.result import ModelRetriever, Retrieval, Retriever, ScoredPassage, ScoredTable
from kgtable.retrieval.table_texts import TriplesOf, within
from kgtable.systems.documents.passage_sentences import text_share
from kgtable.systems.documents.place_ranking import PlaceRanking

MOST_SHARE, SHARE_OF_TEXT = 0.95, 0.85
"""How much of a place's probability its table has where the question is surely not about a text, and how much of it
its passages get where it surely is; they have the rest."""

REPEATED = 0.6
"""What the own score of an item counts where the item it is linked with is listed before it."""

PASSAGES_KEPT = 100
PASSAGE_FLATTENING = 1.25
"""What the logits of the passages of one place are divided by."""

SIGNALS = (0.5, 0.5, 1.0)
"""How much a passage's words count, the words of its best piece, and the meaning of its best piece."""


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
        ranking: PlaceRanking | None = None,
    ) -> None:
        self._ranking = ranking or PlaceRanking(index.corpus, passages)
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
        return DocumentRetriever(
            tables, self._index, self._passages, self._recall, self._triples_of, only, self._ranking
        )

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples, the tables by what they and the passages beside them say, and the passages.

        The trace's ``evidence`` lists the best of both: kind (``table``, ``passage``), id or IRI, score;
        ``tables`` are the tables by the probability of the place that each is.
        """
        found = self._tables.retrieve(question, k)
        clock = Clock()
        with clock("passages"):
            vector = self._index.embed([question]) if self._passages.passages else None
            signals = self.passage_signals(question, vector)
            logits = self._logits(signals)
        with clock("merging"):
            passages = self._passages.passages
            order = np.argsort(-logits, kind="stable")[:PASSAGES_KEPT].tolist()
            recalled = [at for at in order if np.isfinite(logits[at])]
            places = self._ranking.shares(question, table_logits(found.tables), signals[-1], recalled)
            if self._only is not None:
                places = {place: share for place, share in places.items() if place in self._only}
            of_tables = MOST_SHARE - SHARE_OF_TEXT * text_share(question)
            own_tables = {
                place: of_tables * share for place, share in places.items() if isinstance(place, str)
            }
            own_passages = self._of_passages(places, logits, recalled, 1 - of_tables)
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
        alone = sorted(own_tables, key=lambda table: (-places[table], table))
        by_place = tuple(ScoredTable(table, places[table]) for table in alone)
        trace = {**found.trace, "evidence": named, "tables": by_place}
        return replace(found, tables=tables, passages=texts, method=self.name, timings_ms=times, trace=trace)

    def place_features(self, question: str, k: int) -> tuple[list[str | int], FloatArray]:
        """The places that are ranked for a question, and the features of each, see `PlaceRanking.features`."""
        found = self._tables.retrieve(question, k)
        signals = self.passage_signals(question, self._index.embed([question]))
        order = np.argsort(-self._logits(signals), kind="stable")[:PASSAGES_KEPT].tolist()
        return self._ranking.features(question, table_logits(found.tables), signals[-1], order)

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

    def _of_passages(
        self, places: Mapping[str | int, float], logits: FloatArray, recalled: Sequence[int], together: float
    ) -> dict[int, float]:
        """The passages' part of the probability of their likeliest place, divided among the passages there."""
        homes: dict[int, str | int] = {}
        for passage in recalled:
            beside = [
                place for place in self._passages.passages[passage].tables or (passage,) if place in places
            ]
            if beside:
                homes[passage] = max(beside, key=lambda place: places[place])
        powers = {passage: float(np.exp(logits[passage] / PASSAGE_FLATTENING)) for passage in homes}
        totals: dict[str | int, float] = defaultdict(float)
        for passage, place in homes.items():
            totals[place] += powers[passage]
        found = {}
        for passage, place in homes.items():
            alone = 1.0 if isinstance(place, int) else together
            found[passage] = alone * places[place] * powers[passage] / totals[place]
        return found


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
    order = {key: place for place, key in enumerate(sorted(own, key=lambda key: (-own[key], str(key))))}
    queue = [(-round(score, 12), order[key], key) for key, score in waiting.items()]
    heapify(queue)
    ranked: list[tuple[str | int, float]] = []
    while queue:
        score, _, best = heappop(queue)
        if waiting.get(best, -1.0) < 0 or round(waiting[best], 12) != -score:
            continue  # listed already, or counts alone by now
        ranked.append((best, -score))
        waiting[best] = -1.0
        for other in linked[best]:
            if waiting[other] >= 0:
                waiting[other] = own[other] * REPEATED
                heappush(queue, (-round(waiting[other], 12), order[other], other))
    return ranked


def table_logits(tables: Sequence[ScoredTable]) -> dict[str, float]:
    """The logarithm of each table's probability, the best one's being 0."""
    best = max((table.score for table in tables), default=1.0)
    return {table.table: log(max(table.score, 1e-30)) - log(max(best, 1e-30)) for table in tables}


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
