"""The tables of a graph as the whole-table retrievers need them: the table itself, and its triples."""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TypeAlias

import pyoxigraph as ox

from kgtable.graph.reading_back import table_from_triples
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, QUDT, UNIT, Namespaces, literal_text
from kgtable.retrieval.result import ScoredTriple
from kgtable.tables.model import Table

Objects: TypeAlias = dict[str, ox.NamedNode | ox.BlankNode | ox.Literal]
TABLES_REMEMBERED = 2_048


class TableReader:
    """Reads tables and their triples from a store; the triples of the last tables are remembered.

    May be used from several threads.
    """

    def __init__(self, store: TripleStore, names: Namespaces) -> None:
        self._store = store
        self._names = names
        self.triples_of = lru_cache(maxsize=TABLES_REMEMBERED)(self._triples_of)
        """The triples of a table's body cells by its id, in reading order, all scored 0."""

    def table(self, id: str) -> Table:
        """The table with this id. Raises `GraphNotFoundError` where there is none."""
        return table_from_triples(self._store.graph(self._names.table_iri(id)), id, self._names)

    def _triples_of(self, id: str) -> tuple[ScoredTriple, ...]:
        triples = list(self._store.graph(self._names.table_iri(id)))
        table = table_from_triples(triples, id, self._names)
        nodes: dict[str, Objects] = defaultdict(dict)
        for triple in triples:
            assert isinstance(triple.subject, ox.NamedNode)
            assert not isinstance(triple.object, ox.Triple)
            nodes[triple.subject.value][triple.predicate.value] = triple.object
        return tuple(self._spelt_out(table, nodes))

    def _spelt_out(self, table: Table, nodes: dict[str, Objects]) -> list[ScoredTriple]:
        predicates = [
            nodes[self._names.column_iri(table.id, column.index)][f"{KGT}predicate"].value
            for column in table.columns
        ]
        labels = {
            row: _label(cells, table.structure.label_column) for row, cells in enumerate(table.grid.head)
        }
        found: list[ScoredTriple] = []
        for row, cells in table.body():
            statements = nodes.get(self._names.row_iri(table.id, row), {})
            groups = table.group_path(row)
            for column, text in enumerate(cells):
                if not text:
                    continue
                iri = self._names.cell_iri(table.id, row, column)
                cell = nodes.get(iri, {})
                found.append(
                    ScoredTriple(
                        table=table.id,
                        row=row,
                        column=column,
                        subject=labels.get(row, ""),
                        predicate=predicates[column],
                        object=text,
                        value=_value(statements.get(predicates[column]), cell, text),
                        unit=_plain(cell.get(f"{QUDT}hasUnit"), UNIT),
                        scale=_plain(cell.get(f"{KGT}scale")),
                        group=labels.get(groups[-1]) if groups else None,
                        cell=iri,
                        score=0.0,
                        note=_plain(cell.get(f"{KGT}note")),
                        period=_plain(cell.get(f"{KGT}period")),
                    )
                )
        return found


def _label(cells: tuple[str, ...], column: int) -> str:
    label = cells[column].strip() if column < len(cells) else ""
    return label or next((cell.strip() for cell in cells if cell.strip()), "")


def _value(object: ox.NamedNode | ox.BlankNode | ox.Literal | None, cell: Objects, text: str) -> str | None:
    """The number of a quantity, or a typed literal's lexical form where it is not the text itself."""
    if isinstance(object, ox.Literal):
        return object.value if object.value != text else None
    return _plain(cell.get(f"{QUDT}numericValue"))


def _plain(term: ox.NamedNode | ox.BlankNode | ox.Literal | None, namespace: str = "") -> str | None:
    if term is None:
        return None
    if isinstance(term, ox.Literal):
        return literal_text(term.value, term.datatype.value)
    return str(term.value).removeprefix(namespace)
