"""A table of the graph as a relation: rows and columns by their stored meaning, cells by their stored values.

Nothing is guessed here. The kind of each row, the role of each column and the type of each cell were decided when the
table was converted (`kgtable.ontology.meaning`); of texts, those that are periods or days of any year become times.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from kgtable.graph.table_content import CellContent, ColumnSource
from kgtable.graph.table_decoder import DecodedTable, TableFrame
from kgtable.programs.algebra import ValueKind
from kgtable.programs.relation import (
    NAMING,
    SAMPLED,
    ColumnData,
    Indices,
    MemberKind,
    Relation,
    StoredColumn,
    merged_cells,
)
from kgtable.programs.scalars import Datum, month_day, span_seconds, time_datum, time_span
from kgtable.tables.model import Meaning, Role, Structure, Table
from kgtable.values.numbers import MISSING_MARKERS
from kgtable.values.periods import parse_period

LONG = 10_000
"""Body rows from which a table is read column by column, where that can be done."""

_UNKNOWN = Meaning(Role.TEXT)


def relation_of(decoded: DecodedTable) -> Relation:
    """The body of a decoded table as a relation."""
    table = decoded.table
    start = table.structure.body_start
    rows = decoded.rows[start:]
    grid_rows = np.arange(start, start + len(rows), dtype=np.int64)
    blank = np.array([not any(map(str.strip, row.cells)) for row in rows], dtype=np.bool_)
    kinds = _kinds(table.structure, grid_rows, blank, lambda row: decoded.rows[row].cells)
    merged = merged_cells(table)

    def stored(column: int) -> StoredColumn:
        seen: dict[CellContent, int] = {}
        codes: list[int] = []
        cells: list[CellContent] = []
        for index in grid_rows.tolist():
            top, left = merged.get((index, column), (index, column))
            row = decoded.rows[top]
            if left >= len(row.cells) or not row.cells[left]:
                codes.append(-1)
                continue
            cell = row.contents[left]
            code = seen.setdefault(cell, len(cells))
            codes.append(code)
            if code == len(cells):
                cells.append(cell)
        return np.array(codes, dtype=np.int32), cells

    return _relation(decoded.frame, grid_rows, kinds, stored)


def is_plain(frame: Table) -> bool:
    """Whether no row of a table's body heads others, and no cells of it are merged."""
    structure = frame.structure
    merged = any(area.bottom >= structure.body_start for area in frame.grid.merged)
    return not (structure.groups or structure.parents or structure.shared or merged)


def long_relation(frame: TableFrame, source: ColumnSource) -> Relation:
    """The body of a long table as a relation, read column by column from an index in place of the graph.

    A table of a million rows has ten million statements; of a column, what a program needs are its different cells,
    and which row has which.

    Args:
        frame: the table, of which only the rows above the body need be there; `is_plain` holds of it.
        source: its columns.
    """
    structure = frame.table.structure
    kinds = _kinds(structure, source.rows, np.zeros(len(source.rows), dtype=np.bool_), None)
    relation = _relation(frame, source.rows, kinds, source.column)
    if frame.body_rows > len(source.rows):
        body = range(structure.body_start, structure.body_start + frame.body_rows)
        relation.blank = tuple(sorted({*body}.difference(source.rows.tolist())))
    return relation


def _relation(
    frame: TableFrame, grid_rows: Indices, kinds: npt.NDArray[np.int8], stored: Callable[[int], StoredColumn]
) -> Relation:
    table = frame.table

    def make(column: int) -> tuple[ColumnData, ValueKind, Meaning]:
        meaning = table.columns[column].meaning or _UNKNOWN
        codes, cells = relation.stored(column)
        seen: dict[Hashable, int] = {}
        values: list[Datum] = []
        numbers = [_code(cell, meaning.role, seen, values) for cell in cells]
        return _typed(np.array([*numbers, -1], dtype=np.int32)[codes], values, meaning, kinds)

    paths = [column.path for column in table.columns]
    parts = np.zeros(len(grid_rows), dtype=np.int64)
    relation = Relation([table], paths, parts, grid_rows, kinds, make, stored)
    relation.predicates = frame.predicates
    return relation


