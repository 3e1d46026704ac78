from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from kgtable.errors import NoTableError, TableError, UnreadableTableError
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Area, Grid
from kgtable.tables.readers.html import indent_of, visible_text
from tests.tables.readers.files import read_all, read_one


def page(tmp_path: Path, body: str) -> Grid:
    return read_one(tmp_path / "t.html", f"<!doctype html><html><body>{body}</body></html>")


def test_spans_are_laid_out_with_the_text_at_the_top_left(tmp_path: Path) -> None:
    grid = page(
        tmp_path,
        "<table><tr><th rowspan=2>A<th colspan=2>B<tr><th>b1<th>b2<tr><td>x<td>1<td rowspan=9>z<tr><td>y<td>2</table>",
    )
    assert grid.rows == (("A", "B", ""), ("", "b1", "b2"), ("x", "1", "z"), ("y", "2", ""))
    assert grid.merged == (Area(0, 0, 1, 0), Area(0, 1, 0, 2), Area(2, 2, 3, 2))
    assert grid.header_cells == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)}


def test_a_rowspan_ends_with_its_section(tmp_path: Path) -> None:
    grid = page(
        tmp_path,
        "<table><thead><tr><td rowspan=5>h</td><td>i</td></tr></thead>"
        "<tbody><tr><td rowspan=0>a</td><td>b</td></tr><tr><td>c</td></tr></tbody></table>",
    )
    assert grid.rows == (("h", "i"), ("a", "b"), ("", "c"))
    assert grid.merged == (Area(1, 0, 2, 0),)
    assert grid.header_cells == {(0, 0), (0, 1)}


def test_rows_stay_ragged_and_empty(tmp_path: Path) -> None:
    assert page(tmp_path, "<table><tr><td>a<td>b<tr></tr><tr><td>c</table>").rows == (("a", "b"), (), ("c",))


def test_what_surrounds_a_table(tmp_path: Path) -> None:
    content = (
        "<html><head><title> My\n page </title></head><body>"
        "<h1>Report</h1><p>intro</p><h2>Old</h2><h2>Income</h2>"
        "<p>In millions</p><table><caption>Table 1 <b>x</b></caption><tr><td>a<td>b</table>"
        "<p>Note 1</p><p>Note 2</p><p>far</p>"
        "<h2>Next</h2><p>else</p><table><tr><td>c<td>d</table></body></html>"
    )
    first, second = read_all(tmp_path / "t.html", content)
    assert first.context.title == "My page"
    assert first.context.heading == ("Report", "Income")
    assert first.context.caption == "Table 1 x"
    assert first.context.before == ("In millions",)
    assert first.context.after == ("Note 1", "Note 2")
    assert second.context.heading == ("Report", "Next")
    assert second.context.before == ("else",)
    assert (first.id, second.id) == ("t#0", "t#1")


def test_tables_for_layout_are_seen_through(tmp_path: Path) -> None:
    grid = page(
        tmp_path,
        "<table><tr><td><h3>Menu</h3></td><td><table><tr><th>in</th><td>ner</td></tr></table></td></tr></table>",
    )
    assert grid.rows == (("in", "ner"),)
    assert grid.context.heading == ("Menu",)


def test_a_table_within_a_table_of_data_is_one_of_its_own(tmp_path: Path) -> None:
    outer, inner = read_all(
        tmp_path / "t.html", "<table><tr><th>a<th>b<tr><td>1<td>see <table><tr><td>x<td>y</table></table>"
    )
    assert outer.rows == (("a", "b"), ("1", "see"))
    assert inner.rows == (("x", "y"),)


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("", "utf-8"), ("", "utf-8-sig"), ("", "utf-16"), ("windows-1252", "cp1252"), ("ISO-8859-2", "iso8859-2")],
)
def test_encodings(tmp_path: Path, declared: str, codec: str) -> None:
    meta = f'<meta charset="{declared}">' if declared else ""
    content = f"<html><head>{meta}</head><table><tr><td>Größe<td>é</table></html>"
    grid = read_one(tmp_path / "t.html", content.encode(codec))
    assert grid.rows == (("Größe", "é"),)
    assert grid.notices == ()


