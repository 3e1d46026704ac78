"""The terms of a question that the graph knows, weighted, and its vector (thesis, 4.4, step 1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.postings import BoolArray, FloatArray, IntArray
from kgtable.text.words import terms, terms_asked

ASKING = 0.3
"""How much a word that only asks ("total", "list") counts within a table; it does not identify a table."""

_NUMBER_ASKED = re.compile(
    r"\b(how (many|much)|number of|total|difference|average|percent\w*|amount|sum|ratio|change|count"
    r"|value|rate)\b",
    re.IGNORECASE,
)
_DATE_ASKED = re.compile(
    r"\b(when|(which|what)\b[^?.,;]{0,24}?\b(years?|dates?|months?|quarters?|periods?|seasons?))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Query:
    """The terms of a question that the graph knows: ids, weights by rarity, and whether they are question words.

    `whole` marks the texts made up of these terms alone, shape (texts,). `vector` is the question's,
    shape (dimension,); None if there is no embedding.
    """

    text: str
    terms: IntArray
    weights: FloatArray
    asking: BoolArray
    whole: BoolArray
    vector: Matrix | None

    @classmethod
    def of(
        cls, text: str, corpus: Corpus, vector: Matrix | None = None, labels: Sequence[str] = (), added: float = 0.0
    ) -> Query:
        """The query for a question. The terms of `labels` that it lacks join with the share `added` of their weight."""
        known: dict[int, bool] = {}
        for term, asks in terms_asked(text):
            number = corpus.terms.find(term)
            if number is not None:
                known[number] = asks
        asked = len(known)
        for term in (term for label in labels for term in terms(label)) if added else ():
            number = corpus.terms.find(term)
            if number is not None:
                known.setdefault(number, False)
        ids = np.fromiter(known, dtype=np.int64, count=len(known))
        asking = np.fromiter(known.values(), dtype=np.bool_, count=len(known))
        weights = corpus.statistics.term_weight[ids] * np.where(asking, ASKING, 1.0)
        weights[asked:] *= added
        return cls(text, ids, weights.astype(np.float32), asking, _made_of(ids, corpus), vector)

    @property
    def asks_for_date(self) -> bool:
        """Whether the question's form asks for a year or date."""
        return _DATE_ASKED.search(self.text) is not None

    @property
    def asks_for_number(self) -> bool:
        """Whether the question's form asks for a number."""
        return _NUMBER_ASKED.search(self.text) is not None


def cosines(vectors: Matrix, vector: Matrix) -> FloatArray:
    """The cosine of each row of `vectors`, shape (n, dimension), with `vector`; both of length 1."""
    # Without the threads of BLAS, which cost more than they save on one vector.
    return np.asarray(np.einsum("ij,j->i", vectors, vector), dtype=np.float32)


def _made_of(terms: IntArray, corpus: Corpus) -> BoolArray:
    sizes = corpus.statistics.text_size
    having = corpus.term_texts.of(terms)
    found = np.bincount(having, minlength=len(sizes))
    whole = np.zeros(len(sizes), dtype=np.bool_)
    # Most texts have none of the terms: they are not looked at.
    whole[having] = found[having] >= sizes[having]
    return whole
