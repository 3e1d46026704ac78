"""The rows of a table in the order of a column, or those alone that hold a text, for the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import pyoxigraph as ox

from kgtable.api import KnowledgeGraph
from kgtable.errors import KgtableError, UsageError
from kgtable.graph.table_decoder import TableRow
from kgtable.graph.terms import XSD
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import Integers
from kgtable.index.substring import folded
from kgtable.resources import read_shipped

LARGEST_SORTED = 2_000_000
"""Cells of a table beyond which it is neither sorted nor searched on the page."""

_TEXTUAL = frozenset({f"{XSD}string", f"{XSD}boolean"})

SortKey: TypeAlias = tuple[int, Decimal, str]
"""Numbers before dates before texts."""


@lru_cache(maxsize=16)
def row_order(
    graph: KnowledgeGraph, id: str, sort: int | None, descending: bool, find: str
) -> tuple[int, ...]:
    """The rows of the body in the order of the column `sort`, those alone that hold the text `find`.

    Numbers go by value, unit and scale applied, dates by time, texts by their letters; what is blank comes
    last, and behind it totals and notes, which are no members. Raises `UsageError` for a table that is too
    large.
    """
    record = graph.catalogue.tables[id]
    if record.cells > LARGEST_SORTED:
        raise UsageError("This table is too large to be sorted on the page.", hint="Ask by SPARQL.")
    body = range(graph.reader.frame(id).table.structure.body_start, record.rows)
    columns = IndexedColumns.of(graph, id) or StoredColumns(graph, id)
    rows = [row for row in columns.holding(find) if row in body] if find else list(body)
    if sort is None:
        return tuple(rows)
    aside = _aside(graph, id)
    keys = columns.keys(sort)
    members = [row for row in rows if row not in aside]
    ordered = sorted((row for row in members if row in keys), key=keys.__getitem__, reverse=descending)
    blank = [row for row in members if row not in keys]
    return (
        *ordered,
        *blank,
        *(row for row in rows if aside.get(row) in ("TotalRow", "OfWhichRow", "FootnoteRow")),
    )


def _aside(graph: KnowledgeGraph, id: str) -> dict[int, str]:
    """The rows that are no members of the table, with their class."""
    table = ox.NamedNode(graph.names.table_iri(id))
    found = graph.store.query(read_shipped("queries/explorer/aside-rows.rq"), bindings={"table": table})
    assert isinstance(found, ox.QuerySolutions)
    return {
        int(str(getattr(row["number"], "value", 0))): str(getattr(row["kind"], "value", "")).rpartition("#")[
            2
        ]
        for row in found
    }


class StoredColumns:
    """The cells of a table as its graph holds them; the whole table is read."""

    def __init__(self, graph: KnowledgeGraph, id: str) -> None:
        graph.reader.table(id)  # read at once, and kept
        self._rows: Mapping[int, TableRow] = graph.reader.rows(id, range(graph.catalogue.tables[id].rows))

    def holding(self, text: str) -> Iterator[int]:
        """The rows with a cell that holds a text, whatever its letters' case, in order."""
        wanted = folded(text)
        return (
            row for row, found in self._rows.items() if any(wanted in folded(cell) for cell in found.cells)
        )

    def keys(self, column: int) -> dict[int, SortKey]:
        """By row, what a cell of the column is sorted by; blank cells have none."""
        keys = ((row, _stored_key(found, column)) for row, found in self._rows.items())
        return {row: key for row, key in keys if key is not None}


def _stored_key(row: TableRow, column: int) -> SortKey | None:
    found, literal = row.quantities.get(column), row.literals.get(column)
    text = row.cells[column].strip() if column < len(row.cells) else ""
    if found is not None:
        return 0, found.value, ""
    if not text:
        return None
    if literal is None or not literal.datatype.value.startswith(XSD) or literal.datatype.value in _TEXTUAL:
        return _key(text, None)
    return _key(text, literal.value)


def _key(text: str, value: str | None) -> SortKey:
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
        self._rows: Integers = places.row_number[places.cell_row[cells]]
        self._columns: Integers = places.column_number[places.cell_column[cells]]

    @classmethod
    def of(cls, graph: KnowledgeGraph, id: str) -> IndexedColumns | None:
        """From the graph's index; None where it has none, or was written to since."""
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

    def keys(self, column: int) -> dict[int, SortKey]:
        """See `StoredColumns.keys`."""
        chosen = np.flatnonzero(self._columns == column)
        keys: dict[int, SortKey] = {}
        found = self._index.corpus.found(chosen + self._first)
        for row, cell in zip(self._rows[chosen].tolist(), found, strict=True):
            content = cell.content
            if content.text.strip():
                value = None if content.value in ("true", "false") else content.value
                keys[row] = _key(content.text, value)
        return keys


@lru_cache(maxsize=2)
def graph_index(graph: KnowledgeGraph) -> GraphIndex | None:
    """The index of a graph on this disk, opened for the pages; None where there is none."""
    if graph.endpoint is not None:
        return None
    try:
        return GraphIndex(graph.generation.index_path)
    except (KgtableError, OSError):  # a graph that was written without one
        return None


def forget_orders() -> None:
    """Let go of what is remembered of a graph that is closed."""
    row_order.cache_clear()
    graph_index.cache_clear()
