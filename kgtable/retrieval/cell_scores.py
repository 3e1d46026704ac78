"""The scores of tables and candidate cells, and the weight of each signal (thesis, 4.4, step 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from kgtable.index.corpus import NONE, Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import BoolArray, FloatArray, IntArray, distinct, ranges, runs
from kgtable.retrieval.question_terms import ASKING, Query, cosines


@dataclass(frozen=True, slots=True)
class TableWeights:
    """Signals for a table, each standardised over all tables (mean 0, deviation 1) before it is weighted.

    - `bm25`: BM25 of title, headings, header, "header: value" cells and surrounding texts.
    - `coverage`: the rarity of the question's words that occur in the table itself, at any frequency.
    - `named`: the rarity of its words that make up whole cells or column names of the table.
    - `vector`: the cosine of question and table.
    - `agreement`: how well the table's own cells fit, see `CellWeights` (not standardised).

    `kin` is not a signal of its own: the share by which a word counts for a table in the first three where
    it is in another table under the same title and headings, as of a table that was split.
    """

    bm25: float = 0.7
    coverage: float = 0.3
    named: float = 0.2
    vector: float = 0.8
    agreement: float = 0.5
    kin: float = 0.75


@dataclass(frozen=True, slots=True)
class CellWeights:
    """Signals for a cell within its table; coverages are shares of the question's words by rarity.

    - `row`: words found in the row, or in the heading it is under.
    - `rare_in_table`: for each such word, how few rows of the table have it (logarithm).
    - `own`: words found in the cell itself: negative, since one seldom asks for what one names.
    - `named`: the cell is made up of words of the question, as what one filters by is.
    - `column_named_in`: words found in some cell of the column.
    - `header`: words found in the column's name; `header_named`: the whole name is in the question.
    - `header_vector`: the cosine of the question and the column's name.
    - `number`: a number is asked for, and the column holds numbers.
    - `date`: a year or date is asked for, and the cell names a year.
    - `above_body`: the cell is in the header.
    """

    row: float = 3.0
    rare_in_table: float = 0.4
    own: float = -1.0
    named: float = 0.5
    column_named_in: float = 1.0
    header: float = 1.0
    header_named: float = 1.0
    header_vector: float = 1.5
    number: float = 0.5
    date: float = 2.0
    above_body: float = -1.0


@dataclass(frozen=True, slots=True)
class LabelWeights:
    """The weights of labels that a model names, in addition to those of the question itself.

    - `added`: the share of its weight with which a term counts that only a label has.
    - `vector`: the mean of the labels' vectors, added to the question's.
    """

    added: float = 0.1
    vector: float = 1.0


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of all signals of `hybrid`."""

    tables: TableWeights = field(default_factory=TableWeights)
    cells: CellWeights = field(default_factory=CellWeights)
    labels: LabelWeights = field(default_factory=LabelWeights)


FEWEST = 5_000
"""Minimum number of cells scored, if there are that many."""

PER_TRIPLE = 10
"""Cells scored per requested triple."""

LARGE = 20_000
"""Cells of a table beyond which only its first rows and those the question leads to are scored."""


def scored_cells(
    corpus: Corpus, tables: FloatArray, matching: IntArray, hits: Callable[[], FloatArray], k: int
) -> IntArray:
    """Numbers of the cells to score, rising.

    Tables are taken by descending score, with all their cells, until `FEWEST` + `PER_TRIPLE` k are
    reached; of the tables after that, as many again, the cells `matching` (numbers, rising) that their
    labels name. From a `LARGE` table the first rows are taken, and as many again of those with the greatest
    `hits`, a number for each row that is asked for only where there is such a table.
    """
    wanted = FEWEST + PER_TRIPLE * k
    starts = corpus.places.table_cell_start
    order = np.argsort(-tables, kind="stable")
    sizes = np.diff(starts)[order]
    counted = np.minimum(sizes, LARGE).cumsum()
    cut = int(np.searchsorted(counted, wanted)) + 1
    chosen = order[:cut]
    small = chosen[sizes[:cut] <= LARGE]
    large = chosen[sizes[:cut] > LARGE]
    scored = [ranges(starts[small], starts[small + 1])]
    if len(large):
        hit = hits()
        scored += (_of_large(corpus, starts[table], starts[table + 1], matching, hit) for table in large)
    rest = np.zeros(corpus.places.tables, dtype=np.bool_)
    rest[order[cut:]] = True
    owner = corpus.places.row_table[corpus.places.cell_row[matching]]
    outside = rest[owner]
    cells, owner = matching[outside], owner[outside]
    if len(cells) > wanted:
        cells = cells[np.argsort(-tables[owner], kind="stable")][:wanted]
    scored.append(cells)
    return np.sort(np.concatenate(scored))


def _of_large(corpus: Corpus, start: int, end: int, matching: IntArray, hits: FloatArray) -> IntArray:
    places = corpus.places
    first_row, last_row = places.cell_row[start], places.cell_row[end - 1]
    rows = first_row + np.flatnonzero(hits[first_row : last_row + 1])
    rows = rows[np.argsort(-hits[rows], kind="stable")][:LARGE]
    led_to = ranges(places.row_cell_start[rows], places.row_cell_start[rows + 1])[:LARGE]
    named = matching[(matching >= start) & (matching < end)][: LARGE - len(led_to)]
    first = np.arange(start, min(end, start + LARGE))
    return distinct(np.concatenate([first, led_to, named]))


def cell_scores(query: Query, index: GraphIndex, cells: IntArray, weights: CellWeights) -> FloatArray:
    """The weighted sum of a cell's signals, shape (cells,); `cells` are cell numbers in ascending order."""
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


