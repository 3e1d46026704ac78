"""Step 3 of the thesis's method: the triples whose subject, predicate, object or group contains a label.

Two ways with one meaning: over the index of the graph, and by SPARQL's ``CONTAINS`` on any engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.opened import GraphIndex
from kgtable.index.postings import Flags
from kgtable.resources import read_shipped

CONTAINS_QUERIES = ("subjects", "predicates", "objects", "printed", "groups")
"""The parts of the substring search, one query each: ``queries/contains-<part>.rq``."""


def matching_cells(labels: Iterable[str], index: GraphIndex) -> Flags:
    """Which cells the folded labels lead to, by the index; shape (cells,)."""
    corpus = index.corpus
    places = corpus.places
    cells = np.zeros(len(places.cell_row), dtype=np.bool_)
    rows = np.zeros(len(places.row_number), dtype=np.bool_)
    columns = np.zeros(len(places.column_number), dtype=np.bool_)
    texts = index.lexical.containing(labels)
    cells[corpus.text_cells.of(texts)] = True
    rows[corpus.text_labels.of(texts)] = True
    rows[corpus.text_groups.of(texts)] = True
    columns[corpus.text_columns.of(texts)] = True
    if rows.any():
        cells |= rows[places.cell_row]
    if columns.any():
        cells |= columns[places.cell_column] & ~places.row_is_header[places.cell_row]
    return cells


def containing_cells(labels: Iterable[str], store: TripleStore, names: Namespaces) -> Iterator[CellAddress]:
    """The cells the folded labels lead to, by ``CONTAINS``: the plain way of the thesis. May repeat cells."""
    for label in labels:
        for part in CONTAINS_QUERIES:
            query = read_shipped(f"queries/contains-{part}.rq")
            solutions = store.query(query, bindings={"label": ox.Literal(label)})
            assert isinstance(solutions, ox.QuerySolutions)
            for solution in solutions:
                table, row, column = solution["table"], solution["rowNumber"], solution["columnNumber"]
                id = names.parse_table_iri(table.value)
                if id is not None:
                    yield CellAddress(id, int(row.value), int(column.value))
