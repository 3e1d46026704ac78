from __future__ import annotations

from types import MappingProxyType

import pytest

from kgtable.tables.layout.cell_roles import profile_rows
from kgtable.tables.layout.header import find_header
from kgtable.tables.layout.row_kinds import RowKind, cell_of, kinds_of_rows, label_of, levels_of_rows
from kgtable.tables.model import Area, Grid, Source
from tests.tables.layout.grids import grid


def kinds(found: Grid, label_column: int = 0) -> list[str]:
    """The kind of each row below the header."""
    profile = profile_rows(found.head, found.width)
    header = find_header(found, found.head, profile)
    body = {index: row for index, row in enumerate(found.head) if index >= header.body_start}
    return [kind.value for kind in kinds_of_rows(found, header, body, label_column, profile).values()]


def test_values_headings_units_and_blank_lines() -> None:
    text = "|2019|2018\nAssets:||\nCash|10|20\n||\n|%|\nMargin|5|6\nStock|—|"
    assert kinds(grid(text)) == ["heading", "values", "blank", "units", "values", "values"]


def test_one_text_over_all_columns_is_a_heading() -> None:
    assert kinds(grid("|2019|2018\nSpain|3|4\nEurope|Europe|Europe\nItaly|1|2")) == [
        "values",
        "heading",
        "values",
    ]


def test_the_header_repeated_under_another_name_is_a_heading() -> None:
    text = "2019|High|Low\nQ1|5|4\nQ2|6|5\n2018|High|Low\nQ1|3|2"
    assert kinds(grid(text)) == ["values", "values", "heading", "values"]


def test_a_merged_line_is_a_heading_also_of_digits() -> None:
    rows = (("", "A", "B"), ("x", "1", "2"), ("2018", "", ""), ("y", "3", "4"))
    merged = (Area(2, 0, 2, 2),)
    assert kinds(Grid("t", Source("t.csv"), rows, 3, merged=merged)) == ["values", "heading", "values"]
    assert kinds(Grid("t", Source("t.csv"), rows, 3))[1] != "blank"


def test_a_gap_in_a_list_in_order_is_no_heading() -> None:
    names = ["Aarau", "Basel", "Bern", "Biel", "Chur", "Davos", "Genf", "Luzern", "Sitten"]
    rows = "\n".join(
        f"{name}|{'' if name == 'Bern' else len(name)}|7" if name != "Bern" else "Bern||" for name in names
    )
    assert set(kinds(grid(f"Town|Size|Rank\n{rows}"))) == {"values"}


def test_how_far_labels_are_set_in() -> None:
    rows = (
        ("", "2019"),
        ("A", "1"),
        ("  B", "2"),
        ("- C", "3"),
        ("\tD", "4"),
        ("", "5"),
        ("", ""),
        ("E", "6"),
    )
    found = Grid("t", Source("t.csv"), rows, 2, indents=MappingProxyType({(7, 0): 2}))
    body = dict(enumerate(rows[1:], 1))
    kind = {index: RowKind.BLANK if index == 6 else RowKind.VALUES for index in body}
    assert levels_of_rows(found, body, kind, 0) == {1: 0, 2: 2, 3: 1, 4: 4, 5: 4, 7: 4}


@pytest.mark.parametrize(
    ("row", "column", "label"),
    [
        ((" a ", "b"), 0, "a"),
        (("", "b"), 0, "b"),
        (("a", "b"), 5, "a"),
        ((), 0, ""),
        (("\u00a0", " "), 1, ""),
    ],
)
def test_the_text_that_names_a_row(row: tuple[str, ...], column: int, label: str) -> None:
    assert label_of(row, column) == label
    assert cell_of(row, column) in (*row, "")
