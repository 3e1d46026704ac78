"""Tables of a graph with the predicates and column styles that they were stored with.

A mapping may have given other predicates and datatypes than the cells alone suggest. The graph says
which: the predicate of each column, and for each cell whether it is a quantity, a typed literal or a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from kgtable.graph.table_decoder import DecodedTable, TableRow
from kgtable.ontology.annotate import AnnotatedTable, annotate, styled
from kgtable.ontology.mapping import DATATYPES
from kgtable.tables.column_profile import CellKind, ColumnStyle, type_cell

COMPARED = 1_000
"""Cells of a column that decide on its style."""

_QUANTITY = "quantity"
_MISSING = "missing"
_TEXT = "string"


def as_stored(decoded: DecodedTable) -> AnnotatedTable:
    """A table read from a graph, annotated as it was when it was written there."""
    annotated = annotate(decoded.table)
    body = list(islice(decoded.rows, decoded.table.structure.body_start, None))
    styles = tuple(_stored_style(style, column, body) for column, style in enumerate(annotated.styles))
    predicates = decoded.frame.predicates or annotated.predicates
    return replace(annotated, predicates=predicates, styles=styles)


def _stored_style(style: ColumnStyle, column: int, rows: Sequence[TableRow]) -> ColumnStyle:
    """The style under which the cells of a column are what the graph has of them."""
    filled = ((row.cells[column], row) for row in rows if column < len(row.cells) and row.cells[column])
    cells = [(text, _stored_kind(row, column)) for text, row in islice(filled, COMPARED)]

    def unlike(style: ColumnStyle) -> int:
        return sum(_typed_kind(text, style) != kind for text, kind in cells)

    if not unlike(style):
        return style
    return min((style, *(styled(style, datatype) for datatype in DATATYPES)), key=unlike)


def _stored_kind(row: TableRow, column: int) -> str:
    if column in row.literals:
        return row.literals[column].datatype.value.rpartition("#")[2]
    return _QUANTITY if column in row.nodes else _TEXT


def _typed_kind(text: str, style: ColumnStyle) -> str:
    value = type_cell(text, style)
    if value.kind is CellKind.NUMBER:
        return _QUANTITY
    if value.kind is CellKind.MISSING:
        return _MISSING
    if value.lexical is None or value.datatype is None:
        return _TEXT
    return value.datatype.rpartition(":")[2].rpartition("#")[2]
