"""The filter of `thesis`: candidates ordered by the cosine of question and sentence, or otherwise (section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kgtable.errors import MissingExtraError, RetrievalError
from kgtable.graph.terms import CellAddress
from kgtable.index.embedding import DEFAULT, Embedder, load_stored
from kgtable.retrieval.question_terms import cosines
from kgtable.retrieval.registry import Retrievers

MOST_CANDIDATES = 20_000
"""Candidates that are compared with the question, those with most terms first."""


class TripleFilter(StrEnum):
    """The order of the candidates before the budget cuts them."""

    NO = "no"
    EMBEDDING = "embedding"
    HYBRID = "hybrid"


class CandidateTriple(NamedTuple):
    """A triple that the query found: its cell, predicate (an IRI), and sentence."""

    at: CellAddress
    predicate: str
    sentence: str


class EmbeddingFilter:
    """Scores candidates for the budget. The embedding model is opened at the first question that needs it."""

    def __init__(self, retrievers: Retrievers, by: TripleFilter, embedding: str) -> None:
        """`embedding` names the model; empty for the one that the graph was built with."""
        self._retrievers, self._by, self._embedding = retrievers, by, embedding

    def scores(self, question: str, candidates: Sequence[CandidateTriple], trace: dict[str, Any]) -> list[float]:
        """The score of each candidate; without a filter they keep their order. Raises `RetrievalError`."""
        trace["filter"] = self._by.value
        if self._by is TripleFilter.NO:  # the candidates come by the number of their terms
            return [1.0 / place for place in range(1, len(candidates) + 1)]
        if self._by is TripleFilter.HYBRID:
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
        index = self._retrievers.material.index_if_any
        built = DEFAULT if index is None or index.embedding == "none" else index.embedding
        try:
            embedder = load_stored(self._embedding or built)
        except MissingExtraError as error:
            raise RetrievalError(f"The method thesis: {error.message}", hint=error.hint) from error
        if embedder is None:
            raise RetrievalError("The filter of thesis needs an embedding.", hint="Or switch it off: thesis:filter=no.")
        return embedder
