"""Whole-table retrieval: tables as texts, ranked by BM25 or by vectors (thesis, section 4.3)."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod

import bm25s
import faiss
import numpy as np

from kgtable.index.embedding import Embedder
from kgtable.retrieval.result import UNGUIDED, Guide, Retrieval
from kgtable.retrieval.table_texts import Scores, TableTexts, TriplesOf, among, as_retrieval

WORD = re.compile(r"\w+")
OKAPI = "robertson"
"""bm25s's name for the original formula, with k1 = 1.5 and b = 0.75."""


def tokens(text: str) -> list[str]:
    """The words of a text in lower case, numbers and single letters among them.

    >>> tokens("Net income, 2016: $615")
    ['net', 'income', '2016', '615']
    """
    return WORD.findall(text.lower())


class _TextRetriever(ABC):
    """Ranks tables by the scores of their pieces as texts."""

    name: str

    def __init__(self, texts: TableTexts, triples_of: TriplesOf) -> None:
        self._texts = texts
        self._triples_of = triples_of

    @abstractmethod
    def scores(self, question: str) -> Scores:
        """The score of each piece, shape (pieces,)."""

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> Retrieval:
        """At most `k` triples of the best tables, table by table."""
        started = time.perf_counter()
        ranked = self._texts.rank(self.scores(question))
        texts, triples_of = self._texts, self._triples_of
        found = as_retrieval(question, ranked, k, triples_of, method=self.name, texts=texts, started=started)
        return among(found, k, guide.tables, triples_of)


class BM25Retriever(_TextRetriever):
    """Ranks tables by the words they share with the question."""

    name = "bm25"

    def __init__(self, texts: TableTexts, triples_of: TriplesOf) -> None:
        super().__init__(texts, triples_of)
        self._index = bm25s.BM25(method=OKAPI)
        self._words: set[str] = set()
        documents = [tokens(text) for text in texts.texts]
        for document in documents:
            self._words.update(document)
        if self._words:
            self._index.index(documents, show_progress=False)

    def scores(self, question: str) -> Scores:
        """The BM25 score of each piece, shape (pieces,)."""
        known = [word for word in tokens(question) if word in self._words]
        if not known:
            return np.zeros(len(self._texts.texts), dtype=np.float32)
        return np.asarray(self._index.get_scores(known), dtype=np.float32)


class DenseRetriever(_TextRetriever):
    """Ranks tables by the cosine of the question's vector with those of their pieces."""

    name = "dense"

    def __init__(self, texts: TableTexts, embedder: Embedder, triples_of: TriplesOf) -> None:
        super().__init__(texts, triples_of)
        self._embedder = embedder
        self._index = faiss.IndexFlatIP(embedder.dimension)
        self._index.add(embedder.embed(texts.texts))

    def scores(self, question: str) -> Scores:
        """The cosine of the question with each piece, shape (pieces,)."""
        count = len(self._texts.texts)
        scores = np.zeros(count, dtype=np.float32)
        if count:
            found, places = self._index.search(self._embedder.embed([question]), count)
            scores[places[0]] = found[0]
        return scores
