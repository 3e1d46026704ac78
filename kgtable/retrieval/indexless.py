"""The method `hybrid` for a graph without an index: the best tables by ``CONTAINS`` are indexed for the question."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from math import log
from pathlib import Path
from typing import Any

from kgtable.graph.store import TripleStore
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.index.graph_index import GraphIndex, write_index
from kgtable.retrieval.candidates_query import containing_cells
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.labels import plain_labels, question_labels
from kgtable.retrieval.result import UNGUIDED, Clock, Guide, Retrieval

ROWS_READ = 2_000
"""Rows of a large table that are fetched and scored, those with the rarest labels first."""

TABLES_READ = 30
"""Tables that are fetched and scored, those with the rarest labels first."""

MOST_LABELS = 8
"""Labels searched for: each is compared with every text of the graph, and engines bound the time of a query."""


class IndexlessRetriever:
    """The thesis's substring search by SPARQL on any engine; the best tables are indexed for the question.

    There are no vectors, so nothing is expanded. With a model it names the labels and orders tables.
    """

    name = "hybrid"

    def __init__(self, store: TripleStore, names: Namespaces) -> None:
        self._store, self._names = store, names

    def retrieve(self, question: str, k: int, guide: Guide = UNGUIDED) -> Retrieval:
        """At most `k` triples of the tables that labels of the question lead to, the best first.

        Raises the errors of the engine's queries, and a leaf of `LLMError`.
        """
        clock, trace = Clock(), dict[str, Any]()
        with clock("labels"):
            labels = question_labels(question, guide.llm, plain_labels, trace)
        trace["labels"] = labels
        tables: Sequence[str]
        found: Mapping[str, Set[CellAddress]] = {}
        if guide.tables is None:
            with clock("contains"):
                found = containing_cells(labels[:MOST_LABELS], self._store, self._names)
            trace["contains"] = {label: len(cells) for label, cells in found.items()}
            tables = likeliest(found)
        else:
            tables = guide.tables
        if not tables:
            return Retrieval(question, (), (), clock.times, self.name, trace)
        with tempfile.TemporaryDirectory(prefix="kgtable-") as folder:
            with clock("tables"):
                index = self._index(tables, found, Path(folder))
            hybrid = HybridRetriever(self._store, self._names, index, from_index=True)
            return hybrid.retrieve_labelled(question, labels, k, guide, clock, trace)

    def _index(self, tables: Iterable[str], found: Mapping[str, Set[CellAddress]], folder: Path) -> GraphIndex:
        reader = TableReader(self._store, self._names)
        contents = (reader.content(id, likeliest_rows(id, found) if found else None) for id in tables)
        write_index(contents, folder)
        return GraphIndex(folder)


def likeliest(found: Mapping[str, Set[CellAddress]], count: int = TABLES_READ) -> list[str]:
    """The ids of at most `count` tables by the labels found in them; a label in few tables counts most."""
    tables = {label: {cell.table for cell in cells} for label, cells in found.items()}
    everywhere = len(set().union(*tables.values())) if tables else 0
    scores: dict[str, float] = defaultdict(float)
    for holding in tables.values():
        for id in holding:
            scores[id] += log(1 + everywhere / len(holding))
    ranked = sorted(scores, key=lambda id: (-scores[id], id))
    return ranked[:count]


def likeliest_rows(table: str, found: Mapping[str, Set[CellAddress]], count: int = ROWS_READ) -> list[int]:
    """At most `count` rows of a table by the labels found in them, in the table's order.

    A label in few of its rows counts most.
    """
    rows = [{cell.row for cell in cells if cell.table == table} for cells in found.values()]
    everywhere = len(set().union(*rows))
    scores: dict[int, float] = defaultdict(float)
    for holding in rows:
        for row in holding:
            scores[row] += log(1 + everywhere / len(holding))
    return sorted(sorted(scores, key=lambda row: (-scores[row], row))[:count])
