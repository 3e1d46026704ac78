from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.answering.sample import ACCOUNTS, SOURCE, evidence


def test_every_cell_with_text_is_found_by_its_id() -> None:
    found = evidence()
    for row, cells in enumerate(ACCOUNTS):
        for column, text in enumerate(cells):
            cell = found.resolve(found.cell_id("accounts", row, column))
            assert (cell.text if cell else "") == text
            assert cell is None or SOURCE.cell_iri("accounts", row, column) == cell.iri


@pytest.mark.parametrize("id", ["T1.r1.c1", " [T1.r1.c1] ", "(t1.R1.C1)", "T1, r1, c1", "T1. r1.c1"])
def test_ids_as_models_write_them(id: str) -> None:
    cell = evidence().resolve(id)
    assert cell is not None
    assert (cell.text, cell.value, cell.unit, cell.scale, cell.power) == (
        "1,200", Decimal(1_200_000_000), "CCY_EUR", "M", 6,
    )  # fmt: skip


@pytest.mark.parametrize(
    "id",
    [
        "",
        "T1",
        "T0.r1.c1",
        "T3.r1.c1",
        "T1.r99.c1",
        "T1.r1.c99",
        "T1.r2.c1",
        "T1.r-1.c1",
        f"T1.r{'9' * 5000}.c1",
        "<T1.r1.c1>",
    ],
)
def test_ids_of_no_cell(id: str) -> None:
    assert evidence().resolve(id) is None


@given(st.text(max_size=20))
def test_any_text_is_an_id_or_none(id: str) -> None:
    cell = evidence().resolve(id)
    assert cell is None or cell.text
