"""Long tables as relations, read column by column from an index in place of the graph.

A table of a million rows has ten million statements; of a column, what a program needs are its different cells, and
which row has which. Members are not searched for sums, and a table with groups or merged cells in its body is read as
a whole (`kgtable.programs.table_relation.relation_of`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from kgtable.graph.table_content import CellContent, ColumnSource
from kgtable.graph.table_decoder import CellQuantity, quantity_of
from kgtable.programs.algebra import ValueKind
from kgtable.programs.relation import Codes, ColumnData, ColumnRole, MemberKind, Relation
from kgtable.programs.scalars import Datum, normal
from kgtable.programs.table_relation import ColumnReader, is_note, is_part, is_summary_word, is_total_word
from kgtable.tables.column_profile import ColumnStyle, profile_columns
from kgtable.tables.model import HEAD_ROWS, Position, Row, Table

LONG = 10_000
"""Body rows from which a table is read column by column, where that can be done."""


def is_plain(frame: Table) -> bool:
    """Whether no row of a table's body heads others, and no cells of it are merged."""
    structure = frame.structure
    merged = any(area.bottom >= structure.body_start for area in frame.grid.merged)
    return not (structure.groups or structure.parents or merged)


def long_relation(frame: Table, source: ColumnSource, blank: Sequence[int] = ()) -> Relation:
    """The body of a long table as a relation.

    Args:
        frame: the table, of which only the rows above the body need be there; `is_plain` holds of it.
        source: its columns.
        blank: the rows of the body without cells.
    """
    columns = _Columns(source)
    table = with_first_rows(frame, source)
    reader = _LongReader(table, (), source.rows.tolist(), profile_columns(table), _Quantities(columns), columns=columns)
    kinds = _kinds(table, columns)
    relation = Relation(
        [table],
        [column.path for column in table.columns],
        np.zeros(len(source.rows), dtype=np.int64),
        source.rows,
        kinds,
        lambda column: reader.read(column, kinds),
        reader.texts,
    )
    relation.blank = tuple(blank)
    return relation


class _Columns:
    """The columns of a source; each is read once."""

    def __init__(self, source: ColumnSource) -> None:
        self.source = source
        self._known: dict[int, tuple[Codes, Sequence[CellContent]]] = {}

    def column(self, index: int) -> tuple[Codes, Sequence[CellContent]]:
        if index not in self._known:
            self._known[index] = self.source.column(index)
        return self._known[index]

    def at(self, row: int, column: int) -> CellContent | None:
        codes, contents = self.column(column)
        return None if codes[row] < 0 else contents[codes[row]]


def with_first_rows(frame: Table, source: ColumnSource) -> Table:
    """The table with the first rows of its body, which decide on the types of its columns."""
    start = frame.structure.body_start
    rows: dict[int, list[str]] = {}
    for row, column, cell in source.first_rows(HEAD_ROWS):
        if start <= row < HEAD_ROWS:
            rows.setdefault(row, [""] * frame.grid.width)[column] = cell.text
    blank = [""] * frame.grid.width
    body = (tuple(rows.get(row, blank)) for row in range(start, max(rows, default=start - 1) + 1))
    head: list[Row] = [*frame.grid.head[:start], *body]
    return replace(frame, grid=replace(frame.grid, rows=tuple(head)))


class _Quantities(Mapping[Position, CellQuantity]):
    """The numbers of a table's cells by grid position, looked up when they are asked for."""

    def __init__(self, columns: _Columns) -> None:
        self._columns = columns

    def __getitem__(self, position: Position) -> CellQuantity:
        row, column = position
        rows = self._columns.source.rows
        place = int(np.searchsorted(rows, row))
        cell = self._columns.at(place, column) if place < len(rows) and rows[place] == row else None
        found = None if cell is None else quantity_of(cell)
        if found is None:
            raise KeyError(position)
        return found

    def __iter__(self) -> Iterator[Position]:
        raise TypeError("The numbers of a long table are not gone through.")

    def __len__(self) -> int:
        return len(self._columns.source.rows)


