"""The SPARQL function ``kgt:similarity``: the cosine of two texts by the embedding of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np
import pyoxigraph as ox

from kgtable.errors import QueryError
from kgtable.graph.terms import KGT
from kgtable.index.embedding import Matrix
from kgtable.index.graph_index import GraphIndex
from kgtable.index.substring import folded

FUNCTION = ox.NamedNode(f"{KGT}similarity")

LONGEST_TEXT = 1_000
"""Characters of a text that are compared."""

MOST_KEPT = 4_096
"""Vectors kept during a query."""

Functions = Mapping[ox.NamedNode, Callable[..., ox.Literal | None]]


class Similarity:
    """The cosine of two literals; unbound for other terms.

    Subjects, column names and group headings of the graph have their vectors in the index; any other text is
    embedded when it is met, about 200 a second with MiniLM on one core.
    """

    def __init__(self, index: GraphIndex) -> None:
        self._index = index
        self._vector = lru_cache(maxsize=MOST_KEPT)(self._embedded)

    def __call__(self, text: object, words: object) -> ox.Literal | None:
        """An ``xsd:double`` between -1 and 1."""
        if not isinstance(text, ox.Literal) or not isinstance(words, ox.Literal):
            return None
        one, other = (self._vector(term.value[:LONGEST_TEXT]) for term in (text, words))
        return ox.Literal(round(float(one @ other), 6))

    def _embedded(self, text: str) -> Matrix:
        known = self._index.vector_of(folded(text))
        if known is not None:
            return known
        vectors = self._index.embed([text])
        assert vectors is not None
        return np.asarray(vectors[0])


def similarity(open_index: Callable[[], GraphIndex]) -> Functions:
    """The function for a query over the graph with this index.

    Raises `QueryError` if the graph has no vectors, `VocabularyIndexError` if it has no index.
    """
    index = open_index()
    if index.vectors is None:
        raise QueryError("kgt:similarity needs vectors, and this graph has none.", hint="Build it with an embedding.")
    return {FUNCTION: Similarity(index)}
