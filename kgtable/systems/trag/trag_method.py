"""The methods ``trag`` and ``trag-paper``: their retriever and their solver."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kgtable.answering.ask import Solver
from kgtable.answering.evidence import TableSource
from kgtable.errors import RetrievalError
from kgtable.graph.store import EmbeddedStore
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever
from kgtable.systems.trag.graph_aware import GraphAwareSolver
from kgtable.systems.trag.trag_options import PublishedOptions, TableRelation, TragOptions


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever of both methods, which share the features, hyperedges and edges of a graph.

    Raises `RetrievalError` for a graph without an index, `MissingExtraError` without scikit-learn.
    """
    from kgtable.systems.trag.coarse_to_fine import TragRetriever, open_hypergraph  # brings scipy along

    material = retrievers.material
    hybrid = retrievers.get("hybrid")
    if not isinstance(material.store, EmbeddedStore) or not isinstance(hybrid, HybridRetriever):
        raise RetrievalError(
            "The method trag needs the index of a graph on disk.", hint="Build the tables into a directory."
        )
    options = choice.options if isinstance(choice.options, TragOptions) else TragOptions()
    made = next((other.hypergraph for other in retrievers.made() if isinstance(other, TragRetriever)), None)
    hypergraph = made or open_hypergraph(hybrid.index, material.names)
    return TragRetriever(hypergraph, hybrid, material.triples_of, options)


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None) -> Solver:
    """The solver of both methods."""
    del source

    def related(tables: Sequence[str]) -> Sequence[tuple[str, str, TableRelation, float]]:
        from kgtable.systems.trag.coarse_to_fine import TragRetriever

        retriever = retrievers.get("trag")
        return retriever.relations_among(tables) if isinstance(retriever, TragRetriever) else ()

    return GraphAwareSolver(related, options if isinstance(options, TragOptions) else TragOptions())


METHODS = {
    "trag": Method(make_retriever, TragOptions),
    "trag-paper": Method(make_retriever, PublishedOptions),
}
SOLVERS = dict.fromkeys(METHODS, make_solver)
