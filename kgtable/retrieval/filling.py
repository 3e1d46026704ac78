"""Cells to triples: what the graph says of each cell that was retrieved, asked for in SPARQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, QUDT, UNIT, XSD, CellAddress, Namespaces, literal_text
from kgtable.resources import read_shipped
from kgtable.retrieval.result import ScoredTriple
from kgtable.retrieval.values_block import with_values

AT_ONCE = 2_000
"""Cells asked for by one query."""

Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
_Cell: TypeAlias = tuple[CellAddress, str | None, float]

_TEXT = f"{KGT}text"


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
    asked: list[str] = []
    found: list[ScoredTriple] = []
    for start in range(0, len(cells), AT_ONCE):
        some = cells[start : start + AT_ONCE]
        rows = _rows(store, names, some, asked)
        said = _said(store, names, some, asked)
        triples = (_triple(names, rows.get(n), said.get(n, {}), *cell) for n, cell in enumerate(some))
        found += (triple for triple in triples if triple is not None)
    return Filled(tuple(found), tuple(asked))


def _rows(
    store: TripleStore, names: Namespaces, cells: Sequence[_Cell], asked: list[str]
) -> dict[int, tuple[Term, Term | None, Term | None]]:
    """By the place of each body cell: what stands there, the row's label, the label of its heading."""
    wanted = [
        (n, ox.NamedNode(names.table_iri(at.table)), ox.NamedNode(names.row_iri(at.table, at.row)),
         ox.NamedNode(predicate))
        for n, (at, predicate, _) in enumerate(cells)
        if predicate is not None
    ]  # fmt: skip
    return {
        int(n.value): (object, label, group)
        for n, object, label, group in _solutions(store, "retrieved-rows", wanted, asked)
    }


def _said(
    store: TripleStore, names: Namespaces, cells: Sequence[_Cell], asked: list[str]
) -> dict[int, dict[str, Term]]:
    """By the place of each cell: objects by predicate (the last, where a predicate has several)."""
    wanted = [
        (n, ox.NamedNode(names.table_iri(at.table)), ox.NamedNode(names.cell_iri(*at)))
        for n, (at, _, _) in enumerate(cells)
    ]
    said: dict[int, dict[str, Term]] = defaultdict(dict)
    for n, predicate, found in _solutions(store, "retrieved-cells", wanted, asked):
        said[int(n.value)][predicate.value] = found
    return said


def _solutions(
    store: TripleStore, name: str, rows: Sequence[tuple[ox.NamedNode | int, ...]], asked: list[str]
) -> Iterator[ox.QuerySolution]:
    if rows:
        query = with_values(read_shipped(f"queries/{name}.rq"), rows)
        asked.append(query)
        solutions = store.query(query)
        assert isinstance(solutions, ox.QuerySolutions)
        yield from solutions


def _triple(
    names: Namespaces,
    row: tuple[Term, Term | None, Term | None] | None,
    cell: Mapping[str, Term],
    at: CellAddress,
    predicate: str | None,
    score: float,
) -> ScoredTriple | None:
    iri = names.cell_iri(*at)
    if predicate is None:
        if _TEXT not in cell:
            return None
        text = _literal(cell[_TEXT]) or ""
        return ScoredTriple(at.table, at.row, at.column, "", _TEXT, text, None, None, None, None, iri, score)
    if row is None:
        return None
    found, label, group = row
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
        return None if found.datatype.value == f"{XSD}string" else found.value
    return None


def _literal(term: Term | None) -> str | None:
    return literal_text(term.value, term.datatype.value) if isinstance(term, ox.Literal) else None
