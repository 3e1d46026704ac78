"""Word documents and presentations.

From a document: body text in reading order, headings, captions, notes, and tables with merged cells. From a
presentation: the text and the tables of each slide, with the number of the slide as page.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from lxml import etree

from kgtable.errors import UnreadableTableError
from kgtable.tables.discovery import OLE, TableFile
from kgtable.tables.limits import ReadLimits, check_archive, check_extent, unreadable
from kgtable.tables.model import Area, Context, Grid, Position, ReadContent, Row, Source, context_at
from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import joined_runs, sound_text

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CAPTION = re.compile(r"\s*(?:Table|Tab\.|Exhibit|Schedule)\s+[A-Z]?\d+", re.IGNORECASE)
_UNSEEN = frozenset((f"{W}del", f"{W}moveFrom", f"{W}instrText", _FALLBACK, f"{W}rPr", f"{W}pPr"))
MAX_PART = 256 << 20
"""Bytes of XML in one part of a document."""


def read_docx(file: TableFile, limits: ReadLimits) -> ReadContent:
    """The tables and the text of a Word document; deleted text, headers and footers are left out.

    A table's heading are those it is under, its caption the paragraph next to it that is one. Raises
    `UnreadableTableError` if the file is damaged, encrypted or beyond the limits.
    """
    with open_office_file(file, limits, "document") as archive:
        styles = _styles(parse_part(archive, "word/styles.xml", file))
        body = parse_part(archive, "word/document.xml", file)
        if body is None:
            raise UnreadableTableError("the file is not a Word document.", path=file.relative, hint=SAVE_ANEW)
        document = _WordDocument(file, limits, styles)
        document.walk(body)
        for part in ("footnotes", "endnotes"):
            notes = parse_part(archive, f"word/{part}.xml", file)
            if notes is not None:
                document.add_notes(notes)
    return document.content()


SAVE_ANEW = "Open and save it again in the program it came from."


def open_office_file(file: TableFile, limits: ReadLimits, kind: str) -> zipfile.ZipFile:
    """The archive of an Office file, checked against the limits.

    Raises `UnreadableTableError` if it is not an archive, is encrypted or unpacks too far.
    """
    try:
        with file.path.open("rb") as stream:
            start = stream.read(8)
    except OSError as error:
        raise unreadable(file, error) from error
    if start == OLE:
        raise UnreadableTableError(
            f"the {kind} is protected by a password, or of an old format.",
            path=file.relative,
            hint="Save it without a password, in the current format.",
        )
    check_archive(file, limits, kind)
    return zipfile.ZipFile(file.path)


def parse_part(archive: zipfile.ZipFile, name: str, file: TableFile) -> etree._Element | None:
    """The XML of a part, None if there is none. Entities are not expanded.

    Raises `UnreadableTableError` if it is not sound XML.
    """
    try:
        info = archive.getinfo(name)
    except KeyError:
        return None
    if info.file_size > MAX_PART:
        raise UnreadableTableError(
            f"its part {name} has more than {MAX_PART >> 20} MB.", path=file.relative, hint="Split it."
        )
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, remove_comments=True)
    try:
        return etree.fromstring(archive.read(info), parser)
    except etree.XMLSyntaxError as error:
        raise UnreadableTableError(f"its part {name} is damaged.", path=file.relative, hint=SAVE_ANEW) from error


def _styles(root: etree._Element | None) -> dict[str, tuple[str, str | None, int]]:
    """Name, base and outline level (-1: none) of each paragraph style by its id."""
    found: dict[str, tuple[str, str | None, int]] = {}
    for style in () if root is None else root.iter(f"{W}style"):
        name = style.find(f"{W}name")
        based = style.find(f"{W}basedOn")
        outline = style.find(f"{W}pPr/{W}outlineLvl")
        found[style.get(f"{W}styleId", "")] = (
            "" if name is None else name.get(f"{W}val", "").lower(),
            None if based is None else based.get(f"{W}val"),
            -1 if outline is None else _number(outline.get(f"{W}val"), -1),
        )
    return found


@dataclass(slots=True)
class _WordTable:
    rows: list[Row] = field(default_factory=list)
    merged: dict[Position, Area] = field(default_factory=dict)
    header_rows: int = 0


@dataclass
class _WordDocument:
    file: TableFile
    limits: ReadLimits
    styles: dict[str, tuple[str, str | None, int]]
    paragraphs: list[Paragraph] = field(default_factory=list)
    tables: list[tuple[_WordTable, int, int | None]] = field(default_factory=list)
    captions: dict[int, str] = field(default_factory=dict)
    title: str = ""
    page: int = 1
    breaks: int = 0

    def walk(self, root: etree._Element) -> None:
        """Visits the blocks of the body, including those wrapped in content controls."""
        body = root.find(f"{W}body")
        for block in _blocks(root if body is None else body):
            if block.tag == f"{W}p":
                self._add_paragraph(block)
            else:
                self._add_table(block)

    def add_notes(self, root: etree._Element) -> None:
        """Appends the texts of footnotes or endnotes."""
        for note in root:
            if note.get(f"{W}type") in (None, "normal"):
                text = "\n".join(filter(None, (paragraph_text(p) for p in note.iter(f"{W}p")))).strip()
                if text:
                    self.paragraphs.append(Paragraph(sound_text(text)))

    def content(self) -> ReadContent:
        """Tables with what surrounds them, and the text."""
        pages = self.page if self.breaks else None
        if pages is None:
            self.paragraphs = [Paragraph(p.text, None, p.level) for p in self.paragraphs]
        places = tuple(TextPlace(at, page if pages else None, self._caption(at)) for _, at, page in self.tables)
        text = DocumentText(tuple(self.paragraphs), places, self.title, pages)
        grids = (self._grid(table, number, text) for number, (table, _, _) in enumerate(self.tables))
        return ReadContent(tuple(grids), text)

    def _caption(self, at: int) -> str:
        """The paragraph right before or after a table that has a caption's style, or begins like one."""
        near = [place for place in (at - 1, at) if 0 <= place < len(self.paragraphs)]
        for place in near:
            if place in self.captions:
                return self.captions[place]
        return next((self.paragraphs[p].text for p in near if _CAPTION.match(self.paragraphs[p].text)), "")

    def _grid(self, table: _WordTable, number: int, text: DocumentText) -> Grid:
        width = max(map(len, table.rows))
        return Grid(
            self.file.id,
            Source(self.file.relative, number=number, media_type=self.file.media_type),
            tuple(table.rows),
            width,
            context=context_at(text, number),
            merged=tuple(area for area in table.merged.values() if (area.top, area.left) != (area.bottom, area.right)),
            header_cells=frozenset((row, column) for row in range(table.header_rows) for column in range(width)),
        )

    def _add_paragraph(self, element: etree._Element) -> None:
        name, level = self._style(element)
        breaks = self._breaks(element)
        text = sound_text(paragraph_text(element).strip(" "))
        if text.strip():
            if name == "title" and not self.title:
                self.title = text
            if name == "caption":
                self.captions[len(self.paragraphs)] = text
            page = self.page + (breaks if self._breaks_before(element) else 0)
            self.paragraphs.append(Paragraph(text, page, level))
        self.page += breaks
        self.breaks += breaks

    def _breaks_before(self, element: etree._Element) -> bool:
        """Whether a page break precedes the paragraph's first letter."""
        for part in element.iter(f"{W}t", f"{W}br", f"{W}lastRenderedPageBreak", f"{W}pageBreakBefore"):
            if part.tag == f"{W}t" and part.text:
                return False
            if part.tag != f"{W}br" or part.get(f"{W}type") == "page":
                return True
        return False

    def _breaks(self, element: etree._Element) -> int:
        rendered = sum(1 for _ in element.iter(f"{W}lastRenderedPageBreak"))
        explicit = sum(br.get(f"{W}type") == "page" for br in element.iter(f"{W}br"))
        explicit += element.find(f"{W}pPr/{W}pageBreakBefore") is not None
        return max(rendered, explicit)

    def _style(self, element: etree._Element) -> tuple[str, int]:
        """The name of a paragraph's style, and the level of the heading that it makes, or 0."""
        style = element.find(f"{W}pPr/{W}pStyle")
        own = element.find(f"{W}pPr/{W}outlineLvl")
        level = -1 if own is None else _number(own.get(f"{W}val"), -1)
        id: str | None = None if style is None else style.get(f"{W}val")
        first = ""
        for _ in range(10):
            if id is None or id not in self.styles:
                break
            name, base, outline = self.styles[id]
            first = first or name
            if level < 0:
                heading = re.fullmatch(r"heading (\d)", name)
                level = int(heading[1]) - 1 if heading else 0 if name == "title" else outline
            id = base
        return first, level + 1 if 0 <= level < 9 else 0

    def _add_table(self, element: etree._Element) -> None:
        table, at = _WordTable(), len(self.paragraphs)
        page = self.page
        self._fill(table, element)
        breaks = self._breaks(element)
        self.page += breaks
        self.breaks += breaks
        filled = sum(bool(cell) for row in table.rows for cell in row)
        if filled:
            check_extent(self.file, self.limits, len(table.rows), max(map(len, table.rows)), filled)
        if filled >= 2:
            self.tables.append((table, at, page))
        elif filled:  # a box around a text
            text = next(cell for row in table.rows for cell in row if cell)
            self.paragraphs.append(Paragraph(text, page))
        for inner in element.iter(f"{W}tbl"):
            if inner is not element and _outer(inner) is element:
                self._add_table(inner)

    def _fill(self, table: _WordTable, element: etree._Element) -> None:
        cells = 0
        open_cells: dict[int, Position] = {}
        for number, row in enumerate(_children(element, f"{W}tr")):
            properties = row.find(f"{W}trPr")
            skipped = None if properties is None else properties.find(f"{W}gridBefore")
            column = 0 if skipped is None else max(_number(skipped.get(f"{W}val"), 0), 0)
            self._check(number, cells, column)
            texts: dict[int, str] = {}
            if properties is not None and properties.find(f"{W}tblHeader") is not None and table.header_rows == number:
                table.header_rows += 1
            for cell in _children(row, f"{W}tc"):
                span = cell.find(f"{W}tcPr/{W}gridSpan")
                width = min(max(1 if span is None else _number(span.get(f"{W}val"), 1), 1), 1_000)
                merge = cell.find(f"{W}tcPr/{W}vMerge")
                text = sound_text(_cell_text(cell))
                goes_on = merge is not None and merge.get(f"{W}val") != "restart" and column in open_cells
                if goes_on:
                    start = open_cells[column]
                    area = table.merged[start]
                    table.merged[start] = Area(area.top, area.left, number, area.right)
                    if text:
                        texts[column] = text
                else:
                    texts[column] = text
                    table.merged[number, column] = Area(number, column, number, column + width - 1)
                    open_cells[column] = number, column
                    if merge is None:
                        open_cells.pop(column)
                column += width
                cells += width
                self._check(number, cells, column)
            table.rows.append(tuple(texts.get(at, "") for at in range(column)))

    def _check(self, row: int, cells: int, columns: int) -> None:
        if cells > self.limits.max_cells or columns > self.limits.max_columns:
            raise UnreadableTableError(
                "a table has more cells than the limits allow.", path=self.file.relative, row=row
            )