def test_a_page_without_table(tmp_path: Path) -> None:
    with pytest.raises(NoTableError):
        page(tmp_path, "<p>text</p><table><tr><td>only layout</td></tr></table>")


def test_spans_beyond_the_limits_are_refused(tmp_path: Path) -> None:
    cells = '<td colspan="1000">x</td>' * 50
    with pytest.raises(UnreadableTableError, match="cells"):
        read_one(tmp_path / "t.html", f"<table><tr>{cells}</tr></table>", ReadLimits(max_cells=10_000))


TAGS = st.sampled_from(
    [
        *("<table>", "</table>", "<tr>", "</tr>", "<td>", "<td rowspan=3 colspan=2>", "<th rowspan=0>", "</td>"),
        *("<thead>", "</thead>", "<h1>", "<p>", "<br>", "<!--", "-->", "<caption>", "<td colspan=-1>"),
        *("x", "é", "&#0;", "&amp;"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TAGS, max_size=40))
def test_any_tag_soup_gives_grids_or_a_table_error(tmp_path: Path, tags: list[str]) -> None:
    try:
        grids = read_all(tmp_path / "t.html", " ".join(tags))
    except TableError:
        return
    for grid in grids:
        assert grid.width == max(map(len, grid.rows))
        assert all(area.bottom < len(grid.rows) and area.right < grid.width for area in grid.merged)
        assert all(row < len(grid.rows) and column < grid.width for row, column in grid.header_cells)
        for area in grid.merged:
            assert len(grid.rows[area.bottom]) > area.right


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_give_grids_or_a_table_error(tmp_path: Path, content: bytes) -> None:
    try:
        read_all(tmp_path / "t.html", b"<table><tr><td>a<td>" + content)
    except TableError:
        return


def parse(html: str) -> etree._Element:
    root = etree.fromstring(f"<html><body><div id='x'>{html}</div></body></html>", etree.HTMLParser())
    [element] = root.xpath("//div[@id='x']")
    return element


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("  a \n\t b  ", "a b"), ("a<br>b<br/><br>c", "a\nb\n\nc"), ("<p>a</p>\n<p>b</p>", "a\nb"),
        ("a<div>b</div>c", "a\nb\nc"), ("12<sup>[3]</sup>", "12[3]"),
        ("a<!-- no -->b<script>no</script>c<style>no</style>d", "abcd"),
        ("<span style='display: none'>0012</span>12", "12"), ("<span hidden>x</span>y", "y"),
        ("&nbsp;&nbsp;Cloud", "\xa0\xa0Cloud"), ("<img alt='yes'>", "yes"), ("<img alt='flag'> Spain", "Spain"),
        ("<ul><li>a</li><li>b</li></ul>", "a\nb"), ("out<table><tr><td>in</td></tr></table>side", "outside"),
        ("<b>1</b>,<i>234</i>", "1,234"),
    ],
)  # fmt: skip
def test_text_as_a_browser_shows_it(html: str, text: str) -> None:
    assert visible_text(parse(html)) == text


@pytest.mark.parametrize(
    ("html", "level"),
    [
        ("<p>x</p>", 0), ("<p style='padding-left: 24pt'>x</p>", 3),
        ("<p style='margin-left:20pt;text-indent:-12pt'>x</p>", 1), ("<p style='padding-left:-5em'>x</p>", 0),
        ("<p style='padding-left:1.2.3em'>x</p>", 0), ("<p style='padding-left:99999px'>x</p>", 100),
    ],
)  # fmt: skip
def test_indents_add_up(html: str, level: int) -> None:
    assert indent_of(parse(html)) == level


def test_deep_nesting_does_not_overflow() -> None:
    assert visible_text(parse("<b>" * 200 + "x" + "</b>" * 200)) == "x"
