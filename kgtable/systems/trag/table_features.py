"""The three features of a table, by which it is clustered: meaning, shape and words (T-RAG, section 3.1).

For the shape, the structural feature, the paper counts tokens, parts of speech and punctuation with spaCy. Here tokens
are counted always, parts of speech where spaCy and its small English model are installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from kgtable.errors import MissingExtraError
from kgtable.index.embedding import Matrix
from kgtable.index.inferred.column_profiles import TableHead
from kgtable.index.postings import FloatArray
from kgtable.systems.trag.trag_options import Feature

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[^\w\s]|_")
_MARKER = re.compile(r"\[(?:Table|Caption|Header)\]")
TAGGER_MODEL = "en_core_web_sm"
"""The spaCy model that tags parts of speech, if it is installed."""

PARTS_OF_SPEECH = (
    ("NOUN",), ("PROPN",), ("VERB", "AUX"), ("ADJ",), ("NUM",),
    ("ADP", "DET", "CCONJ", "SCONJ", "PART", "PRON", "ADV"), ("PUNCT", "SYM"),
)  # fmt: skip
"""Parts of speech whose shares are measured with a tagger."""


@cache
def installed_tagger() -> Any:
    """spaCy with its small English model, or None if one of them is not installed."""
    try:
        import spacy

        return spacy.load(TAGGER_MODEL, exclude=["parser", "ner", "lemmatizer", "senter"])
    except (ImportError, OSError, ValueError):
        return None


def shapes_of(texts: Sequence[str], tagger: Any = None) -> FloatArray:
    """The shape of each text: tokens, their length, kinds and parts of speech; counts as logarithms."""
    plain = [without_markers(text).encode("utf-8", "replace").decode() for text in texts]
    tagged = tagger.pipe(plain) if tagger else [()] * len(texts)
    rows = []
    for text, bare, document in zip(texts, plain, tagged, strict=True):
        tokens = _TOKEN.findall(bare)
        words = [token for token in tokens if token[0].isalpha()]
        parts = [token.pos_ for token in document if not token.is_space]
        count, named, headers = max(len(tokens), 1), max(len(words), 1), text.count("[Header]")
        within = sum(len(_TOKEN.findall(part)) for part in text.split("[Header]")[1:])
        rows.append(
            [
                np.log1p(len(tokens)),
                np.log1p(len(words)),
                sum(map(len, words)) / named,
                len({word.lower() for word in words}) / named,
                sum(token[0].isdigit() for token in tokens) / count,
                sum(not token[0].isalnum() for token in tokens) / count,
                sum(word[0].isupper() for word in words) / named,
                sum(len(word) > 1 and word.isupper() for word in words) / named,
                np.log1p(headers),
                np.log1p(within / max(headers, 1)),
                *(sum(part in kinds for part in parts) / max(len(parts), 1) for kinds in PARTS_OF_SPEECH if tagger),
            ]
        )
    return np.array(rows, dtype=np.float32)


def without_markers(text: str) -> str:
    """A linearised table without its markers."""
    return _MARKER.sub(" ", text)


FeatureRows: TypeAlias = "Matrix | sp.csr_matrix"
"""One row for each table, of length 1 or 0: dense, or sparse for words."""


def linearised(head: TableHead) -> str:
    """The schema of a table as one sequence with markers (T-RAG, equation 2).

    >>> linearised(TableHead("t", "Rivers", (), ("Name", "Length")))
    '[Table] [Caption] Rivers [Header] Name [Header] Length'
    """
    headers = "".join(f" [Header] {' '.join(name.split())}" for name in head.names if name.strip())
    return f"[Table] [Caption] {' '.join(head.whole_title.split())}{headers}"


WORDS_KEPT = 4_096
"""Most frequent words that the heuristic feature counts."""


@dataclass(frozen=True)
class FeatureSpace:
    """The features of all tables, rows in the order of the tables, with the transformation for questions.

    Without vectors of tables there is no semantic feature.
    """

    rows: Mapping[Feature, FeatureRows]
    _mean: FloatArray
    _deviation: FloatArray
    _words: Any
    _tagger: Any

    @classmethod
    def of(
        cls, texts: Sequence[str], vectors: Matrix | None, shapes: FloatArray | None = None, tagger: Any = None
    ) -> FeatureSpace:
        """The features of linearised tables; `vectors` are those of the texts, shape (tables, d).

        The structural feature is `shapes` (the result of `shapes_of` with `tagger`), each component standardised over
        all tables. Raises `MissingExtraError` without scikit-learn.
        """
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError:
            raise MissingExtraError("The method trag", "trag") from None
        known = shapes if shapes is not None and len(shapes) else shapes_of(texts or [""], tagger)
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
        rows[Feature.STRUCTURAL] = _of_length_one((known[: len(texts)] - mean) / deviation)
        rows[Feature.HEURISTIC] = counted
        return cls(rows, mean, deviation, words, tagger)

    def of_question(self, question: str, vector: Matrix | None) -> dict[Feature, FloatArray]:
        """A question's features, made the same way; `vector` is its embedding, shape (d,)."""
        found: dict[Feature, FloatArray] = {}
        if vector is not None and Feature.SEMANTIC in self.rows:
            found[Feature.SEMANTIC] = vector
        shape = shapes_of([question], self._tagger)[0]
        found[Feature.STRUCTURAL] = _of_length_one(((shape - self._mean) / self._deviation)[None])[0]
        counted = sp.csr_matrix(self._words.transform([question]))
        found[Feature.HEURISTIC] = np.asarray(counted.todense(), dtype=np.float32)[0]
        return found

    @property
    def nearness(self) -> Feature:
        """The feature that says how near two tables are: meaning, or words if there are no vectors."""
        return Feature.SEMANTIC if Feature.SEMANTIC in self.rows else Feature.HEURISTIC


def _of_length_one(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)


def mean_of(rows: FeatureRows, chosen: Iterable[int]) -> FloatArray:
    """The mean of some rows as a dense vector."""
    return np.asarray(rows[list(chosen)].mean(axis=0), dtype=np.float32).ravel()


def similarities(rows: FeatureRows, vector: FloatArray) -> FloatArray:
    """The dot product of each row with a dense vector, shape (tables,)."""
    if isinstance(rows, np.ndarray):
        # Without the threads of BLAS, which cost more than they save on one vector.
        return np.asarray(np.einsum("ij,j->i", rows, vector), dtype=np.float32)
    return np.asarray(rows @ vector, dtype=np.float32).ravel()
