"""The list of tables on the pages, and the display name of each table.

The list is searched in titles, columns and cells, narrowed by unit, kind and folder, and sorted. A table without a
title is called by what its context and its columns say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kgtable.building.catalogue import TableRecord
from kgtable.errors import KgtableError
from kgtable.index.graph_index import GraphIndex
from kgtable.index.substring import folded
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.ontology.column_stats import QUANTITY, clean_text
from kgtable.server.workers.messages import Head
from kgtable.tables.discovery import FORMATS
from kgtable.tables.model import Table
from kgtable.values.spoken import unit_name, unit_symbol

LONGEST_TITLE = 90
SHORT_SHEET = 8
"""Maximum letters of a sheet's name that needs its file's name to identify a table."""
_NAMED_COLUMNS = 4

_OPAQUE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{18,}|[0-9a-f]{16,}|[\d_.\- ]+|(?:[a-z]{1,5}[-_ ]?)?(?!(?:19|20)\d\d$)\d{2,}(?:[-_]\w{1,3})?"
    r"|\S+\.(?:pdf|html?|xlsx?|csv|docx?|txt)",
    re.IGNORECASE,
)
"""Names that say nothing to a reader: UUIDs, digests, running numbers, file names."""

_SENTENCE = re.compile(r"(?<=[a-z0-9)]{3}[.!?:])\s+(?=[A-Z])")
_NUMBERED = re.compile(r"^(?:(?:note|table)?\s*\d+(?:\.\d+)*[.:)]\s+)", re.IGNORECASE)


class TableTitle(NamedTuple):
    """A table's title, and the headings that say more exactly what it holds."""

    title: str
    subtitle: str = ""


def titled(graph: KnowledgeGraph, id: str) -> TableTitle:
    """The title of a table of the graph: its own, its caption's, its headings', its file's or its columns'."""
    return _titled(graph, id)


@lru_cache(maxsize=4_096)
def _titled(graph: KnowledgeGraph, id: str) -> TableTitle:
    record = graph.catalogue.tables[id]
    table = graph.reader.frame(id).table
    texts = [_short(text) for text in _texts(record, table)]
    known = list(dict.fromkeys(text for text in texts if text and not _OPAQUE.fullmatch(text)))
    if not known:
        known = [_by_columns(table) or id]
    headings = [_short(text) for text in table.context.heading]
    more = [text for text in dict.fromkeys(headings) if text and text != known[0]]
    return TableTitle(known[0], " › ".join(more))


def _texts(record: TableRecord, table: Table) -> list[str]:
    """What may be the title, the likeliest first."""
    context, rows = table.context, table.grid.head
    above = [next(filter(str.strip, rows[row]), "") for row in table.structure.titles[:3] if row < len(rows)]
    stem = record.path.rpartition("/")[2].rpartition(".")[0] or record.path
    around = [*context.paragraphs[:1], *context.before[-1:]]
    named = record.title if record.title != record.id else ""
    sheet = ""
    if record.sheet and named in ("", record.sheet) and len(record.sheet) <= SHORT_SHEET:
        sheet = f"{spaced(stem) or stem} – {record.sheet}"
    return [sheet, named, context.caption, *above, *reversed(context.heading), spaced(stem), *around]


def spaced(stem: str) -> str:
    """A file's name as words: ``bakery-orders`` is "Bakery orders"."""
    if _OPAQUE.fullmatch(stem):
        return ""
    words = " ".join(re.split(r"[-_\s]+", stem)).strip()
    return words[:1].upper() + words[1:]


def _short(text: str) -> str:
    """The first sentence on one line, without a number in front, cut where it is long."""
    plain = clean_text(text)
    first = _SENTENCE.split(plain)[0] if len(plain) > LONGEST_TITLE else plain
    first = _NUMBERED.sub("", first) or first
    if len(first) > LONGEST_TITLE:
        first = f"{first[:LONGEST_TITLE].rpartition(' ')[0]}…"
    return first.strip()


def _by_columns(table: Table) -> str:
    names = dict.fromkeys(clean_text(column.name) for column in table.columns)
    told = [name for name in names if name][:_NAMED_COLUMNS]
    return _short(" · ".join(told))


Hits: TypeAlias = Mapping[str, Sequence[tuple[int, int, str]]]
"""By table, cells that contain the searched words: row, column and text."""

MOST_HITS = 3
"""Cells shown of each table that contains the words."""
MOST_CELLS_FOUND = 50_000
MOST_FACETS = 60
LONGEST_HIT = 160

_LABELS = {kind.media_type: kind.label for kind in FORMATS.values()}


def tables(graph: KnowledgeGraph, job: Head, tell: Any) -> dict[str, Any]:
    """Tables that match all words of `q` and the facets, from `offset` on, and what narrows them further.

    A table matches by its title, file and columns, or by a cell that holds the words as they are. `sort`
    names a column of the list; without it the best matches come first. Each facet counts the tables that
    the others leave.
    """
    records = list(graph.catalogue.tables.values())
    words = job["q"].lower().split()
    hits: Hits = cells_holding(graph, job["q"]) if words else {}
    if words:
        scores = [_score(graph, record, words, hits) for record in records]
        ranked = sorted(range(len(records)), key=lambda place: -scores[place])
        records = [records[place] for place in ranked if scores[place]]
    chosen = {name: job[name] for name in _FACETS if job.get(name)}
    facets = {name: _counted(_narrowed(records, chosen, but=name), name) for name in _FACETS}
    records = list(_narrowed(records, chosen))
    if job.get("sort"):
        records.sort(key=lambda record: _SORTS[job["sort"]](graph, record), reverse=bool(job.get("descending")))
    shown = records[job["offset"] : job["offset"] + job["limit"]]
    return {
        "total": len(records),
        "tables": [_listed(graph, record, hits.get(record.id, ())) for record in shown],
        "facets": facets,
    }


