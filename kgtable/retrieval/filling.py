"""Cells to triples: what the graph says of each cell that was retrieved, asked for in SPARQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, QUDT, RDFS, UNIT, XSD, CellAddress, Namespaces, literal_text
from kgtable.resources import read_shipped
from kgtable.retrieval.result import ScoredTriple
from kgtable.retrieval.values_block import with_values

AT_ONCE = 2_000
"""Cells asked for by one pair of queries."""

Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
_Cell: TypeAlias = tuple[CellAddress, str | None, float]
_Subject: TypeAlias = tuple[str, str]
"""The named graph of a table as SPARQL writes it, and the IRI of a row or cell in it."""
_Said: TypeAlias = dict[str, Term]

_TEXT, _SCALE, _NOTE, _PERIOD = (f"{KGT}{name}" for name in ("text", "scale", "note", "period"))
_NUMBER, _LOWER, _UNIT = f"{QUDT}numericValue", f"{KGT}lowerBound", f"{QUDT}hasUnit"
_LABEL, _GROUP = f"{RDFS}label", f"{KGT}group"
_OF_CELLS = (_TEXT, _SCALE, _NUMBER, _LOWER, _UNIT, _NOTE, _PERIOD)
_STRING = f"{XSD}string"
_NOTHING: _Said = {}


class Filled(NamedTuple):
    """Triples of cells, and the queries they were read with."""

    triples: tuple[ScoredTriple, ...]
    queries: tuple[str, ...]


def fill(
    store: TripleStore, names: Namespaces, cells: Sequence[tuple[CellAddress, str | None, float]]
) -> Filled:
    """The triples of the cells, in their order; a cell the graph does not hold is left out.

    A cell is given as its address, its column's predicate (full IRI; None for a cell above the body)
    and its score.
    """
    filling = _Filling(store, names)
    found: list[ScoredTriple] = []
    for start in range(0, len(cells), AT_ONCE):
        found += filling.triples(cells[start : start + AT_ONCE])
    return Filled(tuple(found), tuple(filling.asked))


class _Filling:
    """Reads the rows of cells, then what is said of their headings and of cells that are no mere texts."""

    def __init__(self, store: TripleStore, names: Namespaces) -> None:
        self._store, self._names = store, names
        self.asked: list[str] = []

    def triples(self, cells: Sequence[_Cell]) -> list[ScoredTriple]:
        """The triples of those cells that the graph holds."""
        tables = {id: self._names.table_iri(id) for id in {at.table: None for at, _, _ in cells}}
        graphs = {id: str(ox.NamedNode(iri)) for id, iri in tables.items()}
        iris = [f"{tables[at.table]}/cell/{at.row}/{at.column}" for at, _, _ in cells]
        of_body = {(at.table, at.row): None for at, predicate, _ in cells if predicate is not None}
        predicates = {predicate: None for _, predicate, _ in cells if predicate is not None}
        subjects = [(graphs[table], f"{tables[table]}/row/{row}") for table, row in of_body]
        said = self._said(subjects, (_LABEL, _GROUP, *predicates))
        rows = {row: said[subject] for row, subject in zip(of_body, subjects, strict=True)}
        headings = {row: (graphs[row[0]], _iri(said.get(_GROUP))) for row, said in rows.items()}
        telling = (
            (graphs[at.table], iri)
            for iri, (at, predicate, _) in zip(iris, cells, strict=True)
            if predicate is None or not _is_plain(rows[at.table, at.row].get(predicate))
        )
        more = self._said(
            (*telling, *(heading for heading in headings.values() if heading[1])), (_LABEL, *_OF_CELLS)
        )
        labels = {
            row: (_literal(said.get(_LABEL)) or "", _literal(more.get(headings[row], _NOTHING).get(_LABEL)))
            for row, said in rows.items()
        }
        found = []
        for iri, (at, predicate, score) in zip(iris, cells, strict=True):
            about = more.get((graphs[at.table], iri), _NOTHING)
            if predicate is None:
                if _TEXT in about:
                    found.append(_above_body(at, iri, about, score))
            elif (held := rows[at.table, at.row].get(predicate)) is not None:
                found.append(_triple(at, iri, predicate, held, labels[at.table, at.row], about, score))
        return found

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


def _is_plain(found: Term | None) -> bool:
    """Whether all that is known of a cell is its text."""
    return isinstance(found, ox.Literal) and found.datatype.value == _STRING


def _above_body(at: CellAddress, iri: str, cell: _Said, score: float) -> ScoredTriple:
    text = _literal(cell[_TEXT]) or ""
    return ScoredTriple(at.table, at.row, at.column, "", _TEXT, text, None, None, None, None, iri, score)


def _triple(
    at: CellAddress,
    iri: str,
    predicate: str,
    found: Term,
    labels: tuple[str, str | None],
    cell: _Said,
    score: float,
) -> ScoredTriple:
    label, group = labels
    unit = cell.get(_UNIT)
    return ScoredTriple(
        table=at.table,
        row=at.row,
        column=at.column,
        subject=label,
        predicate=predicate,
        object=_literal(cell.get(_TEXT)) or _literal(found) or "",
        value=_value(cell, found),
        unit=None if unit is None else unit.value.removeprefix(UNIT),
        scale=_literal(cell.get(_SCALE)),
        group=group,
        cell=iri,
        score=score,
        note=_literal(cell.get(_NOTE)),
        period=_literal(cell.get(_PERIOD)),
    )


def _value(cell: _Said, found: Term) -> str | None:
    """The number of a quantity (the lower bound of a range), or the lexical form of a typed literal."""
    number = cell.get(_NUMBER) or cell.get(_LOWER)
    if number is not None:
        return _literal(number)
    if isinstance(found, ox.Literal) and found.datatype.value.startswith(XSD):
        return None if found.datatype.value == _STRING else found.value
    return None


def _literal(term: Term | None) -> str | None:
    return literal_text(term.value, term.datatype.value) if isinstance(term, ox.Literal) else None


def _iri(term: Term | None) -> str:
    return term.value if isinstance(term, ox.NamedNode) else ""
