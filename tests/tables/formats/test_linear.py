"""The golden texts are those of the thesis's Figures 5 and 6, compared without regard to case and space:

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
from kgtable.tables.model import Table
from tests.tables.formats.figures import hierarchical, normal, with_header

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
