"""The paper's other ways to show a table to a model (section 4.2), under the same solver.

ReadTable shows all of it, ReadSchema the columns alone, RandRowSampling rows drawn at random, RowColRetrieval
the rows and columns nearest to the question. As in the reference implementation, a table is refused to
ReadTable where three tokens a cell exceed the context, and RowColRetrieval encodes the first B / 2M rows
of a table of M columns.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock

from kgtable.graph.table_content import ContentRow, TableContent
from kgtable.graph.terms import CellAddress
from kgtable.systems.tablerag.databases import (
    DatabaseShelf,
    EntrySearch,
    Searched,
    SearchMode,
    TableDatabases,
    best,
)
from kgtable.systems.tablerag.retriever import Asked, ViewRefusedError
from kgtable.systems.tablerag.vocabulary import ColumnEntry, ShownTable, cut, json_lines

TOKENS_PER_CELL = 3
"""What the reference implementation takes a cell for when it decides whether a table fits."""

KEPT_ROWS = 40_000
"""Rows of tables whose vectors are kept in memory."""


class ReadSchemaView:
    """Names and types of all columns, and no value."""

    name = "read-schema"
    expands = False

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """All columns; the cells are those of the first rows."""
        vocabulary = found.vocabulary
        shown_as = zip(vocabulary.columns, vocabulary.names, strict=True)
        lines = [entry.typed(name) for entry, name in shown_as]
        columns = tuple(range(len(vocabulary.columns)))
        shown = ShownTable(vocabulary.table, f"Columns:\n{json_lines(lines)}", columns)
        return shown, _places(vocabulary.table, vocabulary.rows, columns)


class ReadTableView:
    """The whole table. Args: the tokens that there are for a prompt."""

    name = "read-table"
    expands = False

    def __init__(self, shelf: DatabaseShelf, context: int) -> None:
        self._shelf, self._context = shelf, context

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """All rows and columns; raises `ViewRefusedError` for a table that is too large."""
        vocabulary = found.vocabulary
        if TOKENS_PER_CELL * vocabulary.size > self._context:
            raise ViewRefusedError(
                f"The table {vocabulary.table} has {vocabulary.size:,} cells, too many for a context of "
                f"{self._context:,} tokens."
            )
        return _rows_shown(found, _body(self._shelf.content(vocabulary.table)))


class RandomRowsView:
    """Rows drawn at random, the same for the same table and seed. Args: how many rows, and the seed."""

    name = "rand-row-sampling"
    expands = False

    def __init__(self, shelf: DatabaseShelf, rows: int, seed: int) -> None:
        self._shelf, self._rows, self._seed = shelf, rows, seed
        self._drawn: OrderedDict[str, list[ContentRow]] = OrderedDict()
        self._lock = Lock()

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """The rows in the table's order, with all columns."""
        return _rows_shown(found, self._draw(found.vocabulary.table))

    def _draw(self, id: str) -> list[ContentRow]:
        with self._lock:
            if id not in self._drawn:
                body = _body(self._shelf.content(id))
                drawn = random.Random(f"{self._seed} {id}")  # noqa: S311
                places = sorted(drawn.sample(range(len(body)), min(self._rows, len(body))))
                self._drawn[id] = [body[place] for place in places]
                while len(self._drawn) > 1 and sum(map(len, self._drawn.values())) > KEPT_ROWS:
                    self._drawn.popitem(last=False)
            return self._drawn[id]


class RowColumnView:
    """The rows and the columns nearest to the question.

    Args:
        rows: how many of each.
        budget: the paper's B: of a table of M columns the first B / 2M rows are encoded.
    """

    name = "row-col-retrieval"
    expands = False

    def __init__(self, shelf: DatabaseShelf, rows: int, budget: int) -> None:
        self._shelf, self._rows, self._budget = shelf, rows, budget
        self._kept: OrderedDict[str, tuple[list[ContentRow], EntrySearch, EntrySearch]] = OrderedDict()
        self._lock = Lock()

    def show(self, asked: Asked, found: TableDatabases) -> tuple[ShownTable, Iterable[CellAddress]]:
        """The nearest rows and columns, both in the table's order."""
        body, rows, columns = self._searches(found)
        text, vector = asked.question, self._shelf.encode_query(asked.question)
        chosen = sorted(best(rows.scores(text, vector), self._rows, -1.0))
        named = sorted(best(columns.scores(text, vector), self._rows, -1.0))
        return _rows_shown(found, [body[place] for place in chosen], named)

    def _searches(self, found: TableDatabases) -> tuple[list[ContentRow], EntrySearch, EntrySearch]:
        id = found.vocabulary.table
        with self._lock:
            if id in self._kept:
                return self._kept[id]
            entries = found.vocabulary.columns
            most = max(self._budget // (2 * max(len(entries), 1)), 1)
            body = _body(self._shelf.content(id), most)
            by_column: dict[int, list[str]] = {entry.column: [] for entry in entries}
            for row in body:
                for column, cell in row.cells:
                    if column in by_column:
                        by_column[column].append(cell.text)
            rows = [_row_text(row, entries) for row in body]
            columns = [f"{entry.text}: {', '.join(by_column[entry.column])}" for entry in entries]
            made = (body, self._search(rows), self._search(columns))
            self._kept[id] = made
            while len(self._kept) > 1 and sum(len(kept[0]) for kept in self._kept.values()) > KEPT_ROWS:
                self._kept.popitem(last=False)
            return made

    def _search(self, texts: Sequence[str]) -> EntrySearch:
        vectors = self._shelf.encode([cut(text, 2_000) for text in texts])
        return EntrySearch([Searched(text) for text in texts], SearchMode.DENSE, vectors)


def _body(content: TableContent, most: int | None = None) -> list[ContentRow]:
    """The rows of the body, or the first of them."""
    found: list[ContentRow] = []
    for row in content.rows:
        if not row.is_header:
            if most is not None and len(found) >= most:
                break
            found.append(row)
    return found


def _row_text(row: ContentRow, columns: Sequence[ColumnEntry]) -> str:
    cells = ((columns[column].text, cell.text) for column, cell in row.cells if column < len(columns))
    return ", ".join(f"{name}: {' '.join(text.split())}" for name, text in cells)


def _rows_shown(
    found: TableDatabases, rows: Sequence[ContentRow], columns: Sequence[int] | None = None
) -> tuple[ShownTable, Iterable[CellAddress]]:
    """Rows under their headers, cells apart by bars."""
    vocabulary = found.vocabulary
    named = tuple(range(len(vocabulary.columns))) if columns is None else tuple(columns)
    names = vocabulary.names
    lines = [" | ".join(cut(names[column]) for column in named)]
    values: dict[tuple[int, str], None] = {}
    for row in rows:
        texts = {column: " ".join(cell.text.split()) for column, cell in row.cells}
        lines.append(" | ".join(cut(texts.get(column, "")).replace("|", "/") for column in named))
        values.update(dict.fromkeys((column, texts[column]) for column in named if texts.get(column)))
    shown = tuple(row.row for row in rows)
    table = ShownTable(vocabulary.table, "\n".join(lines), named, tuple(values), shown)
    return table, _places(vocabulary.table, shown, named)


def _places(table: str, rows: Sequence[int], columns: Sequence[int]) -> Iterator[CellAddress]:
    return (CellAddress(table, row, column) for row in rows for column in columns)
