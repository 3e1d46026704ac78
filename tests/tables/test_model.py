from __future__ import annotations

from types import MappingProxyType

from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils import get_column_letter

from kgtable.tables.model import Column, Grid, Source, Structure, Table, spreadsheet_reference


def table(*rows: tuple[str, ...], structure: Structure) -> Table:
    return Table(Grid("t", Source("t.csv"), tuple(rows), max(map(len, rows))), structure)


@given(st.integers(0, 2_000_000), st.integers(0, 16_383))
def test_spreadsheet_reference_agrees_with_openpyxl(row: int, column: int) -> None:
    assert spreadsheet_reference(row, column) == f"{get_column_letter(column + 1)}{row + 1}"


def test_body_starts_below_titles_and_header() -> None:
    structure = Structure(columns=(Column(0, ("Year",)),), titles=(0,), header=(1,), body_start=2)
    rows = [("A title",), ("Year",), ("2019",), (), ("2020",)]
    assert list(table(*rows, structure=structure).body()) == [(2, ("2019",)), (3, ()), (4, ("2020",))]


def test_group_path_runs_from_the_outermost_group_and_survives_a_cycle() -> None:
    parents = MappingProxyType({3: 2, 2: 1, 6: 7, 7: 6})
    structure = Structure(columns=(Column(0),), parents=parents)
    found = table(("a",), structure=structure)
    assert found.group_path(3) == (1, 2)
    assert found.group_path(1) == ()
    assert set(found.group_path(6)) == {6, 7}


def test_column_name_joins_the_levels_that_hold_text() -> None:
    assert Column(2, ("Sales", "", "2019")).name == "Sales 2019"
