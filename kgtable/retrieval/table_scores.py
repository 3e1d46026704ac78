"""How well each table fits a question, before its cells are looked at."""

from __future__ import annotations

import numpy as np

from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.postings import Floats, Integers
from kgtable.retrieval.query import Query, cosines
from kgtable.retrieval.weights import TableWeights


def table_scores(query: Query, corpus: Corpus, vectors: Matrix | None, weights: TableWeights) -> Floats:
    """The weighted sum of the standardised signals, shape (tables,)."""
    total = np.zeros(corpus.places.tables, dtype=np.float32)
    for weight, signal in zip(
        (weights.bm25, weights.coverage, weights.named),
        _term_signals(query, corpus, weights.kin),
        strict=True,
    ):
        total += weight * standardised(signal)
    if weights.vector and vectors is not None and query.vector is not None:
        total += weights.vector * standardised(cosines(vectors, query.vector))
    return total


def standardised(signal: Floats) -> Floats:
    """The signal with mean 0 and deviation 1; all 0 where it is the same for every table."""
    if len(signal) == 0:
        return signal
    deviation = float(signal.std())
    if deviation < 1e-6:
        return np.zeros_like(signal)
    return np.asarray((signal - signal.mean()) / deviation, dtype=np.float32)


class _Sum:
    """What the terms of a question add up to for each table, what they find in its kin shared in."""

    def __init__(self, kin: Integers, share: float) -> None:
        self._kin = kin
        self._groups = int(kin.max()) + 1 if len(kin) else 0
        self._share = share if self._groups < len(kin) else 0.0
        self._own = np.zeros(len(kin))
        self._together = np.zeros(self._groups)

    def add(self, tables: Integers, values: Floats) -> None:
        """What one term gives the tables, each named once."""
        self._own[tables] += values
        if self._share:
            best = np.zeros(self._groups)
            np.maximum.at(best, self._kin[tables], values)
            self._together += best

    def signal(self) -> Floats:
        """Shape (tables,)."""
        signal = self._own
        if self._share:
            signal = (1 - self._share) * signal + self._share * self._together[self._kin]
        return signal.astype(np.float32)


def _term_signals(query: Query, corpus: Corpus, share: float) -> tuple[Floats, Floats, Floats]:
    """BM25, coverage and names by the terms that do not only ask, each of shape (tables,)."""
    postings, statistics = corpus.term_tables, corpus.statistics
    bm25, coverage, named = (_Sum(corpus.places.table_kin, share) for _ in range(3))
    telling = ~query.asking
    for term, rarity in zip(query.terms[telling].tolist(), query.weights[telling].tolist(), strict=True):
        place = slice(int(postings.starts[term]), int(postings.starts[term + 1]))
        tables = postings.items[place]
        bm25.add(tables, statistics.bm25[place])
        coverage.add(tables, rarity * statistics.in_table[place])
        having = _tables_naming(term, query, corpus)
        named.add(having, np.full(len(having), rarity, dtype=np.float32))
    return bm25.signal(), coverage.signal(), named.signal()


def _tables_naming(term: int, query: Query, corpus: Corpus) -> Integers:
    """Tables with a cell or column name that is made up of the question's words, this one among them."""
    texts = corpus.term_texts.of_one(term)
    texts = texts[query.whole[texts]]
    places = corpus.places
    found = np.zeros(places.tables, dtype=np.bool_)
    found[places.row_table[places.cell_row[corpus.text_cells.of(texts)]]] = True
    found[places.column_table[corpus.text_columns.of(texts)]] = True
    return np.flatnonzero(found)
