"""Which cells are scored for a question: those of the likeliest tables, and those its labels name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgtable.index.corpus import Corpus
from kgtable.index.postings import Floats, Integers, distinct, ranges

FEWEST = 5_000
"""Cells that are scored at least, if there are so many."""

PER_TRIPLE = 10
"""Cells that are scored for each triple asked for."""

LARGE = 20_000
"""Cells of a table beyond which only its first rows and those the question leads to are scored."""


def scored_cells(
    corpus: Corpus, tables: Floats, matching: Integers, hit_rows: Callable[[], Integers], k: int
) -> Integers:
    """Numbers of the cells to score, rising.

    Tables are taken by falling score, with all their cells, until `FEWEST` + `PER_TRIPLE` k are
    reached; of the tables after that, as many again, the cells `matching` (numbers, rising) that their
    labels name. Of a `LARGE` table the first rows are taken, and those among `hit_rows`, rising numbers
    that are asked for only where there is such a table.
    """
    wanted = FEWEST + PER_TRIPLE * k
    starts = corpus.places.table_cell_start
    order = np.argsort(-tables, kind="stable")
    sizes = np.diff(starts)[order]
    counted = np.minimum(sizes, LARGE).cumsum()
    cut = int(np.searchsorted(counted, wanted)) + 1
    chosen = order[:cut]
    small = chosen[sizes[:cut] <= LARGE]
    large = chosen[sizes[:cut] > LARGE]
    scored = [ranges(starts[small], starts[small + 1])]
    if len(large):
        rows = hit_rows()
        scored += (_of_large(corpus, starts[table], starts[table + 1], matching, rows) for table in large)
    rest = np.zeros(corpus.places.tables, dtype=np.bool_)
    rest[order[cut:]] = True
    owner = corpus.places.row_table[corpus.places.cell_row[matching]]
    outside = rest[owner]
    cells, owner = matching[outside], owner[outside]
    if len(cells) > wanted:
        cells = cells[np.argsort(-tables[owner], kind="stable")][:wanted]
    scored.append(cells)
    return np.sort(np.concatenate(scored))


def _of_large(corpus: Corpus, start: int, end: int, matching: Integers, hit_rows: Integers) -> Integers:
    places = corpus.places
    first_row, last_row = places.cell_row[start], places.cell_row[end - 1]
    rows = hit_rows[(hit_rows >= first_row) & (hit_rows <= last_row)]
    named = matching[(matching >= start) & (matching < end)]
    led_to = distinct(
        np.concatenate([named, ranges(places.row_cell_start[rows], places.row_cell_start[rows + 1])])
    )
    first = np.arange(start, min(end, start + LARGE))
    return distinct(np.concatenate([first, led_to[:LARGE]]))
