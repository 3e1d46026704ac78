from __future__ import annotations

import pytest
from lxml import etree

from kgtable.tables.readers.html import indent_of, visible_text


def parse(html: str) -> etree._Element:
    root = etree.fromstring(f"<html><body><div id='x'>{html}</div></body></html>", etree.HTMLParser())
    [element] = root.xpath("//div[@id='x']")
    return element


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("  a \n\t b  ", "a b"),
        ("a<br>b<br/><br>c", "a\nb\n\nc"),
        ("<p>a</p>\n<p>b</p>", "a\nb"),
        ("a<div>b</div>c", "a\nb\nc"),
        ("12<sup>[3]</sup>", "12[3]"),
        ("a<!-- no -->b<script>no</script>c<style>no</style>d", "abcd"),
        ("<span style='display: none'>0012</span>12", "12"),
        ("<span hidden>x</span>y", "y"),
        ("&nbsp;&nbsp;Cloud", "\xa0\xa0Cloud"),
        ("<img alt='yes'>", "yes"),
        ("<img alt='flag'> Spain", "Spain"),
        ("<ul><li>a</li><li>b</li></ul>", "a\nb"),
        ("out<table><tr><td>in</td></tr></table>side", "outside"),
        ("<b>1</b>,<i>234</i>", "1,234"),
    ],
)
def test_text_as_a_browser_shows_it(html: str, text: str) -> None:
    assert visible_text(parse(html)) == text


@pytest.mark.parametrize(
    ("html", "level"),
    [
        ("<p>x</p>", 0),
        ("<p style='padding-left: 24pt'>x</p>", 3),
        ("<p style='margin-left:20pt;text-indent:-12pt'>x</p>", 1),
        ("<p style='padding-left:-5em'>x</p>", 0),
        ("<p style='padding-left:1.2.3em'>x</p>", 0),
        ("<p style='padding-left:99999px'>x</p>", 100),
    ],
)
def test_indents_add_up(html: str, level: int) -> None:
    assert indent_of(parse(html)) == level


def test_deep_nesting_does_not_overflow() -> None:
    assert visible_text(parse("<b>" * 200 + "x" + "</b>" * 200)) == "x"
