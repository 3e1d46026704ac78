"""Web pages: the tables with spans laid out, caption, page title and headings, and the running text around them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lxml import etree

from kgtable.errors import NoTableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, read_bytes
from kgtable.tables.model import Area, Context, Grid, Position, ReadContent, Row, Source
from kgtable.tables.readers.encoding import CONTROL_CODES, Encoding, encoding_notices, encoding_of
from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import as_raised, sound_text

BLOCKS = frozenset(
    [
        *("address", "article", "aside", "blockquote", "center", "dd", "div", "dl", "dt", "figcaption"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main"),
        *("nav", "ol", "p", "pre", "section", "tr", "ul"),
    ]
)
_HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
_UNSEEN_TAGS = frozenset(
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
    """Whether an element is marked as hidden."""
    return element.get("hidden") is not None or bool(_HIDDEN.search(element.get("style") or ""))


class _PageText:
    def __init__(self, tables: dict[etree._Element, int]) -> None:
        self.paragraphs: list[Paragraph] = []
        self.places: list[int] = [0] * len(tables)
        self._tables = tables
        self._pieces: list[str] = []
        self._level = 0

    def walk(self, root: etree._Element) -> None:
        """Visits all elements in document order, without recursion for nested ones."""
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
                elif tag in _UNSEEN_TAGS or is_hidden(element):
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
        """Tables inside a cell have the position of the outer one."""
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


_UNSEEN = frozenset(["head", "noscript", "script", "select", "style", "table", "template", "title"])
_BLOCK_EDGE = "\ufdd0"
_AROUND_BREAKS = re.compile(rf" *([\n{_BLOCK_EDGE}][ \n{_BLOCK_EDGE}]*)")
_LENGTH = re.compile(r"(?:^|;)\s*(padding-left|margin-left|text-indent)\s*:\s*(-?[\d.]+)\s*(em|px|pt)", re.I)
_POINTS = {"em": 12.0, "px": 0.75, "pt": 1.0}
_POINTS_A_LEVEL = 8


def visible_text(element: etree._Element) -> str:
    """The text inside an element, nested tables and hidden parts left out.

    Runs of spaces and line ends become one space, ``<br>`` and the edges of blocks a line end;
    a no-break space stays. A picture counts by its alternative text if there is no other text.
    """
    if not len(element):
        return sound_text(_collapsed(element.text).strip(" "))
    text = _joined(_pieces(element))
    if not text:
        alternatives = (picture.get("alt") or "" for picture in element.iter("img") if not is_hidden(picture))
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
        elif not isinstance(child.tag, str) or child.tag in _UNSEEN or is_hidden(child):
            yield _collapsed(child.tail)
        elif child.tag == "br":
            yield "\n" + _collapsed(child.tail)
        elif child.tag == "sup" and (raised := _raised(child)):
            yield raised + _collapsed(child.tail)
        else:
            if child.tag in BLOCKS:
                yield _BLOCK_EDGE
            yield _collapsed(child.text)
            open_elements.append((child, iter(child)))


_INSIDE_RAISED = frozenset(["a", "b", "em", "i", "small", "span", "strong"])


def _raised(element: etree._Element) -> str:
    """The raised figures or the letter of a ``<sup>``, so that no mark or exponent joins a number; else nothing.

    The upper figure of a fraction ("1<sup>1</sup>/2") is set apart by a space.
    """
    if any(part.tag not in _INSIDE_RAISED or is_hidden(part) for part in element.iterdescendants()):
        return ""
    text = "".join(map(str, element.itertext())).strip()
    if not as_raised(text):
        return ""
    if (element.tail or "").lstrip()[:1] in {"/", "⁄"}:
        return f" {text}"
    return as_raised(text)


def _collapsed(text: str | None) -> str:
    return _SPACES.sub(" ", text) if text else ""


_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_TEXTS = ("p", "figcaption")
_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_DIGITS = re.compile(r"\s*(\d{1,9})")
_MOST_COLUMNS_SPANNED = 1_000
_MOST_ROWS_SPANNED = 65_534
_BEFORE, _AFTER = 3, 2
"""How many paragraphs around a table count as its context."""


def read_html(file: TableFile, limits: ReadLimits) -> list[Grid]:
    """The tables of a page in its order, nested ones on their own, those used for layout left out.

    Raises `TableError` if the page cannot be read or has no table.
    """
    grids = list(read_page(file, limits).grids)
    if not grids:
        raise NoTableError("the page has no table.", path=file.relative, hint="Remove it from the folder.")
    return grids


def read_page(file: TableFile, limits: ReadLimits) -> ReadContent:
    """The tables and the text of a page. Raises `TableError` if the page cannot be read."""
    content = read_bytes(file, limits)
    encoding = _encoding(file, content)
    text = content.decode(encoding.codec, encoding.errors)
    parser = etree.HTMLParser(encoding="utf-8", recover=True, no_network=True, huge_tree=True)
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableTableError("the page cannot be parsed.", path=file.relative) from error
    page = _Page(file, limits)
    if root is None:
        return ReadContent(notices=encoding_notices(file, encoding))
    page.walk(root)
    notices = encoding_notices(file, encoding)
    source = Source(file.relative, media_type="text/html", encoding=encoding.codec)
    grids = (
        replace(grid, source=replace(source, number=n), notices=() if n else notices)
        for n, grid in enumerate(page.grids)
    )
    return ReadContent(tuple(grids), page_text(root, page.elements, page.title), () if page.grids else notices)


def _encoding(file: TableFile, content: bytes) -> Encoding:
    """The encoding that is given, else the one the page names, where it fits, else what the bytes look like."""
    declared = _CHARSET.search(content[:4096])
    marked = content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if file.encoding is None and declared is not None and not marked:
        name = declared[1].decode("ascii", "replace")
        try:
            codec = codecs.lookup(name).name
            if codec in ("iso8859-1", "ascii", "cp1252"):
                codec, errors = "cp1252", CONTROL_CODES
            else:
                errors = "strict"
            if not codec.startswith(("utf-16", "utf-32")) and isinstance(content.decode(codec, errors), str):
                return Encoding(codec, errors)
        except (LookupError, UnicodeError, AssertionError, TypeError, ValueError):
            pass
    return encoding_of(file, [content], "Is it a web page? Save it again as HTML in UTF-8.")


class _Page:
    """Collects the tables of a page and what surrounds them on one walk in document order."""

    def __init__(self, file: TableFile, limits: ReadLimits) -> None:
        self.grids: list[Grid] = []
        self.elements: list[etree._Element] = []
        self.title = ""
        self._file, self._limits = file, limits
        self._headings: dict[int, str] = {}
        self._recent: list[str] = []
        self._after_open = False

    def walk(self, root: etree._Element) -> None:
        inside: list[etree._Element] = []
        for event, element in etree.iterwalk(
            root, events=("start", "end"), tag=("title", "table", *_HEADINGS, *_TEXTS)
        ):
            if event == "end":
                if inside and inside[-1] is element:
                    inside.pop()
            elif element.tag == "table":
                if self._take(element):
                    inside.append(element)
            elif not inside:
                self._note(element)

    def _note(self, element: etree._Element) -> None:
        text = " ".join((element.text or "").split()) if element.tag == "title" else visible_text(element)
        if element.tag == "title":
            self.title = self.title or text
        elif element.tag in _HEADINGS:
            level = int(str(element.tag)[1])
            self._headings = {key: value for key, value in self._headings.items() if key < level}
            if text:
                self._headings[level] = text
            self._recent, self._after_open = [], False
        elif text:
            self._recent.append(text)
            if self._after_open:
                last = self.grids[-1]
                after = (*last.context.after, text)
                self.grids[-1] = replace(last, context=replace(last.context, after=after))
                self._after_open = len(after) < _AFTER

    def _take(self, table: etree._Element) -> bool:
        """Adds a table of data; False for one that only arranges the page."""
        layout = _Layout(self._file, self._limits)
        for section in _sections(table):
            layout.add_section(section)
        if _is_layout(table, layout):
            return False
        self.elements.append(table)
        captions = table.findall("caption")
        self.grids.append(
            Grid(
                self._file.id,
                Source(self._file.relative),
                tuple(layout.rows),
                max(map(len, layout.rows)),
                context=Context(
                    title=self.title,
                    heading=tuple(text for _, text in sorted(self._headings.items())),
                    caption=visible_text(captions[0]) if captions else "",
                    before=tuple(self._recent[-_BEFORE:]),
                ),
                merged=tuple(layout.merged),
                indents=MappingProxyType(layout.indents),
                header_cells=frozenset(layout.header_cells),
            )
        )
        self._recent, self._after_open = [], True
        return True


def _is_layout(table: etree._Element, layout: _Layout) -> bool:
    if layout.filled < 2 or (table.get("role") or "").lower() in ("presentation", "none"):
        return True
    has_inner = next(table.iterdescendants("table"), None) is not None
    marked = bool(layout.header_cells) or table.find("caption") is not None
    return has_inner and not marked and layout.filled <= layout.holding_tables


def _sections(table: etree._Element) -> Iterator[list[etree._Element]]:
    """The rows of the table itself by section: a cell never spans from one section into the next."""
    loose: list[etree._Element] = []
    for part in table:
        if part.tag == "tr":
            loose.append(part)
        elif part.tag in ("thead", "tbody", "tfoot"):
            if loose:
                yield loose
                loose = []
            yield [row for row in part if row.tag == "tr"]
    if loose:
        yield loose


@dataclass(slots=True)
class _Layout:
    """Rows of texts from table rows, with cells that span several placed as a browser does."""

    file: TableFile
    limits: ReadLimits
    rows: list[Row] = field(default_factory=list)
    merged: list[Area] = field(default_factory=list)
    indents: dict[Position, int] = field(default_factory=dict)
    header_cells: set[Position] = field(default_factory=set)
    filled: int = 0
    holding_tables: int = 0
    _cells: int = 0
    _spanned: int = 0

    def add_section(self, section: list[etree._Element]) -> None:
        reserved: dict[int, int] = {}
        for number, row in enumerate(section):
            self._add_row(row, reserved, len(section) - number)

    def _add_row(self, row: etree._Element, reserved: dict[int, int], rows_left: int) -> None:
        """`reserved` maps a column to how many more rows a cell above still fills of it."""
        top, column = len(self.rows), 0
        texts: dict[int, str] = {}
        spanning: dict[int, int] = {}
        in_head = (parent := row.getparent()) is not None and parent.tag == "thead"
        for cell in row.iterchildren("td", "th"):
            while column in reserved:
                column += 1
            width = min(max(_number(cell.get("colspan"), 1), 1), _MOST_COLUMNS_SPANNED)
            height = _number(cell.get("rowspan"), 1) or rows_left
            height = min(height, rows_left, _MOST_ROWS_SPANNED)
            texts[column] = visible_text(cell)
            self._note_cell(cell, Area(top, column, top + height - 1, column + width - 1), in_head, texts[column])
            if height > 1:
                spanning.update(dict.fromkeys(range(column, column + width), height - 1))
            column += width
        length = max(column, max(reserved, default=-1) + 1)
        self._cells += length
        self._check(self._cells, top)
        self.rows.append(tuple(texts.get(index, "") for index in range(length)))
        for index in [index for index, left in reserved.items() if left <= 1]:
            del reserved[index]
        for index in reserved:
            reserved[index] -= 1 if index not in spanning else 0
        reserved.update(spanning)

    def _check(self, cells: int, row: int) -> None:
        if cells > self.limits.max_cells:
            raise UnreadableTableError(
                f"a table has more than {self.limits.max_cells:,} cells.",
                path=self.file.relative,
                row=row,
                hint="Look at its colspan and rowspan attributes.",
            )

    def _note_cell(self, cell: etree._Element, area: Area, in_head: bool, text: str) -> None:
        self.filled += bool(text)
        self.holding_tables += next(cell.iterdescendants("table"), None) is not None
        if area.bottom > area.top or area.right > area.left:
            self.merged.append(area)
        if cell.tag == "th" or in_head:
            self._spanned += (area.bottom - area.top + 1) * (area.right - area.left + 1)
            self._check(self._spanned, area.top)
            rows, columns = range(area.top, area.bottom + 1), range(area.left, area.right + 1)
            self.header_cells.update((row, column) for row in rows for column in columns)
        if text and (indent := indent_of(cell)):
            self.indents[area.top, area.left] = indent


def _number(text: str | None, default: int) -> int:
    match = _DIGITS.match(text) if text else None
    return int(match[1]) if match else default
