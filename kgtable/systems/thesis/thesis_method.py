"""The method ``thesis``: labels, expansion, one SPARQL query, filter, budget, grouping (thesis, section 4.4).

Each candidate is embedded as a sentence, so that a question takes seconds where `hybrid` takes milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import numpy as np
import pyoxigraph as ox

from kgtable.answering.answer import Answer
from kgtable.answering.ask import Generator, Solver
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.presentations import presentation
from kgtable.answering.program_answers import answer_by_rules
from kgtable.config import Settings
from kgtable.errors import MissingExtraError, RetrievalError
from kgtable.graph.terms import CellAddress
from kgtable.index.embedding import DEFAULT, Embedder, load_stored
from kgtable.index.graph_index import GraphIndex
from kgtable.index.substring import folded
from kgtable.llm.protocol import LLM, OnText
from kgtable.retrieval.hybrid import NEAREST, TABLES_KEPT, Clock, candidates_query, expand, found_by
from kgtable.retrieval.question_terms import cosines, extract_labels, plain_labels, question_labels
from kgtable.retrieval.registry import Choice, Method, Retrievers, require_range
from kgtable.retrieval.result import LateTriples, Retrieval, Retriever, ScoredTable, ScoredTriple
from kgtable.retrieval.triples import scored_triple
from kgtable.values.text import single_line

MOST_CANDIDATES = 20_000
"""Candidates that are compared with the question, those with most terms first."""

LONGEST_SENTENCE = 400
"""Characters of a candidate's sentence."""


class LabelSource(StrEnum):
    """What names the labels of a question."""

    MODEL = "model"
    RULES = "rules"
    NONE = "none"


class TripleFilter(StrEnum):
    """What the candidates are ordered by before the budget cuts them."""

    NO = "no"
    EMBEDDING = "embedding"
    HYBRID = "hybrid"


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
    - `labels`: what names the labels; ``model`` is the rules' where there is no model.
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


class CandidateTriple(NamedTuple):
    """A triple that the query found: its cell, predicate (an IRI), and sentence."""

    at: CellAddress
    predicate: str
    sentence: str


def sentence(solution: ox.QuerySolution) -> str:
    """A candidate as a sentence: group, subject and column name, then the object as printed."""
    parts = (solution[name] for name in ("group", "subject", "name"))
    said = ", ".join(part.value for part in parts if part is not None)
    return single_line(f"{said}: {(solution['text'] or solution['object']).value}")[:LONGEST_SENTENCE]


