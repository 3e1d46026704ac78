"""The worker behind pages and HTTP API: tables, cells, questions and answers of one open graph."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from kgtable.answering.answer import Answer, with_measure
from kgtable.answering.context import unit_word
from kgtable.answering.program_answers import RULES
from kgtable.api import KnowledgeGraph
from kgtable.errors import (
    GraphNotFoundError,
    KgtableError,
    LLMError,
    ProgramCompilationError,
    ProgramError,
    QueryError,
    RetrievalError,
    UsageError,
)
from kgtable.programs.algebra import Program, tables_of
from kgtable.resources import read_shipped
from kgtable.server import neighbourhood, overview, table_windows
from kgtable.server.execution import OPENING_PAUSES
from kgtable.server.frames import Emit, Head
from kgtable.server.problems import Problem

Tell: TypeAlias = Callable[[str, Any], None]

SHOWN_TRIPLES = 60
"""Triples sent to the page with an answer."""
MOST_CELLS_COMPILED = 200_000
"""Cells of the tables that a program may read to be compiled to SPARQL while the reader waits."""

SHOWN_TERMS = 60
LONGEST_PROMPT = 200_000


def retrieve(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The best triples and tables for a question, as ``kgtable retrieve --format json`` prints them."""
    return graph.retrieve(job["question"], job["k"], job["method"]).to_json()


