"""The schema and cell databases of the tables of a graph, kept on disk, and the search among their entries.

A database is made when first asked for and kept under a key of the table's own content, so that after another build
only the tables that changed are read and encoded again. Nothing is written into the graph's directory: the folder
is a part of the user's cache, and may be removed at any time.

Entries are searched by words and letters, by vectors, or by both. Scores lie between 0 and 1, so that entries of
several tables can be ranked together; `both` is their mean, as in the reference implementation.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgtable.graph.table_content import TableContent
from kgtable.index.embedding import Embedder, Matrix
from kgtable.index.postings import FloatArray
from kgtable.systems.tablerag.vocabulary import CellEntry, TableVocabulary, make_vocabulary
from kgtable.text.words import stem, terms, words

WORDS_WEIGHT = 0.7
"""What the words count against the letters in a lexical score."""

NAME_WEIGHT = 0.3
"""What a word of the column's name counts in the lexical score of one of its cells."""

GRAM = 3
MOST_WORDS = 40
"""Words of an entry or query that are looked at."""


class SearchMode(StrEnum):
    """Comparison of entries with a query."""

    LEXICAL = "lexical"
    DENSE = "dense"
    BOTH = "both"


@dataclass(frozen=True)
class Searched:
    """A text to search for; words of `beside` count less."""

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
            word: (np.fromiter(found, np.int64, len(found)), np.fromiter(found.values(), np.float32, len(found)))
            for word, found in by_word.items()
        }
        self._grams = {gram: np.array(found, dtype=np.int64) for gram, found in by_gram.items()}
        self._gram_counts = counts

    def scores(self, query: str) -> FloatArray:
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
        return math.log(1 + (self._size + 1) / (holding + 0.5))


class EntrySearch:
    """The entries of one database of a table, searched in one mode.

    `vectors` has one row for each entry; None if the mode needs none, or no embedding is at hand.
    """

    def __init__(self, entries: Sequence[Searched], mode: SearchMode, vectors: Matrix | None) -> None:
        self._entries, self._mode, self._vectors = entries, mode, vectors

    @cached_property
    def _lexical(self) -> LexicalEntries:
        return LexicalEntries(self._entries)

    def scores(self, query: str, vector: Matrix | None) -> FloatArray:
        """How well each entry fits a query, whose vector is given too where there is an embedding."""
        if self._vectors is None or vector is None:
            return self._lexical.scores(query)
        cosines = np.clip(np.asarray(self._vectors, dtype=np.float32) @ vector, 0.0, 1.0)
        if self._mode is SearchMode.DENSE:
            return np.asarray(cosines, dtype=np.float32)
        return np.asarray((cosines + self._lexical.scores(query)) / 2, dtype=np.float32)


def best(scores: FloatArray, most: int, least: float = 0.0) -> list[int]:
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


log = logging.getLogger(__name__)

FORMAT = 1
KEPT_ENTRIES = 400_000
"""Entries of tables that are kept in memory."""

BATCH = 512


@dataclass(frozen=True)
class TableDatabases:
    """A table's vocabulary with the search over its columns and over its cells.

    `encoded` counts the texts that had to be encoded for it.
    """

    vocabulary: TableVocabulary
    columns: EntrySearch
    cells: EntrySearch
    encoded: int = 0


