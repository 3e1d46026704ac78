"""The method `hybrid`: by the index of the graph, or by ``CONTAINS`` where there is none, with the same scores."""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from copy import copy
from functools import partial
from math import log
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyoxigraph as ox

from kgtable.errors import LLMReplyError
from kgtable.graph.sparql_text import with_values
from kgtable.graph.store import TripleStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex, write_index
from kgtable.index.postings import BoolArray, IntArray, distinct, ranges
from kgtable.llm.protocol import LLM
from kgtable.resources import read_shipped
from kgtable.retrieval.question_terms import Query, cosines, extract_labels, plain_labels, question_labels
from kgtable.retrieval.ranking import Scored, Weights, reranked, score
from kgtable.retrieval.result import LateTriples, Retrieval, ScoredTable
from kgtable.retrieval.triples import RetrievedCells


def matching_cells(labels: Iterable[str], index: GraphIndex) -> IntArray:
    """Numbers of the cells whose text, row label, group or column name contains a label; by the index, rising."""
    corpus = index.corpus
    places = corpus.places
    texts = index.lexical.containing(labels)
    rows = distinct(np.concatenate([corpus.text_labels.of(texts), corpus.text_groups.of(texts)]))
    of_rows = ranges(places.row_cell_start[rows], places.row_cell_start[rows + 1])
    return distinct(np.concatenate([corpus.text_cells.of(texts), of_rows, _of_columns(texts, corpus)]))


def _of_columns(texts: IntArray, corpus: Corpus) -> IntArray:
    """The cells of the body in columns of these names."""
    places = corpus.places
    columns = distinct(corpus.text_columns.of(texts))
    tables = distinct(places.column_table[columns])
    first, last = places.table_row_start[tables], places.table_row_start[tables + 1]
    cells = ranges(places.row_cell_start[first], places.row_cell_start[last])
    wanted = np.zeros(len(places.column_number), dtype=np.bool_)
    wanted[columns] = True
    cells = cells[wanted[places.cell_column[cells]]]
    return np.asarray(cells[~places.row_is_header[places.cell_row[cells]]])


def candidates_query(terms: Iterable[str]) -> str:
    """The SPARQL query for the cells whose text, row label, group or column name contains a term, folded as it is."""
    return with_values(read_shipped("queries/candidates.rq"), [(str(ox.Literal(term)),) for term in terms])


def found_by(query: str, store: TripleStore, names: Namespaces) -> Iterator[tuple[str, CellAddress, ox.QuerySolution]]:
    """The solutions of a `candidates_query`, on any engine: the term, the cell, and what else is known of it."""
    solutions = store.query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    for solution in solutions:
        term, table, row, column = (solution[at].value for at in range(4))
        id = names.parse_table_iri(table)
        if id is not None:
            yield term, CellAddress(id, int(row), int(column)), solution


def containing_cells(labels: Iterable[str], store: TripleStore, names: Namespaces) -> dict[str, set[CellAddress]]:
    """The cells each folded label leads to, by ``CONTAINS``: the plain way of the thesis, on any engine."""
    found: dict[str, set[CellAddress]] = {label: set() for label in labels}
    for label, cell, _ in found_by(candidates_query(found), store, names) if found else ():
        found[label].add(cell)
    return found


NEAREST = 5
"""Terms taken from each of the three vocabularies, as in the thesis."""


def expand(asked: Matrix | None, index: GraphIndex, count: int = NEAREST) -> dict[str, dict[str, float]]:
    """The `count` subjects, predicates and groups nearest to any of the vectors `asked`, with their cosines.

    `asked` holds the question's vector and may hold those of its labels, shape (n, dimension). Without
    vectors the vocabularies give nothing.
    """
    if asked is None or index.vectors is None:
        return {}
    expanded: dict[str, dict[str, float]] = {}
    for kind in ("subjects", "predicates", "groups"):
        texts, cosines = index.vectors.nearest(kind, asked, count)
        best: dict[int, float] = {}
        for text, cosine in zip(texts.ravel().tolist(), cosines.ravel().tolist(), strict=True):
            best[text] = max(cosine, best.get(text, -1.0))
        ranked = sorted(best, key=lambda text: (-best[text], text))[:count]
        expanded[kind] = {index.corpus.texts[text]: round(best[text], 4) for text in ranked}
    return expanded


