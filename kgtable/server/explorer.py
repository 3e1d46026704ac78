"""The role of the worker behind the pages and the HTTP API: one open graph, one request at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtable.api import KnowledgeGraph
from kgtable.errors import (
    GraphNotFoundError,
    KgtableError,
    LLMError,
    QueryError,
    RetrievalError,
    UsageError,
)
from kgtable.server import asking, cells, grid_reading, neighbourhood, overview, table_pages
from kgtable.server.frames import Head
from kgtable.server.problems import Problem

if TYPE_CHECKING:
    from kgtable.server.worker import Emit

Operation: TypeAlias = Callable[[KnowledgeGraph, Head, Callable[[str, Any], None]], Any]

OPERATIONS: dict[str, Operation] = {
    "info": overview.info,
    "dataset": overview.dataset,
    "tables": overview.tables,
    "ontology": overview.ontology,
    "classes": overview.classes,
    "table": table_pages.table,
    "csv": table_pages.csv,
    "cell": cells.cell,
    "resource": neighbourhood.resource,
    "neighbours": neighbourhood.neighbours,
    "search": neighbourhood.search,
    "retrieve": asking.retrieve,
    "ask": asking.ask,
}

_KINDS: tuple[tuple[type[KgtableError], str], ...] = (
    (GraphNotFoundError, "not-found"),
    (UsageError, "bad-request"),
    (RetrievalError, "bad-request"),
    (QueryError, "bad-request"),
    (LLMError, "unavailable"),
)


class Explorer:
    """Opens the graph of a directory again whenever a job says that there is a new one."""

    def __init__(self) -> None:
        self._graph: KnowledgeGraph | None = None

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """The answer of an operation as JSON; events on the way are sent ahead of it."""
        opening = job.get("open")
        try:
            if opening is not None:
                self._graph = None
                _forget()
                self._graph = KnowledgeGraph(Path(opening["directory"]))
            if self._graph is None:
                raise ValueError("The first job of an explorer must open a graph.")
            result = OPERATIONS[job["op"]](
                self._graph, job, lambda name, data: emit({"name": name}, _json(data))
            )
        except KgtableError as error:
            raise Problem(kind_of(error), str(error)) from error
        return {"status": 200}, result if isinstance(result, bytes) else _json(result)


def _forget() -> None:
    """Lets go of everything remembered of the graph before."""
    overview.forget()
    grid_reading.forget()
    cells.forget()


def kind_of(error: KgtableError) -> str:
    """The kind of problem that an error of kgtable is to a client."""
    return next((kind for leaf, kind in _KINDS if isinstance(error, leaf)), "unavailable")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
