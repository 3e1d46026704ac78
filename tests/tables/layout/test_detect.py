from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.layout.detect import detect_structure, make_table
from kgtable.tables.model import Area, Context, Grid, Source
from tests.tables.layout.grids import grid

CELLS = st.sampled_from(
    ["", " ", "Total", "- Cloud", "2019", "2018", "5", "(3)", "—", "€m", "%", "Sum:", "(1) note", "Rank", "1", "2"]
) | st.text(max_size=8)
ROWS = st.lists(st.lists(CELLS, max_size=6).map(tuple), max_size=14).map(tuple)


def test_corner() -> None:
    assert detect_structure(grid("(in thousands)|2019\nSales|5\nCosts|3")).corner == "(in thousands)"


POSITIONS = st.tuples(st.integers(0, 9), st.integers(0, 5))
AREAS = st.builds(
    lambda corner, height, width: Area(*corner, corner[0] + height, corner[1] + width),
    POSITIONS,
    st.integers(0, 4),
    st.integers(0, 4),
)


@given(
    ROWS,
    st.lists(AREAS, max_size=3).map(tuple),
    st.frozensets(POSITIONS, max_size=9),
    st.dictionaries(POSITIONS, st.integers(0, 3), max_size=6),
)
def test_any_grid_has_a_sound_structure(
    rows: tuple[tuple[str, ...], ...],
    merged: tuple[Area, ...],
    header_cells: frozenset[tuple[int, int]],
    indents: dict[tuple[int, int], int],
) -> None:
    width = max(map(len, rows), default=0)
    source = Source("t.csv")
    table = make_table(Grid("t", source, rows, width, merged=merged, header_cells=header_cells, indents=indents))
    found = table.structure
    assert [column.index for column in found.columns] == list(range(width))
    assert sorted((*found.titles, *found.header)) == list(range(found.body_start))
    assert list(found.header) == sorted(found.header)
    between = [row for row in found.titles if found.header and row > found.header[0]]
    assert not any(map(str.strip, (cell for row in between for cell in rows[row])))
    assert found.unit_rows <= set(found.header)
    assert 0 <= found.label_column < max(width, 1)
    body = set(range(found.body_start, len(rows)))
    assert found.groups | found.totals | found.footnotes | set(found.parents) <= body
    assert set(found.parents.values()) <= found.groups
    for row in found.parents:
        assert len(table.group_path(row)) < len(rows)
        assert found.parents[row] < row


def test_notes_around_the_table_explain_marks() -> None:
    context = Context(after=("1 Amounts owed are unsecured.",), paragraphs=("(a) Adjusted for one-off items.", "Text."))
    table = grid("|2019|2018 (a)\nAmounts owed by subsidiaries1|5|6\nTax|7|8", context=context)
    assert detect_structure(table).marks == {"(a)": "Adjusted for one-off items.", "1": "Amounts owed are unsecured."}
