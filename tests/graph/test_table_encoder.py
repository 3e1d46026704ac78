"""A table as RDF against Figure 8 of the thesis; docs/differences.md lists the differences."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.graph.cell_areas import areas_text, parse_areas, parse_positions, positions_text
from kgtable.graph.writers import Format
from kgtable.tables.model import Area
from tests.graph.support import grid, text_of

NORMAL = grid(
    ("Year", "Pension", "Retiree medical and other"),
    ("2011", "574", "173"),
    ("2012", "602", "170"),
    ("2013", "665", "169"),
    id="figure-8a",
)
HIERARCHICAL = grid(
    ("Account", "2016", "2017"),
    ("Net Income", "615", "585"),
    ("- Profit", "671", "654"),
    ("- Costs", "562", "678"),
    id="figure-8b",
)
FIGURE_8A = """
<row/1> a kgt:Row ;
    kgt:table <http://example.org/data/table/figure-8a> ;
    kgt:row 1 ;
    rdfs:label "2011" ;
    kgt:subject data:2011 ;
    ex:hasYear "2011"^^xsd:gYear ;
    ex:hasPension <cell/1/1> ;
    ex:hasRetireeMedicalAndOther <cell/1/2> .

<cell/1/1> a qudt:QuantityValue ;
    qudt:numericValue 574.0 ;
    qudt:hasUnit unit:UNITLESS ;
    kgt:note "POSITIVE" ;
    kgt:signed_str "+574" ;
    kgt:text "574" ;
    kgt:period "2011" .

<cell/1/2> a qudt:QuantityValue ;
    qudt:numericValue 173.0 ;
    qudt:hasUnit unit:UNITLESS ;
    kgt:note "POSITIVE" ;
    kgt:signed_str "+173" ;
    kgt:text "173" ;
    kgt:period "2011" .
"""
FIGURE_8B = """
<row/1> a kgt:Row, kgt:Group ;
    kgt:table <http://example.org/data/table/figure-8b> ;
    kgt:row 1 ;
    kgt:measureKind kgt:Amount ;
    rdfs:label "Net Income" ;
    kgt:subject data:net_income ;
    ex:hasAccount "Net Income" ;
    ex:in2016 <cell/1/1> ;
    ex:in2017 <cell/1/2> .
"""
MEMBER_OF_8B = """
<row/3> a kgt:Row ;
    kgt:table <http://example.org/data/table/figure-8b> ;
    kgt:row 3 ;
    kgt:measureKind kgt:Amount ;
    rdfs:label "- Costs" ;
    kgt:subject data:costs ;
    kgt:group <row/1> ;
    ex:hasAccount "- Costs" ;
    ex:in2016 <cell/3/1> ;
    ex:in2017 <cell/3/2> .

<cell/3/1> a qudt:QuantityValue ;
    qudt:numericValue 562.0 ;
    qudt:hasUnit unit:UNITLESS ;
    kgt:note "POSITIVE" ;
    kgt:signed_str "+562" ;
    kgt:text "562" ;
    kgt:period "2016" .
"""


def test_a_normal_table_as_in_figure_8() -> None:
    turtle = text_of(NORMAL, Format.TURTLE)
    assert FIGURE_8A in turtle
    assert [float(n) for n in re.findall(r"numericValue (\S+)", turtle)] == [574, 173, 602, 170, 665, 169]


@pytest.mark.parametrize("golden", [FIGURE_8B, MEMBER_OF_8B], ids=["group", "member"])
def test_a_hierarchical_table_as_in_figure_8(golden: str) -> None:
    assert golden in text_of(HIERARCHICAL, Format.TURTLE)


def test_rows_of_equal_label_stay_apart_and_share_their_subject() -> None:
    twins = grid(("Item", "2019"), ("Total", "1"), ("Total", "2"))
    turtle = text_of(twins, Format.TURTLE)
    assert turtle.count("kgt:subject data:total ;") == 2
    assert "<row/1> a kgt:Row" in turtle
    assert "<row/2> a kgt:Row" in turtle


def test_printed_text_is_kept_where_the_literal_differs() -> None:
    dates = grid(("Day", "Paid"), ("31 Dec. 2024", "yes"), ("1 Jan. 2025", "no"))
    turtle = text_of(dates, Format.TURTLE)
    assert '"2024-12-31"^^xsd:date' in turtle
    assert 'kgt:text "31 Dec. 2024"' in turtle


def test_missing_markers_are_kept_and_empty_cells_say_nothing() -> None:
    gaps = grid(("Item", "2019", "2018"), ("Goodwill", "—", "12"), ("Cash", "", "7"))
    turtle = text_of(gaps, Format.TURTLE)
    assert 'ex:in2019 "—"^^kgt:missing' in turtle
    assert "<cell/2/1>" not in turtle


@pytest.mark.parametrize(
    "hostile", ['"', "\\", "\n", "\x00", "\x1f", "\u202e", "<script>", "}", "\ufffe", "ab\ud800"], ids=ascii
)
def test_hostile_text_is_written_and_read_back(hostile: str) -> None:
    text = text_of(grid(("a", "b"), (hostile, f"x{hostile}")))
    assert text.isascii() or hostile.isprintable() or "\u202e" in hostile or "\ufffe" in hostile
    assert all(line.endswith(" .") for line in text.splitlines())


position = st.tuples(st.integers(0, 2000), st.integers(0, 800))


@given(st.sets(position, max_size=30))
def test_positions_come_back(positions: set[tuple[int, int]]) -> None:
    assert set(parse_positions(positions_text(positions))) == positions


@given(st.lists(st.tuples(position, st.integers(0, 5), st.integers(0, 5)), max_size=10))
def test_areas_come_back(corners: list[tuple[tuple[int, int], int, int]]) -> None:
    areas = tuple(Area(row, column, row + down, column + right) for (row, column), down, right in corners)
    assert parse_areas(areas_text(areas)) == areas
