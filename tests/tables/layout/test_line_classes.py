from __future__ import annotations

import numpy as np

from kgtable.tables.layout.line_classes import read_lines
from kgtable.tables.layout.line_features import describe_lines
from kgtable.tables.layout.row_sums import find_runs
from tests.tables.layout.grids import grid, structure

ROWS = "\n".join(f"{name}|{at}04{at}|{at + 3}9{at}|{at}7.{at}" for at, name in enumerate("ABCDEFGHIJKLMN", 1))
SHEET = (
    "Table 7. Farms and land by state: 2010|||\n[In thousands]|||\n|||\n"
    "State|Farms|Land in farms|Average size\n|||\n|(number)|(acres)|(percent)\n|||\n"
    f"{ROWS}\n|||\nNA Not available.|||\nSource: Department of Agriculture, Farm Survey.|||"
)


def test_blank_rows_within_a_header_do_not_end_it() -> None:
    found = structure(SHEET)
    assert found.titles[:3] == (0, 1, 2)
    assert found.header == (3, 5)
    assert found.body_start == 7
    assert found.columns[2].path[0] == "Land in farms"
    assert found.footnotes == {22, 23}


def test_lines_are_read_alike_each_time() -> None:
    first, again = read_lines(grid(SHEET)), read_lines(grid(SHEET))
    assert first == again
    assert first.rows("n") == [22, 23]


def test_features_of_a_sheet_without_text() -> None:
    assert describe_lines([(), ("", " ")], 2).rows.tolist() == []


def test_runs_that_add_up_to_the_line_below_them_and_to_sums_of_sums() -> None:
    values = np.array([[120, 7], [230, 9], [350, 16], [10, 5], [41, 6], [51, 11], [401, 27]], dtype=np.float64)
    found = find_runs(values, np.zeros(values.shape, dtype=np.int64))
    assert found.columns.tolist() == [0, 0, 2, 0, 0, 2, 2]
    assert dict(found.members) == {2: (0, 1), 5: (3, 4), 6: (2, 5)}
