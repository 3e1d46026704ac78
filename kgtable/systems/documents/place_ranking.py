"""Places of documents ranked as wholes: a table with the passages beside it, or a passage alone.

TableRAG (Huawei, section 3.3) reranks what it recalled by a model for pairs of texts. Here a place is ranked by what
table and text say together: how much of the question, which of its words side by side, which of its years, and how
well a label of a row fits, beside the scores that table and passages were recalled by. The weights are learned, see
``scripts/train_places.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np

from kgtable.index.corpus import NONE, Corpus
from kgtable.index.passage_index import PassageIndex
from kgtable.index.postings import Floats
from kgtable.resources import read_packaged_json
from kgtable.systems.documents.asked_kinds import YEARS
from kgtable.text.words import is_empty_word, stem, words

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
