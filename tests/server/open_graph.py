"""A graph opened in the test itself, without a server, and ways to ask the operations of its pages."""

from __future__ import annotations

from typing import Any

from kgtable.knowledge_graph import KnowledgeGraph


def silent(name: str, data: Any) -> None:
    """Hears no event."""


def window(id: str, **more: Any) -> dict[str, Any]:
    """A job for the first rows of a table."""
    return {"id": id, "row": 0, "rows": 200, "column": 0, "columns": 60, "around": ()} | more


def texts(graph: KnowledgeGraph, id: str) -> list[list[str]]:
    """The cells of a table as they were read, each row as wide as the table."""
    grid = graph.tables[id].table.grid
    return [[*row, *[""] * (grid.width - len(row))] for row in grid.head]
