"""The candidate cells of a question: those whose text, row label, group or column name contains a term.

By SPARQL ``CONTAINS`` on any engine (thesis, 4.4, step 3), or with the same result by the index of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyoxigraph as ox

from kgtable.graph.sparql_text import with_values
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.corpus import Corpus
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import IntArray, distinct, ranges
from kgtable.resources import read_shipped


def matching_cells(labels: Iterable[str], index: GraphIndex) -> IntArray:
    """Numbers of the cells whose text, row label, group or column name contains a label; by the index, rising."""
    corpus = index.corpus
    places = corpus.places
    texts = index.lexical.containing(labels)
    rows = distinct(np.concatenate([corpus.text_labels.of(texts), corpus.text_groups.of(texts)]))
    of_rows = ranges(places.row_cell_start[rows], places.row_cell_start[rows + 1])
    return distinct(np.concatenate([corpus.text_cells.of(texts), of_rows, _of_columns(texts, corpus)]))


def _of_columns(texts: IntArray, corpus: Corpus) -> IntArray:
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


def candidates_query(terms: Iterable[str]) -> str:
    """The SPARQL query for the cells whose text, row label, group or column name contains a term, folded as it is."""
    return with_values(read_shipped("queries/candidates.rq"), [(str(ox.Literal(term)),) for term in terms])


def found_by(query: str, store: TripleStore, names: Namespaces) -> Iterator[tuple[str, CellAddress, ox.QuerySolution]]:
    """The solutions of a `candidates_query`, on any engine: the term, the cell, and what else is known of it."""
    solutions = store.query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    for solution in solutions:
        term, table, row, column = (solution[at].value for at in range(4))
        id = names.parse_table_iri(table)
        if id is not None:
            yield term, CellAddress(id, int(row), int(column)), solution


def containing_cells(labels: Iterable[str], store: TripleStore, names: Namespaces) -> dict[str, set[CellAddress]]:
    """The cells each folded label leads to, by ``CONTAINS``: the plain way of the thesis, on any engine."""
    found: dict[str, set[CellAddress]] = {label: set() for label in labels}
    for label, cell, _ in found_by(candidates_query(found), store, names) if found else ():
        found[label].add(cell)
    return found