TABLES_KEPT = 100
LEAST_COSINE = 0.3
"""The cosine of question and nearest table below which a question without known words finds nothing."""


class HybridRetriever:
    """Retriever by labels, expansion, substring candidates and scores; the trace describes each step.

    With a language model (`llm`) it names the labels, and orders the best tables in one more call if
    `rerank` is kept.
    """

    name = "hybrid"

    def __init__(
        self,
        store: TripleStore,
        names: Namespaces,
        index: GraphIndex,
        *,
        llm: LLM | None = None,
        rerank: bool = True,
        weights: Weights | None = None,
        from_index: bool | None = None,
        within: Sequence[str] | None = None,
    ) -> None:
        """`from_index`: whether what the index says of cells holds; None looks whether the store changed.
        `within` are the ids of the tables that are looked at, None for all."""
        self._store, self._names, self._index = store, names, index
        self._reader = TableReader(store, names)
        self._from_index = index.describes(store) if from_index is None else from_index
        self._llm, self._rerank = llm, rerank
        self._weights = weights or Weights()
        self._within = None if within is None else tuple(within)

    def with_model(self, llm: LLM | None, *, rerank: bool = True) -> Self:
        """The same retriever with another language model, or none."""
        changed = copy(self)
        changed._llm, changed._rerank = llm, rerank
        return changed

    def within(self, tables: Sequence[str]) -> Self:
        """The same retriever over these tables alone; the model does not order them."""
        changed = copy(self)
        changed._within = tuple(tables)
        return changed

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples, the best first; none where nothing in the graph is near the question.

        Raises a leaf of `LLMError` where there is a model that cannot be used; replies it cannot
        understand are done without.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = question_labels(question, self._llm, partial(extract_labels, index=self._index), trace)
        return self.retrieve_labelled(question, labels, k, clock, trace)

    def retrieve_labelled(
        self, question: str, labels: tuple[str, ...], k: int, clock: Clock, trace: dict[str, Any]
    ) -> Retrieval:
        """The steps that follow once the labels are known; `clock` and `trace` go on from the ones before."""
        scored = self._score(question, labels, k, clock, trace)
        if scored is None:
            return Retrieval(question, (), (), clock.times, self.name, trace)
        with clock("triples"):
            triples = self.triples(scored, k)
        return Retrieval(question, triples, self._tables(scored), clock.times, self.name, trace)

    @property
    def index(self) -> GraphIndex:
        """The index it searches."""
        return self._index

    def score(self, question: str, k: int, clock: Clock, trace: dict[str, Any]) -> Scored | None:
        """The scores of tables and cells for a question of which `k` triples are wanted.

        None where nothing in the graph is near the question. Raises as `retrieve` does.
        """
        with clock("labels"):
            labels = question_labels(question, self._llm, partial(extract_labels, index=self._index), trace)
        return self._score(question, labels, k, clock, trace)

    def _score(
        self, question: str, labels: tuple[str, ...], k: int, clock: Clock, trace: dict[str, Any]
    ) -> Scored | None:
        index = self._index
        with clock("embedding"):
            asked = index.embed([question] if self._llm is None else [question, *labels])
        with clock("expansion"):
            expanded = expand(asked, index)
        with clock("candidates"):
            everything = dict.fromkeys((*labels, *(term for terms in expanded.values() for term in terms)))
            matching = matching_cells(everything, index)
        with clock("scores"):
            query = self._query(question, labels, asked)
            allowed = self._allowed()
            scored = score(query, index, matching, self._weights, k, allowed)
        trace |= {"labels": labels, "expanded": expanded}
        trace |= {"candidates": len(matching), "scored": len(scored.cells)}
        trace["read_from"] = "index" if self._from_index else "graph"
        if not self._near(query, labels):
            return None
        if self._llm is not None and self._rerank and self._within is None:
            with clock("reranking"):
                ordered = self._reranked(scored, query, trace)
            if ordered is None:
                return None
            scored = ordered
        return self.regrouped(scored, query, clock, trace)

    def _query(self, question: str, labels: tuple[str, ...], asked: Matrix | None) -> Query:
        """The query for a question; labels of a model count where they are part of a text of the graph."""
        corpus, weights = self._index.corpus, self._weights.labels
        vector = None if asked is None else asked[0]
        if self._llm is None:
            return Query.of(question, corpus, vector)
        held = [place for place, label in enumerate(labels) if self._index.lexical.is_known(label)]
        if asked is not None and held and weights.vector:
            vector = asked[0] + weights.vector * asked[1:][held].mean(axis=0)
            vector /= max(float(np.linalg.norm(vector)), 1e-6)
        return Query.of(question, corpus, vector, [labels[place] for place in held], weights.added)

    def _allowed(self) -> BoolArray | None:
        """Whether each table of the index may be looked at; None for all."""
        if self._within is None:
            return None
        wanted = set(self._within)
        return np.array([id in wanted for id in self._index.corpus.table_ids], dtype=np.bool_)

    def regrouped(self, scored: Scored, query: Query, clock: Clock, trace: dict[str, Any]) -> Scored:
        """Hook for methods that score tables together, such as ``dmral``; here the scores unchanged."""
        return scored

    def _reranked(self, scored: Scored, query: Query, trace: dict[str, Any]) -> Scored | None:
        """The scores after the model has ordered the tables; None where it says that none fits."""
        assert self._llm is not None
        try:
            ordered, trace["reranked"] = reranked(scored, query, self._index, self._reader, self._llm)
            trace |= {"none_fits": True} if ordered is None else {}
            return ordered
        except LLMReplyError as error:
            trace["rerank_refused"] = error.message
        return scored

    def _near(self, query: Query, labels: tuple[str, ...]) -> bool:
        """Whether anything in the graph has to do with the question."""
        if len(query.terms[~query.asking]) or labels:
            return True
        vectors = self._index.vectors
        if vectors is None or query.vector is None or not len(vectors.tables):
            return bool(len(query.terms))
        return bool(cosines(vectors.tables, query.vector).max() >= LEAST_COSINE)

    def nearest_tables(self, question: str, count: int) -> list[str]:
        """The ids of the tables nearest in meaning; none where the index has no vectors."""
        vectors = self._index.vectors
        asked = None if vectors is None else self._index.embed([question])
        if vectors is None or asked is None:
            return []
        order = np.argsort(-cosines(vectors.tables, asked[0]), kind="stable")
        return [self._index.corpus.table_ids[place] for place in order[:count].tolist()]

    def triples(self, scored: Scored, k: int) -> LateTriples:
        """The `k` best of the scored cells as triples."""
        cells, scores = scored.best(k)
        corpus, reader = self._index.corpus, self._reader
        return RetrievedCells(corpus, cells, scores, reader, from_index=self._from_index).triples()

    def _tables(self, scored: Scored) -> tuple[ScoredTable, ...]:
        probabilities = scored.table_probabilities
        order = np.argsort(-scored.table_logits, kind="stable")[:TABLES_KEPT]
        order = order[np.isfinite(scored.table_logits[order])]
        ids = self._index.corpus.table_ids
        return tuple(ScoredTable(ids[table], float(probabilities[table])) for table in order.tolist())


