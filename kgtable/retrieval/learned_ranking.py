"""A learned ranking of the first tables: a small network over features shared by a question and each table.

Trained by ``scripts/train_tables.py``. The network reorders the tables and leaves the scores as they are: the table
that it puts first gets the highest of them. A triple follows the score of its table.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from kgtable.index.corpus import NONE
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import FloatArray, IntArray, Postings, ranges, runs
from kgtable.resources import read_packaged_json
from kgtable.retrieval.cell_scores import Scored
from kgtable.retrieval.question_terms import Query, cosines

FIRST = 20
"""Tables that are ordered again."""

MOST_CELLS = 2_000
"""Cells of a table that are looked at."""

MOST_TERMS = 64
"""Maximum terms of a question that count: one bit each."""

SUBJECTS = 30
"""Number of the row subjects nearest to the question whose tables count."""

LIMIT = 5.0
"""Number of deviations from the mean at which a feature is clipped."""

WEIGHTS = "retrieval/learned_ranking.json"

COMPARED = (
    "score", "bm25", "bm25 of the best term", "title", "header", "cells", "row", "row and header", "all of it",
    "whole cells", "whole columns", "title told", "numbers", "cosine", "cosine of a header", "cosine of a subject",
)  # fmt: skip
"""Features of a table that are given as they are, and again less the highest of the other tables."""

PLAIN = (
    "rank", "above", "below", "numeric columns asked", "dates asked", "parts", "best part", "terms",
    "asking terms", "spread", "asks for a number", "asks for a date",
)  # fmt: skip
"""Further features of a table, its parts, and the question."""

NAMES = (*COMPARED, *(f"{name} against the best" for name in COMPARED), *PLAIN)


class LearnedRanking:
    """Reranks the first tables of a question; without vectors, which it was trained with, it changes nothing."""

    def __init__(self, index: GraphIndex) -> None:
        self._index = index
        self._features = TableFeatures(index)

    def reordered(self, query: Query, scored: Scored) -> tuple[Scored, dict[str, str]]:
        """The scores in the learned order, and by table what moved it up, for people."""
        first = np.argsort(-scored.table_logits, kind="stable")[:FIRST]
        first = first[np.isfinite(scored.table_logits[first])]
        if len(first) < 2 or query.vector is None or self._index.vectors is None:
            return scored, {}
        scores, network = scored.table_logits[first], _network()
        features = network.scaled(self._features.of(query, scores, first))
        order = np.argsort(-(scores + network.added(features)), kind="stable")
        logits = scored.table_logits.copy()
        logits[first[order]] = scores
        moved = {}
        for place, before in enumerate(order.tolist()):
            if before > place:
                reasons = ", ".join(network.reasons(features[before]))
                moved[self._index.corpus.table_ids[first[before]]] = f"{before + 1} → {place + 1} by {reasons}"
        return replace(scored, table_logits=logits), moved


@dataclass(frozen=True)
class TableNetwork:
    """One hidden layer of rectified units over `NAMES`, which are divided by their deviations first."""

    mean: FloatArray
    deviation: FloatArray
    inputs: FloatArray
    bias: FloatArray
    output: FloatArray

    def scaled(self, features: FloatArray) -> FloatArray:
        """The features as the network takes them."""
        return np.asarray(np.clip((features - self.mean) / self.deviation, -LIMIT, LIMIT), dtype=np.float32)

    def added(self, scaled: FloatArray) -> FloatArray:
        """The amount added to the score of each table."""
        return np.asarray(np.maximum(scaled @ self.inputs + self.bias, 0) @ self.output, dtype=np.float32)

    def reasons(self, scaled: FloatArray) -> list[str]:
        """The names of the two features of one table that add most to its score."""
        active = scaled @ self.inputs + self.bias > 0
        shares = scaled * (self.inputs @ (active * self.output))
        return [NAMES[place] for place in np.argsort(-shares, kind="stable")[:2].tolist()]


@cache
def _network() -> TableNetwork:
    read = read_packaged_json(WEIGHTS)
    return TableNetwork(*(np.array(read[part.name], dtype=np.float32) for part in fields(TableNetwork)))


class TableFeatures:
    """The features shared by a question and its first tables, read from the index."""

    def __init__(self, index: GraphIndex) -> None:
        self._index = index

    @cached_property
    def _titles(self) -> Postings:
        return Postings.open(self._index.folder, "named_terms")

    def of(self, query: Query, scores: FloatArray, tables: IntArray) -> FloatArray:
        """The features of these tables, shape (tables, `NAMES`); `scores` are theirs, falling."""
        corpus, places = self._index.corpus, self._index.corpus.places
        count = len(tables)
        terms, weights = query.terms[:MOST_TERMS], query.weights[:MOST_TERMS]
        total = max(float(weights.sum()), 1e-6)
        marks = np.zeros(len(corpus.texts) + 1, dtype=np.uint64)  # the last one stands for NONE
        for bit, term in enumerate(terms.tolist()):
            marks[corpus.term_texts.of_one(term)] |= np.uint64(1 << bit)

        def covered(mark: npt.NDArray[np.uint64]) -> FloatArray:
            bits = mark[:, None] >> np.arange(len(terms), dtype=np.uint64) & np.uint64(1)
            return np.asarray(bits @ weights / total, dtype=np.float32)

        def together(owner: IntArray, mark: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
            joined = np.zeros(count, dtype=np.uint64)
            np.bitwise_or.at(joined, owner, mark)
            return joined

        def highest(owner: IntArray, values: FloatArray) -> FloatArray:
            best = np.zeros(count, dtype=np.float32)
            np.maximum.at(best, owner, values)
            return best

        # Titles
        owner, named = _items(self._titles.starts[tables], self._titles.starts[tables + 1])
        named = self._titles.items[named]
        order = np.argsort(terms)
        place = np.searchsorted(terms[order], named)
        known = np.append(terms[order], NONE)[place] == named
        bits = np.append(np.uint64(1) << order.astype(np.uint64), np.uint64(0))
        title = together(owner, np.where(known, bits[place], np.uint64(0)))
        told = np.bincount(owner, known, count) / np.maximum(np.bincount(owner, minlength=count), 1)

        # Columns
        column_of, columns = _items(places.table_column_start[tables], places.table_column_start[tables + 1])
        names = places.column_name[columns]
        header = together(column_of, marks[names])
        whole = (names != NONE) & query.whole[names]
        columns_named = together(column_of[whole], marks[names[whole]])
        width = np.maximum(np.bincount(column_of, minlength=count), 1)
        numeric = np.bincount(column_of, places.column_is_numeric[columns], count) / width

        # Rows and cells
        first, last = places.table_row_start[tables], places.table_row_start[tables + 1]
        starts = places.row_cell_start[first]
        cell_of, cells = _items(starts, np.minimum(places.row_cell_start[last], starts + MOST_CELLS))
        texts = places.cell_text[cells]
        rows, row_of = runs(places.cell_row[cells])
        in_row = marks[places.row_group_label[rows]]
        np.bitwise_or.at(in_row, row_of, marks[texts])
        owner = np.zeros(len(rows), dtype=np.int64)
        owner[row_of] = cell_of
        body = ~places.row_is_header[rows]
        in_row[~body] = 0
        inside = together(owner, in_row)
        row = highest(owner, covered(in_row))
        row_and_header = highest(owner, covered(in_row | header[owner]))
        everything = highest(owner, covered(in_row | header[owner] | title[owner]))
        whole = query.whole[texts]
        cells_named = together(cell_of[whole], marks[texts[whole]])
        dated = np.bincount(cell_of, corpus.statistics.text_is_dated[texts], count)

        bm25 = np.zeros((len(terms), count), dtype=np.float32)
        for at, term in enumerate(terms.tolist()):
            begin, having = int(corpus.term_tables.starts[term]), corpus.term_tables.of_one(term)
            place = np.minimum(np.searchsorted(having, tables), max(len(having) - 1, 0))
            if len(having):
                bm25[at] = np.where(having[place] == tables, corpus.statistics.bm25[begin + place], 0)
        digits = np.array([any(map(str.isdigit, corpus.terms[term])) for term in terms.tolist()], dtype=np.bool_)
        number = np.uint64(sum(1 << at for at in np.flatnonzero(digits).tolist()))
        seen = inside | header | title

        of_table = of_header = of_subject = np.zeros(count, dtype=np.float32)
        vectors = self._index.vectors
        if vectors is not None and query.vector is not None:
            of_table = cosines(vectors.tables[tables], query.vector)
            known = names != NONE
            near = cosines(vectors.predicates[np.searchsorted(vectors.texts["predicates"], names[known])], query.vector)
            of_header = highest(column_of[known], near)
            subjects, near = vectors.nearest("subjects", query.vector[None], SUBJECTS)
            by_text = np.zeros(len(corpus.texts) + 1, dtype=np.float32)
            by_text[subjects[0]] = near[0]
            of_subject = highest(owner, by_text[places.row_label[rows]])

        compared = np.stack(
            [
                scores - scores[0], bm25.sum(0) / total, bm25.max(0, initial=0), covered(title), covered(header),
                covered(inside), row, row_and_header, everything, covered(cells_named), covered(columns_named), told,
                covered(seen & number), of_table, of_header, of_subject,
            ]
        )  # fmt: skip
        kin = places.table_kin[tables]
        same = kin[:, None] == kin
        best_part = np.where(same, row_and_header, 0).max(1)
        shares = np.exp(scores - scores[0])
        shares /= shares.sum()
        by_question = [
            np.log1p(len(terms)), float(np.count_nonzero(query.asking)), -(shares * np.log(shares + 1e-9)).sum(),
            float(query.asks_for_number), float(query.asks_for_date),
        ]  # fmt: skip
        gaps = np.minimum(-np.diff(scores), 3)
        plain = [
            np.log1p(np.arange(count)), np.append(0, gaps), np.append(gaps, 0), numeric * query.asks_for_number,
            (dated > 0) * query.asks_for_date, np.log(same.sum(1)), row_and_header - best_part,
            *(np.full(count, value) for value in by_question),
        ]  # fmt: skip
        return np.vstack([compared, _against_best(compared), plain]).T.astype(np.float32)


def _items(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """The numbers in these ranges, and before them for each the place of its range."""
    return np.repeat(np.arange(len(starts)), ends - starts), ranges(starts, ends)


def _against_best(values: FloatArray) -> FloatArray:
    """Each value less the highest of the others in its row."""
    if values.shape[1] < 2:
        return np.zeros_like(values)
    second, first = np.sort(values, axis=1)[:, -2:].T[:, :, None]
    return np.asarray(values - np.where(values == first, second, first))
