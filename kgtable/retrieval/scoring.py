"""A triple's score: the probability of its table, shared among the table's cells by how well they fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from kgtable.index.opened import GraphIndex
from kgtable.index.postings import Floats, Integers, distinct, runs
from kgtable.retrieval.cell_scores import cell_scores
from kgtable.retrieval.pool import scored_cells
from kgtable.retrieval.query import Query
from kgtable.retrieval.table_scores import table_scores
from kgtable.retrieval.weights import Weights


@dataclass(frozen=True)
class Scored:
    """Scored cells in rising order of their number, and all tables.

    `table_logits` is a number for each table (tables,), higher for a better fit; `cell_logits` a
    logarithm of each cell's share of its table.
    """

    cells: Integers
    cell_table: Integers
    cell_logits: Floats
    table_logits: Floats

    @property
    def table_probabilities(self) -> Floats:
        """The tables' probabilities, summing to 1."""
        return softmax(self.table_logits)

    def best(self, k: int) -> tuple[Integers, Floats]:
        """Numbers and probabilities of the `k` best cells, falling; ties in the order of the cells."""
        logs = np.log(np.maximum(self.table_probabilities, 1e-30))[self.cell_table] + self.cell_logits
        order = np.argsort(-logs, kind="stable")[:k]
        return self.cells[order], np.exp(logs[order]).astype(np.float32)


def score(query: Query, index: GraphIndex, matching: Integers, weights: Weights, k: int) -> Scored:
    """Score tables and cells for a question; `matching` are the cells its labels name, rising."""
    corpus = index.corpus
    vectors = None if index.vectors is None else index.vectors.tables
    tables = table_scores(query, corpus, vectors, weights.tables)
    cells = scored_cells(corpus, tables, matching, partial(_rows_with_names, query, index), k)
    fits = cell_scores(query, index, cells, weights.cells)
    owner = corpus.places.row_table[corpus.places.cell_row[cells]]
    chosen, place = runs(owner)
    peak = np.maximum.reduceat(fits, np.searchsorted(owner, chosen)) if len(chosen) else fits
    mass = np.log(np.bincount(place, weights=np.exp(fits - peak[place]), minlength=len(chosen))) + peak
    mean = mass - np.log(np.bincount(place, minlength=len(chosen)))
    logits = tables.copy()
    if len(chosen):
        logits += weights.tables.agreement * float(mean.min())
        logits[chosen] += weights.tables.agreement * (mean - mean.min())
    return Scored(cells, owner, (fits - mass[place]).astype(np.float32), logits)


def softmax(logits: Floats) -> Floats:
    """Probabilities in proportion to the exponentials."""
    if len(logits) == 0:
        return logits
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float32)


def _rows_with_names(query: Query, index: GraphIndex) -> Integers:
    """Rows with a word of the question that does not only ask, rising: for tables too large."""
    corpus = index.corpus
    cells = corpus.text_cells.of(corpus.term_texts.of(query.terms[~query.asking]))
    return distinct(corpus.places.cell_row[cells])
