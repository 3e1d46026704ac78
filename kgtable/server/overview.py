"""Overview of the dataset for the pages: size, tables, predicates, example questions."""

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
    """Size of the graph, example questions and starting points for browsing."""
    tables = graph.catalogue.tables
    rows = sum(record.rows for record in tables.values())
    cells = sum(record.cells for record in tables.values())
    size = f"{len(tables):,} table{'s' if len(tables) != 1 else ''}, {rows:,} rows, {cells:,} cells."
    settings = load_settings()
    model = settings.model if settings.uses_llm else None
    how = (
        f"Answers are made by {model}." if model else "No language model is set: kgtable's own rules answer."
    )
    first = next(iter(tables), None)
    return {
        "tables": len(tables),
        "rows": rows,
        "cells": cells,
        "model": model,
        "summary": f"{size} {how}",
        "questions": list(_questions(graph)),
        "start": None if first is None else graph.names.table_iri(first),
        "base": graph.names.base,
    }


def _questions(graph: KnowledgeGraph, most: int = 3) -> Iterable[str]:
    """Example questions made from the first rows that have a label and a number in a named column."""
    found = 0
    for id, record in graph.catalogue.tables.items():
        if found == most:
            return
        numeric = next((fact for fact in record.facts if fact.units and not fact.name.startswith("[")), None)
        if numeric is None or record.cells > 100_000:
            continue
        label = _first_label(graph, id, numeric)
        if label:
            found += 1
            name = label.lstrip("-–—•· ")
            if numeric.name.isdigit():
                yield f"What is {name} in {numeric.name}?"
            else:
                yield f"What is the {numeric.name} of {name}?"


def _first_label(graph: KnowledgeGraph, id: str, fact: ColumnFact) -> str | None:
    iri = ox.NamedNode(graph.names.predicate_iri(fact.predicate))
    table = ox.NamedNode(graph.names.table_iri(id))
    found = graph.store.query(
        read_shipped("queries/explorer/first-label.rq"), bindings={"table": table, "predicate": iri}
    )
    assert isinstance(found, ox.QuerySolutions)
    labels = [row["label"] for row in found]
    return str(getattr(labels[0], "value", "")) if labels else None


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


def tables(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Tables that match all words of `q`, best matches first, from `offset` on."""
    records = list(graph.catalogue.tables.values())
    words = job["q"].lower().split()
    if words:
        scored = [(score, place) for place, record in enumerate(records) if (score := _score(record, words))]
        records = [records[place] for _, place in sorted(scored, key=lambda pair: (-pair[0], pair[1]))]
    shown = records[job["offset"] : job["offset"] + job["limit"]]
    return {"total": len(records), "tables": [_table(record) for record in shown]}


def _score(record: TableRecord, words: Iterable[str]) -> int:
    """How well a table matches the words: title words weigh most; 0 if a word occurs nowhere."""
    title = f"{record.title} {record.id}".lower()
    columns = " ".join(fact.name for fact in record.facts).lower()
    score = 0
    for word in words:
        points = 4 * (word in title) + 2 * (word in record.path.lower()) + (word in columns)
        if not points:
            return 0
        score += points
    return score


def _table(record: TableRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "title": record.title or record.id,
        "file": record.path,
        "sheet": record.sheet,
        "rows": record.rows,
        "width": record.width,
        "cells": record.cells,
        "columns": [fact.name[:80] for fact in record.facts[:20]],
    }


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
