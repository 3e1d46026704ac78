"""Step 3 of the thesis's method: the triples whose subject, predicate, object or group contains a label.

Two ways with one meaning: over the index of the graph, and by SPARQL's ``CONTAINS`` on any engine.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.corpus import Corpus
from kgtable.index.opened import GraphIndex
from kgtable.index.postings import Integers, distinct, ranges
from kgtable.resources import read_shipped
from kgtable.retrieval.values_block import with_values

CONTAINS_QUERIES = ("subjects", "predicates", "objects", "quantities", "printed", "groups")
"""The parts of the substring search, one query each: ``queries/contains-<part>.rq``."""


def matching_cells(labels: Iterable[str], index: GraphIndex) -> Integers:
    """Numbers of the cells the folded labels lead to, by the index, rising."""
    corpus = index.corpus
    places = corpus.places
    texts = index.lexical.containing(labels)
    rows = distinct(np.concatenate([corpus.text_labels.of(texts), corpus.text_groups.of(texts)]))
    of_rows = ranges(places.row_cell_start[rows], places.row_cell_start[rows + 1])
    return distinct(np.concatenate([corpus.text_cells.of(texts), of_rows, _of_columns(texts, corpus)]))


def _of_columns(texts: Integers, corpus: Corpus) -> Integers:
    """The cells of the body in columns of these names."""
    places = corpus.places
    columns = distinct(corpus.text_columns.of(texts))
    tables = distinct(places.column_table[columns])
    first, last = places.table_row_start[tables], places.table_row_start[tables + 1]
    cells = ranges(places.row_cell_start[first], places.row_cell_start[last])
    wanted = np.zeros(len(places.column_number), dtype=np.bool_)
    wanted[columns] = True
    cells = cells[wanted[places.cell_column[cells]]]
    return np.asarray(cells[~places.row_is_header[places.cell_row[cells]]])


def containing_cells(
    labels: Iterable[str], store: TripleStore, names: Namespaces
) -> dict[str, set[CellAddress]]:
    """The cells each folded label leads to, by ``CONTAINS``: the plain way of the thesis, on any engine."""
    found: dict[str, set[CellAddress]] = {label: set() for label in labels}
    block = [(str(ox.Literal(label)),) for label in found]
    for part in CONTAINS_QUERIES if block else ():
        solutions = store.query(with_values(read_shipped(f"queries/contains-{part}.rq"), block))
        assert isinstance(solutions, ox.QuerySolutions)
        for label, table, row, column in solutions:
            id = names.parse_table_iri(table.value)
            if id is not None:
                found[label.value].add(CellAddress(id, int(row.value), int(column.value)))
    return found
