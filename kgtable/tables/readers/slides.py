"""Presentations: the text and the tables of each slide, the slide's number as their page."""

from __future__ import annotations

import posixpath
import re

from lxml import etree

from kgtable.errors import UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.documents import ReadContent
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Area, Context, Grid, Source
from kgtable.tables.readers.word import SAVE_ANEW, open_office_file, parse_part
from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import sound_text

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def read_pptx(file: TableFile, limits: ReadLimits) -> ReadContent:
    """The tables and the text of a presentation in the order of its slides, notes behind their slide.

    Raises `UnreadableTableError` where the file is damaged, encrypted or beyond the limits.
    """
    paragraphs: list[Paragraph] = []
    places: list[TextPlace] = []
    grids: list[Grid] = []
    with open_office_file(file, limits, "presentation") as archive:
        deck = parse_part(archive, "ppt/presentation.xml", file)
        if deck is None:
            raise UnreadableTableError("the file is no presentation.", path=file.relative, hint=SAVE_ANEW)
        targets = _targets(parse_part(archive, "ppt/_rels/presentation.xml.rels", file), "ppt")
        names = [targets.get(slide.get(f"{_R}id", ""), "") for slide in deck.iter(f"{_P}sldId")]
        for page, name in enumerate(names, 1):
            slide = parse_part(archive, name, file)
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
        "\n" if part.tag == f"{_A}br" else part.text or "" for part in paragraph.iter(f"{_A}t", f"{_A}br")
    )
    return sound_text("".join(pieces).strip())


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
