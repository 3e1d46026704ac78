from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.graph.table_encoder import areas_text, parse_areas, parse_positions, positions_text
from kgtable.tables.model import Area

position = st.tuples(st.integers(0, 2000), st.integers(0, 800))


@given(st.sets(position, max_size=30))
def test_positions_come_back(positions: set[tuple[int, int]]) -> None:
    assert set(parse_positions(positions_text(positions))) == positions


@given(st.lists(st.tuples(position, st.integers(0, 5), st.integers(0, 5)), max_size=10))
def test_areas_come_back(corners: list[tuple[tuple[int, int], int, int]]) -> None:
    areas = tuple(Area(row, column, row + down, column + right) for (row, column), down, right in corners)
    assert parse_areas(areas_text(areas)) == areas


def test_a_text_that_is_no_area_is_refused() -> None:
    with pytest.raises(ValueError, match="B0"):
        parse_areas("A1 B0")
