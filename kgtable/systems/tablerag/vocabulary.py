"""The retrievable entries of a table (columns and distinct cell values), and the view of it that a model is shown.

TableRAG (Chen et al. 2024, section 3.3) keeps two databases for a table. The schema database has an entry
for each column; its name is what is encoded, shown are its type with minimum and maximum, or its three most
frequent values. The cell database has the distinct pairs of column and value of the text columns, the
most frequent first, up to the budget; a column of numbers or dates has one entry with its range instead.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from kgtable.graph.table_content import CellContent, TableContent
from kgtable.retrieval.result import Retrieval

BUDGET = 10_000
"""Cell entries of a table, the paper's B."""

EXAMPLES = 3
"""Most frequent values that are shown of a text column."""

ROWS_KEPT = 20
"""Rows that an entry of the cell database remembers."""

LONGEST_SHOWN = 120
"""Characters of a value that are shown."""

MOSTLY = 0.6
"""A column is of numbers or dates where more than this share of its cells is."""

_DATE = re.compile(r"-?\d{4}(-\d\d(-\d\d(T.*)?)?)?")


class ColumnType(StrEnum):
    """Type of most cells of a column."""

    NUMBER = "number"
    DATE = "date"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """A column as an entry of the schema database.

    `low` and `high` are the smallest and largest value of a column of numbers (exact decimals, scale
    applied) or dates; `unit` a QUDT local name; `examples` the most frequent texts of any column.
    """

    table: str
    column: int
    name: str
    predicate: str
    type: ColumnType
    low: str = ""
    high: str = ""
    unit: str = ""
    examples: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is encoded: the name alone."""
        return self.name or f"column {self.column}"

    def typed(self, name: str) -> dict[str, Any]:
        """Its name and type; a name that is not its header comes with its index."""
        about = {"column_name": name, "dtype": self.type.value}
        return about if name == self.text else {**about, "index": self.column}

    def shown(self, name: str) -> dict[str, Any]:
        """The column as a model is shown it, under a name."""
        about = self.typed(name)
        if self.type is ColumnType.TEXT:
            return {**about, "cell_examples": [cut(text) for text in self.examples]}
        if self.unit:
            about["unit"] = self.unit
        return {**about, "min": self.low, "max": self.high}


@dataclass(frozen=True, slots=True)
class CellEntry:
    """A value of a column, with how many cells have it and the first of their grid rows.

    A `span` stands for all values of a column of numbers or dates, from the smallest to the largest.
    """

    table: str
    column: int
    name: str
    value: str
    count: int
    rows: tuple[int, ...] = ()
    span: bool = False

    def shown(self, name: str) -> dict[str, str]:
        """The value as a model is shown it, by the name of its column."""
        return {"column_name": name, "cell_value": cut(self.value)}


@dataclass(frozen=True, slots=True)
class TableVocabulary:
    """The two databases of one table.

    `distinct` counts the pairs of column and value of its text columns, of which at most `budget` are
    entries; `rows` are the numbers of its body rows that hold something, cut to `budget`.
    """

    table: str
    title: str
    columns: tuple[ColumnEntry, ...]
    cells: tuple[CellEntry, ...]
    rows: tuple[int, ...]
    body_rows: int
    distinct: int
    budget: int

    @property
    def size(self) -> int:
        """How many cells the body has room for: rows times columns."""
        return self.body_rows * len(self.columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns, each once: those that a model is shown."""
        return distinct_names([entry.text for entry in self.columns])

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TableVocabulary:
        """The inverse of `to_json`. Raises `KeyError`, `TypeError`, `ValueError` for anything else."""
        columns = tuple(
            ColumnEntry(**{**item, "type": ColumnType(item["type"]), "examples": tuple(item["examples"])})
            for item in data["columns"]
        )
        cells = tuple(CellEntry(**{**item, "rows": tuple(item["rows"])}) for item in data["cells"])
        return cls(**{**data, "columns": columns, "cells": cells, "rows": tuple(data["rows"])})


