"""Retrieved cells as triples, read lazily, and retrieved triples as RDF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import pyoxigraph as ox

from kgtable.graph.sparql_text import with_values
from kgtable.graph.store import TripleStore
from kgtable.graph.table_content import FoundCell, TableContent
from kgtable.graph.table_decoder import TEXT
from kgtable.graph.table_source import AT_ONCE, TableReader
from kgtable.graph.terms import KGT, RDF, RDFS, CellAddress, Namespaces
from kgtable.graph.writers import Format, table_blocks, whole_document
from kgtable.index.corpus import NONE, Corpus
from kgtable.index.postings import FloatArray, IntArray
from kgtable.resources import read_shipped
from kgtable.retrieval.result import LateTriples, ScoredTriple


class RetrievedCells:
    """Cells of an index by descending score, read from it or, if it is out of date, from the graph."""

    def __init__(
        self, corpus: Corpus, cells: IntArray, scores: FloatArray, reader: TableReader, *, from_index: bool
    ) -> None:
        self._corpus, self._cells, self._reader, self._from_index = corpus, cells, reader, from_index
        self._scores: list[float] = scores.tolist()
        places = corpus.places
        rows, columns = places.cell_row[cells], places.cell_column[cells]
        self._addresses = [
            CellAddress(corpus.table_ids[table], row, column)
            for table, row, column in zip(
                places.row_table[rows].tolist(),
                places.row_number[rows].tolist(),
                places.column_number[columns].tolist(),
                strict=True,
            )
        ]
        above = places.row_is_header[rows]
        self._predicates: list[int] = places.column_predicate[columns].copy().tolist()
        for place in above.nonzero()[0].tolist():
            self._predicates[place] = NONE

    def triples(self) -> LateTriples:
        """The triples; a cell that the graph no longer holds is left out."""
        return LateTriples(self._addresses, self._read, lambda: self._reader.queries_for(self._addresses))

    def _read(self, first: int, last: int) -> Iterator[ScoredTriple]:
        numbers = self._predicates[first:last]
        iris = {number: self._corpus.predicates[number] for number in set(numbers) - {NONE}}
        predicates = [iris.get(number) for number in numbers]
        addresses = self._addresses[first:last]
        found: Iterable[FoundCell | None]
        if self._from_index:
            found = self._corpus.found(self._cells[first:last])
        else:
            found = self._reader.cells(list(zip(addresses, predicates, strict=True)))
        names = self._reader.names
        for at, predicate, cell, score in zip(addresses, predicates, found, self._scores[first:last], strict=True):
            if cell is not None:
                yield scored_triple(at, predicate or TEXT, cell, names, score)


def scored_triple(at: CellAddress, predicate: str, found: FoundCell, names: Namespaces, score: float) -> ScoredTriple:
    """A cell as a triple of its row."""
    subject, group, cell = found
    iri = names.cell_iri(*at) if cell.is_node else names.row_iri(at.table, at.row)
    return ScoredTriple(
        *at, subject, predicate, cell.text, cell.value, cell.unit, cell.scale, group,
        iri, score, cell.note, cell.period,
    )  # fmt: skip


def triples_of(content: TableContent, names: Namespaces) -> Iterator[ScoredTriple]:
    """The triples of a table's body cells in reading order, all scored 0."""
    for row in content.rows:
        if not row.is_header:
            for column, cell in row.cells:
                found = FoundCell(row.label or "", row.heading, cell)
                at = CellAddress(content.id, row.row, column)
                yield scored_triple(at, content.columns[column][1], found, names, 0.0)


_OF_ROWS = {f"{RDF}type", f"{RDFS}label", *(f"{KGT}{name}" for name in ("table", "row", "group", "subject"))}


def described_rdf(store: TripleStore, names: Namespaces, triples: Sequence[ScoredTriple], format: Format) -> str:
    """RDF of the rows of the triples: label, group and retrieved cells, with all statements about these cells."""
    by_table: dict[str, list[ScoredTriple]] = defaultdict(list)
    for triple in triples:
        by_table[triple.table].append(triple)
    graphs = (
        (f"<{names.table_iri(table)}>", table_blocks(_said(store, names, of_table)))
        for table, of_table in by_table.items()
    )
    return "".join(whole_document(format, names, graphs))


def _said(store: TripleStore, names: Namespaces, triples: Sequence[ScoredTriple]) -> Iterator[ox.Triple]:
    table = str(ox.NamedNode(names.table_iri(triples[0].table)))
    wanted: dict[str, set[str]] = defaultdict(lambda: set(_OF_ROWS))
    for triple in triples:
        wanted[names.row_iri(triple.table, triple.row)].add(triple.predicate)
    cells = {names.cell_iri(*triple[:3]) for triple in triples}
    iris = sorted(cells | wanted.keys())
    for start in range(0, len(iris), AT_ONCE):
        rows = [(table, str(ox.NamedNode(iri))) for iri in iris[start : start + AT_ONCE]]
        solutions = store.query(with_values(read_shipped("queries/described.rq"), rows))
        assert isinstance(solutions, ox.QuerySolutions)
        for _, subject, predicate, found in solutions:
            if subject.value in cells or predicate.value in wanted[subject.value]:
                yield ox.Triple(subject, predicate, found)
