"""kgtable turns folders of tables into a QUDT knowledge graph and answers questions from it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgtable.errors import KgtableError
from kgtable.resources import __version__

if TYPE_CHECKING:
    from kgtable.answering.answer import Answer
    from kgtable.answering.evidence import Citation
    from kgtable.answering.program_runs import ProgramRun
    from kgtable.api import annotate, build, connect, convert, decide, open, validate, write_hypergraph
    from kgtable.checkup import doctor
    from kgtable.knowledge_graph import KnowledgeGraph
    from kgtable.programs.algebra import Program
    from kgtable.retrieval.result import Retrieval, ScoredTable, ScoredTriple
    from kgtable.server.running import serve

_MODULES = {
    **dict.fromkeys(
        ("annotate", "build", "connect", "convert", "decide", "open", "validate", "write_hypergraph"),
        "kgtable.api",
    ),
    "doctor": "kgtable.checkup",
    "KnowledgeGraph": "kgtable.knowledge_graph",
    "Answer": "kgtable.answering.answer",
    "Citation": "kgtable.answering.evidence",
    "Program": "kgtable.programs.algebra",
    "ProgramRun": "kgtable.answering.program_runs",
    **dict.fromkeys(("Retrieval", "ScoredTable", "ScoredTriple"), "kgtable.retrieval.result"),
    "serve": "kgtable.server.running",
    "load_ipython_extension": "kgtable.integrations.notebook",
}
"""Where the names are that are imported at their first use: the package itself imports in milliseconds."""

__all__ = [
    "Answer",
    "Citation",
    "KgtableError",
    "KnowledgeGraph",
    "Program",
    "ProgramRun",
    "Retrieval",
    "ScoredTable",
    "ScoredTriple",
    "__version__",
    "annotate",
    "build",
    "connect",
    "convert",
    "decide",
    "doctor",
    "open",
    "serve",
    "validate",
    "write_hypergraph",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'kgtable' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