class Clock:
    """Milliseconds of each step."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._started = time.perf_counter()

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            ended = time.perf_counter()
            self.times[step] = (ended - started) * 1e3
            self.times["total"] = (ended - self._started) * 1e3


ROWS_READ = 2_000
"""Rows of a large table that are fetched and scored, those with the rarest labels first."""

TABLES_READ = 30
"""Tables that are fetched and scored, those with the rarest labels first."""

MOST_LABELS = 8
"""Labels searched for: each is compared with every text of the graph, and engines bound the time of a query."""


class IndexlessRetriever:
    """The thesis's substring search by SPARQL on any engine; the best tables are indexed for the question.

    There are no vectors, so nothing is expanded. With a model it names the labels and orders tables.
    """

    name = "hybrid"

    def __init__(
        self,
        store: TripleStore,
        names: Namespaces,
        *,
        llm: LLM | None = None,
        rerank: bool = True,
        within: Sequence[str] | None = None,
    ) -> None:
        self._store, self._names = store, names
        self._llm, self._rerank = llm, rerank
        self._within = None if within is None else tuple(within)

    def with_model(self, llm: LLM | None, *, rerank: bool = True) -> IndexlessRetriever:
        """The same retriever with another language model, or none."""
        return IndexlessRetriever(self._store, self._names, llm=llm, rerank=rerank, within=self._within)

    def within(self, tables: Sequence[str]) -> IndexlessRetriever:
        """The same retriever over these tables alone, which are not searched for."""
        return IndexlessRetriever(self._store, self._names, llm=self._llm, rerank=self._rerank, within=tables)

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples of the tables that labels of the question lead to, the best first.

        Raises what the engine's queries raise, and a leaf of `LLMError`.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = question_labels(question, self._llm, plain_labels, trace)
        trace["labels"] = labels
        tables: Sequence[str]
        found: Mapping[str, Set[CellAddress]] = {}
        if self._within is None:
            with clock("contains"):
                found = containing_cells(labels[:MOST_LABELS], self._store, self._names)
            trace["contains"] = {label: len(cells) for label, cells in found.items()}
            tables = likeliest(found)
        else:
            tables = self._within
        if not tables:
            return Retrieval(question, (), (), clock.times, self.name, trace)
        with tempfile.TemporaryDirectory(prefix="kgtable-") as folder:
            with clock("tables"):
                index = self._index(tables, found, Path(folder))
            hybrid = HybridRetriever(
                self._store,
                self._names,
                index,
                llm=self._llm,
                rerank=self._rerank,
                from_index=True,
                within=self._within,
            )
            return hybrid.retrieve_labelled(question, labels, k, clock, trace)

    def _index(self, tables: Iterable[str], found: Mapping[str, Set[CellAddress]], folder: Path) -> GraphIndex:
        reader = TableReader(self._store, self._names)
        contents = (reader.content(id, likeliest_rows(id, found) if found else None) for id in tables)
        write_index(contents, folder)
        return GraphIndex(folder)


def likeliest(found: Mapping[str, Set[CellAddress]], count: int = TABLES_READ) -> list[str]:
    """The ids of at most `count` tables by the labels found in them; a label in few tables counts most."""
    tables = {label: {cell.table for cell in cells} for label, cells in found.items()}
    everywhere = len(set().union(*tables.values())) if tables else 0
    scores: dict[str, float] = defaultdict(float)
    for holding in tables.values():
        for id in holding:
            scores[id] += log(1 + everywhere / len(holding))
    ranked = sorted(scores, key=lambda id: (-scores[id], id))
    return ranked[:count]


def likeliest_rows(table: str, found: Mapping[str, Set[CellAddress]], count: int = ROWS_READ) -> list[int]:
    """At most `count` rows of a table by the labels found in them, in the table's order.

    A label in few of its rows counts most.
    """
    rows = [{cell.row for cell in cells if cell.table == table} for cells in found.values()]
    everywhere = len(set().union(*rows))
    scores: dict[int, float] = defaultdict(float)
    for holding in rows:
        for row in holding:
            scores[row] += log(1 + everywhere / len(holding))
    return sorted(sorted(scores, key=lambda row: (-scores[row], row))[:count])
