"""Questions to the graph: what is retrieved for them, and their answers with the way there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from kgtable.answering.answer import Answer
from kgtable.answering.offline import RULES
from kgtable.api import KnowledgeGraph
from kgtable.resources import read_shipped
from kgtable.server.frames import Head

Tell: TypeAlias = Callable[[str, Any], None]

SHOWN_TRIPLES = 60
"""Triples sent to the page with an answer."""
SHOWN_TERMS = 60
LONGEST_PROMPT = 200_000


def retrieve(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The best triples and tables for a question, as ``kgtable retrieve --format json`` prints them."""
    return graph.retrieve(job["question"], job["k"], job["method"]).to_json()


def ask(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The answer to a question as ``kgtable ask --json`` prints it, with the way there for the page.

    A model's text is told as it arrives.
    """
    options = {name: job[name] for name in ("method", "k") if job[name] is not None}
    answer = graph.ask(job["question"], on_text=lambda text: tell("text", {"text": text}), **options)
    for line in _steps(answer):
        tell("step", {"text": line})
    return {**answer.to_json(), **_way(answer)}


def _steps(answer: Answer) -> list[str]:
    """What happened, in a few lines."""
    found = answer.retrieval
    if found is None:
        return []
    labels = found.trace.get("labels") or ()
    lines = [f"Labels: {', '.join(map(str, labels[:8]))}"] if labels else []
    lines.append(f"{len(found.triples):,} triples in {len(found.tables):,} tables")
    return lines


def _way(answer: Answer) -> dict[str, Any]:
    """What the page shows beside the answer itself."""
    found = answer.retrieval
    trace: Mapping[str, Any] = {} if found is None else found.trace
    triples = () if found is None else found.triples[:SHOWN_TRIPLES]
    return {
        "offline": answer.model == RULES,
        "reasons": list(answer.reasons),
        "reasoning": answer.reasoning,
        "prompt": answer.prompt[:LONGEST_PROMPT],
        "alternatives": [
            {
                "answer": other.text,
                "table": other.table,
                "citations": [citation.to_json() for citation in other.citations],
            }
            for other in answer.alternatives
        ],
        "triples": [triple._asdict() for triple in triples],
        "tables": [] if found is None else [asdict(table) for table in found.tables[:20]],
        "trace": {
            "labels": [str(label) for label in trace.get("labels") or ()],
            "expanded": list(_terms(trace.get("expanded") or ()))[:SHOWN_TERMS],
            "queries": [*_cited_query(answer), *(str(query) for query in trace.get("sparql") or ())],
        },
    }


def _cited_query(answer: Answer) -> list[str]:
    """A query for the numbers an answer rests on, none where it rests on no number."""
    found = () if answer.retrieval is None else answer.retrieval.triples
    numbers = {triple.cell for triple in found if triple.unit is not None}
    cells = [f"<{citation.cell}>" for citation in answer.citations if citation.cell in numbers]
    if not cells:
        return []
    return [read_shipped("queries/explorer/cited.rq").replace("{ }", f"{{ {' '.join(cells)} }}")]


def _terms(expanded: Any) -> list[str]:
    """The expanded terms as plain texts, whatever kinds they are grouped by."""
    if isinstance(expanded, Mapping):
        return [f"{kind}: {text}" for kind, texts in expanded.items() for text in _terms(texts)]
    if isinstance(expanded, str):
        return [expanded]
    return [str(text) for text in expanded]
