"""The text of an HTML element as a browser shows it, and how far it is indented."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree

from kgtable.tables.text import sound_text

BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "figcaption"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main"),
        *("nav", "ol", "p", "pre", "section", "tr", "ul"),
    ]
)
_UNSEEN = frozenset(["head", "noscript", "script", "select", "style", "table", "template", "title"])
_BLOCK_EDGE = "\ufdd0"
_SPACES = re.compile(r"[ \t\n\r\f]+")
_AROUND_BREAKS = re.compile(rf" *([\n{_BLOCK_EDGE}][ \n{_BLOCK_EDGE}]*)")
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_LENGTH = re.compile(r"(?:^|;)\s*(padding-left|margin-left|text-indent)\s*:\s*(-?[\d.]+)\s*(em|px|pt)", re.I)
_POINTS = {"em": 12.0, "px": 0.75, "pt": 1.0}
_POINTS_A_LEVEL = 8


def visible_text(element: etree._Element) -> str:
    """The text inside an element, nested tables and hidden parts left out.

    Runs of spaces and line ends become one space, ``<br>`` and the edges of blocks a line end;
    a no-break space stays. A picture counts by its alternative text where there is no other text.
    """
    if not len(element):
        return sound_text(_collapsed(element.text).strip(" "))
    text = _joined(_pieces(element))
    if not text:
        alternatives = (
            picture.get("alt") or "" for picture in element.iter("img") if not _is_hidden(picture)
        )
        text = _joined(alternatives)
    return sound_text(text)


def indent_of(element: etree._Element) -> int:
    """The level of indentation that the styles of a cell and of what it begins with add up to."""
    if not len(element) and element.get("style") is None:
        return 0
    points = 0.0
    part: etree._Element | None = element
    for _ in range(4):
        if part is None or not isinstance(part.tag, str):
            break
        for _name, number, unit in _LENGTH.findall(part.get("style") or ""):
            points += _float(number) * _POINTS[unit.lower()]
        part = part[0] if len(part) and not (part.text or "").strip() else None
    return min(max(round(points / _POINTS_A_LEVEL), 0), 100)


def _float(number: str) -> float:
    try:
        return float(number)
    except ValueError:
        return 0.0


def _joined(pieces: Iterator[str]) -> str:
    text = _AROUND_BREAKS.sub(lambda match: "\n" * max(match[1].count("\n"), 1), "".join(pieces))
    return re.sub("  +", " ", text).strip(" \n")


def _pieces(root: etree._Element) -> Iterator[str]:
    """Texts with spaces collapsed, line ends for breaks and marks for the edges of blocks."""
    yield _collapsed(root.text)
    open_elements = [(root, iter(root))]
    while open_elements:
        parent, children = open_elements[-1]
        child = next(children, None)
        if child is None:
            open_elements.pop()
            if open_elements:
                if parent.tag in BLOCKS:
                    yield _BLOCK_EDGE
                yield _collapsed(parent.tail)
        elif not isinstance(child.tag, str) or child.tag in _UNSEEN or _is_hidden(child):
            yield _collapsed(child.tail)
        elif child.tag == "br":
            yield "\n" + _collapsed(child.tail)
        else:
            if child.tag in BLOCKS:
                yield _BLOCK_EDGE
            yield _collapsed(child.text)
            open_elements.append((child, iter(child)))


def _collapsed(text: str | None) -> str:
    return _SPACES.sub(" ", text) if text else ""


def _is_hidden(element: etree._Element) -> bool:
    return element.get("hidden") is not None or bool(_HIDDEN.search(element.get("style") or ""))
