"""Search among the entries of a table: by words and letters, by vectors, or by both.

Scores lie between 0 and 1, so that entries of several tables can be ranked together; `both` is their mean,
as in the reference implementation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import log
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.index.embedding import Matrix
from kgtable.index.words import stem, terms, words

Scores: TypeAlias = npt.NDArray[np.float32]

WORDS_WEIGHT = 0.7
"""What the words count against the letters in a lexical score."""

NAME_WEIGHT = 0.3
"""What a word of the column's name counts in the lexical score of one of its cells."""

GRAM = 3
MOST_WORDS = 40
"""Words of an entry or query that are looked at."""


class SearchMode(StrEnum):
    """How entries are compared with a query."""

    LEXICAL = "lexical"
    DENSE = "dense"
    BOTH = "both"

    @property
    def embeds(self) -> bool:
        """Whether vectors are needed."""
        return self is not SearchMode.LEXICAL


@dataclass(frozen=True)
class Searched:
    """A text to be found; words of `beside` count less."""

    text: str
    beside: str = ""


def _stems(text: str) -> list[str]:
    found = terms(text) or [stem(word) for word in words(text)]
    return list(dict.fromkeys(found))[:MOST_WORDS]


def _grams(text: str) -> set[str]:
    """The runs of letters in the words of a text, with the ends of the words marked."""
    found: set[str] = set()
    for word in words(text)[:MOST_WORDS]:
        marked = f"^{word}$"
        found.update(marked[place : place + GRAM] for place in range(max(len(marked) - GRAM + 1, 1)))
    return found


class LexicalEntries:
    """Entries by their stems, weighted by rarity, and by their runs of letters."""

    def __init__(self, entries: Sequence[Searched]) -> None:
        self._size = len(entries)
        by_word: dict[str, dict[int, float]] = defaultdict(dict)
        by_gram: dict[str, list[int]] = defaultdict(list)
        counts = np.ones(self._size, dtype=np.float32)
        for place, entry in enumerate(entries):
            for word in _stems(entry.beside):
                by_word[word][place] = NAME_WEIGHT
            for word in _stems(entry.text):
                by_word[word][place] = 1.0
            grams = _grams(entry.text)
            counts[place] = max(len(grams), 1)
            for gram in grams:
                by_gram[gram].append(place)
        self._words = {
            word: (
                np.fromiter(found, np.int64, len(found)),
                np.fromiter(found.values(), np.float32, len(found)),
            )
            for word, found in by_word.items()
        }
        self._grams = {gram: np.array(found, dtype=np.int64) for gram, found in by_gram.items()}
        self._gram_counts = counts

    def scores(self, query: str) -> Scores:
        """How well each entry fits a query."""
        covered = np.zeros(self._size, dtype=np.float32)
        stems = _stems(query)
        weights = [self._rarity(word) for word in stems]
        for word, weight in zip(stems, weights, strict=True):
            if word in self._words:
                places, parts = self._words[word]
                covered[places] += parts * weight
        if stems:
            covered /= sum(weights)
        shared = np.zeros(self._size, dtype=np.float32)
        grams = _grams(query)
        for gram in sorted(grams):
            if gram in self._grams:
                shared[self._grams[gram]] += 1
        letters = shared / np.sqrt(self._gram_counts * max(len(grams), 1))
        return np.asarray(WORDS_WEIGHT * covered + (1 - WORDS_WEIGHT) * letters, dtype=np.float32)

    def _rarity(self, word: str) -> float:
        holding = len(self._words[word][0]) if word in self._words else 0
        return log(1 + (self._size + 1) / (holding + 0.5))


class EntrySearch:
    """The entries of one database of a table, searched in one mode.

    `vectors` has one row for each entry; None where the mode needs none, or no embedding is at hand.
    """

    def __init__(self, entries: Sequence[Searched], mode: SearchMode, vectors: Matrix | None) -> None:
        self._entries, self._mode, self._vectors = entries, mode, vectors

    @cached_property
    def _lexical(self) -> LexicalEntries:
        return LexicalEntries(self._entries)

    def scores(self, query: str, vector: Matrix | None) -> Scores:
        """How well each entry fits a query, whose vector is given too where there is an embedding."""
        if self._vectors is None or vector is None:
            return self._lexical.scores(query)
        cosines = np.clip(np.asarray(self._vectors, dtype=np.float32) @ vector, 0.0, 1.0)
        if self._mode is SearchMode.DENSE:
            return np.asarray(cosines, dtype=np.float32)
        return np.asarray((cosines + self._lexical.scores(query)) / 2, dtype=np.float32)


def best(scores: Scores, most: int, least: float = 0.0) -> list[int]:
    """The places of the `most` highest scores above `least`, ties in their order.

    >>> best(np.array([0.1, 0.5, 0.0, 0.5], dtype=np.float32), 3)
    [1, 3, 0]
    """
    if len(scores) > 4 * most + 64:
        edge = np.partition(scores, len(scores) - most)[len(scores) - most]
        candidates = np.flatnonzero(scores >= edge)
    else:
        candidates = np.arange(len(scores))
    ordered = candidates[np.argsort(-scores[candidates], kind="stable")]
    return [place for place in ordered[:most].tolist() if scores[place] > least]
