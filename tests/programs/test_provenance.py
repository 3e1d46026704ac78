from __future__ import annotations

import numpy as np

from kgtable.programs import CellRole, Relation
from kgtable.programs.provenance import Read, RowGroups, RowTrace


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def test_cells_follow_links_back_and_come_once(relations: dict[str, Relation]) -> None:
    orders = relations["orders"]
    base = RowTrace((), (Read(orders, 1, rows(0, 1, 2), CellRole.KEY),))
    grouped = RowTrace(((base, RowGroups(rows(0, 2, 1), rows(0, 2, 3))),))
    assert [cell.text for cell in grouped.cells(rows(0))] == ["Hansen", "Hansen"]
    assert [cell.row for cell in grouped.cells(rows(1))] == [2]
    both = RowTrace(((grouped, rows(0)), (base, None)), (Read(orders, 1, rows(0)),))
    assert [(cell.row, cell.role) for cell in both.cells(rows(0))] == [
        (1, CellRole.SELECTED),
        (2, CellRole.KEY),
        (3, CellRole.KEY),
    ]


def test_blank_cells_and_absent_rows_are_not_cited(relations: dict[str, Relation]) -> None:
    blank = RowTrace((), (Read(relations["orders"], 4, rows(3, -1, 0)),))
    assert [(cell.row, cell.column, cell.text) for cell in blank.cells()] == [(1, 4, "paid")]


def test_headers_can_be_cited(relations: dict[str, Relation]) -> None:
    trace = RowTrace((), (Read(relations["budget"], rows(1, 2), rows(0, 0), header=True),))
    assert [(cell.row, cell.column, cell.text) for cell in trace.cells()] == [(1, 1, "2021"), (1, 2, "2022")]
