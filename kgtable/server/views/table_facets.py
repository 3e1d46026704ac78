"""Facets of a table: the values of its categories and flags, the years of its times, and how many rows have each.

A condition is a column with one of its values, or for times that differ a lot with a year.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.index.postings import BoolArray, IntArray
from kgtable.index.substring import folded
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views.table_columns import IndexedColumns, columns_of, members
from kgtable.server.workers.messages import Head, Tell
from kgtable.tables.model import Role
from kgtable.values.periods import find_period

Conditions: TypeAlias = tuple[tuple[int, str], ...]

FACETED = (Role.CATEGORY, Role.FLAG, Role.TIME)
MOST_FACETS = 6
MOST_SHOWN = 10
"""Values of a facet, the most frequent ones, or the last years."""
MOST_TEXTS = 20_000
"""Maximum distinct texts of a column that are read."""
MOST_SPREADS = 12
BARS = 12
FEWEST_NUMBERS = 8
GREATEST = Decimal("1e300")
LONGEST = 50_000
"""Maximum rows of a table whose numbers are read for a picture."""
MOST_DIFFERENT = 200
"""Maximum distinct values of a facet; times within a year count as one."""


@dataclass(frozen=True, slots=True)
class FacetColumn:
    """The values of a column, and for each row of the table the place of its value among them, -1 for none."""

    values: tuple[str, ...]
    codes: IntArray


def facets(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The facets of a table, each counted among the rows that hold the text `find` and fulfil the other conditions.

    With them come the `spreads` of its measures: how many numbers of the rows that are left lie in each twelfth between
    the minimum and the maximum, or are each of a few whole numbers. There are none if the graph
    has no index, or one older than its statements. Raises `GraphNotFoundError` if there is no such table.
    """
    id, where = job["id"], conditions(job)
    frame = graph.reader.frame(id)
    columns = columns_of(graph, id)
    if not isinstance(columns, IndexedColumns):
        return {"facets": [], "spreads": []}
    shown = members(graph, id)
    if job["find"]:
        shown = shown & _mask(list(columns.holding(job["find"])), len(shown))
    found: list[dict[str, Any]] = []
    for column in frame.table.columns:
        if column.meaning is None or column.meaning.role not in FACETED or len(found) == MOST_FACETS:
            continue
        facet = facet_column(graph, id, column.index)
        if not 1 < len(facet.values) <= MOST_DIFFERENT:
            continue
        others = tuple(one for one in where if one[0] != column.index)
        codes = facet.codes[shown & fulfilling(graph, id, others)]
        counts = np.bincount(codes[codes >= 0], minlength=len(facet.values)).tolist()
        chosen = next((value for at, value in where if at == column.index), "")
        is_time = column.meaning.role is Role.TIME
        values = [(value, count) for value, count in zip(facet.values, counts, strict=True) if count or value == chosen]
        values.sort(key=lambda pair: pair[0] if is_time else (-pair[1], pair[0]), reverse=is_time)
        found.append({
            "column": column.index,
            "title": column.name,
            "chosen": chosen,
            "values": [{"value": value, "rows": count} for value, count in values[:MOST_SHOWN]],
            "more": max(len(values) - MOST_SHOWN, 0),
        })  # fmt: skip
    return {"facets": found, "spreads": list(_spreads(graph, id, shown & fulfilling(graph, id, where)))}


def _spreads(graph: KnowledgeGraph, id: str, shown: BoolArray) -> Iterator[dict[str, Any]]:
    if len(shown) > LONGEST:
        return
    facts = graph.catalogue.tables[id].facts
    measures = [fact for fact in facts if fact.meaning is not None and fact.meaning.role is Role.MEASURE]
    measures = [fact for fact in measures if len(fact.units) <= 1]  # numbers of one unit lie on one scale
    held = members(graph, id)
    for column in measures[:MOST_SPREADS]:
        numbers = column_numbers(graph, id, column.index)
        own = numbers[held & np.isfinite(numbers)]
        left = numbers[shown & np.isfinite(numbers)]
        if len(own) < FEWEST_NUMBERS or own.min() == own.max() or not len(left):
            continue
        low, high, bars = own.min(), own.max(), BARS
        if high - low < BARS and not np.mod(own, 1).any():
            low, high, bars = low - 0.5, high + 0.5, int(high - low) + 1
        counts = np.histogram(left, bins=bars, range=(low, high))[0].tolist()
        ends = {"low": f"{left.min():.12g}", "high": f"{left.max():.12g}"}
        yield {"column": column.index, **ends, "rows": len(left), "counts": counts}


@lru_cache(maxsize=32)
def column_numbers(graph: KnowledgeGraph, id: str, column: int) -> npt.NDArray[np.float64]:
    """For each row of a table the number in a column, with unit and scale applied; NaN if there is none."""
    numbers = np.full(graph.catalogue.tables[id].rows, np.nan)
    for row, (kind, number, _) in columns_of(graph, id).keys(column).items():
        if kind == 0 and abs(number) < GREATEST:
            numbers[row] = float(number)
    return numbers


def conditions(job: Head) -> Conditions:
    """The conditions that a job brings."""
    return tuple((int(column), str(value)) for column, value in job.get("where", ()))


def fulfilling(graph: KnowledgeGraph, id: str, where: Conditions) -> BoolArray:
    """For each row of a table, whether it meets all the conditions; no row does if a column is not a facet."""
    held = np.ones(graph.catalogue.tables[id].rows, dtype=np.bool_)
    for column, value in where:
        facet = facet_column(graph, id, column)
        held &= facet.codes == facet.values.index(value) if value in facet.values else False
    return held


@lru_cache(maxsize=32)
def facet_column(graph: KnowledgeGraph, id: str, column: int) -> FacetColumn:
    """The values of a column of a table in the index; none for a column that is not a facet, or of another table."""
    columns, record = columns_of(graph, id), graph.catalogue.tables[id]
    meaning = graph.reader.frame(id).table.columns[column].meaning if column < record.width else None
    read = None
    if isinstance(columns, IndexedColumns) and meaning is not None and meaning.role in FACETED:
        read = columns.texts(column, MOST_TEXTS)
    if meaning is None or read is None:
        return FacetColumn((), np.full(record.rows, -1, dtype=np.int32))
    rows, texts, numbers = read
    if meaning.role is Role.TIME and len(texts) > MOST_SHOWN:
        texts = [_year(text) for text in texts]
    place: dict[str, int] = {}
    for text in texts:
        if text.strip():
            place.setdefault(folded(text), len(place))
    shown = dict.fromkeys(place, "")
    for text in texts:
        if text.strip() and not shown[folded(text)]:
            shown[folded(text)] = text.strip()
    code_of = np.array([place.get(folded(text), -1) for text in texts] or [-1], dtype=np.int32)
    codes = np.full(record.rows, -1, dtype=np.int32)
    codes[rows] = code_of[numbers]
    return FacetColumn(tuple(shown.values()), codes)


def _year(text: str) -> str:
    found = find_period(text)
    year = str(found).rpartition("/")[2][:4] if found is not None else ""
    return year if year.isdecimal() else ""


def _mask(rows: Sequence[int], size: int) -> BoolArray:
    held = np.zeros(size, dtype=np.bool_)
    held[[row for row in rows if row < size]] = True
    return held


def forget_facets() -> None:
    """Drop the caches of a graph that is closed."""
    facet_column.cache_clear()
    column_numbers.cache_clear()
