"""Questions to the graph: what is retrieved for them, and their answers with the way there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kgtable.api import KnowledgeGraph
from kgtable.server.frames import Head
from kgtable.server.problems import Problem

Tell: TypeAlias = Callable[[str, Any], None]


def retrieve(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The best triples and tables for a question, as ``kgtable retrieve --format json`` prints them."""
    found = _method(graph, "retrieve")(job["question"], k=job["k"], method=job["method"])
    result: dict[str, Any] = found.to_json()
    return result


def ask(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The answer to a question as ``kgtable ask --json`` prints it, with the way there for the page."""
    answer = _method(graph, "ask")(job["question"])
    result: dict[str, Any] = answer.to_json()
    return result


def _method(graph: KnowledgeGraph, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = getattr(graph, name, None)
    if found is None:
        raise Problem("unavailable", "This installation of kgtable cannot answer questions.")
    return found
