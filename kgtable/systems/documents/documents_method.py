"""The method ``documents``: its retriever and its solver."""

from __future__ import annotations

from collections.abc import Hashable

from kgtable.answering.ask import Solver
from kgtable.answering.evidence import TableSource
from kgtable.answering.program_answers import relations_of
from kgtable.errors import RetrievalError
from kgtable.graph.store import EmbeddedStore
from kgtable.index.graph_index import GraphIndex
from kgtable.index.passage_index import PassageIndex
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever
from kgtable.systems.documents.passage_retrieval import DocumentOptions, DocumentRetriever
from kgtable.systems.documents.solver import DocumentSolver


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever of ``documents``. Raises `RetrievalError` for a graph behind an endpoint."""
    material = retrievers.material
    if not isinstance(material.store, EmbeddedStore):
        raise RetrievalError(
            "The method documents needs the index of a graph on disk.", hint="Use the method hybrid."
        )
    options = choice.options if isinstance(choice.options, DocumentOptions) else DocumentOptions()
    index, passages = GraphIndex(material.index_path), PassageIndex(material.index_path)
    return DocumentRetriever(retrievers.get("hybrid"), index, passages, options.recall, material.triples_of)


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None) -> Solver:
    """The solver of ``documents``."""
    chosen = options if isinstance(options, DocumentOptions) else DocumentOptions()
    from kgtable.programs.sql_tables import SqlDatabase  # with packages of the extra sql

    database = SqlDatabase(relations_of(source), list(retrievers.material.tables()))
    return DocumentSolver(retrievers.get("documents"), source, database, chosen)


METHODS = {"documents": Method(make_retriever, DocumentOptions)}
SOLVERS = {"documents": make_solver}
