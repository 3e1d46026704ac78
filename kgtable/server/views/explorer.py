"""The worker process behind the pages and the HTTP API: tables, cells, questions and answers of one open graph."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.errors import (
    DamagedGraphError,
    GraphNotFoundError,
    KgtableError,
    LLMError,
    ProgramError,
    QueryError,
    RetrievalError,
    UsageError,
)
from kgtable.graph.results import ResultFormat, to_text
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.llm.protocol import stages_told
from kgtable.server.views import (
    document_windows,
    explore_page,
    neighbourhood,
    overview,
    sql_pages,
    suggested_questions,
    table_facets,
    table_list,
    table_windows,
)
from kgtable.server.views.answer_card import answer_card, drawn, found_tables, shortened
from kgtable.server.workers.execution import OPENING_PAUSES, without_unused_prefixes
from kgtable.server.workers.messages import LIMIT, Emit, Head, Problem, Tell


def retrieve(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The best triples and tables for a question, as ``kgtable retrieve --format json`` prints them."""
    found: dict[str, Any] = shortened(graph.retrieve(job["question"], job["k"], job["method"]).to_json())
    return found


def ask(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The answer to a question as ``kgtable ask --json`` prints it, plus what the page shows of it.

    A question that follows another (`after`) is asked as the whole question that it stands for. Emitted
    meanwhile: ``question`` where that is another one, ``stage`` for each step, ``found`` with the tables that
    were retrieved, ``text`` with what a language model says, as it arrives.
    """
    options = {name: job[name] for name in ("method", "k") if job[name] is not None}
    chat = graph.chat(**options)
    if job.get("after"):
        chat.recall(job["after"])
    count = len(graph.catalogue.tables)
    tell("stage", {"stage": "search", "text": f"Searching {count:,} table{'' if count == 1 else 's'}"})

    def on_stage(stage: str, model: str) -> None:
        text = _STAGES.get(stage, "Asking {model}: {stage}").format(model=model, stage=stage)
        tell("stage", {"stage": stage, "text": text})

    with stages_told(on_stage):
        answer = chat.ask(
            job["question"],
            on_question=lambda question: tell("question", {"question": question}),
            on_found=lambda found: tell("found", found_tables(found, graph)),
            on_text=lambda text: tell("text", {"text": text}),
        )
    shown: dict[str, Any] = shortened({**answer.to_json(), **answer_card(answer, graph)})
    return shown


def sparql(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The result of the graph's engine: ``results`` as SPARQL's JSON, or ``turtle`` for triples."""
    results = graph.store.query(job["query"])
    if isinstance(results, ox.QueryTriples):
        turtle = to_text(results, ResultFormat.TURTLE, graph.names.prefixes)
        return {"turtle": without_unused_prefixes(turtle.encode("utf-8")).decode("utf-8")}
    return {"results": json.loads(to_text(results, ResultFormat.JSON, graph.names.prefixes))}


def chart(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The chart of the first rows of a SELECT in SPARQL or SQL, as the page shows it: null if there is none."""
    if job["language"] == "sql":
        return {"chart": drawn(sql_pages.sql_chart(graph, job, tell))}
    tell(LIMIT, job["query_seconds"])
    return {"chart": drawn(graph.chart(job["query"]))}


_STAGES = {
    "follow-up": "Asking {model} what is meant",
    "labels": "Asking {model} what the question names",
    "rerank": "Asking {model} which tables fit best",
    "answer": "Asking {model} for the answer",
    "repair": "Asking {model} to mend its program",
}


def run(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The result of a program as ``kgtable run --json`` prints it, and as ``shown`` the same for people."""
    result = graph.run(job["program"], most=job["most"])
    return {**result.to_json(), "shown": str(result)}


ExplorerOperation: TypeAlias = Callable[[KnowledgeGraph, Head, Tell], Any]

OPERATIONS: dict[str, ExplorerOperation] = {
    "info": overview.info,
    "dataset": overview.dataset,
    "tables": table_list.tables,
    "ontology": overview.ontology,
    "classes": overview.classes,
    "table": table_windows.table,
    "file": table_windows.file,
    "facets": table_facets.facets,
    "whole": table_windows.whole,
    "exists": table_windows.exists,
    "cell": table_windows.cell,
    "row-chart": table_windows.row_chart,
    "document": document_windows.document,
    "documents": document_windows.documents,
    "sql": sql_pages.sql,
    "sql-tables": sql_pages.sql_tables,
    "sql-columns": sql_pages.sql_columns,
    "resource": neighbourhood.resource,
    "neighbours": neighbourhood.neighbours,
    "search": neighbourhood.search,
    "chart": chart,
    "landmarks": overview.landmarks,
    "units": overview.unit_list,
    "retrieve": retrieve,
    "ask": ask,
    "suggestions": suggested_questions.suggestions,
    "run": run,
    "explore": explore_page.explore,
    "values": explore_page.values,
    "sparql": sparql,
}

_KINDS: tuple[tuple[type[KgtableError], str], ...] = (
    (GraphNotFoundError, "not-found"),
    (UsageError, "bad-request"),
    (RetrievalError, "bad-request"),
    (QueryError, "bad-request"),
    (ProgramError, "bad-request"),
    (LLMError, "unavailable"),
    (DamagedGraphError, "damaged"),
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
            result = OPERATIONS[job["op"]](self._graph, job, lambda name, data: emit({"name": name}, _json(data)))
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
    table_list.forget_tables()
    suggested_questions.forget_questions()


def kind_of(error: KgtableError) -> str:
    """The name of the `ProblemKind` that reports an error of kgtable to the client."""
    return next((kind for leaf, kind in _KINDS if isinstance(error, leaf)), "unavailable")


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
