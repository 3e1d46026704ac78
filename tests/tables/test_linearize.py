"""Linearised tables against Figures 5, 6 and 7 of the thesis, compared without regard to case and space:

the figures print first letters in lower case, kgtable keeps the text as it is.
"""

from __future__ import annotations

import csv
import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables import linearize
from kgtable.tables.layout.detect import make_table
from kgtable.tables.linearize import (
    TABLE_FORMATS,
    TableFormat,
    as_plaintext,
    as_schema,
    as_text,
    body_rows,
    chunks,
    format_table,
)
from kgtable.tables.model import Context, Grid, Source, Table
from tests.graph.support import grid
from tests.tables.figures import hierarchical, normal, with_header

CELL = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)


def folded(text: str) -> str:
    return re.sub(r"\s+", "", text).casefold()


FIGURE_5 = {
    linearize.as_markdown: """
        |account | 2016 | 2017 | 2018 |
        |---|---|---|---|
        |net Income | 615 | 585 | 595 |
        |profit | 671 | 654 | 695 |
        |costs | 562 | 678 | 706 |
        |sales | 1233 | 1332 | 1401 |""",
    linearize.as_plaintext: """
        account: net Income , 2016: 615 , 2017: 585 , 2018: 595
        account: profit , 2016: 671 , 2017: 654 , 2018: 695
        account: costs , 2016: 562 , 2017: 678 , 2018: 706
        account: sales , 2016: 1233 , 2017: 1332 , 2018: 1401""",
    linearize.as_header_first_column: """
        account 2016 2017 2018
        net income profit costs sales""",
    linearize.as_csv: """
        account,2016,2017,2018
        net Income,615,585,595
        profit,671,654,695
        costs,562,678,706
        sales,1233,1332,1401""",
    linearize.as_html: """
        <table>
        <thead> <tr><th>account</th><th>2016</th><th>2017</th><th>2018</th></tr></thead>
        <tbody>
        <tr><td>net Income</td><td>615</td><td>585</td><td>595</td></tr>
        <tr><td>profit</td><td>671</td><td>654</td><td>695</td></tr>
        <tr><td>costs</td><td>562</td><td>678</td><td>706</td></tr>
        <tr><td>sales</td><td>1233</td><td>1332</td><td>1401</td></tr>
        </tbody>
        </table>""",
}
FIGURE_6 = {
    linearize.as_markdown: """
        | year | pension | retiree medical and other |
        |---|---|---|
        | 2011 | 574 | 173 |
        | 2012 | 602 | 170 |
        | 2013 | 665 | 169 |
        | 2014 | 729 | 170 |
        | 2015 | 785 | 173 |""",
    linearize.as_plaintext: """
        year: 2011 , pension: 574 , retiree medical and other: 173
        year: 2012 , pension: 602 , retiree medical and other: 170
        year: 2013 , pension: 665 , retiree medical and other: 169
        year: 2014 , pension: 729 , retiree medical and other: 170
        year: 2015 , pension: 785 , retiree medical and other: 173""",
    # The figure leaves the first heading out here and keeps it in Figure 5; kgtable always keeps it.
    linearize.as_header_first_column: """
        year pension retiree medical and other
        2011 2012 2013 2014 2015""",
}


@pytest.mark.parametrize(("write", "golden"), FIGURE_5.items(), ids=lambda v: getattr(v, "__name__", ""))
def test_hierarchical_table_as_in_figure_5(write, golden: str) -> None:
    assert folded(write(hierarchical())) == folded(golden)


@pytest.mark.parametrize(("write", "golden"), FIGURE_6.items(), ids=lambda v: getattr(v, "__name__", ""))
def test_normal_table_as_in_figure_6(write, golden: str) -> None:
    assert folded(write(normal())) == folded(golden)


def hostile(cell: str) -> Table:
    return with_header((("a", "b"), (cell, "1")))


def test_markdown_escapes_pipes_and_line_breaks() -> None:
    assert linearize.as_markdown(hostile("x|y\nz")).splitlines()[2] == "| x\\|y z | 1 |"


@given(CELL)
def test_html_never_lets_a_cell_open_a_tag(cell: str) -> None:
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(linearize.as_html(hostile(cell)))
    assert set(tags) == {"table", "thead", "tbody", "tr", "th", "td"}


