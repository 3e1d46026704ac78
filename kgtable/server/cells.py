"""All that is known of one cell: its text, its value, where unit and scale came from, its triples."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphNotFoundError
from kgtable.graph.terms import KGT, QUDT, RDFS, UNIT
from kgtable.ontology.annotation import AnnotatedTable, annotate
from kgtable.ontology.mapping import load_edits
from kgtable.server.frames import Head
from kgtable.server.grid_reading import Node, ask, group_rows, layout_of, row_of, text_of
from kgtable.tables.units import units
from kgtable.tables.values import Kind, type_cell

Tell: TypeAlias = Callable[[str, Any], None]

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
    layout = layout_of(graph, id)
    texts, _, statements = row_of(graph, id, layout, row)
    names = graph.names
    iri, row_iri = names.cell_iri(id, row, column), names.row_iri(id, row)
    table_node = ox.NamedNode(names.table_iri(id))
    own = list(ask(graph, "cell", table=table_node, cell=ox.NamedNode(iri)))
    facts = {found["predicate"].value: found["object"] for found in own}
    predicate = layout.predicates[column]
    in_row = [value for value in statements.get(predicate, ()) if value.value]
    unit = _local(facts.get(f"{QUDT}hasUnit"))
    scale = _lexical(facts.get(f"{KGT}scale"))
    typed = next((value for value in in_row if isinstance(value, ox.Literal)), None)
    value = _lexical(facts.get(f"{QUDT}numericValue") or facts.get(f"{KGT}lowerBound"))
    unit_from, scale_from = _sources(graph, id, row, column) if unit else ("", "")
    label = statements.get(f"{RDFS}label", [])
    text = texts.get(column, "")
    return {
        "text": text,
        "iri": iri,
        "row_iri": row_iri,
        "table": id,
        "row": row,
        "column": column,
        "value": value if value is not None or typed is None else typed.value,
        "upper": _lexical(facts.get(f"{KGT}upperBound")),
        "datatype": typed.datatype.value if typed is not None and value is None else None,
        "unit": unit,
        "unit_iri": f"{UNIT}{unit}" if unit else None,
        "unit_label": units()[unit].label if unit in units() else None,
        "unit_from": unit_from,
        "scale": scale,
        "scale_label": _SCALES.get(scale or ""),
        "scale_from": scale_from,
        "period": _lexical(facts.get(f"{KGT}period")),
        "header": layout.titles[column],
        "label": text_of(label[0]) if label and isinstance(label[0], ox.Literal) else "",
        "groups": [_label(graph, id, group) for group in reversed(group_rows(graph, id, row))],
        "predicate": predicate if in_row else None,
        "query": _ROW_QUERY.format(table=table_node.value, row=row_iri),
        "triples": [
            *(
                {"predicate": predicate, "object": _labelled(value, texts.get(column, ""))}
                for value in in_row
            ),
            *({"predicate": found["predicate"].value, "object": term_json(found["object"])} for found in own),
        ],
    }


def term_json(value: Node) -> dict[str, Any]:
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


def _labelled(value: Node, text: str) -> dict[str, Any]:
    """The term of a cell, which as a node is called by its text."""
    term = term_json(value)
    return {**term, "label": text[:200]} if term["type"] == "uri" else term


def _sources(graph: KnowledgeGraph, id: str, row: int, column: int) -> tuple[str, str]:
    """What unit and scale of a number were read from, found by reading the table once more."""
    if graph.catalogue.tables[id].cells > LARGEST_EXPLAINED:
        return "", ""
    annotated = _annotated(graph, id)
    rows = annotated.table.grid.head
    if row >= len(rows) or column >= len(rows[row]):
        return "", ""
    value = type_cell(rows[row][column], annotated.styles[column])
    if value.kind is not Kind.NUMBER or value.number is None:
        return "", ""
    label_column = annotated.table.structure.label_column
    label = rows[row][label_column] if label_column < len(rows[row]) else ""
    quantity = annotated.quantities.resolve(value.number, row, column, label)
    return quantity.unit_from, quantity.scale_from


@lru_cache(maxsize=16)
def _annotated(graph: KnowledgeGraph, id: str) -> AnnotatedTable:
    return annotate(graph.tables[id].table, load_edits(graph.path).mapping)


def _label(graph: KnowledgeGraph, id: str, row: int) -> str:
    texts, _, statements = row_of(graph, id, layout_of(graph, id), row)
    label = statements.get(f"{RDFS}label", [])
    if label and isinstance(label[0], ox.Literal):
        return text_of(label[0])
    return next((text.strip() for _, text in sorted(texts.items()) if text.strip()), f"row {row + 1}")


def _lexical(value: Node | None) -> str | None:
    return text_of(value) if isinstance(value, ox.Literal) else None


def _local(value: Node | None) -> str | None:
    return value.value.removeprefix(UNIT) if isinstance(value, ox.NamedNode) else None


def forget() -> None:
    """Lets go of what is remembered of a graph that is closed."""
    _annotated.cache_clear()
