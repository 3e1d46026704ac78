"""One program in memory and in SPARQL on a store: the denotations, in a form that compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias

import pyoxigraph as ox

from kgtable.graph.table_encoder import TableShape
from kgtable.graph.terms import Namespaces
from kgtable.ontology.annotate import annotate
from kgtable.programs.algebra import Program
from kgtable.programs.compiled.to_sparql import compile_sparql
from kgtable.programs.dimensions import COUNTS, convert
from kgtable.programs.executor import run
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import Datum, normal, text_of
from kgtable.tables.model import Table

Plain: TypeAlias = float | str | bool | None
Rows: TypeAlias = list[tuple[Plain, ...]]


def store_of(tables: Iterable[Table]) -> ox.Store:
    """A store that holds the tables as a build writes them."""
    store = ox.Store()
    for table in tables:
        shape = TableShape(annotate(table), Namespaces())
        lines = [
            f"{subject} {predicate} {value} {shape.graph} ." for subject, pairs in shape for predicate, value in pairs
        ]
        store.bulk_load("\n".join(lines), ox.RdfFormat.N_QUADS)
    return store


def in_memory(program: Program, relations: Mapping[str, Relation], units: tuple[str | None, ...], shown: Rows) -> Rows:
    """The rows that the executor gives: numbers in the units of a back end, printed where it prints."""
    result = run(program, relations)
    found = []
    for row, other in zip(result.rows(), [*shown, *[()] * len(result)], strict=False):
        cells = []
        for index, (value, unit) in enumerate(zip(row, units, strict=True)):
            printed = index < len(other) and isinstance(other[index], str)
            cells.append(normal(text_of(value)) if value and printed else _plain(value, unit))
        found.append(tuple(cells))
    return found


def in_sparql(
    program: Program, relations: Mapping[str, Relation], store: ox.Store
) -> tuple[Rows, tuple[str | None, ...]]:
    """The rows of the compiled query, and the units of its columns."""
    query = compile_sparql(program, relations)
    solutions = store.query(query.text)
    assert isinstance(solutions, ox.QuerySolutions)
    return [tuple(_term(row[name]) for name in query.variables) for row in solutions], query.units


def same(one: Rows, other: Rows, *, ordered: bool) -> bool:
    """Whether two results are the same; a value that is missing may also be no row."""
    if not ordered:
        one, other = sorted(one, key=str), sorted(other, key=str)
    return one == other or _nothing(one) == _nothing(other) == []


def _nothing(rows: Rows) -> Rows:
    return [row for row in rows if any(cell is not None for cell in row)]


def _plain(value: Datum | None, unit: str | None) -> Plain:
    if value is None:
        return None
    if value.number is not None:
        counted = value.unit in COUNTS or unit in COUNTS
        return _number(value.number if counted else convert(value.number, value.unit, unit))
    return value.value if isinstance(value.value, bool) else normal(text_of(value))


def _term(term: object) -> Plain:
    if term is None:
        return None
    assert isinstance(term, ox.Literal)
    kind = term.datatype.value.rpartition("#")[2]
    if kind == "boolean":
        return term.value == "true"
    return _number(Decimal(term.value)) if kind in ("decimal", "integer", "double") else normal(term.value)


def _number(cell: Decimal | float | int | bool | str | None) -> Plain:
    if cell is None or isinstance(cell, bool | str):
        return cell
    return float(f"{float(cell):.9g}")
