"""Cells to triples: what the graph says of each cell that was retrieved, asked for in SPARQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
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
_UNKNOWN = (None,) * 4
"""Value, unit, scale and group of a cell above the body."""


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


def _is_plain(found: Term | None) -> bool:
    """Whether all that is known of a cell is its text."""
    return isinstance(found, ox.Literal) and found.datatype.value == _STRING


def _triple(
    at: CellAddress,
    label: str,
    predicate: str,
    found: Term,
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


def _typed(found: Term) -> str | None:
    """The lexical form of a typed literal; None for a text, or for no literal."""
    if isinstance(found, ox.Literal) and (datatype := found.datatype.value) != _STRING:
        return found.value if datatype.startswith(XSD) else None
    return None


def _text(term: Term | None) -> str | None:
    return literal_text(term.value, term.datatype.value) if isinstance(term, ox.Literal) else None


def _iri(term: Term | None) -> str:
    return term.value if isinstance(term, ox.NamedNode) else ""
