"""One table of an index column by column: its different cells, and which row has which.

A long table is read so where whole columns are wanted: nothing is made for a single cell, only for each different
one, and columns that nobody asks for are not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from kgtable.errors import VocabularyIndexError
from kgtable.graph.table_content import CellContent
from kgtable.index.corpus import Corpus
from kgtable.index.postings import ranges


class TableColumns:
    """The body of one table, of which only rows with cells are known.

    Attributes:
        rows: the grid rows.
        filled: how many cells each row has.
    """

    def __init__(self, corpus: Corpus, table: int) -> None:
        self._corpus = corpus
        places = corpus.places
        first, last = places.table_row_start[table : table + 2].tolist()
        body = first + np.flatnonzero(~places.row_is_header[first:last])
        self.rows = places.row_number[body].astype(np.int64)
        self.filled = np.diff(places.row_cell_start[first : last + 1])[body - first]
        self._place = np.full(last - first, -1, dtype=np.int64)
        self._place[body - first] = np.arange(len(body))
        self._first_row, self._first_column = first, int(places.table_column_start[table])
        self._cells = slice(*places.row_cell_start[[first, last]].tolist())

    def column(self, index: int) -> tuple[npt.NDArray[np.int32], Sequence[CellContent]]:
        """For each row the number of its cell among the different ones, -1 for a blank one, and these.

        Raises `VocabularyIndexError` where the index is damaged.
        """
        places = self._corpus.places
        at = self._cells.start + np.flatnonzero(places.cell_column[self._cells] == self._first_column + index)
        row = self._place[places.cell_row[at] - self._first_row]
        return self._different(at[row >= 0], row[row >= 0])

    def first_cells(self) -> tuple[npt.NDArray[np.int32], Sequence[CellContent]]:
        """The first cell of each row, as `column` gives them."""
        start = self._corpus.places.row_cell_start
        rows = self._first_row + np.flatnonzero(self._place >= 0)
        return self._different(start[rows].astype(np.int64), np.arange(len(rows)))

    def first_rows(self, count: int) -> Iterator[tuple[int, int, CellContent]]:
        """Grid row, column and content of the cells of so many rows. Raises as `column` does."""
        places = self._corpus.places
        body = self._first_row + np.flatnonzero(self._place >= 0)[:count]
        cells = ranges(places.row_cell_start[body], places.row_cell_start[body + 1])
        rows = places.row_number[places.cell_row[cells]].tolist()
        columns = (places.cell_column[cells] - self._first_column).tolist()
        pieces = [self._corpus.printed_cells.piece(cell) for cell in cells.tolist()]
        yield from zip(rows, columns, _contents(pieces), strict=True)

    def _different(
        self, cells: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], Sequence[CellContent]]:
        codes = np.full(len(self.rows), -1, dtype=np.int32)
        printed = self._corpus.printed_cells
        # Cells of one text mostly are the same in all; these are told from their bytes.
        _, first, number = np.unique(
            self._corpus.places.cell_text[cells], return_index=True, return_inverse=True
        )
        contents = [printed.piece(cell) for cell in cells[first].tolist()]
        known: dict[bytes, int] = {}
        others = np.flatnonzero(~printed.equal(cells, cells[first][number]))
        for other in others.tolist():
            piece = printed.piece(int(cells[other]))
            code = known.get(piece)
            if code is None:
                code = known[piece] = len(contents)
                contents.append(piece)
            number[other] = code
        codes[rows] = number
        return codes, _contents(contents)


def _contents(pieces: Iterable[bytes]) -> list[CellContent]:
    try:
        return [CellContent.from_list(json.loads(piece)) for piece in pieces]
    except (ValueError, TypeError, LookupError) as error:  # JSON that was written here is sound
        raise VocabularyIndexError(
            "The index is damaged: it does not hold its cells.", hint="Build the graph again."
        ) from error