def cells_holding(graph: KnowledgeGraph, text: str) -> Hits:
    """By table, the first cells that hold a text, found in the graph's index; none if it has none."""
    index = graph_index(graph)
    label = folded(text)
    if index is None or len(label) < 2:
        return {}
    corpus = index.corpus
    cells = np.unique(corpus.text_cells.of(index.lexical.containing([label])))[:MOST_CELLS_FOUND]
    rows = corpus.places.cell_row[cells]
    kept: dict[str, list[int]] = {}
    for cell, table in zip(cells.tolist(), corpus.places.row_table[rows].tolist(), strict=True):
        of_table = kept.setdefault(corpus.table_ids[table], [])
        if len(of_table) < MOST_HITS:
            of_table.append(cell)
    return {id: _Cells(corpus, found) for id, found in kept.items()}


class _Cells(Sequence[tuple[int, int, str]]):
    """Cells of the index, read when they are looked at."""

    def __init__(self, corpus: Any, cells: Sequence[int]) -> None:
        self._corpus, self._cells = corpus, cells

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, place: Any) -> Any:
        return list(self)[place]

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        places = self._corpus.places
        cells = np.array(self._cells, dtype=np.int64)
        for cell, found in zip(self._cells, self._corpus.found(cells), strict=True):
            row = int(places.row_number[places.cell_row[cell]])
            yield row, int(places.column_number[places.cell_column[cell]]), found.content.text[:LONGEST_HIT]


def _score(graph: KnowledgeGraph, record: TableRecord, words: Iterable[str], hits: Hits) -> int:
    """How well a table matches the words: title words weigh most; 0 if neither names nor cells have them."""
    title = f"{record.title} {record.id} {titled(graph, record.id).title if not record.title else ''}".lower()
    columns = " ".join(fact.name for fact in record.facts).lower()
    score = 0
    for word in words:
        points = 4 * (word in title) + 2 * (word in record.path.lower()) + (word in columns)
        if not points:
            return int(record.id in hits)
        score += points
    return score + 1


def _units(record: TableRecord) -> list[str]:
    named = (unit for fact in record.facts for unit in fact.units)
    return list(dict.fromkeys(unit for unit in named if unit_symbol(unit)))


def _kinds(record: TableRecord) -> list[str]:
    """What its columns hold, and the form of its file."""
    ranges = {iri for fact in record.facts for iri in fact.ranges}
    kinds = [_LABELS.get(record.media_type, record.media_type.rpartition("/")[2])]
    kinds += ["Numbers with units"] if _units(record) else ["Numbers"] if QUANTITY in ranges else []
    kinds += ["Dates"] if any(iri.endswith(("#date", "#gYearMonth", "#dateTime")) for iri in ranges) else []
    return kinds


def _folders(record: TableRecord) -> list[str]:
    folder = record.path.rpartition("/")[0]
    return [folder] if folder else []


_FACETS: Mapping[str, Callable[[TableRecord], list[str]]] = {"unit": _units, "kind": _kinds, "folder": _folders}
"""The values of a table for each of `LIST_FACETS`."""


def _narrowed(records: Iterable[TableRecord], chosen: Mapping[str, str], but: str = "") -> Iterator[TableRecord]:
    wanted = [(_FACETS[name], value) for name, value in chosen.items() if name != but]
    return (record for record in records if all(value in read(record) for read, value in wanted))


def _counted(records: Iterable[TableRecord], name: str) -> list[dict[str, Any]]:
    """The values of a facet, the most frequent first, with a name for people."""
    counts = Counter(value for record in records for value in _FACETS[name](record))
    frequent = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_FACETS]
    label = _unit_label if name == "unit" else str
    return [{"value": value, "label": label(value), "tables": count} for value, count in frequent]


def _unit_label(unit: str) -> str:
    name, symbol = unit_name(unit, plural=True), unit_symbol(unit)
    return name if symbol in (name, "") else f"{name} ({symbol})"


def _by_title(graph: KnowledgeGraph, record: TableRecord) -> Any:
    return titled(graph, record.id).title.casefold(), record.id


_SORTS: Mapping[str, Callable[[KnowledgeGraph, TableRecord], Any]] = {
    "title": _by_title,
    "file": lambda graph, record: (record.path.casefold(), record.number),
    "rows": lambda graph, record: (record.members, record.id),
    "columns": lambda graph, record: (record.width, record.id),
}


def _listed(graph: KnowledgeGraph, record: TableRecord, hits: Iterable[tuple[int, int, str]]) -> dict[str, Any]:
    name = titled(graph, record.id)
    return {
        "id": record.id,
        "title": name.title,
        "subtitle": name.subtitle,
        "file": record.path,
        "sheet": record.sheet,
        "rows": record.members,
        "width": record.width,
        "cells": record.cells,
        "columns": [fact.name[:80] for fact in record.facts[:20] if not fact.name.startswith("[")],
        "units": [unit_symbol(unit) for unit in _units(record)[:6]],
        "hits": [{"row": row, "column": column, "text": text} for row, column, text in hits],
    }


def graph_index(graph: KnowledgeGraph) -> GraphIndex | None:
    """The index of a graph on this disk; None if there is none."""
    if graph.endpoint is not None:
        return None
    try:
        return graph.index
    except (KgtableError, OSError):  # a graph that was written without one
        return None


def forget_tables() -> None:
    """Drop the caches of a graph that is closed."""
    _titled.cache_clear()