def _blocks(parent: etree._Element) -> Iterator[etree._Element]:
    """Paragraphs and tables in order, also inside content controls, insertions and custom XML."""
    open_parents = [iter(parent)]
    while open_parents:
        child = next(open_parents[-1], None)
        if child is None:
            open_parents.pop()
        elif child.tag in (f"{W}p", f"{W}tbl"):
            yield child
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins", f"{W}moveTo"):
            open_parents.append(iter(child))


def _children(parent: etree._Element, tag: str) -> Iterator[etree._Element]:
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}customXml", f"{W}ins"):
            yield from _children(child, tag)


def _outer(table: etree._Element) -> etree._Element | None:
    return next(table.iterancestors(f"{W}tbl"), None)


def _cell_text(cell: etree._Element) -> str:
    return "\n".join(text for p in _children(cell, f"{W}p") if (text := paragraph_text(p).strip(" "))).strip("\n ")


def paragraph_text(paragraph: etree._Element) -> str:
    """The text of a paragraph: tabs and line breaks as such, raised marks raised, deleted text left out."""
    pieces: list[tuple[str, bool]] = []
    open_parents = [iter(paragraph)]
    while open_parents:
        child = next(open_parents[-1], None)
        if child is None:
            open_parents.pop()
        elif child.tag == f"{W}t":
            pieces.append((child.text or "", _is_raised(child.getparent())))
        elif child.tag in (f"{W}tab", f"{W}ptab"):
            pieces.append(("\t", False))
        elif child.tag in (f"{W}br", f"{W}cr"):
            pieces.append(("" if child.get(f"{W}type") == "page" else "\n", False))
        elif child.tag == f"{W}noBreakHyphen":
            pieces.append(("-", False))
        elif child.tag not in _UNSEEN:
            open_parents.append(iter(child))
    return joined_runs(pieces)


