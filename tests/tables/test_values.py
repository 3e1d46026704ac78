from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.column_profile import CACHED_CELLS, CellKind, ColumnStyle, profile_columns, type_cell
from tests.tables.column_samples import table


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", CellKind.EMPTY),
        (" ", CellKind.MISSING),
        ("\u00a0", CellKind.MISSING),
        ("-", CellKind.MISSING),
        ("—", CellKind.MISSING),
        ("n/a", CellKind.MISSING),
        ("…", CellKind.MISSING),
        ("$ —", CellKind.MISSING),
        ("?", CellKind.MISSING),
        ("nm", CellKind.MISSING),
        ("12", CellKind.NUMBER),
        (" 12 ", CellKind.NUMBER),
        ("2013", CellKind.NUMBER),
        ("31 Dec. 2024", CellKind.DATE),
        ("May 5, 2010[3]", CellKind.DATE),
        ("Q3 2020", CellKind.PERIOD),
        ("2016-17", CellKind.PERIOD),
        ("yes", CellKind.TEXT),
        ("Total", CellKind.TEXT),
        ("007", CellKind.TEXT),
        ("x" * 100_000, CellKind.TEXT),
        ("9" * 100_000, CellKind.TEXT),
    ],
)
def test_single_cells(text: str, kind: CellKind) -> None:
    assert type_cell(text, ColumnStyle()).kind is kind


def test_cache_is_bounded() -> None:
    style = ColumnStyle()
    for number in range(2 * CACHED_CELLS):
        type_cell(f"{number}", style)
    assert len(style.cache) == CACHED_CELLS


@given(
    st.lists(st.text(max_size=80) | st.from_regex(r"[-($]?\d{1,9}[.,)%]?\d{0,4}", fullmatch=True), min_size=1)
)
def test_any_column_is_typed(cells: list[str]) -> None:
    made = table(("label", "name"), *(("row", cell) for cell in cells))
    style = profile_columns(made)[1]
    for cell in cells:
        value = type_cell(cell, style)
        assert (value.kind is CellKind.NUMBER) == (value.number is not None)
        assert (value.kind is CellKind.EMPTY) == (cell == "")
        assert type_cell(cell, style) == value
