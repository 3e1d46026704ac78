"""Overview of the dataset for the pages: size, predicates, classes, units, example queries, and where to begin.

Places to begin are subjects of several tables, relations between tables, units, and names of columns.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import lru_cache
from string import Template
from typing import Any

import pyoxigraph as ox

from kgtable.building.description import examples
from kgtable.config import load_settings
from kgtable.errors import VocabularyIndexError
from kgtable.graph.document_statements import document_ids
from kgtable.graph.table_decoder import text_of
from kgtable.graph.terms import KGT, RDFS
from kgtable.index.inferred.relations import JoinableColumns, TableRelations
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.ontology.column_stats import ColumnFact
from kgtable.ontology.inferred_names import is_missing_header
from kgtable.resources import read_shipped
from kgtable.server.state import WIDELY_USED
from kgtable.server.views.table_list import titled
from kgtable.server.workers.messages import Head, Tell
from kgtable.values.spoken import unit_name, unit_symbol
from kgtable.values.units import units

SHOWN_TABLES = 12
"""Tables listed next to a predicate."""


def info(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Size of the graph, the model that answers, and where to start browsing."""
    tables = graph.catalogue.tables
    rows = sum(record.members for record in tables.values())
    cells = sum(record.cells for record in tables.values())
    size = f"{len(tables):,} table{'s' if len(tables) != 1 else ''}, {rows:,} rows, {cells:,} cells."
    settings = load_settings()
    model = settings.model if settings.uses_llm else None
    how = f"Answered by {model}." if model else "Answered by kgtable's own rules, without a language model."
    first = next(iter(tables), None)
    return {
        "tables": len(tables),
        "rows": rows,
        "cells": cells,
        "documents": len(document_ids(graph.store, graph.names)),
        "model": model,
        "summary": f"{size} {how}",
        "start": None if first is None else graph.names.table_iri(first),
        "base": graph.names.base,
    }