def ask(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The answer to a question as ``kgtable ask --json`` prints it, plus the steps shown on the page.

    The text of a language model is emitted as it arrives.
    """
    options = {name: job[name] for name in ("method", "k") if job[name] is not None}
    answer = graph.ask(job["question"], on_text=lambda text: tell("text", {"text": text}), **options)
    for line in _steps(answer):
        tell("step", {"text": line})
    return {**answer.to_json(), **_details(answer, graph)}


def run(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The result of a program as ``kgtable run --json`` prints it, and as ``shown`` the same for people."""
    result = graph.run(job["program"], most=job["most"])
    return {**result.to_json(), "shown": str(result)}


def _steps(answer: Answer) -> list[str]:
    """A summary of the retrieval: its labels, and how many triples and tables it found."""
    found = answer.retrieval
    if found is None:
        return []
    labels = found.trace.get("labels") or ()
    lines = [f"Labels: {', '.join(map(str, labels[:8]))}"] if labels else []
    lines.append(f"{len(found.triples):,} triples in {len(found.tables):,} tables")
    return lines


def _details(answer: Answer, graph: KnowledgeGraph) -> dict[str, Any]:
    """The details that the page shows beside an answer: units in words, prompt, triples, tables, queries."""
    found = answer.retrieval
    trace: Mapping[str, Any] = {} if found is None else found.trace
    triples = () if found is None else found.triples[:SHOWN_TRIPLES]
    return {
        "offline": answer.model == RULES,
        **_reading(answer.text, answer.value, answer.unit, answer.program, graph),
        "cells_read": answer.cells_read,
        "reasoning": answer.reasoning,
        "prompt": answer.prompt[:LONGEST_PROMPT],
        "alternatives": [
            {**other.to_json(), **_reading(other.text, other.value, other.unit, other.program, graph)}
            for other in answer.alternatives
        ],
        "triples": [triple._asdict() for triple in triples],
        "tables": [] if found is None else [asdict(table) for table in found.tables[:20]],
        "trace": {
            "labels": [str(label) for label in trace.get("labels") or ()],
            "expanded": list(_terms(trace.get("expanded") or ()))[:SHOWN_TERMS],
            "queries": [*_cited_query(answer), *(() if found is None else found.queries)],
        },
    }


def _reading(
    text: str, value: str | None, unit: str | None, program: Program | None, graph: KnowledgeGraph
) -> dict[str, Any]:
    """An answer or alternative in words: with unit and scale, the unit's name, and its program as SPARQL."""
    return {
        "headline": with_measure(text, value, unit) or None,
        "unit_label": unit_word(unit) or None,
        "sparql": None if program is None else _sparql(program, graph),
    }


def _sparql(program: Program, graph: KnowledgeGraph) -> str | None:
    """The query that a program becomes; None where SPARQL cannot say it, or its tables are long."""
    if sum(graph.catalogue.tables[id].cells for id in tables_of(program)) > MOST_CELLS_COMPILED:
        return None
    try:
        return graph.compile(program)
    except ProgramCompilationError:
        return None


def _cited_query(answer: Answer) -> list[str]:
    """A SPARQL query for the numbers an answer cites, or none if it cites no number."""
    cells = [f"<{citation.cell}>" for citation in answer.citations if citation.unit is not None]
    if not cells:
        return []
    return [read_shipped("queries/explorer/cited.rq").replace("{ }", f"{{ {' '.join(cells)} }}")]


def _terms(expanded: Any) -> list[str]:
    """The expanded terms as plain texts, whatever their kind."""
    if isinstance(expanded, Mapping):
        return [f"{kind}: {text}" for kind, texts in expanded.items() for text in _terms(texts)]
    if isinstance(expanded, str):
        return [expanded]
    return [str(text) for text in expanded]


ExplorerOperation: TypeAlias = Callable[[KnowledgeGraph, Head, Callable[[str, Any], None]], Any]

OPERATIONS: dict[str, ExplorerOperation] = {
    "info": overview.info,
    "dataset": overview.dataset,
    "tables": overview.tables,
    "ontology": overview.ontology,
    "classes": overview.classes,
    "table": table_windows.table,
    "csv": table_windows.csv,
    "cell": table_windows.cell,
    "resource": neighbourhood.resource,
    "neighbours": neighbourhood.neighbours,
    "search": neighbourhood.search,
    "retrieve": retrieve,
    "ask": ask,
    "run": run,
}

_KINDS: tuple[tuple[type[KgtableError], str], ...] = (
    (GraphNotFoundError, "not-found"),
    (UsageError, "bad-request"),
    (RetrievalError, "bad-request"),
    (QueryError, "bad-request"),
    (ProgramError, "bad-request"),
    (LLMError, "unavailable"),
)


class Explorer:
    """Executes the operations; opens the graph again when a job names a newer version."""

    def __init__(self) -> None:
        self._graph: KnowledgeGraph | None = None
        self._before: KnowledgeGraph | None = None
        self._directory = Path()

    def answer(self, job: Head, body: bytes, emit: Emit) -> tuple[Head, bytes]:
        """The result of an operation as JSON; progress events are emitted before it."""
        opening = job.get("open")
        if opening is not None:
            self._close()
            self._directory = Path(opening["directory"])
        for pause in OPENING_PAUSES:
            try:
                return self._answer(job, emit)
            except Exception as error:
                # A concurrent writer may have replaced the files of an older view.
                if not _files_moved(error):
                    raise
                self._close()
                time.sleep(pause)
        return self._answer(job, emit)

    def _close(self) -> None:
        """Set the graph aside; it is closed when the next one is open, which takes over its models."""
        if self._graph is not None:
            self._before, self._graph = self._graph, None

    def _answer(self, job: Head, emit: Emit) -> tuple[Head, bytes]:
        try:
            if self._graph is None:
                _drop_caches()
                self._graph = KnowledgeGraph(self._directory)
                if self._before is not None:
                    self._before.close()
                    self._before = None
                    gc.collect()  # what it read keeps its index open, in cycles
            result = OPERATIONS[job["op"]](
                self._graph, job, lambda name, data: emit({"name": name}, _json(data))
            )
        except KgtableError as error:
            raise Problem(kind_of(error), str(error)) from error
        return {"status": 200}, result if isinstance(result, bytes) else _json(result)


def _files_moved(error: BaseException) -> bool:
    """Whether the error may come from replaced store files rather than from the job."""
    while isinstance(error, KgtableError | Problem) and not isinstance(error, LLMError):
        if error.__cause__ is None:
            return False
        error = error.__cause__
    return isinstance(error, OSError | RuntimeError)


def _drop_caches() -> None:
    """Drop all caches of the previous graph."""
    overview.forget()
    table_windows.forget_cells()


def kind_of(error: KgtableError) -> str:
    """The name of the `ProblemKind` that reports an error of kgtable to the client."""
    return next((kind for leaf, kind in _KINDS if isinstance(error, leaf)), "unavailable")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
