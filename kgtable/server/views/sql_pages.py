"""SQL over the tables, for the pages: the rows of a SELECT, and what the tables are called in it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from kgtable.index.substring import folded
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views.table_list import titled
from kgtable.server.workers.messages import Head, Tell

MOST_ROWS = 10_000
SECONDS = 20.0


def sql(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The rows of one SELECT as texts, null where there is none, and whether they are all.

    Raises `QueryError`, `EvaluationError` and `MissingExtraError` as `SqlDatabase.query` does.
    """
    found = graph.sql_database.query(job["query"], seconds=SECONDS, most=MOST_ROWS)
    columns = list(zip(*found.rows, strict=True)) or [()] * len(found.names)
    return {
        "columns": [
            {
                "name": name,
                "number": any(map(_is_number, values)) and all(one is None or _is_number(one) for one in values),
            }
            for name, values in zip(found.names, columns, strict=True)
        ],
        "rows": [[None if value is None else str(value) for value in row] for row in found.rows],
        "complete": found.complete,
    }


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def sql_tables(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """A page of the tables whose name in SQL or id holds all the words."""
    words = [folded(word) for word in job["q"].split()]
    names = graph.sql_database.names
    found = [id for id, name in names.items() if all(word in folded(f"{name} {id}") for word in words)]
    shown = found[job["offset"] : job["offset"] + job["limit"]]
    return {
        "total": len(found),
        "tables": [{"id": id, "name": names[id], "title": titled(graph, id).title} for id in shown],
    }
