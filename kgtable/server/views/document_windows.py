"""Windows of a document's text, read from the graph for the pages: paragraphs, headings above, nearby tables."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox

from kgtable.errors import GraphNotFoundError
from kgtable.graph.sparql_text import with_values
from kgtable.graph.table_decoder import text_of
from kgtable.index.substring import folded
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.resources import read_shipped
from kgtable.server.views.answer_card import named_tables
from kgtable.server.views.table_list import spaced
from kgtable.server.views.table_windows import ask
from kgtable.server.workers.messages import Head, Tell

LONGEST_PARAGRAPH = 20_000
"""Characters of a paragraph that a window shows."""
BEFORE_WORDS = 4_000
"""Characters of a longer paragraph that are shown before the wanted words."""
MOST_TABLES = 24
"""Tables named next to a window."""


def documents(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """A page of the documents whose title and file hold all the words, in the order of their files."""
    words = [folded(word) for word in job["q"].split()]
    found = [
        record
        for record in graph.catalogue.documents.values()
        if all(word in folded(f"{record.title} {record.path}") for word in words)
    ]
    shown = found[job["offset"] : job["offset"] + job["limit"]]
    return {
        "total": len(found),
        "documents": [
            {
                "id": record.id,
                "title": _title(record.title, record.path),
                "file": record.path,
                "pages": record.pages,
                "paragraphs": record.paragraphs,
                "passages": record.passages,
            }
            for record in shown
        ],
    }


def document(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Some paragraphs of a document from `first` on, the headings they are under and the tables next to them.

    A paragraph longer than `LONGEST_PARAGRAPH` is cut to a part that begins at `offset`, near the job's
    `start` where the paragraph is the job's `paragraph`. Raises `GraphNotFoundError`.
    """
    iri = graph.names.document_iri(job["id"])
    about = list(ask(graph, "document", document=ox.NamedNode(iri)))
    if not about:
        raise GraphNotFoundError(f"The graph holds no document {job['id'][:200]!r}.")
    counted = list(ask(graph, "document-size", document=ox.NamedNode(iri)))
    total = int(text_of(counted[0]["paragraphs"])) if counted else 0
    first = min(job["first"], max(total - 1, 0))
    wanted = range(first, min(total, first + job["count"]))
    block = [(f"<{iri}>", f"<{iri}/paragraph/{number}>") for number in wanted]
    found = graph.store.query(with_values(read_shipped("queries/explorer/paragraphs.rq"), block))
    assert isinstance(found, ox.QuerySolutions)
    paragraphs: dict[int, dict[str, Any]] = {}
    tables: dict[str, None] = {}
    for row in found:
        number = int(text_of(row["number"]))
        if number not in paragraphs:
            text = text_of(row["text"])
            start = job["start"] if number == job["paragraph"] else 0
            offset = max(0, min(start - BEFORE_WORDS, len(text) - LONGEST_PARAGRAPH))
            paragraphs[number] = {
                "number": number,
                "page": _integer(row["page"]),
                "level": _integer(row["level"]) or 0,
                "offset": offset,
                "length": len(text),
                "text": text[offset : offset + LONGEST_PARAGRAPH],
            }
        table = row["table"] and graph.names.parse_table_iri(row["table"].value)
        if table:
            tables[table] = None
    headings = [(_integer(row["number"]), _integer(row["level"]), row["text"]) for row in about]
    return {
        "id": job["id"],
        "iri": iri,
        "title": _title(text_of(about[0]["title"]), text_of(about[0]["file"])),
        "file": text_of(about[0]["file"]),
        "pages": _integer(about[0]["pages"]),
        "total": total,
        "first": first,
        "headings": _above([(n, level, text_of(text)) for n, level, text in headings if n is not None], first),
        "paragraphs": [paragraphs[number] for number in sorted(paragraphs)],
        "tables": named_tables(list(tables)[:MOST_TABLES], graph),
    }


def _title(title: str, file: str) -> str:
    """The name of a document: its title, or its file's name as words."""
    stem = file.rpartition("/")[2].rpartition(".")[0] or file
    return title.strip()[:500] or spaced(stem) or file


def _above(headings: list[tuple[int, int | None, str]], first: int) -> list[str]:
    """The headings that a paragraph is under, the outermost first."""
    standing: dict[int, str] = {}
    for number, level, text in headings:
        if number >= first:
            break
        standing = {above: known for above, known in standing.items() if above < (level or 1)}
        standing[level or 1] = text[:300]
    return [text for _, text in sorted(standing.items())]


def _integer(term: Any) -> int | None:
    return None if term is None else int(text_of(term))