class ThesisRetriever:
    """Retriever by the steps of the thesis; the trace holds the labels, terms, query, candidates and filter."""

    name = "thesis"

    def __init__(self, retrievers: Retrievers, options: ThesisOptions, llm: LLM | None = None) -> None:
        self._retrievers, self._options, self._llm = retrievers, options, llm
        self._within: frozenset[str] | None = None

    def with_model(self, llm: LLM | None, *, rerank: bool = True) -> Self:
        """The same retriever with another language model, or none; it never orders tables."""
        del rerank
        changed = copy(self)
        changed._llm = llm
        return changed

    def within(self, tables: Sequence[str]) -> Self:
        """The same retriever over the tables with these ids."""
        changed = copy(self)
        changed._within = frozenset(tables)
        return changed

    def retrieve(self, question: str, k: int) -> Retrieval:
        """At most `k` triples, and at most the budget, the best first.

        Raises `RetrievalError` where the filter has no embedding, a leaf of `LLMError`, `QueryError`,
        `RemoteStoreError`.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = self._labels(question, trace)
        with clock("expansion"):
            terms = dict.fromkeys(filter(None, (*labels, *self._expanded(question, labels, trace))))
        with clock("sparql"):
            candidates = self._candidates(terms, trace)
        with clock("filter"):
            scores = self._scores(question, candidates, trace)
            order = sorted(range(len(candidates)), key=lambda place: (-scores[place], candidates[place].at))
        kept = [(candidates[place], scores[place]) for place in order[: min(k, self._options.budget)]]
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

    def _labels(self, question: str, trace: dict[str, Any]) -> tuple[str, ...]:
        wanted = self._options.labels
        if wanted is LabelSource.NONE:
            return ()
        index = self._index
        by_rule = plain_labels if index is None else partial(extract_labels, index=index)
        trace["labels"] = question_labels(question, self._llm if wanted is LabelSource.MODEL else None, by_rule, trace)
        return tuple(trace["labels"])

    def _expanded(self, question: str, labels: Sequence[str], trace: dict[str, Any]) -> list[str]:
        """The nearest terms of each vocabulary to the question and its labels, folded."""
        if not self._options.expansion or self._index is None:
            return []
        expanded = expand(self._index.embed([question, *labels]), self._index, self._options.k)
        trace["expanded"] = expanded
        return [folded(term) for terms in expanded.values() for term in terms]

    def _candidates(self, terms: Mapping[str, None], trace: dict[str, Any]) -> list[CandidateTriple]:
        """The triples that hold a term, those with most terms first, without duplicates."""
        if not terms:
            return []
        trace["query"] = query = candidates_query(terms)
        material = self._retrievers.material
        found: dict[CellAddress, CandidateTriple] = {}
        held: dict[CellAddress, set[str]] = {}
        brought = Counter[str](dict.fromkeys(terms, 0))
        for term, at, solution in found_by(query, material.store, material.names):
            if self._within is not None and at.table not in self._within:
                continue
            if at not in found:
                found[at] = CandidateTriple(at, solution["predicate"].value, sentence(solution))
                held[at] = set()
            if term not in held[at]:
                held[at].add(term)
                brought[term] += 1
        ranked = sorted(found, key=lambda at: (-len(held[at]), at))
        trace |= {"brought": dict(brought), "candidates": len(found)}
        trace["compared"] = min(len(found), MOST_CANDIDATES)
        return [found[at] for at in ranked[:MOST_CANDIDATES]]

    def _scores(self, question: str, candidates: Sequence[CandidateTriple], trace: dict[str, Any]) -> list[float]:
        """The score of each candidate under the filter."""
        trace["filter"] = self._options.filter.value
        if self._options.filter is TripleFilter.NO:  # the candidates come by the number of their terms
            return [1.0 / place for place in range(1, len(candidates) + 1)]
        if self._options.filter is TripleFilter.HYBRID:
            hybrid = self._retrievers.get("hybrid")
            ranks = {at: rank for rank, at in enumerate(hybrid.retrieve(question, MOST_CANDIDATES).addresses, 1)}
            return [1.0 / ranks[found.at] if found.at in ranks else 0.0 for found in candidates]
        embedder = self._embedder
        trace["embedding"] = embedder.name
        sentences = {sentence: place for place, sentence in enumerate(dict.fromkeys(c.sentence for c in candidates))}
        trace["sentences"] = len(sentences)
        near = cosines(embedder.embed(list(sentences)), embedder.embed([question])[0]) if sentences else np.zeros(0)
        return [float(near[sentences[found.sentence]]) for found in candidates]

    @cached_property
    def _embedder(self) -> Embedder:
        built = DEFAULT if self._index is None or self._index.embedding == "none" else self._index.embedding
        try:
            embedder = load_stored(self._options.embedding or built)
        except MissingExtraError as error:
            raise RetrievalError(f"The method thesis: {error.message}", hint=error.hint) from error
        if embedder is None:
            raise RetrievalError("The filter of thesis needs an embedding.", hint="Or switch it off: thesis:filter=no.")
        return embedder

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
    return ThesisRetriever(retrievers, _chosen(choice.options))


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None, settings: Settings) -> Solver:
    """The solver with the grouping of the options."""
    del retrievers, source
    return ThesisSolver(_chosen(options).grouping, settings)


def _chosen(options: Hashable | None) -> ThesisOptions:
    return options if isinstance(options, ThesisOptions) else ThesisOptions()


METHODS = {"thesis": Method(make_retriever, ThesisOptions)}
SOLVERS = dict.fromkeys(METHODS, make_solver)
OBEYED = ("prompt", "temperature", "context_tokens", "max_tokens")
