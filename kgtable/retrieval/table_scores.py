"""How well each table fits a question, before its cells are looked at."""

from __future__ import annotations

import numpy as np

from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.postings import Floats, Integers, ranges
from kgtable.retrieval.query import Query, cosines
from kgtable.retrieval.weights import TableWeights


def table_scores(query: Query, corpus: Corpus, vectors: Matrix | None, weights: TableWeights) -> Floats:
    """The weighted sum of the standardised signals, shape (tables,)."""
    total = np.zeros(corpus.places.tables, dtype=np.float32)
    core = query.terms[~query.asking]
    rarity = query.weights[~query.asking]
    if weights.bm25 or weights.coverage:
        bm25, coverage = _term_signals(core, corpus)
        total += weights.bm25 * standardised(bm25) + weights.coverage * standardised(coverage)
    if weights.named:
        total += weights.named * standardised(_named(core, rarity, query, corpus))
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


def _term_signals(core: Integers, corpus: Corpus) -> tuple[Floats, Floats]:
    postings, statistics = corpus.term_tables, corpus.statistics
    starts, ends = postings.starts[core], postings.starts[core + 1]
    places = ranges(starts, ends)
    tables = postings.items[places]
    rarity = np.repeat(statistics.term_weight[core], ends - starts)
    count = corpus.places.tables
    bm25 = np.bincount(tables, weights=statistics.bm25[places], minlength=count)
    coverage = np.bincount(tables, weights=rarity * statistics.in_table[places], minlength=count)
    return bm25.astype(np.float32), coverage.astype(np.float32)


def _named(core: Integers, rarity: Floats, query: Query, corpus: Corpus) -> Floats:
    signal = np.zeros(corpus.places.tables, dtype=np.float32)
    for term, weight in zip(core.tolist(), rarity.tolist(), strict=True):
        texts = corpus.term_texts.of(np.array([term]))
        named = texts[query.whole[texts]]
        cells = corpus.text_cells.of(named)
        tables = corpus.places.row_table[corpus.places.cell_row[cells]]
        found = np.zeros(len(signal), dtype=np.bool_)
        found[tables] = True
        found[corpus.places.column_table[corpus.text_columns.of(named)]] = True
        signal[found] += weight
    return signal
