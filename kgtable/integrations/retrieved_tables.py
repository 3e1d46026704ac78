"""Retrieved tables as text with their cited cells, one text per table: the unit that RAG frameworks work with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import by_row
from kgtable.answering.sub_tables import SubTable

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph
    from kgtable.retrieval.result import Retrieval

MOST_CELLS = 50
"""Maximum cells in the metadata of one table; its text shows all retrieved cells."""


@dataclass(frozen=True, slots=True)
class RetrievedTable:
    """The rows of one table in which something was retrieved, as text, with the table's score.

    `iri` is the table's named graph; `cells` are its best cells with text, exact value, unit and IRI.
    """

    id: str
    iri: str
    title: str
    file: str
    sheet: str | None
    text: str
    score: float
    cells: tuple[dict[str, Any], ...]

    def metadata(self) -> dict[str, Any]:
        """The metadata that a framework keeps with the text: plain JSON values."""
        return {
            "table": self.id,
            "iri": self.iri,
            "title": self.title,
            "file": self.file,
            "sheet": self.sheet,
            "score": self.score,
            "cells": [dict(cell) for cell in self.cells],
        }


def retrieved_tables(graph: KnowledgeGraph, found: Retrieval, most: int) -> Iterator[RetrievedTable]:
    """The best tables of a retrieval, at most so many, each with the triples that were retrieved from it."""
    evidence, units = Evidence(found, graph.reader), by_row(found.triples)
    with_triples = [scored for scored in found.tables if any(unit.table == scored.table for unit in units)]
    for scored in with_triples[:most]:
        own = [unit for unit in units if unit.table == scored.table]
        record = graph.catalogue.tables[scored.table]
        yield RetrievedTable(
            id=record.id,
            iri=graph.names.table_iri(record.id),
            title=record.title or record.id,
            file=record.path,
            sheet=record.sheet,
            text=SubTable().render(own, evidence),
            score=scored.score,
            cells=tuple(_cell(triple) for unit in own for triple in unit.triples)[:MOST_CELLS],
        )


def _cell(triple: Any) -> dict[str, Any]:
    names = ("row", "column", "subject", "value", "unit", "cell")
    return {"text": triple.object, **{name: getattr(triple, name) for name in names}}