def distinct_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, with a number appended to those that are repeated or taken.

    >>> distinct_names(["Name", "name", "Name 1", "Year"])
    ['Name 2', 'name 3', 'Name 1', 'Year']
    """
    listed = list(names)
    often = Counter(name.casefold() for name in listed)
    kept = {name for name, times in often.items() if times == 1}.difference(taken)
    given, found = kept.union(taken), list[str]()
    for name in listed:
        plain = name
        if name.casefold() not in kept:
            numbered = (f"{name} {number}" for number in itertools.count(1))
            plain = next(text for text in numbered if text.casefold() not in given)
        given.add(plain.casefold())
        found.append(plain)
    return found


def cut(text: str, longest: int = LONGEST_SHOWN) -> str:
    """A text on one line, cut where it is too long.

    >>> cut("one\\ntwo three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


class _Column:
    """Counts the values of a column while its rows go by."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.rows: dict[str, list[int]] = {}
        self.filled = self.numbers = self.dates = 0
        self.low_number: Decimal | None = None
        self.high_number: Decimal | None = None
        self.low_date = self.high_date = ""
        self.units: dict[str, int] = {}

    def add(self, row: int, cell: CellContent) -> None:
        text = " ".join(cell.text.split())
        if not text:
            return
        self.filled += 1
        self.counts[text] = self.counts.get(text, 0) + 1
        rows = self.rows.setdefault(text, [])
        if len(rows) < ROWS_KEPT:
            rows.append(row)
        if cell.is_quantity and cell.value is not None:
            self._add_number(cell.value, cell.unit or "")
        elif (date := cell.value or "") and cell.unit is None and _DATE.fullmatch(date):
            self.dates += 1
            self.low_date = min(self.low_date or date, date)
            self.high_date = max(self.high_date, date)

    def _add_number(self, value: str, unit: str) -> None:
        try:
            number = Decimal(value)
        except InvalidOperation:
            return
        self.numbers += 1
        self.units[unit] = self.units.get(unit, 0) + 1
        self.low_number = number if self.low_number is None else min(self.low_number, number)
        self.high_number = number if self.high_number is None else max(self.high_number, number)

    @property
    def type(self) -> ColumnType:
        if self.numbers > MOSTLY * self.filled:
            return ColumnType.NUMBER
        return ColumnType.DATE if self.dates > MOSTLY * self.filled else ColumnType.TEXT

    def frequent(self) -> list[str]:
        """The most frequent values, ties in the order of their first rows."""
        return sorted(self.counts, key=lambda text: -self.counts[text])[:EXAMPLES]

    def unit(self) -> str:
        """The unit of most numbers, where it says something."""
        unit = min(self.units, key=lambda name: (-self.units[name], name), default="")
        return "" if unit in ("UNITLESS", "NUM") else unit

    def ends(self) -> tuple[str, str]:
        """The smallest and the largest value."""
        if self.type is ColumnType.NUMBER:
            return f"{self.low_number or 0:f}", f"{self.high_number or 0:f}"
        return self.low_date, self.high_date


def make_vocabulary(content: TableContent, budget: int = BUDGET) -> TableVocabulary:
    """The databases of a table.

    Each column of numbers or dates takes one of the `budget` entries of the cell database; the rest are
    the pairs of the text columns, the most frequent first, ties by column and first row.
    """
    counted = [_Column() for _ in content.columns]
    body: list[int] = []
    body_rows = 0
    for row in content.rows:
        if row.is_header:
            continue
        body_rows += 1
        if len(body) < budget:
            body.append(row.row)
        for column, cell in row.cells:
            if column < len(counted):
                counted[column].add(row.row, cell)
    columns = tuple(
        _column_entry(content.id, index, name, predicate, found)
        for (index, (name, predicate)), found in zip(enumerate(content.columns), counted, strict=True)
    )
    spans = [
        CellEntry(content.id, entry.column, entry.text, f"{entry.low} to {entry.high}", found.filled, (), True)
        for entry, found in zip(columns, counted, strict=True)
        if entry.type is not ColumnType.TEXT
    ]
    pairs = [
        (-count, entry.column, value)
        for entry, found in zip(columns, counted, strict=True)
        if entry.type is ColumnType.TEXT
        for value, count in found.counts.items()
    ]
    pairs.sort(key=lambda pair: pair[:2])  # stable: equal ones stay in the order of their first rows
    room = max(budget - len(spans), 0)
    cells = [
        CellEntry(content.id, column, columns[column].text, value, -count, tuple(counted[column].rows[value]))
        for count, column, value in pairs[:room]
    ]
    title = " . ".join(filter(None, (content.title, *content.heading, content.caption)))
    return TableVocabulary(
        content.id, title, columns, (*cells, *spans[:budget]), tuple(body), body_rows, len(pairs), budget
    )


def _column_entry(table: str, index: int, name: str, predicate: str, found: _Column) -> ColumnEntry:
    kind = found.type
    low, high = found.ends() if kind is not ColumnType.TEXT else ("", "")
    unit = found.unit() if kind is ColumnType.NUMBER else ""
    plain = " ".join(name.split())
    return ColumnEntry(table, index, plain, predicate, kind, low, high, unit, tuple(found.frequent()))


def json_lines(items: Iterable[dict[str, Any]] | Sequence[dict[str, Any]]) -> str:
    """One JSON object per line."""
    return "\n".join(json.dumps(item, ensure_ascii=False) for item in items)


@dataclass(frozen=True, slots=True)
class ShownTable:
    """The view of one table.

    `text` is what is in the prompt. `columns` are the columns whose names occur in it, `cells` the
    values, by column, `rows` the grid rows that are shown with all of these columns.
    """

    table: str
    text: str
    columns: tuple[int, ...] = ()
    cells: tuple[tuple[int, str], ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShownRetrieval(Retrieval):
    """A retrieval with the views of tables that a model is shown; `refused` says why there are none, if so.

    `queries_told` are the queries for columns and for cells; `encoded` counts the texts that were encoded
    for this question's tables (those of queries left out).
    """

    shown: tuple[ShownTable, ...] = ()
    refused: str = ""
    encoded: int = 0

    @property
    def shown_columns(self) -> set[tuple[str, int]]:
        """All columns that are shown, by table id."""
        return {(table.table, column) for table in self.shown for column in table.columns}

    @property
    def shown_values(self) -> set[tuple[str, int, str]]:
        """All values of cells that are shown one by one, by table id and column."""
        return {(table.table, column, text) for table in self.shown for column, text in table.cells}


def render(tables: Sequence[ShownTable], aliases: Sequence[str], titles: Sequence[str]) -> str:
    """The tables for a prompt, each under its alias and title."""
    parts = [
        f"Table {alias}" + (f" ({title})" if title else "") + f":\n{shown.text}"
        for shown, alias, title in zip(tables, aliases, titles, strict=True)
    ]
    return "\n\n".join(parts)
