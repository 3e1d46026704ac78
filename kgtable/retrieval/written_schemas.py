"""Table schemas written by a language model, with the template where there is no usable reply.

Thesis, section 4.1: description, meaning of the columns, values of the label column, an example row.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from string import Template
from typing import Any

from kgtable.errors import LLMError
from kgtable.llm.protocol import LLM, Message, Request
from kgtable.resources import PACKAGE
from kgtable.retrieval.whole_tables import TableTexts
from kgtable.tables.formats import TableFormat, format_table
from kgtable.tables.formats.chunks import ROWS_PER_CHUNK, chunks
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
    fence = "==="
    while fence in text:
        fence += "="
    prompt = Template(_PROMPT.read_text(encoding="utf-8")).substitute(fence=fence, table=text)
    message: Message = {"role": "user", "content": prompt}
    return Request((message,), schema=_REPLY, stage=STAGE, temperature=0.0, max_tokens=800)


def written_schema(table: Table, llm: LLM | None) -> tuple[str, bool]:
    """A table's schema, and whether the model wrote it; the template's where it did not."""
    if llm is not None:
        try:
            reply = llm.complete(schema_request(table)).data or {}
        except LLMError as error:
            logger.warning("The schema of table %s is the template's: %s", table.id, error)
        else:
            text = " ".join(str(reply.get(part, "")).strip() for part in PARTS).strip()
            if text:
                return f"{text}\n", True
    return format_table(table, TableFormat.SCHEMA), False


def write_schemas(tables: Iterable[Table], llm: LLM | None) -> TableTexts:
    """The schema of every table, one piece each, several requests under way at a time."""
    ids: list[str] = []
    texts: list[str] = []
    rest = iter(tables)
    with ThreadPoolExecutor(WORKERS) as pool:
        while batch := list(islice(rest, 4 * WORKERS)):
            ids += [table.id for table in batch]
            texts += [text for text, _ in pool.map(lambda table: written_schema(table, llm), batch)]
    return TableTexts(TableFormat.SCHEMA, tuple(ids), tuple(texts))
