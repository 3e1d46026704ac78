"""Which cells a result rests on: kept while a program runs as links between rows, listed when asked for.

Every relation that the executor makes has a `RowTrace`: what cells each of its rows reads, and from which
rows of other relations each came. Nothing is listed while it runs; `RowTrace.cells` walks the links
back from the rows of the result and yields each cell once, without blank cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from kgtable.programs.relation import Indices, Relation, distinct


class CellRole(StrEnum):
    """Why a cell was read: its value is (part of) the result; a condition held for it; it was compared
    to find an extreme, an order or a truth; it is a key of a group or join."""

    SELECTED = "selected"
    CONDITION = "condition"
    COMPARED = "compared"
    KEY = "key"


@dataclass(frozen=True, slots=True)
class CellRead:
    """A cell that a program read, by grid position, with its role and printed text."""

    role: CellRole
    table: str
    row: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Rows of one relation for each row of another: those of row i are ``rows[starts[i]:starts[i + 1]]``."""

    rows: Indices
    starts: Indices


Origin: TypeAlias = Indices | RowGroups | None
"""From which rows each row came: one each (-1 for none), several each, or all for every row."""


@dataclass(frozen=True, slots=True)
class Read:
    """Cells of a relation: `rows` are its places, one for each row of the trace (-1 for none), or, if
    not `aligned`, all of them for every row. `columns` is one column or one for each of `rows`.

    With `header`, the cell is that of the column's header.
    """

    relation: Relation
    columns: int | Indices
    rows: Indices
    role: CellRole = CellRole.SELECTED
    aligned: bool = True
    header: bool = False


class RowTrace:
    """Provenance of the rows of a relation."""

    __slots__ = ("origins", "reads")

    def __init__(self, origins: tuple[tuple[RowTrace, Origin], ...] = (), reads: tuple[Read, ...] = ()) -> None:
        self.origins, self.reads = origins, reads

    def cells(self, rows: Indices | None = None) -> Iterator[CellRead]:
        """The cells that some rows (None: all) rest on, each once in its first role: what was read for
        the outermost operation comes first."""
        seen: set[tuple[str, int, int]] = set()
        pending: list[tuple[RowTrace, Indices | None]] = [(self, rows)]
        done: dict[int, list[Indices | None]] = {}
        while pending:
            trace, wanted = pending.pop(0)
            known = done.setdefault(id(trace), [])
            if any(_covers(earlier, wanted) for earlier in known):
                continue
            known.append(wanted)
            for read in trace.reads:
                for found in _read(read, wanted):
                    key = found.table, found.row, found.column
                    if key not in seen:
                        seen.add(key)
                        yield found
            pending.extend((origin, _back(rows_of, wanted)) for origin, rows_of in trace.origins)


def _covers(earlier: Indices | None, wanted: Indices | None) -> bool:
    if earlier is None:
        return True
    return wanted is not None and np.array_equal(earlier, wanted)


def _back(origin: Origin, wanted: Indices | None) -> Indices | None:
    """The rows of an origin that some rows came from."""
    if origin is None:
        return None
    if isinstance(origin, RowGroups):
        if wanted is None:
            return np.sort(origin.rows)
        parts = [origin.rows[origin.starts[row] : origin.starts[row + 1]] for row in wanted.tolist()]
        found = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        return distinct(found)
    found = origin if wanted is None else origin[wanted]
    found = found[found >= 0]
    return distinct(found)


def _read(read: Read, wanted: Indices | None) -> Iterator[CellRead]:
    places = read.rows if wanted is None or not read.aligned else read.rows[wanted]
    columns = read.columns
    if not isinstance(columns, int) and wanted is not None and read.aligned:
        columns = columns[wanted]
    for index, place in enumerate(places):
        if place < 0:
            continue
        column = columns if isinstance(columns, int) else int(columns[index])
        if read.header:
            found = _header_cell(read.relation, int(place), column, read.role)
        else:
            found = _cell(read.relation, int(place), column, read.role)
        if found is not None:
            yield found


def _cell(relation: Relation, place: int, column: int, role: CellRole) -> CellRead | None:
    """The cell, or None for a blank one."""
    text = relation.text(place, column)
    if not text:
        return None
    return CellRead(role, *relation.position(place, column), text)


def _header_cell(relation: Relation, place: int, column: int, role: CellRole) -> CellRead | None:
    """The lowest header cell of a column that is not blank."""
    table = relation.table_of(place)
    column = relation.in_table(column)
    for row in reversed(table.structure.header):
        cells = table.grid.head[row]
        text = " ".join(cells[column].split()) if column < len(cells) else ""
        if text:
            return CellRead(role, table.id, row, column, text)
    return None
