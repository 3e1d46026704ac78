"""Overview of the dataset for the pages: size, predicates, classes, example queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.api import KnowledgeGraph
from kgtable.building.catalogue import TableRecord
from kgtable.building.description import examples
from kgtable.config import load_settings
from kgtable.ontology.column_stats import ColumnFact
from kgtable.resources import read_shipped
from kgtable.server.frames import Head
from kgtable.server.state import WIDELY_USED

Tell: TypeAlias = Callable[[str, Any], None]

SHOWN_TABLES = 12
"""Tables listed beside a predicate."""


def info(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Size of the graph, the model that answers, and where to start browsing."""
    tables = graph.catalogue.tables
    rows = sum(record.rows for record in tables.values())
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
        "model": model,
        "summary": f"{size} {how}",
        "start": None if first is None else graph.names.table_iri(first),
        "base": graph.names.base,
    }


def dataset(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Prefixes, example queries and IRIs to complete, for the query editor."""
    predicates = sorted({graph.names.predicate_iri(fact.predicate) for fact in graph.catalogue.facts()})
    fixed = sorted(
        {iri for record in graph.catalogue.tables.values() for iri in _counted(record, "predicates")}
    )
    classes = sorted(
        {iri for record in graph.catalogue.tables.values() for iri in _counted(record, "classes")}
    )
    units = sorted(
        {f"{graph.names.prefixes['unit']}{unit}" for fact in graph.catalogue.facts() for unit in fact.units}
    )
    return {
        "prefixes": dict(sorted({**WIDELY_USED, **graph.names.prefixes}.items())),
        "examples": [
            {"name": example.name, "title": example.title, "comment": example.comment, "query": example.query}
            for example in examples()
        ],
        "properties": sorted({*predicates, *fixed}),
        "classes": classes,
        "units": units,
    }


def _counted(record: TableRecord, name: str) -> Iterable[str]:
    counts = record.tally.get(name, {})
    return counts if isinstance(counts, dict) else ()


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
    return tuple(sorted(entries, key=lambda entry: (-entry["tables_total"], entry["name"])))


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
        "ranges": [
            {"name": iri.rpartition("#")[2].rpartition("/")[2], "cells": n}
            for iri, n in ranges.most_common(6)
        ],
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


def forget() -> None:
    """Drop the caches of a graph that is closed."""
    _predicates.cache_clear()
