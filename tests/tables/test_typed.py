from __future__ import annotations

import pytest

from kgtable.tables.column_profile import ColumnStyle, type_cell
from kgtable.values.cell_types import MISSING_MARKERS, CellKind, CellValue
from kgtable.values.numbers import parse_number


@pytest.mark.parametrize("marker", sorted(MISSING_MARKERS))
def test_every_marker_says_that_a_value_is_missing(marker: str) -> None:
    for text in (marker, f" {marker}\u00a0"):
        assert type_cell(text, ColumnStyle()) == CellValue(CellKind.MISSING)
    assert marker == marker.strip()
    assert parse_number(marker) is None


@pytest.mark.parametrize("text", ["none", "no", "0", "not applicable", "N", "-1", "$", "!", "-x-"])
def test_what_is_no_marker(text: str) -> None:
    assert type_cell(text, ColumnStyle()).kind is not CellKind.MISSING


def test_kinds_are_their_names() -> None:
    assert f"{CellKind.NUMBER}" == "number"
    assert CellKind("text") is CellKind.TEXT
