"""The cells of a table by column, from the graph's index where it is current, or else from its statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

import numpy as np

from kgtable.graph.table_decoder import TableRow
from kgtable.graph.terms import ROW_CLASSES, XSD
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import BoolArray, IntArray
from kgtable.index.substring import folded
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views.table_list import graph_index

_TEXTUAL = frozenset({f"{XSD}string", f"{XSD}boolean"})

CellKey: TypeAlias = tuple[int, Decimal, str]
"""Numbers before dates before texts."""


def columns_of(graph: KnowledgeGraph, id: str) -> IndexedColumns | StoredColumns:
    """The columns of a table, from where they are read fastest."""
    return IndexedColumns.of(graph, id) or StoredColumns(graph, id)


def members(graph: KnowledgeGraph, id: str) -> BoolArray:
    """For each row of a table, whether it is a row of the body that is not a group, total or note."""
    held = np.zeros(graph.catalogue.tables[id].rows, dtype=np.bool_)
    held[graph.reader.frame(id).table.structure.body_start :] = True
    held[list(rows_aside(graph, id))] = False
    return held


def rows_aside(graph: KnowledgeGraph, id: str) -> dict[int, str]:
    """The rows that are not members of the table, with their class."""
    structure = graph.reader.marked_frame(id).table.structure
    return {row: kind for field, kind in ROW_CLASSES.items() for row in getattr(structure, field)}


class StoredColumns:
    """The cells of a table as its graph holds them; the whole table is read."""

    def __init__(self, graph: KnowledgeGraph, id: str) -> None:
        graph.reader.table(id)  # read at once, and kept
        self._rows: Mapping[int, TableRow] = graph.reader.rows(id, range(graph.catalogue.tables[id].rows))

    def holding(self, text: str) -> Iterator[int]:
        """The rows with a cell that holds a text, ignoring case, in order."""
        wanted = folded(text)
        return (row for row, found in self._rows.items() if any(wanted in folded(cell) for cell in found.cells))

    def keys(self, column: int) -> dict[int, CellKey]:
        """By row, the sort key of a cell of the column; blank cells have none."""
        keys = ((row, _stored_key(found, column)) for row, found in self._rows.items())
        return {row: key for row, key in keys if key is not None}


def _stored_key(row: TableRow, column: int) -> CellKey | None:
    found, literal = row.quantity(column), row.literals.get(column)
    text = row.cells[column].strip() if column < len(row.cells) else ""
    if found is not None:
        return 0, found.number, ""
    if not text:
        return None
    if literal is None or not literal.datatype.value.startswith(XSD) or literal.datatype.value in _TEXTUAL:
        return _key(text, None)
    return _key(text, literal.value)


def _key(text: str, value: str | None) -> CellKey:
    """The key of a text, or of the typed value that it stands for."""
    if value is None:
        return 2, Decimal(0), text.strip().casefold()
    try:
        number = Decimal(value)
    except InvalidOperation:
        return 1, Decimal(0), value
    return (0, number, "") if number.is_finite() else (2, Decimal(0), text.strip().casefold())


class IndexedColumns:
    """The cells of a table as the graph's index holds them; only the cells that are needed are read."""

    def __init__(self, index: GraphIndex, table: int) -> None:
        self._index = index
        places = index.corpus.places
        self._first, self._end = (int(place) for place in places.table_cell_start[table : table + 2])
        cells = slice(self._first, self._end)
        self._rows: IntArray = places.row_number[places.cell_row[cells]]
        self._columns: IntArray = places.column_number[places.cell_column[cells]]

    @classmethod
    def of(cls, graph: KnowledgeGraph, id: str) -> IndexedColumns | None:
        """From the graph's index; None if it has none, or was written to since."""
        index = graph_index(graph)
        if index is None or not index.describes(graph.store) or id not in index.corpus.table_ids:
            return None
        return cls(index, index.corpus.table_ids.index(id))

    def holding(self, text: str) -> Iterator[int]:
        """See `StoredColumns.holding`."""
        texts = self._index.lexical.containing([folded(text)])
        cells = self._index.corpus.text_cells.of(texts)
        own = cells[(cells >= self._first) & (cells < self._end)] - self._first
        return iter(np.unique(self._rows[own]).tolist())

    def texts(self, column: int, most: int) -> tuple[IntArray, list[str], IntArray] | None:
        """The rows with a cell in the column, the different texts in it as one of them prints each, and for each of
        these rows the place of its text; None for more than so many texts."""
        chosen = np.flatnonzero(self._columns == column)
        corpus = self._index.corpus
        _, first, numbers = np.unique(
            corpus.places.cell_text[chosen + self._first], return_index=True, return_inverse=True
        )
        if len(first) > most:
            return None
        printed = [found.content.text for found in corpus.found(chosen[first] + self._first)]
        return self._rows[chosen], printed, numbers

    def keys(self, column: int) -> dict[int, CellKey]:
        """See `StoredColumns.keys`."""
        chosen = np.flatnonzero(self._columns == column)
        keys: dict[int, CellKey] = {}
        found = self._index.corpus.found(chosen + self._first)
        for row, cell in zip(self._rows[chosen].tolist(), found, strict=True):
            content = cell.content
            if content.text.strip():
                value = None if content.value in ("true", "false") else content.value
                keys[row] = _key(content.text, value)
        return keys
