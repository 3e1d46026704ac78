"""Step 5, ours: a language model orders the likeliest tables, and their triples follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from string import Template

import numpy as np

from kgtable.graph.table_source import TableReader
from kgtable.index.open import GraphIndex
from kgtable.index.postings import Integers
from kgtable.llm.fencing import fence
from kgtable.llm.protocol import LLM, Message, Request
from kgtable.resources import PACKAGE
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.ranking import Scored
from kgtable.tables.linearize import heading_of
from kgtable.tables.model import Table
from kgtable.values.text import single_line

TABLES_SHOWN = 30
ROWS_SHOWN = 3
LONGEST_LINE = 200
"""Characters of a title, of the column names, or of a row: 30 tables make about 3,000 tokens."""

TRUST = 0.8
"""How much of the tables' probability the model's order decides; the rest stays as it was."""

SCHEMA = {
    "type": "object",
    "properties": {"tables": {"type": "array", "items": {"type": "integer"}, "maxItems": 10}},
    "required": ["tables"],
    "additionalProperties": False,
}


def reranked(
    scored: Scored, query: Query, index: GraphIndex, reader: TableReader, llm: LLM
) -> tuple[Scored, tuple[str, ...]]:
    """The scores after the model has ordered the best tables, and the ids it named, the likeliest first.

    One call. Numbers that name no table shown are ignored. Raises a leaf of `LLMError`.
    """
    ids = index.corpus.table_ids
    shown = np.argsort(-scored.table_logits, kind="stable")[:TABLES_SHOWN]
    best_rows = _best_rows(scored, index, shown)
    lines = [
        _lines(number, reader.read(ids[table]), best_rows[table])
        for number, table in enumerate(shown.tolist(), start=1)
    ]
    prompt = (PACKAGE / "retrieval" / "prompts" / "rerank.txt").read_text(encoding="utf-8")
    listing = "\n\n".join(lines)
    mark = fence(listing)
    messages = (
        Message(role="system", content=Template(prompt).substitute(fence=mark)),
        Message(role="user", content=f"{listing}\n\n{mark} END OF TABLES {mark}\n\nQuestion: {query.text}"),
    )
    reply = llm.complete(Request(messages, schema=SCHEMA, stage="rerank", max_tokens=200))
    given = (reply.data or {}).get("tables", ())
    named = [int(shown[number - 1]) for number in dict.fromkeys(given) if 1 <= number <= len(shown)]
    return _reweighted(scored, named), tuple(ids[table] for table in named)


def _reweighted(scored: Scored, named: Sequence[int]) -> Scored:
    """`TRUST` of the probability goes to the named tables, by 1, 1/2, 1/3, …; the rest stays as it was."""
    if not named:
        return scored
    probabilities = (1 - TRUST) * scored.table_probabilities
    shares = 1 / np.arange(1, len(named) + 1)
    probabilities[list(named)] += (TRUST * shares / shares.sum()).astype(np.float32)
    return replace(scored, table_logits=np.log(np.maximum(probabilities, 1e-30)))


def _best_rows(scored: Scored, index: GraphIndex, tables: Integers) -> dict[int, list[int]]:
    """The grid rows of each table whose cells fit best, in reading order."""
    places = index.corpus.places
    found: dict[int, list[int]] = {int(table): [] for table in tables}
    for cell in scored.cells[np.argsort(-scored.cell_logits, kind="stable")].tolist():
        row = places.cell_row[cell]
        rows = found.get(int(places.row_table[row]))
        if rows is None or len(rows) == ROWS_SHOWN or places.row_is_header[row]:
            continue
        if int(places.row_number[row]) not in rows:
            rows.append(int(places.row_number[row]))
    return {table: sorted(rows) for table, rows in found.items()}


def _lines(number: int, table: Table, rows: Sequence[int]) -> str:
    context = table.context
    title = " › ".join(filter(None, (context.title, *context.heading, context.caption))) or table.id
    grid = table.grid.head
    shown = [" | ".join(grid[row]) for row in rows if row < len(grid)]
    columns = " | ".join(heading_of(table, column.index) or "—" for column in table.columns)
    return "\n".join(_one_line(line) for line in (f"[{number}] {title}", columns, *shown))


def _one_line(text: str) -> str:
    plain = single_line(text)
    return plain if len(plain) <= LONGEST_LINE else plain[: LONGEST_LINE - 1] + "…"
