"""Ranking of places (tables with the passages beside them) by how likely a question is about them.

A place is a table with the passages beside it, or a passage that stands beside none. What table and text share with
the question (its words by rarity, in one sentence, in one row label, side by side; a label or header said as it is
printed; years) and the scores of the recall are weighed by ``scripts/train_places.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import log

import numpy as np

from kgtable.index.corpus import NONE, Corpus
from kgtable.index.passage_index import PassageIndex
from kgtable.index.postings import FloatArray
from kgtable.resources import read_packaged_json
from kgtable.systems.documents.passage_sentences import YEARS, is_operation, text_share
from kgtable.text.passages import sentence_spans
from kgtable.text.words import is_empty_word, stem, words

FEATURES = (
    "table",
    "piece-meaning",
    "words",
    "table-words",
    "text-words",
    "sentence",
    "pairs",
    "years",
    "header-years",
    "label",
    "phrase-length",
    "phrase",
    "header-phrase",
    "size",
)
"""Standing of the table among those recalled, and of the nearest piece beside it; the share of the question's words, by
rarity, that stand anywhere in the place, in its table, in its texts, and at most in one sentence; its words that stand
side by side there; the share of its years there, and in the table's header; how well the label of a row fits; of the
labels of rows that the question has word for word the most words, and the most rarity; the same of headers, as a share;
how many different words there are. What a place without a table, or without a text, lacks is the mean of the others."""

UNTOLD = 0.3
"""The rarity of a word of a label that says nothing by itself, "other" or "total"."""

MOST_TEXTS = 3_000
"""Different texts of a table that are looked at."""

KEPT = 5_000
"""Tables and passages whose words are kept for the next question."""

PlaceKey = str | int
"""The id of a table, or the number of a passage that stands beside none."""

Phrase = tuple[str, ...]


@dataclass(frozen=True)
class Said:
    """The stems of a table or passage, and its pairs of neighbouring stems.

    Of a text there are its sentences, of a table the labels of rows and its headers, word for word, and the years of
    its header.
    """

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    sentences: tuple[frozenset[str], ...] = ()
    labels: frozenset[Phrase] = frozenset()
    headers: frozenset[Phrase] = frozenset()
    years: frozenset[str] = frozenset()

    @cached_property
    def labels_with(self) -> dict[str, list[Phrase]]:
        """The labels that have a word."""
        found: dict[str, list[Phrase]] = defaultdict(list)
        for label in sorted(self.labels):
            for word in dict.fromkeys(label):
                found[word].append(label)
        return found


class PlaceRanking:
    """Ranks places of a graph; what tables and passages say is read from the index when first needed, and kept."""

    def __init__(self, corpus: Corpus, passages: PassageIndex) -> None:
        self._corpus, self._passages = corpus, passages
        self._numbers = {id: number for number, id in enumerate(corpus.table_ids)}
        self._kept: dict[PlaceKey, Said] = {}

    def shares(
        self, question: str, tables: Mapping[str, float], meanings: FloatArray, recalled: Iterable[int]
    ) -> dict[PlaceKey, float]:
        """The probability of each place among those with a table or passage that was recalled.

        Args:
            question: what is asked.
            tables: the logit of each table that was recalled.
            meanings: how near the nearest piece of each passage is, standardised.
            recalled: numbers of the passages that were recalled.
        """
        places, features = self.features(question, tables, meanings, recalled)
        if not places:
            return {}
        known = place_weights()
        logits = features @ np.array([known.get(name, 0.0) for name in FEATURES])
        powers = np.exp(logits - logits.max())
        return dict(zip(places, (powers / powers.sum()).tolist(), strict=True))

    def features(
        self, question: str, tables: Mapping[str, float], meanings: FloatArray, recalled: Iterable[int]
    ) -> tuple[list[PlaceKey], FloatArray]:
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
        least = min(tables.values(), default=0.0)
        columns: dict[str, list[float]] = {name: [] for name in FEATURES}
        for place in places:
            texts = [self._said(passage) for passage in beside[place]]
            table = self._said(place) if isinstance(place, str) else None
            found = asked.features(table, texts)
            if table is not None and isinstance(place, str):
                found["table"] = tables.get(place, least)
            if texts:
                found["piece-meaning"] = max(float(meanings[passage]) for passage in beside[place])
            for name, values in columns.items():
                values.append(found.get(name, np.nan))
        rows = np.array([columns[name] for name in FEATURES]).T.reshape(len(places), len(FEATURES))
        for column in range(len(FEATURES)):
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
        indexed = self._passages.passages[passage]
        said, pairs = _said_in([indexed.title, indexed.text])
        sentences = (indexed.text[start:end] for start, end in sentence_spans(indexed.text))
        return Said(said, pairs, tuple(frozenset(_phrase(sentence)) for sentence in sentences))

    def _of_table(self, id: str) -> Said:
        number = self._numbers.get(id)
        if number is None:
            return Said(frozenset(), frozenset())
        corpus, places = self._corpus, self._corpus.places
        rows = slice(int(places.table_row_start[number]), int(places.table_row_start[number + 1]))
        cells = slice(int(places.row_cell_start[rows.start]), int(places.row_cell_start[rows.stop]))
        columns = slice(int(places.table_column_start[number]), int(places.table_column_start[number + 1]))
        names = places.column_name[columns]
        in_header = places.row_is_header[places.cell_row[cells]]
        heading = np.union1d(names[names != NONE], places.cell_text[cells][in_header])[:MOST_TEXTS]
        own_labels, groups = places.row_label[rows], places.row_group_label[rows]
        labels = np.union1d(own_labels[own_labels != NONE], groups[groups != NONE])[:MOST_TEXTS]
        texts = np.unique(np.concatenate([places.cell_text[cells], heading, labels]))[:MOST_TEXTS]
        said, pairs = _said_in([corpus.texts[text] for text in texts.tolist()])
        years = {year for text in heading.tolist() for year in YEARS.findall(corpus.texts[text])}
        row_labels, headers = (
            frozenset(_phrase(corpus.texts[text]) for text in of.tolist()) - {()} for of in (labels, heading)
        )
        return Said(said, pairs, (), row_labels, headers, frozenset(years))


def place_weights() -> dict[str, float]:
    """The learned weight of each feature of a place."""
    weights: dict[str, float] = read_packaged_json("systems/documents/place_weights.json")
    return weights


class _AskedWords:
    """The words of a question by rarity, and its pairs of them."""

    def __init__(self, question: str, rarity: Callable[[str], float]) -> None:
        found = words(question)
        self._stems = stems = tuple(map(stem, found))
        self._rarities: dict[str, float] = {}
        self._rarity_of = rarity
        said = dict(zip(stems, found, strict=True))
        self._years = frozenset(YEARS.findall(question))
        empty = {of for of, word in said.items() if is_empty_word(word)}
        self._telling = {
            of: self._rarity(of)
            for of, word in said.items()
            if of not in empty and not is_operation(word) and not word[0].isdecimal()
        }
        self._total = sum(self._telling.values()) or 1.0
        self._pairs = {
            (one, other): (self._rarity(one) + self._rarity(other)) / 2
            for one, other in pairwise(stems)
            if not (one in empty and other in empty)
        }
        self._weights = [0.0 if of in self._years else self._telling.get(of, UNTOLD) for of in stems]
        self._of_table = 1 - text_share(question)

    def features(self, table: Said | None, texts: Sequence[Said]) -> dict[str, float]:
        """What table and passages of a place say of the question."""
        own = [*texts, *([table] if table is not None else [])]
        years = self._years
        count = len(years) or 1
        found = {
            "words": self._share(own),
            "pairs": sum(
                weight for pair, weight in self._pairs.items() if any(pair in part.pairs for part in own)
            ),
            "years": sum(any(year in part.words for part in own) for year in years) / count,
            "size": log(1 + len(frozenset().union(*(part.words for part in own)))),
        }
        if texts:
            found["text-words"] = self._share(texts)
            sentences = (sentence for part in texts for sentence in part.sentences)
            found["sentence"] = max(map(self._told, sentences), default=0.0) / self._total
        if table is not None:
            found["table-words"] = self._share([table])
            found["header-years"] = len(years & table.years) / count
            found["label"] = self._of_table * max(map(self._fit, self._near(table)), default=0.0)
            phrases = self._word_for_word(table.labels)
            found["phrase-length"] = max((float(length) for length, _ in phrases), default=0.0)
            found["phrase"] = max((weight for _, weight in phrases), default=0.0)
            headers = self._word_for_word(table.headers)
            found["header-phrase"] = max((weight for _, weight in headers), default=0.0) / self._total
        return found

    def _told(self, said: frozenset[str]) -> float:
        return sum(weight for word, weight in self._telling.items() if word in said)

    def _share(self, own: Sequence[Said]) -> float:
        told = sum(
            weight for word, weight in self._telling.items() if any(word in part.words for part in own)
        )
        return told / self._total

    def _near(self, table: Said) -> list[Phrase]:
        """The labels that have a word of the question."""
        near = (label for word in self._telling for label in table.labels_with.get(word, ()))
        return list(dict.fromkeys(near))

    def _word_for_word(self, phrases: frozenset[Phrase]) -> list[tuple[int, float]]:
        """How long the phrases are that the question has word for word, and what they weigh."""
        stems, longest = self._stems, max(map(len, phrases), default=0)
        spans = (
            (start, end)
            for start in range(len(stems))
            for end in range(start + 1, min(start + longest, len(stems)) + 1)
        )
        return [
            (end - start, sum(self._weights[start:end]))
            for start, end in spans
            if stems[start:end] in phrases
        ]

    def _fit(self, label: Phrase) -> float:
        """How much of the question a label says, times how much of the label the question says."""
        own = dict.fromkeys(label)
        common = sum(self._telling[word] for word in own if word in self._telling)
        if not common:
            return 0.0
        whole = sum(self._rarity(word) for word in own if word in self._telling or not _is_empty(word))
        return common / self._total * common / whole

    def _rarity(self, word: str) -> float:
        known = self._rarities.get(word)
        if known is None:
            known = self._rarities[word] = self._rarity_of(word)
        return known


def _is_empty(word: str) -> bool:
    return is_empty_word(word) or is_operation(word)


def _phrase(text: str) -> Phrase:
    return tuple(map(stem, words(text)))


def _said_in(texts: Iterable[str]) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    found: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for text in texts:
        stems = _phrase(text)
        found.update(stems)
        pairs.update(pairwise(stems))
    return frozenset(found), frozenset(pairs)
