"""What the page Explore shows of fields: what may be chosen, the result, and the same as a program and a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kgtable.answering.program_answers import relations_of
from kgtable.answering.program_runs import ProgramRun
from kgtable.errors import ProgramError
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.programs.fields import (
    FieldColumn,
    FieldJoin,
    Fields,
    OfferedColumn,
    address_of,
    fields_in,
    fields_to_json,
    name_in,
    offered,
    plain_data,
    told_of,
    values_of,
)
from kgtable.questions.sources import SPELT_ALIKE
from kgtable.server.views.answer_card import cited_cell, drawn, forms_of, title_of
from kgtable.server.workers.messages import LIMIT, Head, Tell
from kgtable.values.spoken import unit_name

MOST_SHOWN = 200
"""Maximum rows of a result sent to the page."""
MOST_CITED = 12
MOST_VALUES = 40


def explore(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The result of fields, and what else may be chosen there.

    What cannot be computed has a `problem` in place of a `result`. Raises `GraphNotFoundError` for a table that is not
    there, `ProgramSyntaxError` for what are not fields.
    """
    tell(LIMIT, job["query_seconds"])
    asked = fields_in(job["fields"])
    relations = relations_of(graph.reader)
    columns = offered(relations, asked)
    try:
        result, problem = _shown(graph.explore(asked, most=MOST_SHOWN), graph), None
    except ProgramError as error:
        result, problem = None, str(error)
    return {
        "asked": fields_to_json(asked),
        "address": address_of(asked),
        "told": told_of(asked),
        "title": title_of(asked.tables[0], graph),
        "columns": [_column(column) for column in columns],
        "joins": list(_joins(graph, asked)),
        "result": result,
        "problem": problem,
        **forms_of(asked.program() if problem is None else None, asked, graph),
    }


def values(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The values of a column, the most frequent first. Raises `GraphNotFoundError`, `UnknownColumnError`."""
    asked = fields_in({"table": job["id"], "how": "distinct", "measure": job["column"]})
    assert asked.measure is not None
    found = values_of(relations_of(graph.reader)[job["id"]], asked.measure, MOST_VALUES, job["find"])
    return {"values": [{"value": plain_data(one.value), "text": one.text, "rows": one.rows} for one in found]}


def _column(offer: OfferedColumn) -> dict[str, Any]:
    return {
        "column": plain_data(offer.column),
        "title": offer.title,
        "kind": offer.kind.value,
        "unit": unit_name(offer.unit, plural=True) or "",
        "distinct": offer.distinct,
        "hows": [how.value for how in offer.hows],
        "groups": offer.groups,
        "buckets": [bucket.value for bucket in offer.buckets],
    }


def _shown(found: ProgramRun, graph: KnowledgeGraph) -> dict[str, Any]:
    return {
        "text": found.text if found.single is not None else None,
        "names": list(found.names),
        "rows": [[None if cell is None else cell.to_json() for cell in row] for row in found.rows],
        "row_count": found.size,
        "calculation": found.calculation,
        "chart": drawn(found.plot()),
        "citations": [cited_cell(cited, graph) for cited in found.citations[:MOST_CITED]],
        "cells_read": found.cells_read,
    }


def _joins(graph: KnowledgeGraph, asked: Fields) -> Iterator[dict[str, Any]]:
    """The tables that the table of some fields refers to by a key, each with the join that adds its columns."""
    relations, id = relations_of(graph.reader), asked.tables[0]
    for join in graph.relations.joins_of(id) if len(asked.tables) == 1 else ():
        if join.left.table == id and join.right.table in graph.catalogue.tables:
            left, right = (
                FieldColumn(name_in(relations[end.table], relations[end.table].columns[end.column]), end.table)
                for end in (join.left, join.right)
            )
            found = FieldJoin(join.right.table, left, right, SPELT_ALIKE if join.fuzzy else 0)
            yield {"title": title_of(join.right.table, graph), "join": plain_data(found)}