def _columns(columns: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """The distinct columns, rising, and for each element the place of its column among them."""
    present = np.zeros(count, dtype=np.bool_)
    present[columns] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[columns]


def _header_score(query: Query, index: GraphIndex, columns: IntArray, weights: CellWeights) -> FloatArray:
    """The scores of columns by name and kind, shape (columns,)."""
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


def table_scores(query: Query, corpus: Corpus, vectors: Matrix | None, weights: TableWeights) -> FloatArray:
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


def standardised(signal: FloatArray) -> FloatArray:
    """The signal with mean 0 and deviation 1; all 0 if it is the same for every table."""
    if len(signal) == 0:
        return signal
    deviation = float(signal.std())
    if deviation < 1e-6:
        return np.zeros_like(signal)
    return np.asarray((signal - signal.mean()) / deviation, dtype=np.float32)


class _Sum:
    """The sum over the terms of a question for each table, with a share from tables with the same title."""

    def __init__(self, kin: IntArray, share: float) -> None:
        self._kin = kin
        self._groups = int(kin.max()) + 1 if len(kin) else 0
        self._share = share if self._groups < len(kin) else 0.0
        self._own = np.zeros(len(kin))
        self._together = np.zeros(self._groups)

    def add(self, tables: IntArray, values: FloatArray) -> None:
        """The contribution of one term to the tables, each named once."""
        self._own[tables] += values
        if self._share:
            best = np.zeros(self._groups)
            np.maximum.at(best, self._kin[tables], values)
            self._together += best

    def signal(self) -> FloatArray:
        """Shape (tables,)."""
        signal = self._own
        if self._share:
            signal = (1 - self._share) * signal + self._share * self._together[self._kin]
        return signal.astype(np.float32)


def _term_signals(query: Query, corpus: Corpus, share: float) -> tuple[FloatArray, FloatArray, FloatArray]:
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


def _tables_naming(term: int, query: Query, corpus: Corpus) -> IntArray:
    """Tables with a cell or column name that is made up of the question's words, this one among them."""
    texts = corpus.term_texts.of_one(term)
    texts = texts[query.whole[texts]]
    places = corpus.places
    found = np.zeros(places.tables, dtype=np.bool_)
    found[places.row_table[places.cell_row[corpus.text_cells.of(texts)]]] = True
    found[places.column_table[corpus.text_columns.of(texts)]] = True
    return np.flatnonzero(found)


@dataclass(frozen=True)
class Scored:
    """Scored cells in ascending order of their number, and all tables.

    `table_logits` is a number for each table (tables,), higher for a better fit; `cell_logits` a
    logarithm of each cell's share of its table.
    """

    cells: IntArray
    cell_table: IntArray
    cell_logits: FloatArray
    table_logits: FloatArray

    @property
    def table_probabilities(self) -> FloatArray:
        """The tables' probabilities, summing to 1."""
        return softmax(self.table_logits)

    def best(self, k: int) -> tuple[IntArray, FloatArray]:
        """Numbers and probabilities of the `k` best cells, falling; ties in the order of the cells."""
        logs = np.log(np.maximum(self.table_probabilities, 1e-30))[self.cell_table] + self.cell_logits
        order = np.argsort(-logs, kind="stable")[:k]
        return self.cells[order], np.exp(logs[order]).astype(np.float32)


def score(
    query: Query,
    index: GraphIndex,
    matching: IntArray,
    weights: Weights,
    k: int,
    within: BoolArray | None = None,
) -> Scored:
    """Score tables and cells for a question; `matching` are the cells its labels name, rising.

    `within` says of each table whether it may be searched; None for all.
    """
    corpus = index.corpus
    vectors = None if index.vectors is None else index.vectors.tables
    tables = table_scores(query, corpus, vectors, weights.tables)
    if within is not None:
        tables = np.where(within, tables, np.float32(-np.inf))
        matching = matching[within[corpus.places.row_table[corpus.places.cell_row[matching]]]]
    cells = scored_cells(corpus, tables, matching, partial(_row_hits, query, corpus), k)
    owner = corpus.places.row_table[corpus.places.cell_row[cells]]
    if within is not None:
        cells, owner = cells[within[owner]], owner[within[owner]]
    fits = cell_scores(query, index, cells, weights.cells)
    chosen, place = runs(owner)
    peak = np.maximum.reduceat(fits, np.searchsorted(owner, chosen)) if len(chosen) else fits
    mass = np.log(np.bincount(place, weights=np.exp(fits - peak[place]), minlength=len(chosen))) + peak
    mean = mass - np.log(np.bincount(place, minlength=len(chosen)))
    logits = tables.copy()
    if len(chosen):
        logits += weights.tables.agreement * float(mean.min())
        logits[chosen] += weights.tables.agreement * (mean - mean.min())
    return Scored(cells, owner, (fits - mass[place]).astype(np.float32), logits)


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities proportional to the exponentials (softmax)."""
    if len(logits) == 0 or not np.isfinite(logits.max()):
        return logits
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum(), dtype=np.float32)


def _row_hits(query: Query, corpus: Corpus) -> FloatArray:
    """The score of each row by the question's content words: rarer words score higher."""
    hits = np.zeros(len(corpus.places.row_number), dtype=np.float32)
    for term in query.terms[~query.asking].tolist():
        rows = distinct(corpus.places.cell_row[corpus.text_cells.of(corpus.term_texts.of_one(term))])
        hits[rows] += 1 / max(len(rows), 1)
    return hits
