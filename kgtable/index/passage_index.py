"""Index of the passages of a graph's documents: words with Okapi weights, and vectors of short pieces.

A passage of 1,000 tokens says too many things for one vector, so each piece of about a hundred tokens has its own,
under the headings it is in; a passage is as near to a question as its nearest piece.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kgtable.errors import VocabularyIndexError
from kgtable.graph.document_statements import StoredDocument, StoredPassage
from kgtable.index.embedding import Matrix
from kgtable.index.postings import FloatArray, IntArray
from kgtable.text.passages import count_tokens, sentence_spans
from kgtable.text.words import terms, terms_asked

FILE = "passages.jsonl"
PIECE = 110
"""Tokens of a piece that has a vector of its own."""

K1, B = 1.2, 0.6


@dataclass(frozen=True, slots=True)
class Piece:
    """Sentences of one paragraph of a passage: the paragraph's number, and from where to where."""

    passage: int
    paragraph: int
    start: int
    end: int
    text: str


_PASSAGE, _PIECE = (tuple(item.name for item in fields(kind)) for kind in (StoredPassage, Piece))


def passages_of(documents: Iterable[StoredDocument]) -> tuple[list[StoredPassage], list[Piece]]:
    """The passages of documents in order, and their pieces; a paragraph in two passages has pieces in both."""
    passages: list[StoredPassage] = []
    pieces: list[Piece] = []
    for document in documents:
        for passage in document.passages:
            for number, _ in passage.paragraphs:
                pieces += _pieces(document, number, len(passages), passage.text)
            passages.append(passage)
    return passages, pieces


def joined(parts: Iterable[tuple[Sequence[StoredPassage], Sequence[Piece]]]) -> tuple[list[StoredPassage], list[Piece]]:
    """Passages and pieces of several documents one after the other, the pieces renumbered."""
    passages: list[StoredPassage] = []
    pieces: list[Piece] = []
    for own, of_own in parts:
        pieces += (replace(piece, passage=piece.passage + len(passages)) for piece in of_own)
        passages += own
    return passages, pieces


def _pieces(document: StoredDocument, paragraph: int, passage: int, within: str) -> list[Piece]:
    text = document.paragraphs[paragraph].text
    spans = [span for span in sentence_spans(text) if text[span[0] : span[1]] in within]
    runs: list[list[tuple[int, int]]] = []
    size = 0
    for span in spans:
        tokens = count_tokens(text[span[0] : span[1]])
        if runs and size + tokens <= PIECE:
            runs[-1].append(span)
            size += tokens
        else:
            runs.append([span])
            size = tokens
    return [Piece(passage, paragraph, run[0][0], run[-1][1], text[run[0][0] : run[-1][1]]) for run in runs]


def piece_texts(passages: Sequence[StoredPassage], pieces: Sequence[Piece]) -> list[str]:
    """The texts that the vectors of pieces are made from: the last words of the headings above, then the piece."""
    return [f"{passages[piece.passage].title[-80:]}. {piece.text}".lstrip(". ") for piece in pieces]


def write_passages(passages: Sequence[StoredPassage], pieces: Sequence[Piece], folder: Path) -> None:
    """Write passages and pieces into an index folder."""
    with (folder / FILE).open("w", encoding="ascii") as out:
        out.write(json.dumps([len(passages), len(pieces)]) + "\n")
        for passage in passages:
            out.write(json.dumps([getattr(passage, name) for name in _PASSAGE]) + "\n")
        for piece in pieces:
            out.write(json.dumps([getattr(piece, name) for name in _PIECE]) + "\n")