def _kinds(
    structure: Structure,
    grid_rows: npt.NDArray[np.int64],
    blank: npt.NDArray[np.bool_],
    cells: Callable[[int], Sequence[str]] | None,
) -> npt.NDArray[np.int8]:
    """The kind of each row by its class in the graph; a heading with numbers of its own is a member."""
    kinds = np.where(blank, np.int8(MemberKind.BLANK), np.int8(MemberKind.MEMBER)).astype(np.int8)
    headings = structure.groups if cells is None else {
        row for row in structure.groups if not structure.has_figures(cells(row))
    }  # fmt: skip
    for rows, kind in (
        (structure.totals | structure.statistics | structure.changes, MemberKind.TOTAL),
        (structure.of_which, MemberKind.PART),
        (structure.footnotes, MemberKind.NOTE),
        (headings, MemberKind.HEADING),
    ):
        kinds[np.isin(grid_rows, sorted(rows)) & ~blank] = kind
    return kinds


def _code(cell: CellContent, role: Role, seen: dict[Hashable, int], values: list[Datum]) -> int:
    """The number of a cell's value among the different `values`, -1 for a missing one."""
    key = cell.text, cell.value, cell.unit, cell.scale, cell.upper
    code = seen.get(key)
    if code is None:
        datum = _datum(cell, role)
        code = -1
        if datum is not None:
            code = len(values)
            values.append(datum)
        seen[key] = code
    return code


def _datum(cell: CellContent, role: Role) -> Datum | None:
    """The value of a cell; None for a blank one and a missing marker. A blank flag says *no*."""
    plain = " ".join(cell.text.split())
    if len(cell.text.splitlines()) > 1:
        plain = "\n".join(filter(None, (" ".join(line.split()) for line in cell.text.splitlines())))
    number, lexical = cell.number if cell.is_number else None, None if cell.is_quantity else cell.value
    if not plain:
        return None
    if role in NAMING:
        return (
            None
            if number is None and lexical is None and plain in MISSING_MARKERS
            else Datum(ValueKind.ENTITY, plain, text=plain)
        )
    if number is not None and plain[0] in "<>≤≥":
        return Datum(ValueKind.TEXT, plain, text=plain)  # a bound is not a value
    if number is not None:
        return Datum(ValueKind.QUANTITY, number, cell.unit, cell.scale, plain)
    if lexical is not None:
        if lexical in ("true", "false"):
            return Datum(ValueKind.TRUTH, lexical == "true", text=plain)
        seconds = span_seconds(lexical)
        if seconds is not None:
            return Datum(ValueKind.DURATION, seconds, "SEC", text=plain)
        span = time_span(lexical)
        return Datum(ValueKind.TEXT, plain, text=plain) if span is None else time_datum(span, plain)
    if plain in MISSING_MARKERS:
        return None
    period = parse_period(plain)
    span = (time_span(period.lexical) if period is not None else None) or month_day(plain)
    return Datum(ValueKind.TEXT, plain, text=plain) if span is None else time_datum(span, plain)


def _typed(
    codes: npt.NDArray[np.int32], values: list[Datum], meaning: Meaning, kinds: npt.NDArray[np.int8]
) -> tuple[ColumnData, ValueKind, Meaning]:
    """A column with the kind of most values of its first rows; text where no kind makes up six tenths."""
    if meaning.role is Role.FLAG and (codes < 0).any() and all(datum.value is True for datum in values):
        values.append(Datum(ValueKind.TRUTH, False))
        codes = np.where((codes < 0) & (kinds == MemberKind.MEMBER), len(values) - 1, codes).astype(np.int32)
    first = codes[: 4 * SAMPLED][kinds[: 4 * SAMPLED] < MemberKind.HEADING]
    used, sizes = np.unique(first[first >= 0][:SAMPLED], return_counts=True)
    counts: dict[ValueKind, int] = {}
    for code, size in zip(used.tolist(), sizes.tolist(), strict=True):
        counts[values[code].kind] = counts.get(values[code].kind, 0) + size
    total = sum(counts.values())
    times = counts.get(ValueKind.DATE, 0) + counts.get(ValueKind.PERIOD, 0)
    if times >= 0.6 * total > 0:
        kind = ValueKind.DATE if 2 * counts.get(ValueKind.DATE, 0) >= times else ValueKind.PERIOD
    else:
        best = max(counts, key=lambda kind: counts[kind], default=ValueKind.TEXT)
        kind = best if counts.get(best, 0) >= 0.6 * total else ValueKind.TEXT
    return ColumnData(codes, values), kind, meaning
