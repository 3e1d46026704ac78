"""Table schemas written by a language model, with the template where there is no usable reply.

Thesis, section 4.1: description, meaning of the columns, values of the label column, an example row.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice
from string import Template
from typing import Any

from kgtable.errors import LLMError, LLMPendingError, LLMReplyError
from kgtable.llm.fencing import fence
from kgtable.llm.protocol import LLM, Message, Request
from kgtable.resources import PACKAGE
from kgtable.retrieval.whole_table import TableTexts
from kgtable.tables.linearize import ROWS_PER_CHUNK, TableFormat, chunks, format_table
from kgtable.tables.model import Table

logger = logging.getLogger("kgtable")

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
    """The request for a table's schema; of a long table the model sees the first rows."""
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
    """The schema of every table, one piece each, several requests under way at a time.

    Where the model's reply is unusable the template stands in, and `TableTexts.substitutes` says why.
    Raises a leaf of `LLMError` where the model cannot be used; `LLMPendingError` where requests wait for
    a batch, after all of them were noted.
    """
    ids: list[str] = []
    texts: list[str] = []
    substitutes: dict[str, str] = {}
    pending: LLMPendingError | None = None
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
                except LLMPendingError as error:
                    pending = error
                    texts.append("")
                except LLMError:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
    if pending is not None:
        raise pending
    for table_id, why in islice(substitutes.items(), 1):
        counts = len(substitutes), len(ids)
        logger.warning("%d of %d tables have the template's schema, such as %s: %s", *counts, table_id, why)
    return TableTexts(TableFormat.SCHEMA, tuple(ids), tuple(texts), substitutes)