def _is_raised(run: etree._Element | None) -> bool:
    align = None if run is None else run.find(f"{W}rPr/{W}vertAlign")
    return align is not None and align.get(f"{W}val") == "superscript"


def _number(text: str | None, default: int) -> int:
    try:
        return int(text or "")
    except ValueError:
        return default


_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def read_pptx(file: TableFile, limits: ReadLimits) -> ReadContent:
    """The tables and the text of a presentation in the order of its slides, notes after their slide.

    Raises `UnreadableTableError` if the file is damaged, encrypted or beyond the limits.
    """
    paragraphs: list[Paragraph] = []
    places: list[TextPlace] = []
    grids: list[Grid] = []
    with open_office_file(file, limits, "presentation") as archive:
        deck = parse_part(archive, "ppt/presentation.xml", file)
        if deck is None:
            raise UnreadableTableError("the file is not a presentation.", path=file.relative, hint=SAVE_ANEW)
        targets = _targets(parse_part(archive, "ppt/_rels/presentation.xml.rels", file), "ppt")
        names = [targets.get(slide.get(f"{_R}id", ""), "") for slide in deck.iter(f"{_P}sldId")]
        known: set[str] = set()
        for page, name in enumerate(names, 1):
            slide = None if name in known else parse_part(archive, name, file)
            known.add(name)
            if slide is None:
                continue
            title = ""
            for shape in slide.iter(f"{_P}sp", f"{_A}tbl"):
                if shape.tag == f"{_A}tbl":
                    places.append(TextPlace(len(paragraphs), page))
                    grids.append(_grid(file, limits, shape, len(grids), title))
                    continue
                is_title = any(p.get("type") in ("title", "ctrTitle") for p in shape.iter(f"{_P}ph"))
                for paragraph in shape.iter(f"{_A}p"):
                    text = _text(paragraph)
                    if text:
                        title = title or (text if is_title else "")
                        paragraphs.append(Paragraph(text, page, 1 if is_title else 0))
            folder, base = posixpath.split(name)
            about = parse_part(archive, f"{folder}/_rels/{base}.rels", file)
            for target in _targets(about, folder).values():
                notes = parse_part(archive, target, file) if "/notesSlide" in target else None
                texts = map(_text, () if notes is None else notes.iter(f"{_A}p"))
                paragraphs.extend(Paragraph(t, page) for t in texts if t and not re.fullmatch(r"\d+", t))
    first = paragraphs[0].text if paragraphs and paragraphs[0].level else ""
    return ReadContent(tuple(grids), DocumentText(tuple(paragraphs), tuple(places), first, len(names)))