@dataclass(frozen=True)
class _LongReader(ColumnReader):
    """Types the different cells of a column, once each."""

    columns: _Columns = field(kw_only=True)

    def texts(self, column: int) -> list[str]:
        codes, contents = self.columns.column(column)
        printed = np.array([*(cell.text for cell in contents), ""], dtype=object)
        found: list[str] = printed[codes].tolist()
        return found

    def _data(self, column: int, texts: list[str], style: ColumnStyle, role: ColumnRole, durations: bool) -> ColumnData:
        codes, contents = self.columns.column(column)
        seen: dict[object, int] = {}
        values: list[Datum] = []
        numbers = np.full(len(contents) + 1, -1, dtype=np.int32)
        is_measure = role is ColumnRole.PLAIN and not durations
        for code, cell in enumerate(contents):
            found = quantity_of(cell)
            key = cell.text if found is None else (cell.text, found.value, found.unit, found.scale)
            number = seen.get(key)
            if number is None:
                number = -1
                if found is not None and is_measure:
                    plain = " ".join(cell.text.split())
                    datum: Datum | None = Datum(ValueKind.QUANTITY, found.value, found.unit, found.scale, plain)
                else:
                    datum = self._datum_of(cell.text, found, column, style, role, durations)
                if datum is not None:
                    number = len(values)
                    values.append(datum)
                seen[key] = number
            numbers[code] = number
        return ColumnData(numbers[codes], values)


def _kinds(table: Table, columns: _Columns) -> npt.NDArray[np.int8]:
    """The kind of each row, by its label: that in the label column, or else its first cell."""
    source = columns.source
    kinds = np.zeros(len(source.rows), dtype=np.int8)
    width = len(table.columns)
    for marked, kind in (
        (table.structure.footnotes, MemberKind.NOTE),
        (table.structure.totals, MemberKind.TOTAL),
    ):
        kinds[np.isin(source.rows, list(marked))] = kind
    noted = kinds == MemberKind.NOTE
    firsts, first_cells = source.first_cells()
    labels, label_cells = columns.column(min(table.structure.label_column, max(width - 1, 0)))
    first_texts = [cell.text for cell in first_cells]
    label_texts = [cell.text for cell in label_cells]
    # a row without a label is called by its first cell
    own = labels >= 0
    for codes, texts, here in ((labels, label_texts, own), (firsts, first_texts, ~own)):
        used = np.unique(codes[here])
        for code in used[used >= 0].tolist():
            text = texts[code]
            if not (is_note(text) or is_part(text) or is_summary_word(text)):
                continue
            rows = np.flatnonzero(here & (codes == code))
            rows = rows[~noted[rows]]
            if is_note(text):
                alone = (source.filled[rows] == 1) & (width > 1)
                kinds[rows[alone]] = MemberKind.NOTE
                rows = rows[~alone]
            if is_part(text):
                kinds[rows] = MemberKind.PART
            elif is_summary_word(text) and _is_rare(text, label_texts, labels):
                strict = is_summary_word(text, strictly=True)
                ends = np.isin(rows, (0, len(source.rows) - 1))
                kinds[rows if strict else rows[ends]] = MemberKind.TOTAL
    for code, text in enumerate(first_texts):
        if is_total_word(text):
            rows = np.flatnonzero(firsts == code)
            kinds[rows[kinds[rows] == MemberKind.MEMBER]] = MemberKind.TOTAL
    return kinds


def _is_rare(text: str, labels: Sequence[str], codes: Codes) -> bool:
    """Whether a label stands once, or in few of the rows."""
    alike = [code for code, label in enumerate(labels) if normal(label) == normal(text)]
    again = int(np.isin(codes, alike).sum())
    return again == 1 or again < len(codes) / 3
