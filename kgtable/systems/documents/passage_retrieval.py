"""Retrieval of passages and tables together: each is likelier if what stands beside it fits too.

TableRAG (Huawei, section 3.3) recalls 30 chunks of text and of tables written as Markdown by their vectors, and
reranks them by a cross-encoder. Here tables are recalled by kgtable's own retriever, passages by words and vectors of
their pieces. A place is a table with the passages beside it, or a passage alone; places are ranked by what table and
text share with the question (its words by rarity, words side by side, years, a fitting row label) and by the scores
of the recall, with weights learned by ``scripts/train_places.py``. The probability of a place is divided among its
table and passages; an item's score is its own plus that of the best item linked with it (``kgt:describes``), as long
as that one is not listed already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import log

import numpy as np

from kgtable.index.corpus import NONE, Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.passage_index import IndexedPassage, PassageIndex
from kgtable.index.postings import Floats
from kgtable.llm.protocol import LLM
from kgtable.resources import read_packaged_json
from kgtable.retrieval.hybrid import Clock
from kgtable.retrieval.result import ModelRetriever, Retrieval, Retriever, ScoredPassage, ScoredTable
from kgtable.retrieval.table_texts import TriplesOf, within
from kgtable.systems.documents.asked_kinds import YEARS, text_share
from kgtable.text.words import is_empty_word, stem, words

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
            places = self._ranking.shares(question, table_logits(found.tables), signals, recalled)
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

    def place_features(self, question: str, k: int) -> tuple[list[str | int], Floats]:
        """The places that are ranked for a question, and the features of each, see `PlaceRanking.features`."""
        found = self._tables.retrieve(question, k)
        signals = self.passage_signals(question, self._index.embed([question]))
        order = np.argsort(-self._logits(signals), kind="stable")[:PASSAGES_KEPT].tolist()
        return self._ranking.features(question, table_logits(found.tables), signals, order)

    def passage_signals(self, question: str, vector: Matrix | None) -> list[Floats]:
        """How well each passage fits, standardised: by its words, and by the words and the vector of its best piece."""
        index = self._passages
        if not index.passages:
            return [np.zeros(0, dtype=np.float32)] * len(SIGNALS)
        words, cosines = index.piece_scores(question, vector)
        scores = index.passage_scores(question), index.best_of_pieces(words), index.best_of_pieces(cosines)
        return [_standardized(score) for score in scores]

    def _logits(self, signals: Sequence[Floats]) -> Floats:
        """The signals together; minus infinity for passages that are not looked at."""
        logits = np.zeros(len(self._passages.passages), dtype=np.float32)
        for weight, signal in zip(SIGNALS, signals, strict=True):
            logits += weight * signal
        if self._only is not None:
            apart = [self._only.isdisjoint(passage.tables) for passage in self._passages.passages]
            logits[np.array(apart, dtype=bool)] = -np.inf
        return logits

    def _of_passages(
        self, places: Mapping[str | int, float], logits: Floats, recalled: Sequence[int], together: float
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


FEATURES = (
    "table",
    "passage-words",
    "piece-words",
    "piece-meaning",
    "words",
    "pairs",
    "years",
    "header-years",
    "label",
    "size",
)
"""Standing of the table among those recalled; of the best passage beside it, by its words, and by words and meaning of
its best piece; the share of the question's words, by rarity, that stand anywhere in the place; its words that stand
side by side there; the share of its years there, and in the table's header; how well the label of a row fits; how many
different words there are."""

RECALLED = 4
"""The first features, which come from what was recalled; a place without a table or passage has their mean."""

MOST_TEXTS = 3_000
"""Different texts of a table that are looked at."""

KEPT = 5_000
"""Tables and passages whose words are kept for the next question."""

PlaceKey = str | int
"""The id of a table, or the number of a passage that stands beside none."""


@dataclass(frozen=True, slots=True)
class Said:
    """Stems in a table or passage, and those side by side; of a table the labels of rows and years of the header."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    labels: tuple[frozenset[str], ...] = ()
    years: frozenset[str] = frozenset()


