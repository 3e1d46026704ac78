"""The relations between tables as RDF: the statements, and their evidence as nodes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.terms import KGT, RDF_TYPE, XSD, Block, Namespaces, Pair, integer, typed
from kgtable.index.relations import JoinableColumns, RelatedColumn, TableRelations, UnionableTables
from kgtable.resources import read_shipped

JOIN, UNION = f"{KGT}JoinRelation", f"{KGT}UnionRelation"

STATED_OF = (JOIN, UNION)
"""The classes of the nodes that hold the evidence."""

STATED_BY = (f"{KGT}joinableOn", f"{KGT}unionableWith")
"""The predicates between columns, and between tables."""


def relation_blocks(relations: TableRelations, names: Namespaces) -> Iterator[Block]:
    """Each join: the columns as ``kgt:joinableOn`` and a ``kgt:JoinRelation``; each union likewise.

    Of a union, the first table and each other one point to each other.
    """
    for join in relations.joins:
        yield _column(join.left, names), [(f"<{KGT}joinableOn>", _column(join.right, names))]
        yield _join_node(join, names), _join_pairs(join, names)
    for union in relations.unions:
        first, *others = (f"<{names.table_iri(table)}>" for table in union.tables)
        yield first, [(f"<{KGT}unionableWith>", other) for other in others]
        for other in others:
            yield other, [(f"<{KGT}unionableWith>", first)]
        yield f"<{names.table_iri(union.tables[0])}/union>", _union_pairs(union, names)


def stated_relations(store: TripleStore, names: Namespaces) -> TableRelations:
    """The relations that a graph states. Raises `QueryError`, `RemoteStoreError`."""
    joins = [
        JoinableColumns(
            _related(row, "left", names),
            _related(row, "right", names),
            score=_number(row["score"]),
            containment=_number(row["containment"]),
            uniqueness=_number(row["uniqueness"]),
            fuzzy=_number(row["fuzzy"]),
            meaning=0.0,
            matched=int(_number(row["matched"])),
        )
        for row in _rows(store, "joins")
    ]
    unions: dict[str, list[str]] = {}
    scores: dict[str, float] = {}
    for row in _rows(store, "unions"):
        unions.setdefault(row["union"].value, []).append(names.parse_table_iri(row["table"].value) or "")
        scores[row["union"].value] = _number(row["score"])
    return TableRelations(
        joins, (UnionableTables(tuple(tables), (), scores[union]) for union, tables in unions.items())
    )


def _rows(store: TripleStore, name: str) -> Iterator[Any]:
    found = store.query(read_shipped(f"queries/{name}.rq"))
    assert isinstance(found, ox.QuerySolutions)
    return iter(found)


def _number(term: Any) -> float:
    return float(term.value)


def _related(row: Any, side: str, names: Namespaces) -> RelatedColumn:
    name = row[f"{side}Name"]
    table = names.parse_table_iri(row[f"{side}Table"].value) or ""
    return RelatedColumn(table, int(row[f"{side}Column"].value), "" if name is None else name.value)


def _column(column: RelatedColumn, names: Namespaces) -> str:
    return f"<{names.column_iri(column.table, column.column)}>"


def _join_node(join: JoinableColumns, names: Namespaces) -> str:
    left = names.column_iri(join.left.table, join.left.column)
    right = names.column_iri(join.right.table, join.right.column)
    return f"<{left}/join/{right.removeprefix(f'{names.data}table/')}>"


def _join_pairs(join: JoinableColumns, names: Namespaces) -> list[Pair]:
    return [
        (RDF_TYPE, f"<{JOIN}>"),
        (f"<{KGT}referringColumn>", _column(join.left, names)),
        (f"<{KGT}keyColumn>", _column(join.right, names)),
        (f"<{KGT}score>", _decimal(join.score)),
        (f"<{KGT}containment>", _decimal(join.containment)),
        (f"<{KGT}uniqueness>", _decimal(join.uniqueness)),
        (f"<{KGT}fuzzyShare>", _decimal(join.fuzzy)),
        (f"<{KGT}matchedValues>", integer(join.matched)),
    ]


def _union_pairs(union: UnionableTables, names: Namespaces) -> list[Pair]:
    return [
        (RDF_TYPE, f"<{UNION}>"),
        *((f"<{KGT}unionMember>", f"<{names.table_iri(table)}>") for table in union.tables),
        (f"<{KGT}score>", _decimal(union.score)),
    ]


def _decimal(value: float) -> str:
    return typed(f"{value:.3f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.1f}", f"{XSD}decimal")
