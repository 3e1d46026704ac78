"""Registry of all methods by name, those of retrieval and those of the published systems, with their solvers.

Each system has a module with its methods (`METHODS`) and the makers of their solvers (`SOLVERS`); a system is
added by listing that module here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

from kgtable.answering.ask import Solver
from kgtable.answering.evidence import TableSource
from kgtable.retrieval import registry
from kgtable.retrieval.registry import Method, Retrievers
from kgtable.systems.dmral import stepwise_solver
from kgtable.systems.documents import document_solver
from kgtable.systems.tablerag import tablerag_method
from kgtable.systems.trag import trag_method

SolverMaker = Callable[[Retrievers, TableSource, Hashable | None], Solver]

METHODS: Mapping[str, Method] = {
    **registry.METHODS,
    **tablerag_method.METHODS,
    **stepwise_solver.METHODS,
    **trag_method.METHODS,
    **document_solver.METHODS,
}
"""Every method that ``retrieve``, ``ask`` and ``eval`` know."""

SOLVERS: Mapping[str, SolverMaker] = {
    **tablerag_method.SOLVERS,
    **stepwise_solver.SOLVERS,
    **trag_method.SOLVERS,
    **document_solver.SOLVERS,
}
"""The maker of each method's solver; other methods answer by kgtable's own rules and prompts."""


def make_solver(method: str, retrievers: Retrievers, source: TableSource) -> Solver | None:
    """The solver of a method with its options; None where it has none. Raises `RetrievalError`."""
    name, options = registry.read_method(method, METHODS)
    return SOLVERS[name](retrievers, source, options) if name in SOLVERS else None
