"""A retriever for tests of what comes after retrieval: cells of rows that share a word with the question."""

from __future__ import annotations

import re

from kgtable import api
from kgtable.graph.table_source import TableReader
from kgtable.retrieval.result import Retrieval, ScoredTable, ScoredTriple


def retrieve(
    kg: api.KnowledgeGraph, question: str, k: int = 1_000, method: str = "words", **options: object
) -> Retrieval:
    """Takes the place of `KnowledgeGraph.retrieve`."""
    asked = set(re.findall(r"\w+", question.lower()))
    source = TableReader(kg.store, kg.names)
    triples = []
    for id in kg.tables:
        table = source.table(id)
        for row, cells in table.body():
            shared = asked & set(re.findall(r"\w+", " ".join(cells).lower()))
            for column, text in enumerate(cells):
                if not text or not shared:
                    continue
                number = source.quantities(id).get((row, column))
                triples.append(
                    ScoredTriple(
                        id, row, column, cells[0], table.columns[column].name, text,
                        str(number.value) if number else None,
                        number.unit if number else None,
                        number.scale if number else None,
                        None, kg.names.cell_iri(id, row, column), float(len(shared)),
                    )
                )  # fmt: skip
    triples.sort(key=lambda triple: -triple.score)
    tables = tuple(ScoredTable(id, 1.0) for id in dict.fromkeys(triple.table for triple in triples))
    return Retrieval(question, tuple(triples[:k]), tables, {"words": 0.1}, "words")
