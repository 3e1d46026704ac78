"""The running text of a web page, block by block, with the places of its tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lxml import etree

from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import sound_text

BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "figcaption"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main"),
        *("nav", "ol", "p", "pre", "section", "tr", "ul"),
    ]
)
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_UNSEEN = frozenset(
    ["head", "noscript", "script", "select", "style", "template", "title", "svg", "iframe", "object"]
)
_EDGES = BLOCKS | {
    "table",
    "tbody",
    "thead",
    "tfoot",
    "td",
    "th",
    "body",
    "html",
    "caption",
    "summary",
    "details",
}
_SPACES = re.compile(r"[ \t\n\r\f]+")
_HEADING = re.compile(r"h([1-6])")


def page_text(root: etree._Element, tables: Sequence[etree._Element], title: str) -> DocumentText:
    """All visible text outside the `tables`, a paragraph for each block; a line break stays one."""
    text = _PageText({element: number for number, element in enumerate(tables)})
    text.walk(root)
    captions = [
        " ".join("".join(map(str, caption.itertext())).split())
        if (caption := element.find("caption")) is not None
        else ""
        for element in tables
    ]
    places = tuple(TextPlace(at, caption=caption) for at, caption in zip(text.places, captions, strict=True))
    return DocumentText(tuple(text.paragraphs), places, title)


def is_hidden(element: etree._Element) -> bool:
    """Whether an element says of itself that it is not shown."""
    return element.get("hidden") is not None or bool(_HIDDEN.search(element.get("style") or ""))


class _PageText:
    def __init__(self, tables: dict[etree._Element, int]) -> None:
        self.paragraphs: list[Paragraph] = []
        self.places: list[int] = [0] * len(tables)
        self._tables = tables
        self._pieces: list[str] = []
        self._level = 0

    def walk(self, root: etree._Element) -> None:
        """Goes over all elements in document order; nothing is called again for a nested one."""
        events = etree.iterwalk(root, events=("start", "end", "comment", "pi"))
        for event, element in events:
            tag = element.tag if isinstance(element.tag, str) else ""
            if event in ("comment", "pi"):
                self._add(element.tail)
            elif event == "start":
                if element in self._tables:
                    self._close()
                    self.places[self._tables[element]] = len(self.paragraphs)
                    self._nested(element)
                    events.skip_subtree()
                elif tag in _UNSEEN or is_hidden(element):
                    events.skip_subtree()
                else:
                    self._open(tag, element)
            else:
                if tag in _EDGES:
                    self._close()
                if element is not root:
                    self._add(element.tail)
        self._close()

    def _nested(self, table: etree._Element) -> None:
        """Tables inside a cell stand where the outer one does."""
        for inner in table.iterdescendants("table"):
            if inner in self._tables:
                self.places[self._tables[inner]] = len(self.paragraphs)

    def _open(self, tag: str, element: etree._Element) -> None:
        if tag in _EDGES:
            self._close()
        heading = _HEADING.fullmatch(tag)
        if heading:
            self._level = int(heading[1])
        if tag == "br":
            self._pieces.append("\n")
        elif tag == "img" and element.get("alt"):
            self._pieces.append(_SPACES.sub(" ", element.get("alt") or ""))
        else:
            self._add(element.text)

    def _add(self, text: str | None) -> None:
        if text:
            self._pieces.append(_SPACES.sub(" ", text))

    def _close(self) -> None:
        text = re.sub(r" *\n *", "\n", re.sub("  +", " ", "".join(self._pieces))).strip(" \n")
        if text:
            self.paragraphs.append(Paragraph(sound_text(text), level=self._level))
        self._pieces, self._level = [], 0
