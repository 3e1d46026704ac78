"""Windows of a table and single cells, read from the graph for the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphNotFoundError
from kgtable.graph.table_decoder import ObjectTerm, TableFrame, TableRow, cell_quantity, text_of
from kgtable.graph.terms import UNIT
from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.ontology.mapping_files import load_edits
from kgtable.resources import read_shipped
from kgtable.server.frames import Head
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.values.units import units


def ask(graph: KnowledgeGraph, name: str, **bindings: ox.NamedNode | ox.Literal) -> Iterable[Any]:
    """The solutions of one of the pages' queries."""
    found = graph.store.query(read_shipped(f"queries/explorer/{name}.rq"), bindings=bindings)
    assert isinstance(found, ox.QuerySolutions)
    return found


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
    frame = graph.reader.frame(id)
    structure, context = frame.table.structure, frame.table.context
    if job["around"]:
        wanted = {row + step for row in job["around"] for step in range(-AROUND, AROUND + 1)}
    else:
        wanted = set(range(job["row"], job["row"] + job["rows"]))
    numbers = sorted({*range(min(structure.body_start, 20)), *wanted} & set(range(record.rows)))
    rows = graph.reader.rows(id, numbers)
    columns = range(job["column"], min(record.width, job["column"] + job["columns"]))
    return {
        "id": id,
        "iri": graph.names.table_iri(id),
        "title": record.title or id,
        "file": record.path,
        "sheet": record.sheet,
        "heading": context.heading,
        "before": context.before,
        "after": context.after,
        "paragraphs": context.paragraphs,
        "caption": context.caption,
        "marks": dict(structure.marks),
        "label_column": structure.label_column,
        "body_start": structure.body_start,
        "rows_total": record.rows,
        "width": record.width,
        "columns": [
            {"index": index, "title": frame.table.columns[index].name, "predicate": frame.predicates[index]}
            for index in columns
        ],
        "rows": [_row(frame, index, rows.get(index, TableRow(())), columns) for index in numbers],
    }


def csv(graph: KnowledgeGraph, job: Head, tell: Tell) -> bytes:
    """The whole table as CSV, as it was read."""
    return graph.tables[job["id"]].to_csv().encode("utf-8", "surrogatepass")


def _row(frame: TableFrame, index: int, row: TableRow, columns: range) -> dict[str, Any]:
    """One row: its kind, how deep it is nested, and the texts of the wanted columns."""
    return {
        "index": index,
        "kind": next((kind for name, kind in _KINDS if name in row.kinds), "body"),
        "depth": len(group_path(frame, row)),
        "cells": [row.cells[column][:LONGEST_TEXT] if column < len(row.cells) else "" for column in columns],
    }


def group_path(frame: TableFrame, row: TableRow) -> tuple[int, ...]:
    """The rows of the groups a row is in, the outermost first."""
    return () if row.parent is None else (*frame.table.group_path(row.parent), row.parent)


LARGEST_EXPLAINED = 100_000
"""Cells of a table beyond which it is not read as a whole just to say where a unit came from."""

_ROW_QUERY = """SELECT ?predicate ?object WHERE {{
  GRAPH <{table}> {{ <{row}> ?predicate ?object }}
}}"""
_SCALES = {"T": "thousands", "M": "millions", "B": "billions", "TN": "trillions"}


