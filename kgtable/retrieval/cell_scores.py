"""How well each cell fits a question, among the cells of its table."""

from __future__ import annotations

import numpy as np

from kgtable.index.corpus import NONE
from kgtable.index.opened import GraphIndex
from kgtable.index.postings import Floats, Integers, runs
from kgtable.retrieval.query import ASKING, Query, cosines
from kgtable.retrieval.weights import CellWeights


def cell_scores(query: Query, index: GraphIndex, cells: Integers, weights: CellWeights) -> Floats:
    """The weighted sum of a cell's signals, shape (cells,); `cells` are cell numbers in rising order."""
    corpus = index.corpus
    places = corpus.places
    rows, row_of = runs(places.cell_row[cells])
    columns, column_of = _columns(places.cell_column[cells], len(places.column_name))
    texts = places.cell_text[cells]
    body = ~places.row_is_header[rows]
    total = max(float(query.weights.sum()), 1e-6)
    rarity = np.where(query.asking, ASKING, 1.0)

    row_score = np.zeros(len(rows), dtype=np.float32)
    named_in_column = np.zeros(len(columns), dtype=np.float32)
    own = np.zeros(len(cells), dtype=np.float32)
    table_of_row = places.row_table[rows]
    tables, table_of = runs(table_of_row)
    rows_in_table = np.bincount(table_of, weights=body, minlength=len(tables))
    heading = places.row_group_label[rows]
    marked = np.zeros(len(corpus.texts) + 1, dtype=np.bool_)
    for term, weight, share in zip(query.terms.tolist(), query.weights / total, rarity, strict=True):
        having = corpus.term_texts.of_one(term)
        marked[having] = True
        hit = marked[texts]
        in_row = np.zeros(len(rows), dtype=np.bool_)
        in_row[row_of[hit]] = True
        in_row |= marked[heading]
        in_row &= body
        marked[having] = False
        if not hit.any() and not in_row.any():
            continue
        own[hit] += weight
        counted = np.bincount(table_of, weights=in_row, minlength=len(tables))
        rare = np.maximum(np.log((rows_in_table + 1) / (counted + 0.5)), 0)
        row_score += in_row * (weights.row * weight + weights.rare_in_table * share * rare[table_of])
        hit_column = np.zeros(len(columns), dtype=np.bool_)
        hit_column[column_of[hit & body[row_of]]] = True
        named_in_column[hit_column] = np.maximum(named_in_column[hit_column], weight)

    whole = query.whole[texts]
    column_score = weights.column_named_in * named_in_column + _header_score(query, index, columns, weights)
    score = row_score[row_of] + column_score[column_of] + weights.own * own + weights.named * whole
    if query.asks_for_date:
        score += weights.date * corpus.statistics.text_is_dated[texts]
    score += np.where(body[row_of], 0.0, weights.above_body)
    return np.asarray(score, dtype=np.float32)


def _columns(columns: Integers, count: int) -> tuple[Integers, Integers]:
    """The distinct columns, rising, and for each element the place of its column among them."""
    present = np.zeros(count, dtype=np.bool_)
    present[columns] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[columns]


def _header_score(query: Query, index: GraphIndex, columns: Integers, weights: CellWeights) -> Floats:
    """What a column's name and kind say, shape (columns,)."""
    corpus = index.corpus
    names = corpus.places.column_name[columns]
    named = names != NONE
    covered = np.zeros(len(columns), dtype=np.float32)
    marked = np.zeros(len(corpus.texts) + 1, dtype=np.bool_)
    for term, weight in zip(query.terms.tolist(), query.weights, strict=True):
        having = corpus.term_texts.of_one(term)
        marked[having] = True
        covered += weight * marked[names]
        marked[having] = False
    score = weights.header * covered / max(float(query.weights.sum()), 1e-6)
    score += weights.header_named * (query.whole[names] & named)
    if query.asks_for_number:
        score += weights.number * corpus.places.column_is_numeric[columns]
    if index.vectors is not None and query.vector is not None and weights.header_vector:
        known, place = np.unique(names[named], return_inverse=True)
        vectors = index.vectors.predicates[np.searchsorted(index.vectors.texts["predicates"], known)]
        score[named] += weights.header_vector * cosines(vectors, query.vector)[place]
    return np.asarray(score, dtype=np.float32)
