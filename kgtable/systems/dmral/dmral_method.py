"""The method ``dmral``: what makes its retriever and its solver."""

from __future__ import annotations

from collections.abc import Hashable

from kgtable.answering.ask import Solver
from kgtable.answering.evidence import TableSource
from kgtable.errors import RetrievalError
from kgtable.graph.store import EmbeddedStore
from kgtable.index.graph_index import GraphIndex
from kgtable.index.relations import TableRelations
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever
from kgtable.systems.dmral.coverage_retrieval import CoverageRetriever, DmralOptions
from kgtable.systems.dmral.stepwise_solver import StepwiseSolver


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever of ``dmral``. Raises `RetrievalError` for a graph behind an endpoint, which has no index."""
    material = retrievers.material
    if not isinstance(material.store, EmbeddedStore):
        raise RetrievalError(
            "The method dmral needs the index of a graph on disk.", hint="Take the method hybrid."
        )
    options = choice.options if isinstance(choice.options, DmralOptions) else DmralOptions()
    return CoverageRetriever(
        material.store,
        material.names,
        GraphIndex(material.index_path),
        TableRelations.open(material.index_path),
        options,
        llm=material.llm,
    )


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None) -> Solver:
    """The solver of ``dmral``."""
    chosen = options if isinstance(options, DmralOptions) else DmralOptions()
    return StepwiseSolver(TableRelations.open(retrievers.material.index_path), chosen)


METHODS = {"dmral": Method(make_retriever, DmralOptions)}
SOLVERS = {"dmral": make_solver}
