from __future__ import annotations

import numpy as np
import pytest

from kgtable.index.open import GraphIndex
from kgtable.retrieval import ranking
from kgtable.retrieval.ranking import scored_cells


def tables_of(index: GraphIndex, cells: np.ndarray) -> list[int]:  # type: ignore[type-arg]
    places = index.corpus.places
    return sorted(set(places.row_table[places.cell_row[cells]].tolist()))


def not_asked() -> np.ndarray:  # type: ignore[type-arg]
    raise AssertionError("there is no large table")


def test_the_likeliest_tables_are_scored_whole_until_there_are_enough(
    index: GraphIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "FEWEST", 5)
    logits = np.array([0.0, 2.0, 1.0], dtype=np.float32)
    matching = np.zeros(0, dtype=np.int64)
    assert tables_of(index, scored_cells(index.corpus, logits, matching, not_asked, 0)) == [1]
    assert tables_of(index, scored_cells(index.corpus, logits, matching, not_asked, 1_000)) == [0, 1, 2]


def test_cells_that_labels_name_join_from_other_tables(
    index: GraphIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "FEWEST", 5)
    matching = np.arange(2)
    cells = scored_cells(index.corpus, np.array([0.0, 2.0, 1.0], dtype=np.float32), matching, not_asked, 0)
    assert tables_of(index, cells) == [0, 1]
    assert cells[:2].tolist() == [0, 1]
    assert (np.diff(cells) > 0).all()


def test_of_a_large_table_the_first_rows_and_those_led_to(
    index: GraphIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "LARGE", 4)
    places = index.corpus.places
    matching = np.zeros(0, dtype=np.int64)
    last = int(places.table_row_start[1]) - 1
    cells = scored_cells(index.corpus, np.zeros(3, dtype=np.float32), matching, lambda: np.array([last]), 0)
    of_first = cells[cells < places.table_cell_start[1]]
    assert of_first.tolist() == [
        0,
        1,
        2,
        3,
        *range(int(places.row_cell_start[last]), int(places.table_cell_start[1])),
    ]