@given(CELL)
def test_csv_reads_back(cell: str) -> None:
    read = list(csv.reader(io.StringIO(linearize.as_csv(hostile(cell)))))
    assert read == [["a", "b"], [cell.strip(), "1"]]


def test_ragged_rows_are_padded_and_blank_rows_left_out() -> None:
    table = with_header((("a", "b"), ("x",), (), ("y", "2")))
    assert linearize.as_plaintext(table) == "a: x , b: \na: y , b: 2\n"


@given(
    st.lists(st.lists(st.sampled_from(["", " ", "x ", "\u00a0", "<b>", "\u202e1"]), max_size=4).map(tuple), max_size=5)
)
def test_body_rows_are_full_stripped_and_never_blank(rows: list[tuple[str, ...]]) -> None:
    table = make_table(grid(("a", "b", "c", "d"), *rows))
    for index, row in body_rows(table):
        assert len(row) == len(table.columns)
        assert any(row)
        assert [cell for cell in row if cell] == [cell.strip() for cell in table.grid.head[index] if cell.strip()]
    kept = {index for index, _ in body_rows(table)}
    blank = {index for index, row in table.body() if not any(cell.strip() for cell in row)}
    assert kept | blank == {index for index, _ in table.body()}


GROUPED_FIGURE_5 = """
Ungrouped:
Net Income:
- has 2016: 615
- has 2017: 585
- has 2018: 595

Group: Net Income
Profit:
- has 2016: 671
- has 2017: 654
- has 2018: 695

Costs:
- has 2016: 562
- has 2017: 678
- has 2018: 706

Sales:
- has 2016: 1233
- has 2017: 1332
- has 2018: 1401
"""


def test_grouped_hierarchical_table_as_in_figure_5() -> None:
    assert folded(as_text(hierarchical())) == folded(GROUPED_FIGURE_5)


def test_grouped_normal_table_as_in_figure_6() -> None:
    lines = as_text(normal()).splitlines()
    assert lines[:4] == ["Ungrouped:", "2011:", "- has Pension: 574", "- has Retiree medical and other: 173"]
    assert len(lines) == 1 + 5 * 3


def test_the_four_parts() -> None:
    text = as_schema(hierarchical(Context(title="Accounts")))
    assert text == (
        "The table “Accounts” has 4 rows and 4 columns. Its columns are Account, 2016, 2017, 2018. "
        "The values of Account include Net Income, Profit, Costs, Sales. "
        "For example: Account is Net Income, 2016 is 615, 2017 is 585, 2018 is 595.\n"
    )


@pytest.mark.parametrize("name", TableFormat)
def test_every_format_writes_something_different(name: TableFormat) -> None:
    table = hierarchical(Context(heading=("A", "B"), before=("C",), after=("D",)))
    texts = {other: format_table(table, other) for other in TableFormat}
    assert texts[name]
    assert sum(text == texts[name] for text in texts.values()) == 1


def test_pieces_together_are_the_table_and_each_has_its_header() -> None:
    rows = (("n", "square"), *((str(n), str(n * n)) for n in range(25)))
    pieces = list(chunks(with_header(rows), rows=10))
    assert [len(as_plaintext(piece).splitlines()) for piece in pieces] == [10, 10, 5]
    assert "".join(map(as_plaintext, pieces)) == as_plaintext(with_header(rows))


def test_a_piece_names_the_group_its_rows_belong_to() -> None:
    second = list(chunks(hierarchical(), rows=2))[1]
    assert as_text(second).startswith("Group: Net Income\nCosts:\n- has 2016: 562")
    assert "Profit" not in as_text(second)


@pytest.mark.parametrize("name", [*TABLE_FORMATS, "heading-table", "heading-pretext-table", "context-table"])
def test_every_form_of_a_table_holds_the_unit_in_its_corner(name: str) -> None:
    rows = (("&euro; thousands", "2022", "2023"), ("R&amp;D", "12", "13"), ("Sales", "120", "130"))
    context = Context(title="Title", heading=("Heading",), caption="Caption", before=("Before",))
    text = format_table(make_table(Grid("t", Source("t.csv"), rows, 3, context)), name)
    assert "€ thousands" in text
    assert ("R&amp;D" if name == "html" else "R&D") in text
    if "heading" in name or "context" in name:
        assert "Caption" in text
    if "pretext" in name or "context" in name:
        assert "Before" in text
