"""Long tables of a store behind a network, column by column: each query asks for the cells of a bounded number of rows.

Engines bound the time and the size of an answer, so that a table of many rows cannot be had by one query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kgtable.graph.table_content import CellContent

_Codes = npt.NDArray[np.int32]
_Rows = npt.NDArray[np.int64]


class PagedColumns:
    """The body of one table as a `ColumnSource`; a column is read when it is first asked for.

    Methods and attributes raise what the store's queries raise.
    """

    def __init__(
        self,
        read: Callable[[int, Sequence[int]], Sequence[CellContent | None]],
        body: Sequence[int],
        width: int,
    ) -> None:
        """`read` gives the cells of a column in some grid rows, `body` are the rows, `width` counts the columns."""
        self._read, self._body, self._width = read, body, width
        self._columns: dict[int, tuple[_Codes, Sequence[CellContent]]] = {}

    @property
    def rows(self) -> _Rows:
        """The grid rows that have cells."""
        return self._filled_rows[0]

    @cached_property
    def filled(self) -> _Rows:
        """How many cells each row has; all columns are read for it."""
        found = np.zeros(len(self.rows), dtype=np.int64)
        for index in range(self._width):
            found += self.column(index)[0] >= 0
        return found

    def column(self, index: int) -> tuple[_Codes, Sequence[CellContent]]:
        """The cells of a column: for each row the number of its content (-1 for a blank cell), and the contents."""
        if index not in self._columns:
            self._columns[index] = _different(self._read(index, self.rows.tolist()))
        return self._columns[index]

    def first_cells(self) -> tuple[_Codes, Sequence[CellContent]]:
        """The first cell of each row, in the form of `column`."""
        return self._filled_rows[1]

    def first_rows(self, count: int) -> Iterator[tuple[int, int, CellContent]]:
        """Grid row, column and content of the cells of so many rows."""
        wanted = self.rows[:count].tolist()
        columns = [self._read(index, wanted) for index in range(self._width)]
        for row, cells in zip(wanted, zip(*columns, strict=True), strict=True):
            for column, cell in enumerate(cells):
                if cell is not None:
                    yield row, column, cell

    @cached_property
    def _filled_rows(self) -> tuple[_Rows, tuple[_Codes, Sequence[CellContent]]]:
        """The rows with cells and the first cell of each: later columns are looked at where the first are blank."""
        rows = np.array(self._body, dtype=np.int64)
        firsts: list[CellContent | None] = [None] * len(rows)
        blank = list(range(len(rows)))
        for index in range(self._width):
            if not blank:
                break
            found = self._read(index, rows[blank].tolist())
            for place, cell in zip(blank, found, strict=True):
                firsts[place] = cell
            if len(blank) == len(rows) and None not in found:
                self._columns[index] = _different(found)
            blank = [place for place in blank if firsts[place] is None]
        kept = np.array([cell is not None for cell in firsts], dtype=np.bool_)
        return rows[kept], _different([cell for cell in firsts if cell is not None])


def _different(cells: Sequence[CellContent | None]) -> tuple[_Codes, Sequence[CellContent]]:
    """Each cell as the number of its content, -1 for none, and the different contents."""
    numbers: dict[CellContent, int] = {}
    codes = np.array(
        [-1 if cell is None else numbers.setdefault(cell, len(numbers)) for cell in cells], dtype=np.int32
    )
    return codes, list(numbers)
