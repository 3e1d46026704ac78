"""Tables as texts for whole-table retrieval: in one of the formats, or as schemas that a language model writes.

Thesis, sections 4.1 and 4.3. A long table is cut into pieces; it scores as its best piece. A written schema has a
description, the meaning of the columns, the values of the label column and an example row; where the model's reply
is not usable, the template takes its place.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import islice
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from kgtable.errors import LLMError, LLMReplyError
from kgtable.llm.protocol import LLM, Message, Request, fence
from kgtable.resources import PACKAGE
from kgtable.retrieval.result import Retrieval, ScoredTable, ScoredTriple
from kgtable.tables.linearize import ROWS_PER_CHUNK, TableFormat, chunks, format_table
from kgtable.tables.model import Table

logger = logging.getLogger("kgtable")

Scores = npt.NDArray[np.floating]
TriplesOf = Callable[[str], Sequence[ScoredTriple]]
"""The triples of a table by its id, in reading order."""

TABLES_KEPT = 100


@dataclass(frozen=True)
class TableTexts:
    """The pieces of all tables as texts in one format: `texts[i]` is a piece of table `tables[i]`.

    `substitutes` says, by table id, why a table is written otherwise than it was to be.
    """

    format: TableFormat
    tables: tuple[str, ...]
    texts: tuple[str, ...]
    substitutes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def write(cls, tables: Iterable[Table], format_name: TableFormat | str, rows: int = ROWS_PER_CHUNK) -> TableTexts:
        """Write every table in the format, long ones in pieces of `rows` body rows."""
        pieces = [(table.id, format_table(piece, format_name)) for table in tables for piece in chunks(table, rows)]
        return cls(TableFormat(format_name), tuple(id for id, _ in pieces), tuple(text for _, text in pieces))

    def digest(self) -> str:
        """A hash of the format, the table ids and all texts: the cache key of anything derived from them."""
        content = hashlib.sha256(self.format.encode())
        for table, text in zip(self.tables, self.texts, strict=True):
            content.update(f"\0{table}\0{text}".encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    def rank(self, scores: Scores) -> tuple[ScoredTable, ...]:
        """The tables by their best piece, ties by id: at most `TABLES_KEPT`, each above 0."""
        best: dict[str, float] = {}
        for table, score in zip(self.tables, scores.tolist(), strict=True):
            if score > best.get(table, 0.0):
                best[table] = score
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        return tuple(ScoredTable(table, score) for table, score in ranked[:TABLES_KEPT])


def as_retrieval(
    question: str,
    ranked: Sequence[ScoredTable],
    k: int,
    triples_of: TriplesOf,
    *,
    method: str,
    texts: TableTexts,
    started: float,
) -> Retrieval:
    """The triples of the ranked tables: all of the best table, then of the next, up to `k`.

    The trace names the format the tables were indexed in, and `TableTexts.substitutes` if there are any.
    `started` is the `time.perf_counter` value at which the question came.
    """
    scored = time.perf_counter()
    triples = tuple(triples_within(ranked, k, triples_of))
    ended = time.perf_counter()
    trace: dict[str, Any] = {"format": texts.format.value, "pieces": len(texts.texts)}
    if texts.substitutes:
        trace["substitutes"] = dict(texts.substitutes)
    return Retrieval(
        question=question,
        triples=triples,
        tables=tuple(ranked),
        timings_ms={"rank": (scored - started) * 1e3, "triples": (ended - scored) * 1e3},
        method=method,
        trace=trace,
    )


WRITTEN_SCHEMA = "written-schema"
STAGE = "schema"
PARTS = ("description", "columns", "labels", "example")
WORKERS = 8
_PROMPT = PACKAGE / "retrieval" / "prompts" / "written_schema.txt"
_REPLY: Mapping[str, Any] = {
    "title": "table_schema",
    "type": "object",
    "properties": {part: {"type": "string"} for part in PARTS},
    "required": list(PARTS),
    "additionalProperties": False,
}


def schema_request(table: Table) -> Request:
    """The request for a table's schema; the model sees only the first rows of a long table."""
    shown = format_table(next(chunks(table, ROWS_PER_CHUNK)), TableFormat.MARKDOWN)
    title = " › ".join(filter(None, (table.context.title, *table.context.heading, table.context.caption)))
    text = f"{title}\n{shown}" if title else shown
    prompt = Template(_PROMPT.read_text(encoding="utf-8")).substitute(fence=fence(text), table=text)
    message: Message = {"role": "user", "content": prompt}
    return Request((message,), schema=_REPLY, stage=STAGE, temperature=0.0, max_tokens=800)


def written_schema(table: Table, llm: LLM) -> str:
    """A table's schema as the model writes it. Raises a leaf of `LLMError`; `LLMReplyError` for no text."""
    reply = llm.complete(schema_request(table)).data or {}
    text = " ".join(str(reply.get(part, "")).strip() for part in PARTS).strip()
    if not text:
        raise LLMReplyError("The model wrote nothing about the table.")
    return f"{text}\n"


def write_schemas(tables: Iterable[Table], llm: LLM) -> TableTexts:
    """The schema of every table, one piece each, with several requests in parallel.

    Where the model's reply is unusable the template is used instead, and `TableTexts.substitutes` says why.
    Raises a leaf of `LLMError` if the model cannot be used.
    """
    ids: list[str] = []
    texts: list[str] = []
    substitutes: dict[str, str] = {}
    rest = iter(tables)
    with ThreadPoolExecutor(WORKERS) as pool:
        while batch := list(islice(rest, 4 * WORKERS)):
            # each request in a context of its own, so that its usage is counted where this was called
            replies = [pool.submit(copy_context().run, written_schema, table, llm) for table in batch]
            for table, reply in zip(batch, replies, strict=True):
                ids.append(table.id)
                try:
                    texts.append(reply.result())
                except LLMReplyError as error:
                    substitutes[table.id] = error.message
                    texts.append(format_table(table, TableFormat.SCHEMA))
                except LLMError:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
    for table_id, why in islice(substitutes.items(), 1):
        counts = len(substitutes), len(ids)
        logger.warning("%d of %d tables have the template's schema, such as %s: %s", *counts, table_id, why)
    return TableTexts(TableFormat.SCHEMA, tuple(ids), tuple(texts), substitutes)


def among(found: Retrieval, k: int, tables: Sequence[str] | None, triples_of: TriplesOf) -> Retrieval:
    """The result of a retriever of whole tables, restricted to these tables; None keeps it as it is.

    At most `k` triples, table by table; a table without a score comes last.
    """
    if tables is None:
        return found
    scores = {table.table: table.score for table in found.tables}
    ranked = tuple(ScoredTable(id, scores.get(id, 0.0)) for id in sorted(tables, key=lambda id: -scores.get(id, 0.0)))
    return replace(found, triples=tuple(triples_within(ranked, k, triples_of)), tables=ranked)


def triples_within(tables: Iterable[ScoredTable], k: int, triples_of: TriplesOf) -> Iterator[ScoredTriple]:
    """At most `k` triples of whole tables, those of the first one first, with the score of their table."""
    found = (triple._replace(score=table.score) for table in tables for triple in triples_of(table.table))
    return islice(found, k)
