from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.model import Grid, Source
from kgtable.tables.structure import detect_structure, make_table
from tests.tables.structure.grids import grid

CELLS = st.sampled_from(
    [
        "",
        " ",
        "Total",
        "- Cloud",
        "2019",
        "2018",
        "5",
        "(3)",
        "—",
        "€m",
        "%",
        "Sum:",
        "(1) note",
        "Rank",
        "1",
        "2",
    ]
) | st.text(max_size=8)
ROWS = st.lists(st.lists(CELLS, max_size=6).map(tuple), max_size=14).map(tuple)


def test_corner() -> None:
    assert detect_structure(grid("(in thousands)|2019\nSales|5\nCosts|3")).corner == "(in thousands)"


@given(ROWS)
def test_any_grid_has_a_sound_structure(rows: tuple[tuple[str, ...], ...]) -> None:
    width = max(map(len, rows), default=0)
    table = make_table(Grid("t", Source("t.csv"), rows, width))
    found = table.structure
    assert [column.index for column in found.columns] == list(range(width))
    assert (*found.titles, *found.header) == tuple(range(found.body_start))
    assert found.unit_rows <= set(found.header)
    assert 0 <= found.label_column < max(width, 1)
    body = set(range(found.body_start, len(rows)))
    assert found.groups | found.totals | found.footnotes | set(found.parents) <= body
    assert set(found.parents.values()) <= found.groups
    for row in found.parents:
        assert len(table.group_path(row)) < len(rows)
        assert found.parents[row] < row
