"""Cells to triples: what the graph says of each cell that was retrieved, asked for in SPARQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from kgtable.errors import QueryError
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, QUDT, RDFS, UNIT, XSD, CellAddress, Namespaces, literal_text
from kgtable.resources import read_shipped
from kgtable.retrieval.result import ScoredTriple

AT_ONCE = 2_000
"""Rows and cells described by one query."""

Node: TypeAlias = dict[str, ox.NamedNode | ox.BlankNode | ox.Literal]

_TEXT = f"{KGT}text"


class Filled(NamedTuple):
    """Triples of cells, and the queries they were read with."""

    triples: tuple[ScoredTriple, ...]
    queries: tuple[str, ...]


def with_values(query: str, variable: str, terms: Sequence[ox.NamedNode]) -> str:
    """The query with the terms in the empty block ``VALUES ?variable { }``, each as SPARQL writes it.

    >>> with_values("VALUES ?s { }", "s", [ox.NamedNode("http://example.org/a")])
    'VALUES ?s { <http://example.org/a> }'
    """
    empty = f"VALUES ?{variable} {{ }}"
    if empty not in query:
        raise QueryError(f"The query has no empty block {empty}.")
    return query.replace(empty, f"VALUES ?{variable} {{ {' '.join(map(str, terms))} }}", 1)


def fill(
    store: TripleStore, names: Namespaces, cells: Sequence[tuple[CellAddress, str | None, float]]
) -> Filled:
    """The triples of the cells, in their order; a cell the graph does not hold is left out.

    A cell is given as its address, its column's predicate (full IRI; None for a cell above the body)
    and its score.
    """
    rows = {names.row_iri(at.table, at.row) for at, predicate, _ in cells if predicate is not None}
    asked: list[str] = []
    nodes = _described(store, rows | {names.cell_iri(*at) for at, _, _ in cells}, asked)
    group = f"{KGT}group"
    headings = {nodes[row][group].value for row in rows if row in nodes and group in nodes[row]}
    nodes.update(_described(store, headings, asked))
    found = (_triple(names, nodes, at, predicate, score) for at, predicate, score in cells)
    return Filled(tuple(triple for triple in found if triple is not None), tuple(asked))


def statements(store: TripleStore, iris: Iterable[str], asked: list[str]) -> Iterator[ox.QuerySolution]:
    """Subject, predicate and object of everything said of the nodes; the queries are appended to `asked`."""
    wanted = sorted(set(iris))
    for start in range(0, len(wanted), AT_ONCE):
        terms = [ox.NamedNode(iri) for iri in wanted[start : start + AT_ONCE]]
        query = with_values(read_shipped("queries/described.rq"), "subject", terms)
        asked.append(query)
        solutions = store.query(query)
        assert isinstance(solutions, ox.QuerySolutions)
        yield from solutions


def _described(store: TripleStore, iris: Iterable[str], asked: list[str]) -> dict[str, Node]:
    """Each node's predicates and objects (the last, where a predicate has several), by IRI."""
    nodes: dict[str, Node] = defaultdict(dict)
    for subject, predicate, found in statements(store, iris, asked):
        nodes[subject.value][predicate.value] = found
    return nodes


def _triple(
    names: Namespaces, nodes: dict[str, Node], at: CellAddress, predicate: str | None, score: float
) -> ScoredTriple | None:
    iri = names.cell_iri(*at)
    cell = nodes.get(iri, {})
    if predicate is None:
        if _TEXT not in cell:
            return None
        text = _literal(cell[_TEXT]) or ""
        return ScoredTriple(at.table, at.row, at.column, "", _TEXT, text, None, None, None, None, iri, score)
    row_iri = names.row_iri(at.table, at.row)
    row = nodes.get(row_iri, {})
    found = row.get(predicate)
    if found is None:
        return None
    group = row.get(f"{KGT}group")
    heading = nodes.get(group.value, {}).get(f"{RDFS}label") if group is not None else None
    unit = cell.get(f"{QUDT}hasUnit")
    return ScoredTriple(
        table=at.table,
        row=at.row,
        column=at.column,
        subject=_literal(row.get(f"{RDFS}label")) or "",
        predicate=predicate,
        object=_literal(cell.get(_TEXT)) or _literal(found) or "",
        value=_value(cell, found),
        unit=None if unit is None else unit.value.removeprefix(UNIT),
        scale=_literal(cell.get(f"{KGT}scale")),
        group=_literal(heading),
        cell=iri,
        score=score,
        note=_literal(cell.get(f"{KGT}note")),
        period=_literal(cell.get(f"{KGT}period")),
    )


def _value(cell: Node, found: ox.NamedNode | ox.BlankNode | ox.Literal) -> str | None:
    """The number of a quantity (the lower bound of a range), or the lexical form of a typed literal."""
    number = cell.get(f"{QUDT}numericValue") or cell.get(f"{KGT}lowerBound")
    if number is not None:
        return _literal(number)
    if isinstance(found, ox.Literal) and found.datatype.value.startswith(XSD):
        return None if found.datatype.value == f"{XSD}string" else found.value
    return None


def _literal(term: ox.NamedNode | ox.BlankNode | ox.Literal | None) -> str | None:
    return literal_text(term.value, term.datatype.value) if isinstance(term, ox.Literal) else None
