"""Pipe tables in Markdown, with the headings and paragraphs around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, read_bytes
from kgtable.tables.model import Context, Grid, ReadContent, Row, Source
from kgtable.tables.readers.encoding import encoding_notices, encoding_of
from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import as_raised, sound_text

_DELIMITER_CELL = re.compile(r"\s*:?-+:?\s*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_CAPTION = re.compile(r" {0,3}(?:Table:|:)[ \t]+(.+)\Z")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)")
_NOTE_MARK = re.compile(r"\[\^(\w{1,3})\]")
"""A reference to a note: ``610[^1]`` is shown with a raised 1."""
_MARKS = ("***", "**", "*", "___", "__", "_", "~~")
_BEFORE, _AFTER = 3, 2


def read_markdown(file: TableFile, limits: ReadLimits) -> ReadContent:
    """The pipe tables of a Markdown file and its text; row 0 is the header row, the line of dashes no row.

    Raises `TableError` if the file cannot be read.
    """
    content = read_bytes(file, limits)
    encoding = encoding_of(file, [content], "Save it as UTF-8 text.")
    notices = encoding_notices(file, encoding)
    document = _Document()
    document.read(re.split(r"\r\n|\r|\n", content.decode(encoding.codec, encoding.errors)))
    grids = (
        Grid(
            file.id,
            Source(file.relative, number=number, media_type=file.media_type, encoding=encoding.codec),
            tuple(table.rows),
            max(map(len, table.rows)),
            context=table.context,
            header_cells=frozenset((0, column) for column in range(len(table.rows[0]))),
            notices=notices if number == 0 else (),
        )
        for number, table in enumerate(document.tables)
    )
    places = tuple(
        TextPlace(at, caption=table.context.caption) for at, table in zip(document.places, document.tables, strict=True)
    )
    title = next((paragraph.text for paragraph in document.text if paragraph.level == 1), "")
    text = DocumentText(tuple(document.text), places, title)
    return ReadContent(tuple(grids), text, () if document.tables else notices)


def split_row(line: str) -> Row:
    r"""The cells of a line of a pipe table: spaces around them and one level of markup are removed.

    >>> split_row(r"| a \| b | **1,234** |  |")
    ('a | b', '1,234', '')
    """
    line = line.strip(" \t")
    inner = line[1:] if line.startswith("|") else line
    cells = re.split(r"(?<!\\)\|", inner)
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return tuple(_plain(cell) for cell in cells)


def _plain(cell: str) -> str:
    text = cell.strip(" \t").replace("\\|", "|")
    text = _LINK.sub(r"\1", _BREAK.sub("\n", text))
    text = _NOTE_MARK.sub(lambda match: as_raised(match[1]) or match[0], text)
    ticks = text[: len(text) - len(text.lstrip("`"))]
    for mark in (ticks,) if ticks else _MARKS:
        inner = text[len(mark) : -len(mark)]
        if text.startswith(mark) and text.endswith(mark) and inner and inner == inner.strip():
            return text if mark in inner else inner
    return text


def _without_closing_marks(text: str) -> str:
    """The text of a heading, which spaces and number signs may follow as well.

    >>> _without_closing_marks(" Ports #1 ## "), _without_closing_marks(" C#"), _without_closing_marks(" #")
    ('Ports #1', 'C#', '')
    """
    text = " " + text.strip(" \t")
    bare = text.rstrip("#")
    return (bare if bare[-1] in " \t" else text).strip(" \t")


@dataclass(slots=True)
class _PipeTable:
    rows: list[Row]
    context: Context


@dataclass(slots=True)
class _Document:
    """Reads lines from the top down and keeps what surrounds the next table."""

    tables: list[_PipeTable] = field(default_factory=list)
    headings: dict[int, str] = field(default_factory=dict)
    recent: list[str] = field(default_factory=list)
    paragraph: list[str] = field(default_factory=list)
    after_open: bool = False
    text: list[Paragraph] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)

    def read(self, lines: list[str]) -> None:
        index = 0
        while index < len(lines):
            line = lines[index]
            if fence := _FENCE.match(line):
                self._end_paragraph()
                end = _after_fence(lines, index, fence[1])
                self._keep("\n".join(lines[index:end]))
                index = end
            elif _begins_table(lines, index):
                self._end_paragraph()
                index = self._take_table(lines, index)
            else:
                self._take_line(line)
                index += 1
        self._end_paragraph()

    def _take_line(self, line: str) -> None:
        heading, underline = _HEADING.match(line), _UNDERLINE.match(line)
        if heading:
            self._end_paragraph()
            self._take_heading(len(heading[1]), _without_closing_marks(line[heading.end() :]))
        elif underline and self.paragraph:
            text = " ".join(self.paragraph)
            self.paragraph, self.printed = [], []
            self._take_heading(1 if underline[1].startswith("=") else 2, text)
        elif line.strip():
            self.paragraph.append(line.strip())
            self.printed.append(line.rstrip())
        else:
            self._end_paragraph()

    def _take_heading(self, level: int, text: str) -> None:
        self.headings = {key: value for key, value in self.headings.items() if key < level}
        self._keep(text, level)
        if text:
            self.headings[level] = _plain(text)
        self.recent, self.after_open = [], False

    def _end_paragraph(self) -> None:
        text, self.paragraph = " ".join(self.paragraph), []
        self._keep("\n".join(self.printed))
        self.printed = []
        if not text:
            return
        last = self.tables[-1] if self.after_open else None
        caption = _CAPTION.match(text)
        if last and caption and not last.context.caption and not last.context.after:
            last.context = replace(last.context, caption=caption[1])
            return
        self.recent.append(text)
        if last:
            last.context = replace(last.context, after=(*last.context.after, text))
            self.after_open = len(last.context.after) < _AFTER

    def _keep(self, text: str, level: int = 0) -> None:
        """Keeps a text as it is printed, its lines apart."""
        if text.strip():
            self.text.append(Paragraph(sound_text(text), level=level))

    def _take_table(self, lines: list[str], index: int) -> int:
        rows = [split_row(lines[index])]
        index += 2
        while index < len(lines) and lines[index].strip() and not _ends_table(lines[index]):
            rows.append(split_row(lines[index]))
            index += 1
        caption = _CAPTION.match(self.recent[-1]) if self.recent else None
        context = Context(
            heading=tuple(text for _, text in sorted(self.headings.items())),
            caption=caption[1] if caption else "",
            before=tuple(self.recent[-_BEFORE:-1] if caption else self.recent[-_BEFORE:]),
        )
        self.tables.append(_PipeTable(rows, context))
        self.places.append(len(self.text))
        self.recent, self.after_open = [], True
        return index


def _begins_table(lines: list[str], index: int) -> bool:
    """Whether a header row and a line of dashes with as many cells are here."""
    if "|" not in lines[index] or index + 1 >= len(lines):
        return False
    dashes = lines[index + 1]
    if "|" not in dashes or not set(dashes) <= set("|:- \t"):
        return False
    cells = dashes.strip(" \t").removeprefix("|").removesuffix("|").split("|")
    return len(cells) == len(split_row(lines[index])) and all(map(_DELIMITER_CELL.match, cells))


def _ends_table(line: str) -> bool:
    return bool(_HEADING.match(line) or _FENCE.match(line) or _CAPTION.match(line)) or "|" not in line


def _after_fence(lines: list[str], index: int, fence: str) -> int:
    for end in range(index + 1, len(lines)):
        if lines[end].strip().startswith(fence) and not lines[end].strip().strip(fence[0]):
            return end + 1
    return len(lines)
