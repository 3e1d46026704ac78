from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.layout.detect import make_table
from kgtable.tables.linearize import body_rows, headings, label, unnamed
from kgtable.tables.model import Column, Structure, Table
from tests.graph.support import grid
from tests.tables.formats.figures import normal, with_header


def test_headings_are_the_header_or_numbers() -> None:
    assert headings(normal()) == ("Year", "Pension", "Retiree medical and other")
    assert headings(with_header((("Year", " "), ("2019", "1")))) == ("Year", "")
    bare = Table(grid(("1", "2")), Structure((Column(0), Column(1))))
    assert headings(bare) == ("column 1", "column 2")
    assert unnamed(bare, 4) == "column 5"


def test_paths_are_joined() -> None:
    table = Table(
        grid(("a", "b"), ("x", "1")), Structure((Column(0), Column(1, ("Years ended", "2019"))), header=(0,))
    )
    assert headings(table)[1] == "Years ended 2019"


@given(
    st.lists(
        st.lists(st.sampled_from(["", " ", "x ", "\u00a0", "<b>", "\u202e1"]), max_size=4).map(tuple),
        max_size=5,
    )
)
def test_body_rows_are_full_stripped_and_never_blank(rows: list[tuple[str, ...]]) -> None:
    table = make_table(grid(("a", "b", "c", "d"), *rows))
    for index, row in body_rows(table):
        assert len(row) == len(table.columns)
        assert any(row)
        assert [cell for cell in row if cell] == [
            cell.strip() for cell in table.grid.head[index] if cell.strip()
        ]
    kept = {index for index, _ in body_rows(table)}
    blank = {index for index, row in table.body() if not any(cell.strip() for cell in row)}
    assert kept | blank == {index for index, _ in table.body()}


def test_the_label_of_a_row_that_may_be_short() -> None:
    table = with_header((("Rank", "Name"), ("1", "x")), label_column=1)
    assert label(table, ("1", "x")) == "x"
    assert label(table, ("1",)) == label(table, ()) == ""
