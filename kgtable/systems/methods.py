"""The methods by name: those of retrieval and the published systems, with what answers for each.

A system is added by one entry in `METHODS` and, where it answers by a procedure of its own, one in `SOLVERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from kgtable.answering.ask import Solver
from kgtable.answering.evidence import TableSource
from kgtable.retrieval import registry
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever
from kgtable.systems.dmral import dmral_method
from kgtable.systems.documents.passage_retrieval import DocumentOptions, make_documents
from kgtable.systems.documents.solver import make_document_solver
from kgtable.systems.tablerag import method as tablerag
from kgtable.systems.trag.graph_aware import make_graph_aware_solver
from kgtable.systems.trag.trag_options import PublishedOptions, TragOptions


def _make_trag(retrievers: Retrievers, choice: Choice) -> Retriever:
    from kgtable.systems.trag.coarse_to_fine import make_trag  # brings scipy along

    return make_trag(retrievers, choice)


METHODS: Mapping[str, Method] = {
    **registry.METHODS,
    **tablerag.METHODS,
    "dmral": dmral_method.METHOD,
    "trag": Method(_make_trag, TragOptions),
    "trag-paper": Method(_make_trag, PublishedOptions),
    "documents": Method(make_documents, DocumentOptions),
}
"""Every method that ``retrieve``, ``ask`` and ``eval`` know."""

SolverMaker = Callable[[Retrievers, TableSource, Hashable | None], Solver]

SOLVERS: Mapping[str, SolverMaker] = {
    **dict.fromkeys(tablerag.METHODS, tablerag.make_solver),
    "trag": make_graph_aware_solver,
    "trag-paper": make_graph_aware_solver,
    "documents": make_document_solver,
    "dmral": dmral_method.make_solver,
}
"""What makes the solver of a method; the others answer by kgtable's own rules and prompts."""


def make_solver(method: str, retrievers: Retrievers, source: TableSource) -> Solver | None:
    """The solver of a method with its options; None where it has none. Raises `RetrievalError`."""
    name, options = registry.read_method(method, METHODS)
    return SOLVERS[name](retrievers, source, options) if name in SOLVERS else None