def cell(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """A cell by table id, row and column. Raises `GraphNotFoundError` where the table has no such cell."""
    id, row, column = job["id"], job["row"], job["column"]
    record = graph.catalogue.tables.get(id)
    if record is None or row >= record.rows or column >= record.width:
        raise GraphNotFoundError(f"Table {id!r} has no cell in row {row}, column {column}.")
    frame = graph.reader.frame(id)
    found = graph.reader.row(id, row) or TableRow(())
    names = graph.names
    iri, row_iri = names.cell_iri(id, row, column), names.row_iri(id, row)
    own = graph.reader.statements(id, iri)
    quantity = cell_quantity(own)
    literal = found.literals.get(column)
    text = found.cells[column] if column < len(found.cells) else ""
    in_body = row >= frame.table.structure.body_start and bool(text)
    predicate = frame.predicates[column] if in_body else None
    unit, scale = (quantity.unit, quantity.scale) if quantity else (None, None)
    unit_from, scale_from = _sources(graph, id, row, column) if unit else ("", "")
    value = None if quantity is None else f"{quantity.value:f}"
    return {
        "text": text,
        "iri": iri,
        "row_iri": row_iri,
        "table": id,
        "row": row,
        "column": column,
        "value": literal.value if literal is not None and value is None else value,
        "upper": f"{quantity.upper:f}" if quantity and quantity.upper is not None else None,
        "datatype": literal.datatype.value if literal is not None and value is None else None,
        "unit": unit,
        "unit_iri": f"{UNIT}{unit}" if unit else None,
        "unit_label": units()[unit].label if unit in units() else None,
        "unit_from": unit_from,
        "scale": scale,
        "scale_label": _SCALES.get(scale or ""),
        "scale_from": scale_from,
        "period": quantity.period if quantity else None,
        "header": frame.table.columns[column].name,
        "label": found.label,
        "groups": _labels(graph, id, group_path(frame, found)),
        "predicate": predicate,
        "query": _ROW_QUERY.format(table=names.table_iri(id), row=row_iri),
        "triples": [
            *({"predicate": predicate, "object": term} for term in _object(found, column, iri, predicate)),
            *({"predicate": name, "object": term_json(said)} for name, said in own),
        ],
    }


def _object(row: TableRow, column: int, iri: str, predicate: str | None) -> Iterator[dict[str, Any]]:
    """The object of a body cell's statement: a literal of its row, or the cell's node with its text."""
    if predicate is None:
        return
    literal = row.literals.get(column)
    if literal is not None:
        yield term_json(literal)
    elif column in row.nodes:
        yield {**term_json(ox.NamedNode(iri)), "label": row.cells[column][:200]}
    else:
        yield term_json(ox.Literal(row.cells[column]))


def term_json(value: ObjectTerm) -> dict[str, Any]:
    """A term for the pages."""
    if isinstance(value, ox.NamedNode):
        return {"type": "uri", "value": value.value}
    if isinstance(value, ox.BlankNode):
        return {"type": "bnode", "value": value.value}
    return {
        "type": "literal",
        "value": text_of(value),
        "datatype": value.datatype.value,
        "language": value.language,
    }


def _sources(graph: KnowledgeGraph, id: str, row: int, column: int) -> tuple[str, str]:
    """What unit and scale of a number were read from, found by reading the table once more."""
    if graph.catalogue.tables[id].cells > LARGEST_EXPLAINED:
        return "", ""
    annotated = _annotated(graph, id)
    rows = annotated.table.grid.head
    if row >= len(rows) or column >= len(rows[row]):
        return "", ""
    value = type_cell(rows[row][column], annotated.styles[column])
    if value.kind is not CellKind.NUMBER or value.number is None:
        return "", ""
    label_column = annotated.table.structure.label_column
    label = rows[row][label_column] if label_column < len(rows[row]) else ""
    quantity = annotated.quantities.resolve(value.number, row, column, label)
    return quantity.unit_from, quantity.scale_from


@lru_cache(maxsize=16)
def _annotated(graph: KnowledgeGraph, id: str) -> AnnotatedTable:
    return annotate(graph.tables[id].table, load_edits(graph.path).mapping)


def _labels(graph: KnowledgeGraph, id: str, rows: Sequence[int]) -> list[str]:
    """What rows are called: by their labels, or their first texts."""
    found = graph.reader.rows(id, rows)
    return [
        row.label or next((text.strip() for text in row.cells if text.strip()), f"row {number + 1}")
        for number in rows
        if (row := found.get(number)) is not None
    ]


def forget_cells() -> None:
    """Lets go of what is remembered of a graph that is closed."""
    _annotated.cache_clear()