class PassageIndex:
    """The passages in an index folder; none if the graph has no text.

    Raises `VocabularyIndexError` if the folder was written before passages were indexed, or is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            with (folder / FILE).open(encoding="ascii") as lines:
                count, _ = json.loads(next(lines))
                items = list(map(json.loads, lines))
            self.passages = tuple(map(_passage_of, items[:count]))
            self.pieces = tuple(Piece(*item) for item in items[count:])
        except (OSError, ValueError, TypeError, StopIteration) as error:
            raise VocabularyIndexError(
                f"The index in {folder} has no passages.", hint="Build the graph again."
            ) from error
        self.passage_of = np.array([piece.passage for piece in self.pieces], dtype=np.int64)

    def by_document(self) -> dict[str, tuple[list[StoredPassage], list[Piece]]]:
        """The passages of each document, and their pieces, numbered within it."""
        found: dict[str, tuple[list[StoredPassage], list[Piece]]] = {}
        number: list[int] = []
        for passage in self.passages:
            own, _ = found.setdefault(passage.document, ([], []))
            number.append(len(own))
            own.append(passage)
        for piece in self.pieces:
            _, of_own = found[self.passages[piece.passage].document]
            of_own.append(replace(piece, passage=number[piece.passage]))
        return found

    @cached_property
    def vectors(self) -> Matrix | None:
        """The vectors of the pieces, None for a lexical index."""
        path = self._folder / "vectors.pieces.npy"
        return np.load(path, mmap_mode="r") if path.exists() else None

    @cached_property
    def _words(self) -> tuple[Okapi, Okapi]:
        whole = [f"{passage.title} {passage.text}" for passage in self.passages]
        parts = [f"{self.passages[piece.passage].title} {piece.text}" for piece in self.pieces]
        return Okapi(whole), Okapi(parts)

    def piece_scores(self, question: str, vector: Matrix | None) -> tuple[FloatArray, FloatArray]:
        """Okapi score and cosine of every piece; the cosines are 0 without vectors."""
        words = self._words[1].scores(question)
        if vector is None or self.vectors is None or not len(self.pieces):
            return words, np.zeros(len(self.pieces), dtype=np.float32)
        return words, np.asarray(self.vectors @ vector.reshape(-1), dtype=np.float32)

    def passage_scores(self, question: str) -> FloatArray:
        """The Okapi score of every passage as a whole."""
        return self._words[0].scores(question)

    def having(self, term: str) -> int:
        """How many passages have a term."""
        return self._words[0].having(term)

    def best_of_pieces(self, scores: FloatArray) -> FloatArray:
        """For each passage the best score of its pieces."""
        best = np.full(len(self.passages), -np.inf, dtype=np.float32)
        np.maximum.at(best, self.passage_of, scores)
        best[~np.isfinite(best)] = 0.0
        return best


def _passage_of(item: list[Any]) -> StoredPassage:
    values = dict(zip(_PASSAGE, item, strict=True))
    places = tuple((paragraph, page) for paragraph, page in values["paragraphs"])
    return StoredPassage(**{**values, "tables": tuple(values["tables"]), "paragraphs": places})


class Okapi:
    """BM25 over a few thousand texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(terms(text)) for text in texts]
        self._numbers: dict[str, int] = {}
        found: list[tuple[int, int, int]] = []
        for text, counted in enumerate(counts):
            for term, times in counted.items():
                found.append((self._numbers.setdefault(term, len(self._numbers)), text, times))
        self.size = len(texts)
        array = np.array(sorted(found), dtype=np.int64).reshape(-1, 3)
        self._starts = np.searchsorted(array[:, 0], np.arange(len(self._numbers) + 1))
        self._texts: IntArray = array[:, 1]
        lengths = np.array([counted.total() for counted in counts], dtype=np.float64)
        average = max(float(lengths.mean()), 1.0) if len(lengths) else 1.0
        often = array[:, 2].astype(np.float64)
        saturated = often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[self._texts] / average))
        having = np.diff(self._starts)
        self.weights = np.log(1 + (self.size - having + 0.5) / (having + 0.5))
        self._values = (saturated * np.repeat(self.weights, having)).astype(np.float32)

    def having(self, term: str) -> int:
        """How many texts have a term."""
        number = self._numbers.get(term)
        return 0 if number is None else int(self._starts[number + 1] - self._starts[number])

    def scores(self, question: str) -> FloatArray:
        """The score of every text for the words of a question; words that only ask count a third."""
        scores = np.zeros(self.size, dtype=np.float32)
        for term, asks in dict(terms_asked(question)).items():
            number = self._numbers.get(term)
            if number is not None:
                place = slice(self._starts[number], self._starts[number + 1])
                scores[self._texts[place]] += self._values[place] * (0.33 if asks else 1.0)
        return scores
