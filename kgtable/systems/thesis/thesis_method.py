"""The method ``thesis``: labels, expansion, one SPARQL query, filter, budget, grouping (thesis, section 4.4).

Each candidate is embedded as a sentence, so that a question takes seconds where `hybrid` takes milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from kgtable.answering.answer import Answer
from kgtable.answering.ask import Generator, Solver
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.presentations import presentation
from kgtable.answering.program_answers import answer_by_rules
from kgtable.config import Settings
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.corpus import NONE
from kgtable.index.graph_index import GraphIndex
from kgtable.index.substring import folded
from kgtable.llm.protocol import LLM, OnText
from kgtable.retrieval.candidates_query import candidates_query, found_by, matching_cells
from kgtable.retrieval.expansion import NEAREST, expand
from kgtable.retrieval.hybrid import TABLES_KEPT
from kgtable.retrieval.labels import extract_labels, plain_labels, question_labels
from kgtable.retrieval.registry import Choice, Method, Retrievers, require_range
from kgtable.retrieval.result import (
    UNGUIDED,
    Clock,
    Guide,
    LateTriples,
    Retrieval,
    Retriever,
    ScoredTable,
    ScoredTriple,
)
from kgtable.retrieval.triples import scored_triple
from kgtable.systems.thesis.embedding_filter import MOST_CANDIDATES, CandidateTriple, EmbeddingFilter, TripleFilter
from kgtable.values.text import single_line

LONGEST_SENTENCE = 400
"""Characters of a candidate's sentence."""


class LabelSource(StrEnum):
    """What names the labels of a question."""

    MODEL = "model"
    RULES = "rules"
    NONE = "none"


class Grouping(StrEnum):
    """The presentation of the triples in a prompt (section 5.6, approaches 1 to 3)."""

    SEQUENTIAL = "sequential"
    BY_TABLE = "by-table"
    BY_SUBJECT = "by-subject"


@dataclass(frozen=True)
class ThesisOptions:
    """The options of ``thesis``.

    - `k`: terms taken from each of the three vocabularies; `expansion`: whether any are.
    - `budget`: triples that are kept: 3,000, 1,000 or 11,000 in the thesis.
    - `labels`: what names the labels; ``model`` is the rules' if there is no model.
    - `filter`: by the cosine of question and sentence, by the ranks of `hybrid`, or by the number of terms.
    - `embedding`: the model of the filter; empty for the one the graph was built with, or ``minilm``.
    - `grouping`: how a model is shown the triples.
    """

    k: int = NEAREST
    budget: int = 3_000
    labels: LabelSource = LabelSource.MODEL
    expansion: bool = True
    filter: TripleFilter = TripleFilter.EMBEDDING
    embedding: str = ""
    grouping: Grouping = Grouping.BY_SUBJECT

    def __post_init__(self) -> None:
        require_range(self, ("k",), 1, 100)
        require_range(self, ("budget",), 1, MOST_CANDIDATES)


def sentence(said: Iterable[str], text: str) -> str:
    """A candidate as a sentence in lower case: group, subject and column name, if present, then the object."""
    return folded(single_line(f"{', '.join(said)}: {text}"))[:LONGEST_SENTENCE]


Candidates: TypeAlias = tuple[Callable[[CellAddress], CandidateTriple], dict[CellAddress, int], dict[str, int]]
"""What makes the triple of a cell, the number of terms that each cell holds, and the cells that each term brought."""


def queried_candidates(terms: Iterable[str], query: str, store: TripleStore, names: Namespaces) -> Candidates:
    """The candidates by the SPARQL query, on any engine."""
    found: dict[CellAddress, CandidateTriple] = {}
    held: dict[CellAddress, set[str]] = {}
    for term, at, solution in found_by(query, store, names):
        if at not in found:
            parts = (solution[name] for name in ("group", "subject", "name"))
            text = (solution["text"] or solution["printed"] or solution["object"]).value
            said = sentence((part.value for part in parts if part is not None), text)
            found[at] = CandidateTriple(at, solution["predicate"].value, said)
        held.setdefault(at, set()).add(term)
    counts = Counter(chain.from_iterable(held.values()))
    return found.__getitem__, {at: len(of) for at, of in held.items()}, {term: counts[term] for term in terms}


def indexed_candidates(terms: Iterable[str], index: GraphIndex) -> Candidates:
    """The candidates by the index of the graph."""
    corpus, places = index.corpus, index.corpus.places
    counts = np.zeros(len(places.cell_row), dtype=np.int64)
    brought = {}
    for term in terms:
        cells = matching_cells([term], index)
        counts[cells] += 1
        brought[term] = len(cells)
    numbers = np.flatnonzero(counts)
    rows, columns = places.cell_row[numbers], places.cell_column[numbers]
    tables = places.row_table[rows].tolist()
    where = zip(tables, places.row_number[rows].tolist(), places.column_number[columns].tolist(), strict=True)
    addresses = [CellAddress(corpus.table_ids[table], row, column) for table, row, column in where]
    cell_at = dict(zip(addresses, numbers.tolist(), strict=True))

    def triple(at: CellAddress) -> CandidateTriple:
        cell = cell_at[at]
        row, column = places.cell_row[cell], places.cell_column[cell]
        parts = (int(places.row_group_label[row]), int(places.row_label[row]), int(places.column_name[column]))
        said = sentence(
            (corpus.texts[part] for part in parts if part != NONE), corpus.texts[int(places.cell_text[cell])]
        )
        return CandidateTriple(at, corpus.predicates[int(places.column_predicate[column])], said)

    return triple, dict(zip(addresses, counts[numbers].tolist(), strict=True)), brought