class DatabaseShelf:
    """The databases of a graph's tables.

    Args:
        content: reads a table's texts.
        key: what a table's databases are kept on disk under; None if they are not to be kept.
        folder: where they are kept.
        budget: cell entries of a table.
        search: how entries are compared with queries.
        embedder: encodes them; None leaves the comparison lexical.

    May be used from several threads.
    """

    def __init__(
        self,
        content: Callable[[str], TableContent],
        key: Callable[[str], str | None],
        folder: Path,
        *,
        budget: int,
        search: SearchMode,
        embedder: Callable[[], Embedder | None],
    ) -> None:
        self._content, self._key, self._folder = content, key, folder
        self._budget, self._load = budget, embedder
        self._search = search
        self._kept: OrderedDict[str, TableDatabases] = OrderedDict()
        self._lock = threading.RLock()
        self.encoded = 0
        """Texts encoded so far: those of queries are not counted."""

    def start_afresh(self, folder: Path) -> None:
        """Clear all databases; new ones are cached in this folder."""
        with self._lock:
            self._folder = folder
            self._kept.clear()

    def get(self, id: str) -> TableDatabases:
        """The databases of a table. Raises `GraphNotFoundError` if there is none."""
        with self._lock:
            if id in self._kept:
                self._kept.move_to_end(id)
                return self._kept[id]
            found = self._kept[id] = self._open(id)
            self.encoded += found.encoded
            while len(self._kept) > 1 and self._size() > KEPT_ENTRIES:
                self._kept.popitem(last=False)
            return found

    def vectors(self, texts: Sequence[str]) -> list[Matrix | None]:
        """The vector of each query; None if the comparison is lexical."""
        embedder = self._embedder()
        if embedder is None or not texts:
            return [None] * len(texts)
        return list(embedder.embed(texts))

    def encode(self, texts: Sequence[str]) -> Matrix | None:
        """Vectors of texts that a baseline looks among, counted and not kept; None without an embedding."""
        embedder = self._load()
        if embedder is None or not texts:
            return None
        self.encoded += len(texts)
        return embedder.embed(texts)

    def encode_query(self, text: str) -> Matrix | None:
        """The vector of a question that a baseline asks with; None without an embedding."""
        embedder = self._load()
        return None if embedder is None else np.asarray(embedder.embed([text])[0])

    def content(self, id: str) -> TableContent:
        """The texts of a table, read again."""
        return self._content(id)

    def _size(self) -> int:
        return sum(len(kept.vocabulary.cells) for kept in self._kept.values())

    def _embedder(self) -> Embedder | None:
        return self._load() if self._search is not SearchMode.LEXICAL else None

    def _open(self, id: str) -> TableDatabases:
        key = self._key(id)
        vocabulary = self._vocabulary(id, key)
        columns = [Searched(entry.text) for entry in vocabulary.columns]
        cells = [Searched(entry.value, entry.name) for entry in vocabulary.cells]
        names, new_names = self._encoded([entry.text for entry in vocabulary.columns], key)
        values, new_values = self._encoded(list(map(encoded_text, vocabulary.cells)), key)
        return TableDatabases(
            vocabulary,
            EntrySearch(columns, self._search, names),
            EntrySearch(cells, self._search, values),
            new_names + new_values,
        )

    def _vocabulary(self, id: str, key: str | None) -> TableVocabulary:
        path = None if key is None else self._path(key, "json")
        if path is not None:
            with suppress(OSError, ValueError, KeyError, TypeError):
                return TableVocabulary.from_json(json.loads(path.read_text(encoding="utf-8")))
        made = make_vocabulary(self._content(id), self._budget)
        if path is not None:
            text = json.dumps(made.to_json(), ensure_ascii=True, separators=(",", ":"))
            _write(path, text.encode("ascii"))
        return made

    def _encoded(self, texts: Sequence[str], key: str | None) -> tuple[Matrix | None, int]:
        """A vector for each text, and how many had to be made."""
        embedder = self._embedder()
        if embedder is None:
            return None, 0
        content = hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=16)
        path = None if key is None else self._path(f"{embedder.name}\0{content.hexdigest()}", "npy")
        if path is not None:
            with suppress(OSError, ValueError):
                found = np.load(path, allow_pickle=False)
                if found.shape == (len(texts), embedder.dimension):
                    return np.asarray(found, dtype=np.float32), 0
        different = list(dict.fromkeys(texts))
        parts = [embedder.embed(different[start : start + BATCH]) for start in range(0, len(different), BATCH)]
        rows = np.concatenate(parts) if parts else np.zeros((0, embedder.dimension), dtype=np.float32)
        places = {text: place for place, text in enumerate(different)}
        vectors = rows[[places[text] for text in texts]]
        if path is not None:
            _save(path, vectors.astype(np.float16))
        return np.asarray(vectors.astype(np.float16), dtype=np.float32), len(different)

    def _path(self, key: str, suffix: str) -> Path:
        text = f"{FORMAT}\0{self._budget}\0{key}"
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return self._folder / digest[:2] / f"{digest}.{suffix}"


def encoded_text(entry: CellEntry) -> str:
    """The text that the vector of a cell entry represents."""
    return f"{entry.name}: {' '.join(entry.value.split())[:400]}"


def _save(path: Path, array: npt.NDArray[np.float16]) -> None:
    from io import BytesIO

    out = BytesIO()
    np.save(out, array, allow_pickle=False)
    _write(path, out.getvalue())


def _write(path: Path, content: bytes) -> None:
    """Write a file of the cache as a whole; what cannot be kept is made again the next time."""
    partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        log.warning("The databases of tables cannot be kept in %s: %s", path.parent, error.strerror or error)
