"""The three features of a table, by which it is clustered: meaning, shape and words (T-RAG, section 3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from kgtable.errors import MissingExtraError
from kgtable.graph.table_content import TableContent
from kgtable.index.embedding import Matrix
from kgtable.index.postings import Floats
from kgtable.systems.trag.text_shapes import LexicalShape, TextShape, without_markers
from kgtable.systems.trag.trag_options import Feature

FeatureRows: TypeAlias = "Matrix | sp.csr_matrix"
"""One row for each table, of length 1 or 0: dense, or sparse for words."""


def linearised(content: TableContent) -> str:
    """The schema of a table as one sequence with markers (T-RAG, equation 2).

    >>> linearised(TableContent("t", "Rivers", columns=(("Name", "ex:hasName"), ("Length", "ex:hasLength"))))
    '[Table] [Caption] Rivers [Header] Name [Header] Length'
    """
    caption = " . ".join(filter(None, (content.title, *content.heading, content.caption)))
    headers = "".join(f" [Header] {' '.join(name.split())}" for name, _ in content.columns if name.strip())
    return f"[Table] [Caption] {' '.join(caption.split())}{headers}"


WORDS_KEPT = 4_096
"""Most frequent words that the heuristic feature counts."""


@dataclass(frozen=True)
class FeatureSpace:
    """The features of all tables, rows in the order of the tables, and what gives a question's.

    Without vectors of tables there is no semantic feature.
    """

    rows: Mapping[Feature, FeatureRows]
    _mean: Floats
    _deviation: Floats
    _words: Any
    _shape: TextShape

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Matrix | None, shape: TextShape | None = None) -> FeatureSpace:
        """The features of linearised tables; `vectors` are those of the search index, shape (tables, d).

        The structural feature is what `shape` (by default `LexicalShape`) measures of a text, each component
        standardised over all tables.
        Raises `MissingExtraError` without scikit-learn.
        """
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError:
            raise MissingExtraError("The method trag", "trag") from None
        shape = shape or LexicalShape()
        known = shape.measure(texts or [""])
        shapes = known[: len(texts)]
        mean, deviation = known.mean(0), np.maximum(known.std(0), 1e-6)
        words = TfidfVectorizer(
            token_pattern=r"(?u)\w+",  # noqa: S106
            max_features=WORDS_KEPT,
            sublinear_tf=True,
            dtype=np.float32,
        )
        plain = list(map(without_markers, texts))
        words.fit([*plain, "table"])
        width = len(words.vocabulary_)
        counted = sp.csr_matrix(words.transform(plain) if plain else np.zeros((0, width), dtype=np.float32))
        rows: dict[Feature, FeatureRows] = {} if vectors is None else {Feature.SEMANTIC: np.asarray(vectors)}
        rows[Feature.STRUCTURAL] = _of_length_one((shapes - mean) / deviation)
        rows[Feature.HEURISTIC] = counted
        return cls(rows, mean, deviation, words, shape)

    def of_question(self, question: str, vector: Matrix | None) -> dict[Feature, Floats]:
        """A question's features, made the same way; `vector` is its embedding, shape (d,)."""
        found: dict[Feature, Floats] = {}
        if vector is not None and Feature.SEMANTIC in self.rows:
            found[Feature.SEMANTIC] = vector
        shape = self._shape.measure([question])[0]
        found[Feature.STRUCTURAL] = _of_length_one(((shape - self._mean) / self._deviation)[None])[0]
        counted = sp.csr_matrix(self._words.transform([question]))
        found[Feature.HEURISTIC] = np.asarray(counted.todense(), dtype=np.float32)[0]
        return found

    @property
    def nearness(self) -> Feature:
        """The feature that says how near two tables are: meaning, or words where there are no vectors."""
        return Feature.SEMANTIC if Feature.SEMANTIC in self.rows else Feature.HEURISTIC


def _of_length_one(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)


def mean_of(rows: FeatureRows, chosen: Iterable[int]) -> Floats:
    """The mean of some rows as a dense vector."""
    return np.asarray(rows[list(chosen)].mean(axis=0), dtype=np.float32).ravel()


def similarities(rows: FeatureRows, vector: Floats) -> Floats:
    """The dot product of each row with a dense vector, shape (tables,)."""
    if isinstance(rows, np.ndarray):
        # Without the threads of BLAS, which cost more than they save on one vector.
        return np.asarray(np.einsum("ij,j->i", rows, vector), dtype=np.float32)
    return np.asarray(rows @ vector, dtype=np.float32).ravel()
