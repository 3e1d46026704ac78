from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from kgtable.index.open import GraphIndex
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.ranking import CellWeights, cell_scores

NOTHING = CellWeights(**dict.fromkeys((item.name for item in fields(CellWeights)), 0.0))


def scores(question: str, index: GraphIndex, weights: CellWeights) -> dict[tuple[str, int, int], float]:
    """The score of every cell by its place."""
    vector = index.embed([question])
    query = Query.of(question, index.corpus, None if vector is None else vector[0])
    places = index.corpus.places
    cells = np.arange(len(places.cell_row))
    found = cell_scores(query, index, cells, weights)
    rows = places.cell_row[cells]
    tables = (index.corpus.table_ids[table] for table in places.row_table[rows].tolist())
    columns = places.column_number[places.cell_column[cells]].tolist()
    keys = zip(tables, places.row_number[rows].tolist(), columns, strict=True)
    return dict(zip(keys, found.tolist(), strict=True))


def test_without_weights_every_cell_is_alike(index: GraphIndex) -> None:
    assert set(scores("How many gold medals did Kenya win?", index, NOTHING).values()) == {0.0}


@pytest.mark.parametrize(
    ("signal", "question", "cell", "other"),
    [
        ("row", "gold of Kenya", ("medals", 2, 2), ("medals", 1, 2)),
        ("rare_in_table", "gold of Kenya", ("medals", 2, 2), ("medals", 1, 2)),
        ("own", "gold of Kenya", ("medals", 2, 1), ("medals", 2, 2)),
        ("named", "gold of Kenya", ("medals", 2, 1), ("medals", 1, 1)),
        ("column_named_in", "gold of Kenya", ("medals", 1, 1), ("medals", 1, 2)),
        ("header", "gold of Kenya", ("medals", 1, 2), ("medals", 1, 3)),
        ("header_named", "gold of Kenya", ("medals", 1, 2), ("medals", 1, 3)),
        ("header_vector", "gold", ("medals", 1, 2), ("medals", 1, 3)),
        ("number", "How many medals?", ("medals", 1, 2), ("medals", 1, 1)),
        ("date", "When was it opened?", ("bridges", 1, 1), ("bridges", 1, 0)),
        ("above_body", "gold", ("medals", 0, 2), ("medals", 1, 2)),
    ],
)
def test_each_signal_alone_prefers_what_it_is_for(
    signal: str, question: str, cell: tuple[str, int, int], other: tuple[str, int, int], index: GraphIndex
) -> None:
    found = scores(question, index, replace(NOTHING, **{signal: 1.0}))
    assert found[cell] > found[other]


def test_some_cells_alone_and_none(index: GraphIndex) -> None:
    query = Query.of("gold of Kenya", index.corpus, None)
    some = np.arange(0, len(index.corpus.places.cell_row), 3)
    assert cell_scores(query, index, some, CellWeights()).shape == some.shape
    assert np.isfinite(cell_scores(query, index, some, CellWeights())).all()
    assert len(cell_scores(query, index, some[:0], CellWeights())) == 0


def test_unknown_words_prefer_nothing(index: GraphIndex) -> None:
    found = scores("xyzzy", index, replace(CellWeights(), header_vector=0.0, above_body=0.0))
    assert set(found.values()) == {0.0}