def dataset(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Prefixes, example queries and IRIs to complete with their uses, for the query editor."""
    units = sorted({f"{graph.names.prefixes['unit']}{unit}" for fact in graph.catalogue.facts() for unit in fact.units})
    return {
        "prefixes": dict(sorted({**WIDELY_USED, **graph.names.prefixes}.items())),
        "examples": [
            {"name": example.name, "title": example.title, "comment": example.comment, "query": example.query}
            for example in (*examples(), *(examples("similarity") if _has_vectors(graph) else ()))
        ],
        "properties": sorted(_uses_of(graph, "predicates")),
        "classes": sorted(_uses_of(graph, "classes")),
        "uses": {**_uses_of(graph, "predicates"), **_uses_of(graph, "classes")},
        "units": units,
    }


def _has_vectors(graph: KnowledgeGraph) -> bool:
    try:
        return graph.endpoint is None and graph.index.embedding != "none"
    except VocabularyIndexError:
        return False


@lru_cache(maxsize=4)
def _uses_of(graph: KnowledgeGraph, name: str) -> Counter[str]:
    """How often the predicates or classes of all tables are used, by IRI."""
    used: Counter[str] = Counter()
    for record in graph.catalogue.tables.values():
        counts = record.tally.get(name)
        used.update(counts if isinstance(counts, dict) else {})
    return used


def ontology(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Generated predicates that match `q`, the most used first, from `offset` on."""
    entries = _predicates(graph)
    words = job["q"].lower().split()
    if words:
        entries = tuple(entry for entry in entries if all(word in entry["text"] for word in words))
    shown = entries[job["offset"] : job["offset"] + job["limit"]]
    rows = [{name: value for name, value in entry.items() if name != "text"} for entry in shown]
    return {"total": len(entries), "predicates": rows}


@lru_cache(maxsize=2)
def _predicates(graph: KnowledgeGraph) -> tuple[dict[str, Any], ...]:
    grouped: dict[str, list[ColumnFact]] = {}
    for fact in graph.catalogue.facts():
        grouped.setdefault(fact.predicate, []).append(fact)
    entries = [_predicate(graph, name, facts) for name, facts in grouped.items()]
    return tuple(sorted(entries, key=lambda entry: (-entry["tables_total"], _counting(entry["name"]), entry["name"])))


def _counting(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts numbers in a name by their value: ``Day9`` precedes ``Day10``."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name[:200])
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts)


def _predicate(graph: KnowledgeGraph, name: str, facts: list[ColumnFact]) -> dict[str, Any]:
    ranges: Counter[str] = Counter()
    units: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for fact in facts:
        ranges.update(fact.ranges)
        units.update(fact.units)
        names[fact.name] += 1
    ids = list(dict.fromkeys(fact.table for fact in facts))
    spellings = [text for text, _ in names.most_common(8)]
    return {
        "iri": graph.names.predicate_iri(name),
        "name": name,
        "label": spellings[0],
        "names": spellings,
        "cells": ranges.total(),
        "ranges": [{"name": iri.rpartition("#")[2].rpartition("/")[2], "cells": n} for iri, n in ranges.most_common(6)],
        "units": [{"name": unit, "cells": n} for unit, n in units.most_common(12)],
        "tables": ids[:SHOWN_TABLES],
        "tables_total": len(ids),
        "text": f"{name} {' '.join(names)}".lower(),
    }


def classes(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Classes of the dataset and their numbers of entities, from the dataset's own description."""
    found = graph.store.query(read_shipped("queries/explorer/classes.rq"))
    assert isinstance(found, ox.QuerySolutions)
    comments = _vocabulary()
    rows = []
    for row in found:
        iri = str(getattr(row["class"], "value", ""))
        entities = int(getattr(row["entities"], "value", 0))
        name = iri.rpartition("#")[2].rpartition("/")[2]
        rows.append({"iri": iri, "name": name, "comment": comments.get(iri, ""), "entities": entities})
    return {"classes": rows}


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, str]:
    """The core vocabulary's comment on each of its terms."""
    store = ox.Store()
    store.load(read_shipped("ontologies/kgtable.ttl"), ox.RdfFormat.TURTLE)
    comment = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#comment")
    quads = store.quads_for_pattern(None, comment, None)
    return {str(getattr(quad.subject, "value", "")): str(getattr(quad.object, "value", "")) for quad in quads}


MOST_RELATIONS = 60
"""Joins, and unions, that are shown."""
MOST_UNIT_TABLES = 100
"""Maximum tables listed on the page of a unit."""
_NO_UNITS = {"UNITLESS": "plain number", "NUM": "count"}

_PREFIXES = f"PREFIX kgt: <{KGT}> PREFIX rdfs: <{RDFS}>\n"


def landmarks(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Subjects that several tables share, the most shared first; joins and unions of tables, the best first; and the
    map of the tables."""
    try:
        relations = graph.relations
    except VocabularyIndexError:
        relations = TableRelations()
    return {"subjects": _shared_subjects(graph), **_shown(graph, relations), "map": _map(graph, relations)}


MAP_TABLES, MAP_MEMBERS = 200, 50
"""Tables on the map of a graph: of more, their documents, folders or topics are, with so many tables listed of each."""
SMALL_MAP, MAP_COLUMNS = 8, 12
"""Maximum tables whose columns are also on the map, and the columns of each."""


def _map(graph: KnowledgeGraph, relations: TableRelations) -> dict[str, Any]:
    """Nodes of tables, or of groups of many tables, and how their values relate them."""
    tables = graph.catalogue.tables
    if len(tables) <= MAP_TABLES:
        place = {id: graph.names.table_iri(id) for id in tables}
        nodes = [{"id": place[id], "label": _title(graph, id), "kind": "table", "table": id} for id in tables]
    else:
        named = _groups(graph)
        place = {id: f"group:{name}" for id, name in named.items()}
        nodes = [
            _group(graph, name, [id for id, other in named.items() if other == name])
            for name in dict.fromkeys(named.values())
        ]
    said: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for join in relations.joins:
        ends = place.get(join.left.table), place.get(join.right.table)
        if ends[0] and ends[1] and ends[0] != ends[1]:
            names = (_column(end.table, end.column, end.name)["name"] for end in (join.left, join.right))
            said[ends[0], ends[1], "join"][" = ".join(dict.fromkeys(names))] = None
    for union in relations.unions:
        first, *others = (place[id] for id in union.tables if id in place)
        said.update({(first, other, "union"): {"parts of one": None} for other in others if other != first})
    edges = [
        {"source": source, "target": target, "label": "; ".join(labels), "kind": kind}
        for (source, target, kind), labels in said.items()
    ]
    if len(tables) <= SMALL_MAP:
        columns, held = _map_columns(graph, relations)
        nodes, edges = nodes + columns, edges + held
    return {"nodes": nodes, "edges": edges, "tables": len(tables)}


def _group(graph: KnowledgeGraph, name: str, ids: list[str]) -> dict[str, Any]:
    shown = [{"id": id, "title": _title(graph, id)} for id in ids[:MAP_MEMBERS]]
    label = f"{name} ({len(ids):,}\N{NO-BREAK SPACE}table{'' if len(ids) == 1 else 's'})"
    return {"id": f"group:{name}", "label": label, "kind": "group", "table": "", "members": shown}


def _groups(graph: KnowledgeGraph) -> dict[str, str]:
    """The group of each table: its document, its folder, or else the most common column that it has."""
    tables = graph.catalogue.tables
    for parts in (None, -1):
        found = {id: "/".join(record.path.split("/")[:parts]) for id, record in tables.items()}
        if 1 < len(set(found.values())) <= MAP_TABLES:
            return found
    uses = Counter(name for record in tables.values() for name in {fact.predicate for fact in record.facts})
    labels = column_names(graph)
    found = {}
    for id, record in tables.items():
        named = (fact.predicate for fact in record.facts if not is_missing_header(fact.name))
        name = max(named, key=lambda name: (uses[name], name), default="")
        found[id] = labels.get(graph.names.predicate_iri(name), name) or "Other"
    most = {name for name, size in Counter(found.values()).most_common(MAP_TABLES - 1) if size > 1}
    return {id: name if name in most else "Other" for id, name in found.items()}


def _map_columns(graph: KnowledgeGraph, relations: TableRelations) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The columns of the tables as nodes; those of one predicate are one where their values join the tables."""
    joined = {
        (end.table, end.column)
        for join in relations.joins
        if join.left.name == join.right.name
        for end in (join.left, join.right)
    }
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[dict[str, str]] = []
    for id, record in graph.catalogue.tables.items():
        for fact in record.facts[:MAP_COLUMNS]:
            if is_missing_header(fact.name):
                continue
            own, shared = graph.names.column_iri(id, fact.index), graph.names.predicate_iri(fact.predicate)
            iri = shared if (id, fact.index) in joined else own
            nodes[iri] = {"id": iri, "label": fact.name, "kind": "predicate", "table": ""}
            edges.append({"source": graph.names.table_iri(id), "target": iri, "label": "", "kind": "column"})
    return list(nodes.values()), edges


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


def _shown(graph: KnowledgeGraph, relations: TableRelations) -> dict[str, Any]:
    """The best joins and unions."""
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
                "fuzzy": join.fuzzy,
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


def _join_query(graph: KnowledgeGraph, join: JoinableColumns) -> str:
    """A query for the rows of two tables with the same text in the joined columns."""
    named = {}
    for side, end in (("left", join.left), ("right", join.right)):
        facts = graph.catalogue.tables[end.table].facts
        predicate = next((fact.predicate for fact in facts if fact.index == end.column), "")
        named[side] = graph.names.table_iri(end.table)
        named[f"{side}_predicate"] = graph.names.predicate_iri(predicate) if predicate else ""
    return Template(read_shipped("queries/explorer/join.rq")).substitute(named)


@lru_cache(maxsize=2)
def column_names(graph: KnowledgeGraph) -> dict[str, str]:
    """The most frequent column name of each predicate, by its IRI."""
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
                "label": _unit_label(name),
                "symbol": unit_symbol(name),
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
        entry = columns.setdefault(table, {"table": table, "title": _title(graph, table), "columns": [], "cells": 0})
        entry["columns"].append(column)
        entry["cells"] += cells
    used = sorted(columns.values(), key=lambda entry: (-entry["cells"], entry["table"]))
    return {
        "name": unit.name,
        "label": _unit_label(unit.name),
        "symbol": unit_symbol(unit.name),
        "kinds": list(unit.kinds),
        "currency": unit.currency,
        "cells": sum(entry["cells"] for entry in used),
        "tables": used[:MOST_UNIT_TABLES],
        "tables_total": len(used),
    }


def _unit_label(name: str) -> str:
    """A unit's name as people say it, as a heading: QUDT's own for US dollars is "Us Dollar"."""
    said = _NO_UNITS.get(name) or unit_name(name)
    return said[:1].upper() + said[1:]


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


def forget() -> None:
    """Drop the caches of a graph that is closed."""
    for cached in (_predicates, _shared_subjects, column_names, _uses, _uses_of):
        cached.cache_clear()
