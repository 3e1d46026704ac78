"""A window of one table as it was printed, read from the graph alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphNotFoundError
from kgtable.graph.terms import KGT
from kgtable.server.frames import Head
from kgtable.server.grid_reading import Layout, group_rows, layout_of, row_of

Tell: TypeAlias = Callable[[str, Any], None]

LONGEST_TEXT = 2_000
"""Characters of a cell that a window shows; the cell itself tells the rest."""
AROUND = 2
"""Rows shown above and below a cited one."""

_KINDS = (
    ("Group", "group"),
    ("TotalRow", "total"),
    ("FootnoteRow", "footnote"),
    ("HeaderRow", "header"),
    ("TitleRow", "title"),
)


def table(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Some rows and columns of a table: a window from `row` and `column`, or the rows `around` some.

    The rows above the body come with every window.
    """
    id = job["id"]
    if id not in graph.catalogue.tables:
        raise GraphNotFoundError(f"The graph holds no table {id!r}.")
    record = graph.catalogue.tables[id]
    layout = layout_of(graph, id)
    body_start = layout.number("bodyStart")
    if job["around"]:
        wanted = {row + step for row in job["around"] for step in range(-AROUND, AROUND + 1)}
    else:
        wanted = set(range(job["row"], job["row"] + job["rows"]))
    rows = sorted({*range(min(body_start, 20)), *wanted} & set(range(record.rows)))
    columns = range(job["column"], min(record.width, job["column"] + job["columns"]))
    return {
        "id": id,
        "iri": graph.names.table_iri(id),
        "title": record.title or id,
        "file": record.path,
        "sheet": record.sheet,
        "heading": layout.texts.get("heading", ()),
        "before": layout.texts.get("before", ()),
        "after": layout.texts.get("after", ()),
        "paragraphs": layout.texts.get("paragraph", ()),
        "caption": layout.first(KGT + "caption"),
        "marks": json.loads(layout.first(KGT + "marks") or "{}"),
        "label_column": layout.number("labelColumn"),
        "body_start": body_start,
        "rows_total": record.rows,
        "width": record.width,
        "columns": [
            {"index": index, "title": layout.titles[index], "predicate": layout.predicates[index]}
            for index in columns
        ],
        "rows": [_row(graph, id, layout, index, columns) for index in rows],
    }


def csv(graph: KnowledgeGraph, job: Head, tell: Tell) -> bytes:
    """The whole table as CSV, as it was read."""
    return graph.tables[job["id"]].to_csv().encode("utf-8", "surrogatepass")


def _row(graph: KnowledgeGraph, id: str, layout: Layout, index: int, columns: range) -> dict[str, Any]:
    """One row: its kind, how deep it is nested, and the texts of the wanted columns."""
    cells, types, _ = row_of(graph, id, layout, index)
    kind = next((kind for name, kind in _KINDS if KGT + name in types), "body")
    return {
        "index": index,
        "kind": kind,
        "depth": len(group_rows(graph, id, index)),
        "cells": [cells.get(column, "")[:LONGEST_TEXT] for column in columns],
    }
