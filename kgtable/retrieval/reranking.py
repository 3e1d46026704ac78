"""The order that a language model gives to the likeliest tables; their triples follow (ours; not in the thesis)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import Template
from typing import Any

import numpy as np

from kgtable.errors import LLMContextError
from kgtable.graph.table_source import TableReader
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import IntArray
from kgtable.llm.protocol import LLM, fence, reply_data
from kgtable.resources import PACKAGE
from kgtable.retrieval.cell_scores import Scored
from kgtable.retrieval.question_terms import Query
from kgtable.tables.linearize import heading_of
from kgtable.tables.model import Table
from kgtable.values.text import single_line

TABLES_SHOWN = 30
ROWS_SHOWN = 3
COLUMNS_SHOWN = 8
"""Columns of a table that are shown where they do not all fit in a line: the labels, and those whose cells fit best."""
LONGEST_LINE = 200
"""Characters of a title, of the column names, or of a row: 30 tables make about 3,000 tokens."""
NONE_FITS = 0
"""The number by which the model says that no table fits."""

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
) -> tuple[Scored | None, tuple[str, ...]]:
    """The scores after the model has ordered the best tables, and the ids it named, the likeliest first.

    One call. The scores are None where the model says that no table fits. Numbers that name no table shown are
    ignored. Raises a leaf of `LLMError`.
    """
    ids = index.corpus.table_ids
    shown = np.argsort(-scored.table_logits, kind="stable")[:TABLES_SHOWN]
    best = _best_places(scored, index, shown)
    lines = [
        _lines(number, reader.read(ids[table]), *best[table]) for number, table in enumerate(shown.tolist(), start=1)
    ]
    given = _ordered_by(llm, query, lines).get("tables", ())
    if given and set(given) == {NONE_FITS}:
        return None, ()
    named = [int(shown[number - 1]) for number in dict.fromkeys(given) if 1 <= number <= len(shown)]
    return _reweighted(scored, named), tuple(ids[table] for table in named)


def _ordered_by(llm: LLM, query: Query, lines: Sequence[str]) -> Mapping[str, Any]:
    """What the model replies to a listing of tables, or to its first half where all of it is too long."""
    prompt = (PACKAGE / "retrieval" / "prompts" / "rerank.txt").read_text(encoding="utf-8")
    listing = "\n\n".join(lines)
    mark = fence(listing)
    system = Template(prompt).substitute(fence=mark)
    text = f"{listing}\n\n{mark} END OF TABLES {mark}\n\nQuestion: {query.text}"
    try:
        return reply_data(llm, system, text, schema=SCHEMA, stage="rerank", max_tokens=200)
    except LLMContextError:
        if len(lines) == 1:
            raise
        return _ordered_by(llm, query, lines[: len(lines) // 2])


def _reweighted(scored: Scored, named: Sequence[int]) -> Scored:
    """`TRUST` of the probability goes to the named tables, by 1, 1/2, 1/3, …; the rest stays as it was."""
    if not named:
        return scored
    probabilities = (1 - TRUST) * scored.table_probabilities
    shares = 1 / np.arange(1, len(named) + 1)
    probabilities[list(named)] += (TRUST * shares / shares.sum()).astype(np.float32)
    return replace(scored, table_logits=np.log(np.maximum(probabilities, 1e-30)))


def _best_places(scored: Scored, index: GraphIndex, tables: IntArray) -> dict[int, tuple[list[int], list[int]]]:
    """The grid rows and the columns of each table whose cells fit best, in reading order."""
    places = index.corpus.places
    found: dict[int, tuple[list[int], list[int]]] = {int(table): ([], []) for table in tables}
    for cell in scored.cells[np.argsort(-scored.cell_logits, kind="stable")].tolist():
        row = places.cell_row[cell]
        rows, columns = found.get(int(places.row_table[row]), ([], []))
        number, column = int(places.row_number[row]), int(places.column_number[places.cell_column[cell]])
        if len(rows) < ROWS_SHOWN and not places.row_is_header[row] and number not in rows:
            rows.append(number)
        if len(columns) < COLUMNS_SHOWN and column not in columns:
            columns.append(column)
    return {table: (sorted(rows), sorted(columns)) for table, (rows, columns) in found.items()}


def _lines(number: int, table: Table, rows: Sequence[int], columns: Sequence[int]) -> str:
    context = table.context
    title = " › ".join(filter(None, (context.title, *context.heading, context.caption))) or table.id
    path = table.grid.source.path
    file = f"({path})" if path.rpartition(".")[0] != title else ""
    names = [heading_of(table, column.index) or "—" for column in table.columns]
    shown, more = [*range(len(names))], ""
    if len(" | ".join(names)) > LONGEST_LINE:
        shown = sorted({table.structure.label_column, *columns} & {*shown})
        more = f" | and {len(names) - len(shown)} more"
    grid = table.grid.head
    cells = [
        " | ".join(grid[row][column] for column in shown if column < len(grid[row])) for row in rows if row < len(grid)
    ]
    heads = " | ".join(
        _one_line(names[column], LONGEST_LINE // COLUMNS_SHOWN if more else LONGEST_LINE) for column in shown
    )
    first = " ".join(filter(None, (_one_line(f"[{number}] {title}"), _one_line(file))))
    return "\n".join([first, _one_line(heads) + more, *map(_one_line, cells)])


def _one_line(text: str, longest: int = LONGEST_LINE) -> str:
    plain = single_line(text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
