"""Where to begin in a graph: subjects of several tables, relations between tables, units, names of columns."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.api import KnowledgeGraph
from kgtable.errors import VocabularyIndexError
from kgtable.graph.table_decoder import text_of
from kgtable.graph.terms import KGT, RDFS
from kgtable.resources import read_shipped
from kgtable.server.frames import Head
from kgtable.server.table_titles import titled
from kgtable.values.units import units

Tell: TypeAlias = Callable[[str, Any], None]

MOST_RELATIONS = 60
"""Joins, and unions, that are shown."""
MOST_UNIT_TABLES = 100
"""Tables that are listed on the page of a unit."""
_PREFIXES = f"PREFIX kgt: <{KGT}> PREFIX rdfs: <{RDFS}>\n"


def landmarks(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Subjects that several tables share, the most shared first; joins and unions of tables, the best first."""
    return {"subjects": _shared_subjects(graph), **_relations(graph)}


@lru_cache(maxsize=2)
def _shared_subjects(graph: KnowledgeGraph) -> list[dict[str, Any]]:
    found = graph.store.query(_PREFIXES + read_shipped("queries/explorer/shared-subjects.rq"))
    assert isinstance(found, ox.QuerySolutions)
    return [
        {
            "iri": str(getattr(row["subject"], "value", "")),
            "label": text_of(row["label"]).lstrip("-–—•· ") or str(getattr(row["subject"], "value", "")),
            "tables": int(getattr(row["tables"], "value", 0)),
        }
        for row in found
    ]


def _relations(graph: KnowledgeGraph) -> dict[str, Any]:
    try:
        relations = graph.relations
    except VocabularyIndexError:
        return {"joins": [], "unions": [], "titles": {}}
    joins = sorted(relations.joins, key=lambda join: (-join.score, str(join.left), str(join.right)))
    unions = sorted(relations.unions, key=lambda union: (-len(union.tables), union.tables))
    shown = joins[:MOST_RELATIONS], unions[:MOST_RELATIONS]
    ids = {end.table for join in shown[0] for end in (join.left, join.right)}
    ids |= {table for union in shown[1] for table in union.tables}
    return {
        "joins": [
            {
                "left": _column(join.left.table, join.left.column, join.left.name),
                "right": _column(join.right.table, join.right.column, join.right.name),
                "score": round(join.score, 3),
                "matched": join.matched,
                "examples": list(join.examples),
                "query": _join_query(graph, join),
            }
            for join in shown[0]
        ],
        "unions": [{"tables": list(union.tables), "score": round(union.score, 3)} for union in shown[1]],
        "titles": {id: _title(graph, id) for id in sorted(ids)},
    }


def _column(table: str, column: int, name: str) -> dict[str, Any]:
    return {"table": table, "column": column, "name": name or f"column {column + 1}"}


def _title(graph: KnowledgeGraph, id: str) -> str:
    return titled(graph, id).title if id in graph.catalogue.tables else id


def _join_query(graph: KnowledgeGraph, join: Any) -> str:
    """A query for the rows of two tables with the same text in the joined columns."""
    parts = []
    for side, end in (("left", join.left), ("right", join.right)):
        fact = next(
            (fact for fact in graph.catalogue.tables[end.table].facts if fact.index == end.column), None
        )
        predicate = graph.names.predicate_iri(fact.predicate) if fact is not None else ""
        table = graph.names.table_iri(end.table)
        parts.append(f"  GRAPH <{table}> {{ ?{side} <{predicate}> ?{side}Value }}\n")
    texts = [
        f"  OPTIONAL {{ ?{side}Value kgt:text ?{side}Printed }}\n"
        f"  BIND(LCASE(STR(COALESCE(?{side}Printed, ?{side}Value))) AS ?{side}Text)\n"
        for side in ("left", "right")
    ]
    body = "".join((*parts, *texts))
    return f"SELECT ?left ?right ?leftText WHERE {{\n{body}  FILTER(?leftText = ?rightText)\n}}\nLIMIT 100"


@lru_cache(maxsize=2)
def column_names(graph: KnowledgeGraph) -> dict[str, str]:
    """What columns are called whose cells hang on a predicate, by its IRI: the most frequent name."""
    names: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in graph.catalogue.facts():
        if fact.name and not fact.name.startswith("["):
            names[graph.names.predicate_iri(fact.predicate)][fact.name] += 1
    return {iri: min(found, key=lambda name: (-found[name], name)) for iri, found in names.items()}


def unit_list(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The units of the graph's numbers, the most used first."""
    return {
        "units": [
            {
                "iri": _unit_iri(graph, name),
                "name": name,
                "label": units()[name].label if name in units() else name,
                "symbol": units()[name].symbol if name in units() else "",
                "cells": sum(cells for _, _, cells in uses),
                "tables": len({table for table, _, _ in uses}),
            }
            for name, uses in sorted(
                _uses(graph).items(), key=lambda item: (-sum(cells for _, _, cells in item[1]), item[0])
            )
        ]
    }


def unit_facts(graph: KnowledgeGraph, iri: str) -> dict[str, Any] | None:
    """What is known of a unit by its IRI: label, symbol, kinds, and the columns that use it; None for none."""
    start = graph.names.prefixes["unit"]
    unit = units().get(iri.removeprefix(start)) if iri.startswith(start) else None
    if unit is None:
        return None
    columns: dict[str, dict[str, Any]] = {}
    for table, column, cells in _uses(graph).get(unit.name, ()):
        entry = columns.setdefault(
            table, {"table": table, "title": _title(graph, table), "columns": [], "cells": 0}
        )
        entry["columns"].append(column)
        entry["cells"] += cells
    used = sorted(columns.values(), key=lambda entry: (-entry["cells"], entry["table"]))
    return {
        "name": unit.name,
        "label": unit.label,
        "symbol": unit.symbol,
        "kinds": list(unit.kinds),
        "currency": unit.currency,
        "cells": sum(entry["cells"] for entry in used),
        "tables": used[:MOST_UNIT_TABLES],
        "tables_total": len(used),
    }


def _unit_iri(graph: KnowledgeGraph, name: str) -> str:
    return f"{graph.names.prefixes['unit']}{name}"


@lru_cache(maxsize=2)
def _uses(graph: KnowledgeGraph) -> dict[str, list[tuple[str, str, int]]]:
    """Table, column name and number of cells for each use of each unit."""
    found: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
    for fact in graph.catalogue.facts():
        for unit, cells in fact.units.items():
            found[unit].append((fact.table, fact.name, cells))
    return dict(found)


def forget_landmarks() -> None:
    """Drop the caches of a graph that is closed."""
    for cached in (_shared_subjects, column_names, _uses):
        cached.cache_clear()
