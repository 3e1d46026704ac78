"""Retrieved cells as triples, and retrieved triples as RDF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgtable.graph.sparql_text import with_values
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, QUDT, RDF, RDFS, UNIT, XSD, CellAddress, Namespaces, literal_text
from kgtable.graph.writers import Format, table_blocks, writer_for
from kgtable.resources import read_shipped
from kgtable.retrieval.result import ScoredTriple

AT_ONCE = 2_000
"""Cells asked for by one pair of queries."""

ObjectTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
_Cell: TypeAlias = tuple[CellAddress, str | None, float]
_Subject: TypeAlias = tuple[str, str]
"""The named graph of a table as SPARQL writes it, and the IRI of a row or cell in it."""
_Said: TypeAlias = dict[str, ObjectTerm]

_TEXT, _SCALE, _NOTE, _PERIOD = (f"{KGT}{name}" for name in ("text", "scale", "note", "period"))
_NUMBER, _LOWER, _UNIT = f"{QUDT}numericValue", f"{KGT}lowerBound", f"{QUDT}hasUnit"
_LABEL, _GROUP = f"{RDFS}label", f"{KGT}group"
_OF_CELLS = (_TEXT, _SCALE, _NUMBER, _LOWER, _UNIT, _NOTE, _PERIOD)
_STRING = f"{XSD}string"
_NOTHING: _Said = {}
_UNKNOWN = (None,) * 4
"""Value, unit, scale and group of a cell above the body."""


class FilledCell(NamedTuple):
    """Triples of cells, and the queries they were read with."""

    triples: tuple[ScoredTriple, ...]
    queries: tuple[str, ...]


def fill(
    store: TripleStore, names: Namespaces, cells: Sequence[tuple[CellAddress, str | None, float]]
) -> FilledCell:
    """The triples of the cells, in their order; a cell the graph does not hold is left out.

    A cell is given as its address, its column's predicate (full IRI; None for a cell above the body)
    and its score.
    """
    filling = _Filling(store, names)
    found: list[ScoredTriple] = []
    for start in range(0, len(cells), AT_ONCE):
        found += filling.triples(cells[start : start + AT_ONCE])
    return FilledCell(tuple(found), tuple(filling.asked))


class _Filling:
    """Reads the rows of cells, then what is said of their headings and of cells that are no mere texts."""

    def __init__(self, store: TripleStore, names: Namespaces) -> None:
        self._store, self._names = store, names
        self.asked: list[str] = []

    def triples(self, cells: Sequence[_Cell]) -> list[ScoredTriple]:
        """The triples of those cells that the graph holds."""
        tables = {id: self._names.table_iri(id) for id in {at.table: None for at, _, _ in cells}}
        graphs = {id: str(ox.NamedNode(iri)) for id, iri in tables.items()}
        rows = [(graphs[id], f"{tables[id]}/row/{row}") for (id, row, _), _, _ in cells]
        iris = [(graphs[id], f"{tables[id]}/cell/{row}/{column}") for (id, row, column), _, _ in cells]
        predicates = [predicate for _, predicate, _ in cells]
        body = self._said(
            (row for row, predicate in zip(rows, predicates, strict=True) if predicate is not None),
            (_LABEL, _GROUP, *dict.fromkeys(filter(None, predicates))),
        )
        held = [
            None if predicate is None else body[row].get(predicate)
            for row, predicate in zip(rows, predicates, strict=True)
        ]
        headings = {row: (row[0], _iri(said.get(_GROUP))) for row, said in body.items()}
        telling = (cell for cell, found in zip(iris, held, strict=True) if not _is_plain(found))
        more = self._said((*telling, *filter(itemgetter(1), headings.values())), (_LABEL, *_OF_CELLS))
        labels = {
            row: (_text(said.get(_LABEL)) or "", _text(more.get(headings[row], _NOTHING).get(_LABEL)))
            for row, said in body.items()
        }
        triples = []
        for (at, predicate, score), row, cell, found in zip(cells, rows, iris, held, strict=True):
            about, iri = more.get(cell, _NOTHING), cell[1]
            if predicate is None:
                if (text := _text(about.get(_TEXT))) is not None:
                    triples.append(ScoredTriple(*at, "", _TEXT, text, *_UNKNOWN, iri, score))
            elif found is not None:
                label, group = labels[row]
                triples.append(_triple(at, label, predicate, found, about, group, iri, score))
        return triples

    def _said(self, subjects: Iterable[_Subject], predicates: Sequence[str]) -> dict[_Subject, _Said]:
        """What each subject says by these predicates (the last, where it says several things by one)."""
        said: dict[_Subject, _Said] = {subject: {} for subject in subjects}
        if not said:
            return said
        query = read_shipped("queries/retrieved.rq")
        query = with_values(query, ((str(n), str(ox.NamedNode(iri))) for n, iri in enumerate(predicates)))
        query = with_values(query, ((str(n), graph, f"<{iri}>") for n, (graph, iri) in enumerate(said)))
        self.asked.append(query)
        solutions = self._store.query(query)
        assert isinstance(solutions, ox.QuerySolutions)
        by_number = list(said.values())
        for solution in solutions:
            by_number[int(solution[0].value)][predicates[int(solution[1].value)]] = solution[2]
        return said


def _is_plain(found: ObjectTerm | None) -> bool:
    """Whether all that is known of a cell is its text."""
    return isinstance(found, ox.Literal) and found.datatype.value == _STRING


def _triple(
    at: CellAddress,
    label: str,
    predicate: str,
    found: ObjectTerm,
    about: _Said,
    group: str | None,
    iri: str,
    score: float,
) -> ScoredTriple:
    if not about:
        text = _text(found) or ""
        return ScoredTriple(*at, label, predicate, text, _typed(found), None, None, group, iri, score)
    number = about.get(_NUMBER) or about.get(_LOWER)
    unit = about.get(_UNIT)
    return ScoredTriple(
        *at,
        subject=label,
        predicate=predicate,
        object=_text(about.get(_TEXT)) or _text(found) or "",
        value=_typed(found) if number is None else _text(number),
        unit=None if unit is None else unit.value.removeprefix(UNIT),
        scale=_text(about.get(_SCALE)),
        group=group,
        cell=iri,
        score=score,
        note=_text(about.get(_NOTE)),
        period=_text(about.get(_PERIOD)),
    )


def _typed(found: ObjectTerm) -> str | None:
    """The lexical form of a typed literal; None for a text, or for no literal."""
    if isinstance(found, ox.Literal) and (datatype := found.datatype.value) != _STRING:
        return found.value if datatype.startswith(XSD) else None
    return None


def _text(term: ObjectTerm | None) -> str | None:
    return literal_text(term.value, term.datatype.value) if isinstance(term, ox.Literal) else None


def _iri(term: ObjectTerm | None) -> str:
    return term.value if isinstance(term, ox.NamedNode) else ""


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
