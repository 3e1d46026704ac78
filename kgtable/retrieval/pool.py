"""Which cells are scored for a question: those of the likeliest tables, and those its labels name."""

from __future__ import annotations

import numpy as np

from kgtable.index.corpus import Corpus
from kgtable.index.postings import Flags, Floats, Integers, ranges

FEWEST = 5_000
"""Cells that are scored at least, if there are so many."""

PER_TRIPLE = 10
"""Cells that are scored for each triple asked for."""

LARGE = 20_000
"""Cells of a table beyond which only its first rows and those the question leads to are scored."""


def scored_cells(corpus: Corpus, tables: Floats, matching: Flags, hit_rows: Flags, k: int) -> Integers:
    """Numbers of the cells to score, rising.

    Tables are taken by falling score, with all their cells, until `FEWEST` + `PER_TRIPLE` k are
    reached; of the tables after that, as many again, the cells that `matching` (cells, by their
    labels) marks. Of a `LARGE` table the first rows are taken, and those in `hit_rows` (rows).
    """
    wanted = FEWEST + PER_TRIPLE * k
    starts = corpus.places.table_cell_start
    order = np.argsort(-tables, kind="stable")
    sizes = np.diff(starts)[order]
    counted = np.minimum(sizes, LARGE).cumsum()
    cut = int(np.searchsorted(counted, wanted)) + 1
    chosen = order[:cut]
    small = chosen[sizes[:cut] <= LARGE]
    scored = np.zeros(len(matching), dtype=np.bool_)
    scored[ranges(starts[small], starts[small + 1])] = True
    for table in chosen[sizes[:cut] > LARGE].tolist():
        scored[_of_large(corpus, int(starts[table]), int(starts[table + 1]), matching, hit_rows)] = True
    rest = np.zeros(corpus.places.tables, dtype=np.bool_)
    rest[order[cut:]] = True
    if rest.any() and matching.any():
        cells = np.flatnonzero(matching)
        owner = corpus.places.row_table[corpus.places.cell_row[cells]]
        outside = rest[owner]
        cells, owner = cells[outside], owner[outside]
        if len(cells) > wanted:
            cells = cells[np.argsort(-tables[owner], kind="stable")][:wanted]
        scored[cells] = True
    return np.flatnonzero(scored)


def _of_large(corpus: Corpus, start: int, end: int, matching: Flags, hit_rows: Flags) -> Integers:
    cells = np.arange(start, end)
    first = cells[:LARGE]
    led_to = matching[start:end] | hit_rows[corpus.places.cell_row[start:end]]
    return np.concatenate([first, cells[led_to][:LARGE]])
