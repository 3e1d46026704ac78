from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.retrieval.result import Retrieval, ScoredTable
from tests.answering.sample import ACCOUNTS, SOURCE, evidence


def test_every_cell_with_text_is_found_by_its_id() -> None:
    found = evidence()
    for row, cells in enumerate(ACCOUNTS):
        for column, text in enumerate(cells):
            cell = found.resolve(found.cell_id("accounts", row, column))
            assert (cell.text if cell else "") == text
            assert cell is None or SOURCE.cell_iri("accounts", row, column) == cell.cell


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
        "", "T1", "T0.r1.c1", "T3.r1.c1", "T1.r99.c1", "T1.r1.c99", "T1.r2.c1", "T1.r-1.c1", f"T1.r{'9' * 5000}.c1",
        "<T1.r1.c1>",
    ],
)  # fmt: skip
def test_ids_of_no_cell(id: str) -> None:
    assert evidence().resolve(id) is None


@given(st.text(max_size=20))
def test_any_text_is_an_id_or_none(id: str) -> None:
    cell = evidence().resolve(id)
    assert cell is None or cell.text


def test_a_title_and_a_note_are_cited_like_cells(tmp_path: Path) -> None:
    (tmp_path / "fees.csv").write_text(
        "Harbour fees 2024,\n,\nPort,Fees\nSkarv,31\nFjell,44\nHalden,28\nNote: without VAT,\n", encoding="utf-8"
    )
    with kgtable.build(tmp_path / "fees.csv", tmp_path / "kg", embedding="none") as kg:
        (id,) = kg.catalogue.tables
        found = Evidence(Retrieval("?", (), (ScoredTable(id, 1.0),)), kg.reader)
        cells = [found.resolve(name) for name in ("T1.title", "T1.note.1", "T1.note.2", "T2.title")]
    assert [cell and cell.text for cell in cells] == ["Harbour fees 2024", "Note: without VAT", None, None]
