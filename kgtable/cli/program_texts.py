"""Programs as the commands print them: their JSON, and the queries they become."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtable.errors import ProgramCompilationError

if TYPE_CHECKING:
    from kgtable.api import KnowledgeGraph
    from kgtable.programs.algebra import Program


def shown(graph: KnowledgeGraph, program: Program, name: str) -> str:
    """A program as JSON, SPARQL or SQL; where a language cannot say it, the sentence that tells why."""
    from kgtable.answering.program_runs import program_json

    if name == "program":
        return program_json(program)
    query, reason = compiled(graph, program, name)
    return reason if query is None else query.rstrip()


def compiled(graph: KnowledgeGraph, program: Program, language: str) -> tuple[str | None, str]:
    """The query that a program becomes; None where the language cannot say it, with the reason."""
    try:
        return graph.compile(program, language), ""
    except ProgramCompilationError as error:
        return None, str(error)
