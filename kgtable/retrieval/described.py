"""Retrieved triples as RDF: the statements of the graph they stand for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from kgtable.graph.ordering import table_blocks
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, RDF, RDFS, Namespaces
from kgtable.graph.writing import Format, writer_for
from kgtable.resources import read_shipped
from kgtable.retrieval.result import ScoredTriple
from kgtable.retrieval.values_block import with_values

AT_ONCE = 2_000
"""Rows and cells described by one query."""

_OF_ROWS = {f"{RDF}type", f"{RDFS}label", *(f"{KGT}{name}" for name in ("table", "row", "group", "subject"))}


def described_rdf(
    store: TripleStore, names: Namespaces, triples: Sequence[ScoredTriple], format: Format
) -> str:
    """The rows of the triples with label, group and retrieved cells, and all that is said of the cells."""
    by_table: dict[str, list[ScoredTriple]] = defaultdict(list)
    for triple in triples:
        by_table[triple.table].append(triple)
    writer = writer_for(format, names)
    pieces = [writer.start()]
    for table, of_table in by_table.items():
        blocks = table_blocks(_said(store, names, of_table))
        pieces += writer.graph(f"<{names.table_iri(table)}>", blocks)
    return "".join((*pieces, writer.end()))


def _said(store: TripleStore, names: Namespaces, triples: Sequence[ScoredTriple]) -> Iterator[ox.Triple]:
    table = str(ox.NamedNode(names.table_iri(triples[0].table)))
    wanted: dict[str, set[str]] = defaultdict(lambda: set(_OF_ROWS))
    for triple in triples:
        wanted[names.row_iri(triple.table, triple.row)].add(triple.predicate)
    cells = {triple.cell for triple in triples}
    iris = sorted(cells | wanted.keys())
    for start in range(0, len(iris), AT_ONCE):
        rows = [(table, str(ox.NamedNode(iri))) for iri in iris[start : start + AT_ONCE]]
        solutions = store.query(with_values(read_shipped("queries/described.rq"), rows))
        assert isinstance(solutions, ox.QuerySolutions)
        for subject, predicate, found in solutions:
            if subject.value in cells or predicate.value in wanted[subject.value]:
                yield ox.Triple(subject, predicate, found)
