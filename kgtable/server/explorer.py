"""The role of the worker behind the pages and the HTTP API: one open graph, one request at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import nullcontext
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
from kgtable.server.evaluation import OPENING_PAUSES
from kgtable.server.frames import Head
from kgtable.server.grid_reading import sound_table
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
        self._directory = Path()

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """The answer of an operation as JSON; events on the way are sent ahead of it."""
        opening = job.get("open")
        if opening is not None:
            self._graph, self._directory = None, Path(opening["directory"])
        for pause in OPENING_PAUSES:
            try:
                return self._answer(job, emit)
            except Exception as error:
                # A live writer may have replaced files under a view that is some writes old.
                if not _files_moved(error):
                    raise
                self._graph = None
                time.sleep(pause)
        return self._answer(job, emit)

    def _answer(self, job: Head, emit: Emit) -> tuple[Head, bytes]:
        try:
            if self._graph is None:
                _forget()
                self._graph = KnowledgeGraph(self._directory)
            with sound_table(job["id"]) if "id" in job else nullcontext():
                result = OPERATIONS[job["op"]](
                    self._graph, job, lambda name, data: emit({"name": name}, _json(data))
                )
        except KgtableError as error:
            raise Problem(kind_of(error), str(error)) from error
        return {"status": 200}, result if isinstance(result, bytes) else _json(result)


def _files_moved(error: BaseException) -> bool:
    """Whether the store's files, rather than the job, may be at fault."""
    while isinstance(error, KgtableError | Problem) and not isinstance(error, LLMError):
        if error.__cause__ is None:
            return False
        error = error.__cause__
    return isinstance(error, OSError | RuntimeError)


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
