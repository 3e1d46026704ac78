"""Reranking of the likeliest tables by a language model; their triples follow (ours; not in the thesis)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from string import Template
from typing import Any

import numpy as np

from kgtable.errors import LLMContextError
from kgtable.graph.table_decoder import TableRow
from kgtable.graph.table_source import TableReader
from kgtable.index.graph_index import GraphIndex
from kgtable.index.postings import IntArray
from kgtable.llm.protocol import LLM, fence, reply_data
from kgtable.resources import PACKAGE
from kgtable.retrieval.cell_scores import Scored
from kgtable.retrieval.question_terms import Query
from kgtable.tables.linearize import heading_of, introduction
from kgtable.tables.model import Table
from kgtable.values.text import single_line

TABLES_SHOWN, FEWEST_SHOWN = 30, 5
LEAST_SHARE = 0.004
"""The share of the best table's score below which a table beyond the `FEWEST_SHOWN` first is not shown."""
ROWS_SHOWN = 2
COLUMNS_SHOWN = 8
"""Columns of a table shown if they do not all fit on a line: the labels, and those whose cells fit best."""
LONGEST_LINE = 120
"""Characters of a title with its text, of the column names, or of a row: 30 tables make about 3,000 tokens."""
LONGEST_BESIDE = 60
"""Characters of the text next to a table."""
NONE_FITS = 0
"""The number with which the model replies that no table fits."""

TRUST = 0.8
"""Share of the tables' probability that the model's order decides; the rest is unchanged."""

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

    One call. The scores are None if the model says that no table fits. Numbers that name no table shown are
    ignored. Raises a leaf of `LLMError`.
    """
    ids = index.corpus.table_ids
    order = np.argsort(-scored.table_logits, kind="stable")[:TABLES_SHOWN]
    least = scored.table_logits[order[0]] + log(LEAST_SHARE) if len(order) else 0.0
    shown = order[(np.arange(len(order)) < FEWEST_SHOWN) | (scored.table_logits[order] >= least)]
    best = _best_places(scored, index, shown)
    reader.fetch({ids[table]: rows for table, (rows, _) in best.items()})
    lines = [
        _lines(number, reader.frame(ids[table]).table, reader.rows(ids[table], best[table][0]), best[table][1])
        for number, table in enumerate(shown.tolist(), start=1)
    ]
    given = _ordered_by(llm, query, lines).get("tables", ())
    if given and set(given) == {NONE_FITS}:
        return None, ()
    named = [int(shown[number - 1]) for number in dict.fromkeys(given) if 1 <= number <= len(shown)]
    return _reweighted(scored, named), tuple(ids[table] for table in named)


def _ordered_by(llm: LLM, query: Query, lines: Sequence[str]) -> Mapping[str, Any]:
    """The model's reply to a listing of tables, or to its first half if the whole is too long."""
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


def _lines(number: int, table: Table, rows: Mapping[int, TableRow], columns: Sequence[int]) -> str:
    """A table in a few lines: title and text next to it, file, column names, and rows."""
    title, beside = introduction(table)
    path = table.grid.source.path
    file = f"({path})" if path.rpartition(".")[0] != title else ""
    text = _one_line(f"— {' … '.join(beside)}", LONGEST_BESIDE) if beside else ""
    shown, more = [*range(len(table.columns))], ""
    longest = LONGEST_LINE
    if len(_names(table, shown, longest)) > LONGEST_LINE:
        longest = LONGEST_LINE // COLUMNS_SHOWN
        shown = sorted({table.structure.label_column, *columns} & {*shown})
        left = len(table.columns) - len(shown)
        more = f" | and {left} more" if left else ""
    cells = [" | ".join(row.cells[at] for at in shown if at < len(row.cells)) for _, row in sorted(rows.items())]
    first = " ".join(filter(None, (_one_line(f"[{number}] {title}"), text, _one_line(file))))
    return "\n".join([first, _names(table, shown, longest) + more, *map(_one_line, cells)])


def _names(table: Table, columns: Sequence[int], longest: int) -> str:
    """The names of columns, each cut at `longest` characters; a heading that neighbours share is written once."""
    parts: list[str] = []
    above: Sequence[str] = ()
    for column in columns:
        path = table.columns[column].path
        shared = path[:-1] == above and len(path) > 1
        parts.append(_one_line(path[-1] if shared else heading_of(table, column) or "—", longest))
        above = path[:-1]
    return " | ".join(parts)


def _one_line(text: str, longest: int = LONGEST_LINE) -> str:
    plain = single_line(text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
