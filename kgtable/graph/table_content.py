"""The content of a table that indexes are built from: texts and values of its cells, saved in parts.

Conversion writes contents while it iterates over the rows; the decoder returns the same from the graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kgtable.errors import GraphError
from kgtable.values.numbers import MISSING_MARKERS

if TYPE_CHECKING:  # the server imports this module to start, and needs no arrays
    import numpy as np
    import numpy.typing as npt

PART_ROWS = 5_000
"""Rows of a table written as one text."""


class CellContent(NamedTuple):
    """Content of one cell that is not blank, as the graph holds it.

    `text` is as printed. `is_node` says whether the cell is a node of its own (a quantity, a header
    cell, a value printed in its own way), or else a literal of its row. `value` is the number (scale
    applied; of a range the lower bound) as a plain decimal, or the lexical form of a typed literal, or a text
    that is a marker elsewhere (see `word_of`); `unit` a QUDT local name, `scale` one of ``T M B TN``, `upper`
    the upper bound of a range, `per` what the unit is per (``share``, ``MWh``) where QUDT has no such unit.
    """

    text: str
    is_node: bool = False
    value: str | None = None
    unit: str | None = None
    scale: str | None = None
    note: str | None = None
    period: str | None = None
    upper: str | None = None
    per: str | None = None

    @property
    def is_quantity(self) -> bool:
        """Whether the cell is a number with a unit."""
        return self.unit is not None

    @property
    def is_number(self) -> bool:
        """Whether the cell is one number with a unit, not a range."""
        return self.unit is not None and self.value is not None and self.upper is None

    @property
    def number(self) -> Decimal:
        """Its number, exact. Raises `TypeError` for a cell that has none."""
        return Decimal(self.value)  # type: ignore[arg-type]

    @property
    def lexical(self) -> str | None:
        """The lexical form of a typed literal that is printed otherwise."""
        return self.value if self.unit is None and self.value != self.text else None

    def to_list(self) -> list[object]:
        """The fields as JSON values, without those that say nothing at the end."""
        fields: list[object] = [self.text, int(self.is_node), *self[2:]]
        while len(fields) > 1 and not fields[-1]:
            fields.pop()
        return fields

    @classmethod
    def from_list(cls, fields: Sequence[str]) -> CellContent:
        """The inverse of `to_list`."""
        if len(fields) == 1:
            return cls(fields[0])
        return cls(fields[0], bool(fields[1]), *fields[2:])


def word_of(text: str) -> str | None:
    """The text, where it is a marker of missing values in other columns: ``NA`` among the codes of countries."""
    return text if text.strip() in MISSING_MARKERS else None


class ColumnSource(Protocol):
    """The body of a table column by column; only rows with cells are known."""

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """The grid rows."""
        ...

    def column(self, index: int) -> tuple[npt.NDArray[np.int32], Sequence[CellContent]]:
        """The cells of a column: for each row the number of its content (-1 for a blank cell), and the contents."""
        ...


class FoundCell(NamedTuple):
    """A cell with the label of its row and that of the heading the row is under."""

    subject: str
    group: str | None
    content: CellContent


class ContentRow(NamedTuple):
    """A row with cells, by grid row and column: its label and that of the heading it is under."""

    row: int
    is_header: bool
    label: str | None
    heading: str | None
    cells: tuple[tuple[int, CellContent], ...]


@dataclass(frozen=True, slots=True)
class TableContent:
    """A table's texts: `heading` and `around` it, name and predicate (IRI) of each column, and its rows.

    `rows` may be an iterator that is walked once.
    """

    id: str
    title: str = ""
    caption: str = ""
    heading: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    columns: tuple[tuple[str, str], ...] = ()
    rows: Iterable[ContentRow] = ()

    def to_parts(self, *, with_head: bool = True) -> Iterator[str]:
        """The content as JSON texts: the first one with what is not a row, unless `with_head` is false."""
        head = [self.title, self.caption, self.heading, self.around, self.columns] if with_head else None
        rows = iter(self.rows)
        while (batch := list(islice(rows, PART_ROWS))) or head is not None:
            yield json.dumps([head, list(map(_row_fields, batch))], separators=(",", ":"))
            head = None

    @classmethod
    def from_parts(cls, id: str, parts: Iterable[str]) -> TableContent:
        """The content of a table whose parts `to_parts` wrote; its rows are read on iteration.

        Raises `GraphError` if there is no part.
        """
        texts = iter(parts)
        first = next(texts, None)
        if first is None:
            raise GraphError(f"The content of table {id!r} is missing.", hint="Build the graph again.")
        head, rows = json.loads(first)
        title, caption, heading, around, columns = head
        rest = chain.from_iterable(json.loads(text)[1] for text in texts)
        pairs = tuple((name, predicate) for name, predicate in columns)
        walked = map(_row_of_fields, chain(rows, rest))
        return cls(id, title, caption, tuple(heading), tuple(around), pairs, walked)

    def in_memory(self) -> TableContent:
        """The same content with its rows in a tuple."""
        return replace(self, rows=tuple(self.rows))


def _row_fields(row: ContentRow) -> list[object]:
    cells = [[column, *cell.to_list()] for column, cell in row.cells]
    return [row.row, int(row.is_header), row.label, row.heading, cells]


def _row_of_fields(fields: list[list[list[str]]]) -> ContentRow:
    row, is_header, label, heading, cells = fields
    found = tuple((cell[0], CellContent.from_list(cell[1:])) for cell in cells)
    return ContentRow(row, bool(is_header), label, heading, found)  # type: ignore[arg-type]
