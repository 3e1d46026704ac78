from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.columns import ColumnStyle
from kgtable.tables.values import CACHED_CELLS, Kind, profile_columns, type_cell
from tests.tables.column_samples import table


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", Kind.EMPTY),
        (" ", Kind.MISSING),
        ("\u00a0", Kind.MISSING),
        ("-", Kind.MISSING),
        ("—", Kind.MISSING),
        ("n/a", Kind.MISSING),
        ("…", Kind.MISSING),
        ("$ —", Kind.MISSING),
        ("?", Kind.MISSING),
        ("nm", Kind.MISSING),
        ("12", Kind.NUMBER),
        (" 12 ", Kind.NUMBER),
        ("2013", Kind.NUMBER),
        ("31 Dec. 2024", Kind.DATE),
        ("May 5, 2010[3]", Kind.DATE),
        ("Q3 2020", Kind.PERIOD),
        ("2016-17", Kind.PERIOD),
        ("yes", Kind.TEXT),
        ("Total", Kind.TEXT),
        ("007", Kind.TEXT),
        ("x" * 100_000, Kind.TEXT),
        ("9" * 100_000, Kind.TEXT),
    ],
)
def test_single_cells(text: str, kind: Kind) -> None:
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
        assert (value.kind is Kind.NUMBER) == (value.number is not None)
        assert (value.kind is Kind.EMPTY) == (cell == "")
        assert type_cell(cell, style) == value
