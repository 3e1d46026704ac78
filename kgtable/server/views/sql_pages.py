"""SQL over the tables, for the pages: the rows of a SELECT, and what the tables are called in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

from kgtable.answering.charts import MOST_POINTS, Chart, chart_of_columns
from kgtable.database import bounded_memory
from kgtable.errors import UsageError
from kgtable.index.substring import folded
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.programs.compiled.sql_tables import MOST_ROWS as MOST_IN_FILE
from kgtable.programs.compiled.sql_tables import PLACES, SqlRowsFound
from kgtable.server.views.table_list import titled
from kgtable.server.workers.messages import LIMIT, Head, Tell

MOST_ROWS, MOST_CHARACTERS, MOST_BYTES_IN_FILE, SECONDS = 10_000, 16 << 20, 64 << 20, 20.0
MOST_BYTES = 2 << 30
"""Memory that a query may add to its process."""


def _found(graph: KnowledgeGraph, job: Head, tell: Tell, most: int) -> SqlRowsFound:
    """The first rows of the job's query. Raises as `SqlDatabase.query` does."""
    seconds = min(SECONDS, job["query_seconds"])

    def on_step(step: str) -> None:
        tell(LIMIT, job["seconds"] if step == "load" else job["query_seconds"])

    with bounded_memory(MOST_BYTES):
        return graph.sql_database.query(job["query"], seconds=seconds, most=most, on_step=on_step)


def sql(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any] | bytes:
    """The rows of one SELECT as texts, null if there is none, and whether they are all; or as a file of a format.

    Raises `UsageError` for a file that is too large, and as `SqlDatabase.query` does.
    """
    if job["format"] != "rows":
        text = _found(graph, job, tell, MOST_IN_FILE).to_text(job["format"]).encode("utf-8")
        if len(text) > MOST_BYTES_IN_FILE:
            raise UsageError("The result is too large to download.", hint="Select fewer rows or columns.")
        return text
    found = _found(graph, job, tell, MOST_ROWS)
    rows = list(_first([None if value is None else str(value) for value in row] for row in found.rows))
    columns = zip(*found.rows, strict=True) if found.rows else [()] * len(found.names)
    numbers = zip(found.names, map(_are_numbers, columns), strict=True)
    return {
        "columns": [{"name": name, "number": number} for name, number in numbers],
        "rows": rows,
        "complete": found.complete and len(rows) == len(found.rows),
    }


def _first(rows: Iterable[list[str | None]]) -> Iterator[list[str | None]]:
    """The rows that together have at most `MOST_CHARACTERS`."""
    left = MOST_CHARACTERS
    for row in rows:
        left -= sum(len(value or "") for value in row)
        if left < 0:
            return
        yield row


def _are_numbers(values: Iterable[object]) -> bool:
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds) and kinds <= {int, float, Decimal}


def sql_chart(graph: KnowledgeGraph, job: Head, tell: Tell) -> Chart | None:
    """The chart of the first rows of a SELECT; the columns that say where a row is are not drawn."""
    columns = _found(graph, job, tell, MOST_POINTS).columns()
    return chart_of_columns({name: values for name, values in columns.items() if name not in PLACES})


def sql_columns(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The columns of a table in SQL. Raises `GraphNotFoundError` if there is no such table."""
    card = graph.sql_schema(job["id"])
    shown = ("name", "type", "header", "unit", "examples")
    columns = [{name: getattr(column, name) for name in shown} for column in card.columns]
    return {"table": card.name, "title": card.title, "rows": card.rows, "columns": columns}


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