class PlaceRanking:
    """Ranks places of a graph; what tables and passages say is read from the index when first needed, and kept."""

    def __init__(self, corpus: Corpus, passages: PassageIndex) -> None:
        self._corpus, self._passages = corpus, passages
        self._numbers = {id: number for number, id in enumerate(corpus.table_ids)}
        self._kept: dict[PlaceKey, Said] = {}

    def shares(
        self, question: str, tables: Mapping[str, float], signals: Sequence[Floats], recalled: Iterable[int]
    ) -> dict[PlaceKey, float]:
        """The probability of each place among those with a table or passage that was recalled.

        Args:
            question: what is asked.
            tables: the logit of each table that was recalled.
            signals: standardised scores of all passages, one array for each of the features of passages.
            recalled: numbers of the passages that were recalled.
        """
        places, features = self.features(question, tables, signals, recalled)
        if not places:
            return {}
        known = place_weights()
        logits = features @ np.array([known.get(name, 0.0) for name in FEATURES])
        powers = np.exp(logits - logits.max())
        return dict(zip(places, (powers / powers.sum()).tolist(), strict=True))

    def features(
        self, question: str, tables: Mapping[str, float], signals: Sequence[Floats], recalled: Iterable[int]
    ) -> tuple[list[PlaceKey], Floats]:
        """The places and the features of each, shape (places, features)."""
        beside: dict[PlaceKey, list[int]] = {table: [] for table in tables}
        for passage in sorted(recalled):
            for place in self._passages.passages[passage].tables or (passage,):
                beside.setdefault(place, [])
        for passage, indexed in enumerate(self._passages.passages):
            for place in indexed.tables or (passage,):
                if place in beside:
                    beside[place].append(passage)
        places = list(beside)
        asked = _AskedWords(question, self._rarity)
        rows = np.full((len(places), len(FEATURES)), np.nan)
        for row, place in enumerate(places):
            own = [self._said(passage) for passage in beside[place]]
            if isinstance(place, str):
                rows[row, 0] = tables.get(place, min(tables.values(), default=0.0))
                own.append(self._said(place))
            for column, signal in enumerate(signals, 1):
                if beside[place]:
                    rows[row, column] = max(float(signal[passage]) for passage in beside[place])
            rows[row, RECALLED:] = asked.features(own)
        for column in range(RECALLED if places else 0):
            missing = np.isnan(rows[:, column])
            rows[missing, column] = 0.0 if missing.all() else rows[~missing, column].mean()
        return places, rows.astype(np.float32)

    def _rarity(self, term: str) -> float:
        """How few tables and passages have a word: the one of both that has it more often counts."""
        corpus, passages = self._corpus, self._passages
        number = corpus.terms.find(term)
        having = len(corpus.term_tables.of_one(number)) if number is not None else 0
        share = having / max(len(corpus.table_ids), 1)
        share = max(share, passages.having(term) / max(len(passages.passages), 1))
        return log(1 + 1 / (share + 1 / (len(corpus.table_ids) + len(passages.passages) + 1)))

    def _said(self, place: PlaceKey) -> Said:
        known = self._kept.get(place)
        if known is None:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            known = self._kept[place] = (
                self._of_table(place) if isinstance(place, str) else self._of_text(place)
            )
        return known

    def _of_text(self, passage: int) -> Said:
        return _said_in([self._passages.passages[passage].title, self._passages.passages[passage].text])

    def _of_table(self, id: str) -> Said:
        number = self._numbers.get(id)
        if number is None:
            return Said(frozenset(), frozenset())
        corpus, places = self._corpus, self._corpus.places
        rows = slice(int(places.table_row_start[number]), int(places.table_row_start[number + 1]))
        cells = slice(int(places.row_cell_start[rows.start]), int(places.row_cell_start[rows.stop]))
        columns = slice(int(places.table_column_start[number]), int(places.table_column_start[number + 1]))
        names = places.column_name[columns]
        headers = places.row_is_header[places.cell_row[cells]]
        heading = np.union1d(names[names != NONE], places.cell_text[cells][headers])
        labels = np.unique(places.row_label[rows])
        labels = labels[labels != NONE][:MOST_TEXTS]
        texts = np.unique(np.concatenate([places.cell_text[cells], heading, labels]))[:MOST_TEXTS]
        said = _said_in([corpus.texts[text] for text in texts.tolist()])
        own = {frozenset(map(stem, words(corpus.texts[label]))) for label in labels.tolist()}
        years = {year for text in heading.tolist() for year in YEARS.findall(corpus.texts[text])}
        return Said(said.words, said.pairs, tuple(own - {frozenset()}), frozenset(years))


def place_weights() -> dict[str, float]:
    """The learned weight of each feature of a place."""
    weights: dict[str, float] = read_packaged_json("systems/documents/place_weights.json")
    return weights


class _AskedWords:
    """The words of a question by rarity, and its pairs of them."""

    def __init__(self, question: str, rarity: Callable[[str], float]) -> None:
        found = words(question)
        stems = list(map(stem, found))
        self._rarity = rarity
        self._empty = {of for of, word in zip(stems, found, strict=True) if is_empty_word(word)}
        self._weights = {word: rarity(word) for word in dict.fromkeys(stems)}
        self._telling = [word for word in self._weights if word not in self._empty]
        self._total = sum(self._weights[word] for word in self._telling) or 1.0
        self._pairs = [
            pair
            for pair in dict.fromkeys(pairwise(stems))
            if not (pair[0] in self._empty and pair[1] in self._empty)
        ]
        self._years = frozenset(YEARS.findall(question))

    def features(self, own: Sequence[Said]) -> list[float]:
        """What table and passages of a place say of the question."""
        weights = self._weights
        said = sum(weights[word] for word in self._telling if any(word in part.words for part in own))
        pairs = sum(
            (weights[one] + weights[other]) / 2
            for one, other in self._pairs
            if any((one, other) in part.pairs for part in own)
        )
        years = self._years
        count = len(years) or 1
        of_text = sum(any(year in part.words for part in own) for year in years) / count
        of_header = len(years & frozenset().union(*(part.years for part in own))) / count
        size = log(1 + len(frozenset().union(*(part.words for part in own))))
        label = max((self._fit(label) for part in own for label in part.labels), default=0.0)
        return [said / self._total, pairs, of_text, of_header, label, size]

    def _fit(self, label: frozenset[str]) -> float:
        """How much of the question a label says, times how much of the label the question says."""
        common = sum(
            self._weights[word] for word in label if word in self._weights and word not in self._empty
        )
        if not common:
            return 0.0
        whole = sum(
            self._weights[word] if word in self._weights else self._rarity(word)
            for word in label
            if word not in self._empty
        )
        return common / self._total * common / whole


def _said_in(texts: Iterable[str]) -> Said:
    found: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for text in texts:
        stems = list(map(stem, words(text)))
        found.update(stems)
        pairs.update(pairwise(stems))
    return Said(frozenset(found), frozenset(pairs))