class ThesisRetriever:
    """Retriever by the steps of the thesis; the trace holds the labels, terms, query, candidates and filter."""

    name = "thesis"

    def __init__(self, retrievers: Retrievers, options: ThesisOptions) -> None:
        self._retrievers, self._options = retrievers, options
        self.budget = options.budget
        self._filter = EmbeddingFilter(retrievers, options.filter, options.embedding)

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> Retrieval:
        """At most `k` triples, and at most the budget, the best first.

        Raises `RetrievalError` if the filter has no embedding, a leaf of `LLMError`, `QueryError`,
        `RemoteStoreError`.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = self._labels(question, guide.llm, trace)
        with clock("expansion"):
            terms = dict.fromkeys(filter(None, (*labels, *self._expanded(question, labels, trace))))
        with clock("sparql"):
            candidates = self._candidates(terms, guide.tables, trace)
        with clock("filter"):
            scores = self._filter.scores(question, candidates, trace)
            order = sorted(range(len(candidates)), key=lambda place: (-scores[place], candidates[place].at))
        kept = [(candidates[place], scores[place]) for place in order[: min(k, self.budget)]]
        best: dict[str, float] = {}
        for found, score in kept:
            best.setdefault(found.at.table, score)
        tables = tuple(ScoredTable(table, score) for table, score in list(best.items())[:TABLES_KEPT])
        with clock("triples"):
            triples = self._triples(kept)
        return Retrieval(question, triples, tables, clock.times, self.name, trace)

    @property
    def _index(self) -> GraphIndex | None:
        return self._retrievers.material.index_if_any

    def _labels(self, question: str, llm: LLM | None, trace: dict[str, Any]) -> tuple[str, ...]:
        wanted = self._options.labels
        if wanted is LabelSource.NONE:
            return ()
        index = self._index
        by_rule = plain_labels if index is None else partial(extract_labels, index=index)
        trace["labels"] = question_labels(question, llm if wanted is LabelSource.MODEL else None, by_rule, trace)
        return tuple(trace["labels"])

    def _expanded(self, question: str, labels: Sequence[str], trace: dict[str, Any]) -> list[str]:
        """The nearest terms of each vocabulary to the question and its labels, folded."""
        if not self._options.expansion or self._index is None:
            return []
        expanded = expand(self._index.embed([question, *labels]), self._index, self._options.k)
        trace["expanded"] = expanded
        return [folded(term) for terms in expanded.values() for term in terms]

    def _candidates(
        self, terms: Mapping[str, None], tables: Sequence[str] | None, trace: dict[str, Any]
    ) -> list[CandidateTriple]:
        """The triples that hold a term, those with most terms first, without duplicates.

        The index of the graph finds what the query of the trace finds, in a hundredth of the time.
        """
        if not terms:
            return []
        trace["query"] = query = candidates_query(terms)
        material, index = self._retrievers.material, self._index
        held: dict[CellAddress, int]
        if index is not None and index.describes(material.store):
            found, held, brought = indexed_candidates(terms, index)
        else:
            found, held, brought = queried_candidates(terms, query, material.store, material.names)
        if tables is not None:
            held = {at: count for at, count in held.items() if at.table in tables}
        ranked = sorted(held, key=lambda at: (-held[at], at))
        trace |= {"brought": brought, "candidates": len(held)}
        trace["compared"] = min(len(held), MOST_CANDIDATES)
        return [found(at) for at in ranked[:MOST_CANDIDATES]]

    def _triples(self, kept: Sequence[tuple[CandidateTriple, float]]) -> LateTriples:
        reader = self._retrievers.material.reader
        addresses = [found.at for found, _ in kept]

        def read(first: int, last: int) -> list[ScoredTriple]:
            part = kept[first:last]
            cells = reader.cells([(found.at, found.predicate) for found, _ in part])
            return [
                scored_triple(found.at, found.predicate, cell, reader.names, score)
                for (found, score), cell in zip(part, cells, strict=True)
                if cell is not None
            ]

        return LateTriples(addresses, read, lambda: reader.queries_for(addresses))


class ThesisSolver:
    """Answers by the model over the grouped triples; without a model by kgtable's rules."""

    def __init__(self, grouping: Grouping, settings: Settings) -> None:
        self._grouping, self._settings = grouping, settings

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """See `Solver.solve`."""
        if llm is None:
            return answer_by_rules(evidence)
        generator = Generator.from_settings(llm, self._settings, presentation(self._grouping))
        return generator.answer(evidence, on_text=on_text)


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever over a graph on disk or behind an endpoint."""
    options = _chosen(choice.options)
    return ThesisRetriever(retrievers, replace(options, embedding=options.embedding or choice.embedding or ""))


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None, settings: Settings) -> Solver:
    """The solver with the grouping of the options."""
    del retrievers, source
    return ThesisSolver(_chosen(options).grouping, settings)


def _chosen(options: Hashable | None) -> ThesisOptions:
    return options if isinstance(options, ThesisOptions) else ThesisOptions()


METHODS = {"thesis": Method(make_retriever, ThesisOptions)}
SOLVERS = dict.fromkeys(METHODS, make_solver)
OBEYED = ("k", "prompt", "temperature", "context_tokens", "max_tokens")
