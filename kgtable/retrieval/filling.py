"""Cells to triples: what the graph says of each cell that was retrieved, asked for in SPARQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, QUDT, UNIT, XSD, CellAddress, Namespaces, literal_text
from kgtable.resources import read_shipped
from kgtable.retrieval.result import ScoredTriple
from kgtable.retrieval.values_block import with_values

AT_ONCE = 2_000
"""Cells asked for by one set of queries."""

Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
_Cell: TypeAlias = tuple[CellAddress, str | None, float]

_TEXT = f"{KGT}text"
_STRING = f"{XSD}string"


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
    """Reads what cells hold, then the labels of their rows, then what is said of those that are no texts."""

    def __init__(self, store: TripleStore, names: Namespaces) -> None:
        self._store, self._names = store, names
        self._written: dict[str, str] = {}
        self.asked: list[str] = []

    def triples(self, cells: Sequence[_Cell]) -> list[ScoredTriple]:
        """The triples of those cells that the graph holds."""
        tables = {at.table: self._names.table_iri(at.table) for at, _, _ in cells}
        iris = [f"{tables[at.table]}/cell/{at.row}/{at.column}" for at, _, _ in cells]
        rows = {(at.table, at.row): f"{tables[at.table]}/row/{at.row}" for at, above, _ in cells if above}
        objects = {
            int(number.value): found
            for number, found in self._solutions(
                "objects",
                (
                    (str(number), tables[at.table], rows[at.table, at.row], predicate)
                    for number, (at, predicate, _) in enumerate(cells)
                    if predicate is not None
                ),
            )
        }
        labels = dict(zip(rows, self._labels(tables, rows), strict=True))
        said = self._said(
            (str(number), tables[at.table], iris[number])
            for number, (at, predicate, _) in enumerate(cells)
            if predicate is None or not _is_plain(objects.get(number))
        )
        found = []
        for number, (at, predicate, score) in enumerate(cells):
            about, iri, held = said.get(number, {}), iris[number], objects.get(number)
            if predicate is None and _TEXT in about:
                found.append(_above_body(at, iri, about, score))
            elif predicate is not None and held is not None:
                found.append(_triple(at, iri, predicate, held, labels[at.table, at.row], about, score))
        return found

    def _labels(
        self, tables: Mapping[str, str], rows: Mapping[tuple[str, int], str]
    ) -> list[tuple[Term | None, Term | None]]:
        """The label of each row and of its heading, in the order of the rows."""
        found: list[tuple[Term | None, Term | None]] = [(None, None)] * len(rows)
        wanted = ((str(number), tables[at[0]], iri) for number, (at, iri) in enumerate(rows.items()))
        for number, label, group in self._solutions("rows", wanted):
            found[int(number.value)] = label, group
        return found

    def _said(self, wanted: Iterable[tuple[str, ...]]) -> dict[int, dict[str, Term]]:
        """By number: objects by predicate (the last, where a predicate has several)."""
        said: dict[int, dict[str, Term]] = defaultdict(dict)
        for number, predicate, found in self._solutions("cells", wanted):
            said[int(number.value)][predicate.value] = found
        return said

    def _solutions(self, name: str, rows: Iterable[tuple[str, ...]]) -> Iterator[ox.QuerySolution]:
        """The solutions of a query for rows of a number and IRIs."""
        block = [(number, *map(self._term, iris)) for number, *iris in rows]
        if block:
            query = with_values(read_shipped(f"queries/retrieved-{name}.rq"), block)
            self.asked.append(query)
            solutions = self._store.query(query)
            assert isinstance(solutions, ox.QuerySolutions)
            yield from solutions

    def _term(self, iri: str) -> str:
        """An IRI as SPARQL writes it; checked once."""
        written = self._written.get(iri)
        if written is None:
            written = self._written[iri] = str(ox.NamedNode(iri))
        return written


def _is_plain(found: Term | None) -> bool:
    """Whether all that is known of a cell is its text."""
    return isinstance(found, ox.Literal) and found.datatype.value == _STRING


def _above_body(at: CellAddress, iri: str, cell: Mapping[str, Term], score: float) -> ScoredTriple:
    text = _literal(cell[_TEXT]) or ""
    return ScoredTriple(at.table, at.row, at.column, "", _TEXT, text, None, None, None, None, iri, score)


def _triple(
    at: CellAddress,
    iri: str,
    predicate: str,
    found: Term,
    labels: tuple[Term | None, Term | None],
    cell: Mapping[str, Term],
    score: float,
) -> ScoredTriple:
    label, group = labels
    unit = cell.get(f"{QUDT}hasUnit")
    return ScoredTriple(
        table=at.table,
        row=at.row,
        column=at.column,
        subject=_literal(label) or "",
        predicate=predicate,
        object=_literal(cell.get(_TEXT)) or _literal(found) or "",
        value=_value(cell, found),
        unit=None if unit is None else unit.value.removeprefix(UNIT),
        scale=_literal(cell.get(f"{KGT}scale")),
        group=_literal(group),
        cell=iri,
        score=score,
        note=_literal(cell.get(f"{KGT}note")),
        period=_literal(cell.get(f"{KGT}period")),
    )


def _value(cell: Mapping[str, Term], found: Term) -> str | None:
    """The number of a quantity (the lower bound of a range), or the lexical form of a typed literal."""
    number = cell.get(f"{QUDT}numericValue") or cell.get(f"{KGT}lowerBound")
    if number is not None:
        return _literal(number)
    if isinstance(found, ox.Literal) and found.datatype.value.startswith(XSD):
        return None if found.datatype.value == _STRING else found.value
    return None


def _literal(term: Term | None) -> str | None:
    return literal_text(term.value, term.datatype.value) if isinstance(term, ox.Literal) else None