def _targets(root: etree._Element | None, folder: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for relation in () if root is None else root:
        if relation.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join(folder, relation.get("Target", "")))
            found[relation.get("Id", "")] = target.lstrip("/")
    return found


def _text(paragraph: etree._Element) -> str:
    pieces = (
        ("\n", False) if part.tag == f"{_A}br" else (part.text or "", _stands_raised(part.getparent()))
        for part in paragraph.iter(f"{_A}t", f"{_A}br")
    )
    return sound_text(joined_runs(pieces).strip())


def _stands_raised(run: etree._Element | None) -> bool:
    properties = None if run is None else run.find(f"{_A}rPr")
    return properties is not None and _number(properties.get("baseline"), 0) > 0


def _grid(file: TableFile, limits: ReadLimits, table: etree._Element, number: int, title: str) -> Grid:
    rows, merged = [], []
    for top, row in enumerate(table.iter(f"{_A}tr")):
        texts = []
        for left, cell in enumerate(row.iter(f"{_A}tc")):
            texts.append("\n".join(filter(None, map(_text, cell.iter(f"{_A}p")))))
            width, height = (max(int(cell.get(name, "1") or 1), 1) for name in ("gridSpan", "rowSpan"))
            if width > 1 or height > 1:
                merged.append(Area(top, left, top + height - 1, left + width - 1))
        rows.append(tuple(texts))
    if sum(map(len, rows)) > limits.max_cells:
        raise UnreadableTableError("a table has more cells than the limits allow.", path=file.relative)
    properties = table.find(f"{_A}tblPr")
    headed = properties is not None and properties.get("firstRow") == "1"
    width = max(map(len, rows), default=0)
    return Grid(
        file.id,
        Source(file.relative, number=number, media_type=file.media_type),
        tuple(rows),
        width,
        context=Context(heading=(title,) if title else ()),
        merged=tuple(merged),
        header_cells=frozenset((0, column) for column in range(width)) if headed else frozenset(),
    )
