"""Registry of all methods by name, those of retrieval and those of the published systems, with their solvers.

The module of a system has its methods (`METHODS`) and the makers of their solvers (`SOLVERS`). It is imported when one
of its methods is first looked up, so that a question to one system does not load the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kgtable.config import Settings
from kgtable.errors import ConfigError, RetrievalError
from kgtable.retrieval import registry
from kgtable.retrieval.registry import Method, Retrievers

if TYPE_CHECKING:
    from kgtable.answering.ask import Solver
    from kgtable.answering.evidence import TableSource


def _tablerag() -> Any:
    from kgtable.systems.tablerag import tablerag_method

    return tablerag_method


def _dmral() -> Any:
    from kgtable.systems.dmral import stepwise_solver

    return stepwise_solver


def _trag() -> Any:
    from kgtable.systems.trag import trag_method

    return trag_method


def _thesis() -> Any:
    from kgtable.systems.thesis import thesis_method

    return thesis_method


def _documents() -> Any:
    from kgtable.systems.documents import document_solver

    return document_solver


SYSTEMS: Mapping[str, Callable[[], Any]] = {
    "thesis": _thesis,
    **dict.fromkeys(("tablerag", "read-table", "read-schema", "rand-row-sampling", "row-col-retrieval"), _tablerag),
    "dmral": _dmral,
    "trag": _trag,
    "documents": _documents,
}
"""What loads the module of each method of a published system."""


class _Methods(Mapping[str, Method]):
    def __getitem__(self, name: str) -> Method:
        if name in registry.METHODS:
            return registry.METHODS[name]
        found: Method = SYSTEMS[name]().METHODS[name]
        return found

    def __iter__(self) -> Iterator[str]:
        yield from registry.METHODS
        yield from SYSTEMS

    def __len__(self) -> int:
        return len(registry.METHODS) + len(SYSTEMS)


DEFAULTS = Settings()
METHODS: Mapping[str, Method] = _Methods()
"""Every method that ``retrieve``, ``ask`` and ``eval`` know."""

_ANSWER_SETTINGS = ("k", "prompt", "presentation", "temperature", "context_tokens", "max_tokens")


def make_solver(method: str, retrievers: Retrievers, source: TableSource, settings: Settings) -> Solver | None:
    """The solver of a method with its options; None if it has none.

    The module of a system names the settings of answers that its solvers obey (`OBEYED`). Raises `ConfigError` if
    another one is set away from its default, and `RetrievalError`, also for ``k``.
    """
    name, options = registry.read_method(method, METHODS)
    if name not in SYSTEMS:
        return None
    system = SYSTEMS[name]()
    for setting in _ANSWER_SETTINGS:
        if setting not in getattr(system, "OBEYED", _ANSWER_SETTINGS) and getattr(settings, setting) != getattr(
            DEFAULTS, setting
        ):
            refused = RetrievalError if setting == "k" else ConfigError  # k comes with a question
            raise refused(
                f"The method {name} has prompts of its own: it has no setting {setting}.",
                hint=f"Leave {setting} at its default, or see `kgtable retrieve --help` for the options of {name}.",
            )
    solver: Solver = system.SOLVERS[name](retrievers, source, options, settings)
    return solver
