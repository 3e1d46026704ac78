"""PDF files: text as paragraphs with their pages, tables by their rules and by alignment.

Words and rules come from pdfplumber (extra ``documents``), which runs in a process with bounds.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from kgtable.errors import NoTableError, TableError, UnreadableTableError
from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits, this_process, unreadable
from kgtable.tables.model import Area, Grid, Notice, ReadContent, Row, Source, context_at
from kgtable.tables.readers.pdf_alignment import rows_in_columns
from kgtable.tables.readers.pdf_layout import (
    TextBlock,
    furniture_key,
    mark_headings,
    page_blocks,
    running_lines,
)
from kgtable.tables.readers.pdf_lines import Line, PdfTable
from kgtable.tables.readers.pdf_pages import page_content
from kgtable.text.passages import DocumentText, Paragraph, TextPlace
from kgtable.values.text import sound_text

_CAPTION = re.compile(r"\s*(?:Table|Tab\.|Exhibit|Schedule)\s+[A-Z]?\d+", re.IGNORECASE)
_ENDS = re.compile(r"[.!?:;…][\"'”’)\]]*\s*$")


def read_pdf(file: TableFile, limits: ReadLimits) -> ReadContent:
    """The tables and the text of a PDF; a table broken over pages is one, running headers are left out.

    Raises `NoTableError` for pages that are mere pictures, `UnreadableTableError` without the extra
    ``documents``, or where the file is damaged, encrypted or beyond the limits.
    """
    (count, title), pages = _read(file, limits)
    if not any(page["words"] for page in pages):
        raise NoTableError(
            "the PDF has no text: its pages are pictures.",
            path=file.relative,
            hint="Run it through a program that recognises text (OCR) first.",
        )
    furniture = running_lines(pages)
    blocks = [block for number, page in enumerate(pages, 1) for block in page_blocks(page, number, furniture)]
    mark_headings(blocks)
    assembly = _Assembly(_words(pages))
    for block in blocks:
        assembly.add(block)
    assembly.end()
    return assembly.content(file, count, " ".join(title.split()), _notices(file, pages))


def _read(file: TableFile, limits: ReadLimits) -> tuple[tuple[int, str], list[dict[str, Any]]]:
    """The number of pages, the title, and the pages."""
    try:
        import pdfplumber
        from pdfplumber.utils.exceptions import PdfminerException
    except ImportError as error:
        raise UnreadableTableError(
            "PDF files need packages that are not installed.",
            path=file.relative,
            hint="Install them with: pip install 'kgtable[documents]'",
        ) from error
    logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), pdfplumber.open(file.path, unicode_norm=None) as document:
            warnings.simplefilter("ignore")
            count = len(document.pages)
            if count > limits.max_pages:
                raise UnreadableTableError(
                    f"the PDF has {count:,} pages, more than {limits.max_pages:,}.",
                    path=file.relative,
                    hint="Split it into parts.",
                )
            this_process.bound(limits.max_memory, limits.seconds_for(file.path, count))
            title = document.metadata.get("Title") if document.metadata else None
            pages = []
            for page in document.pages:
                pages.append(page_content(page))
                page.close()
    except TableError:
        raise
    except OSError as error:
        raise unreadable(file, error) from error
    except PdfminerException as error:
        if "password" in repr(error).lower() or "encrypt" in repr(error).lower():
            hint = "Save it without one."
            raise UnreadableTableError("the PDF is protected by a password.", path=file.relative, hint=hint) from error
        raise _damaged(file, _reason(error)) from error
    except (MemoryError, SystemError) as error:  # the latter where the interpreter itself runs out of it
        raise _damaged(file, "it needs more memory than a file may take") from error
    except Exception as error:  # such as a recursion that is too deep
        raise _damaged(file, _reason(error)) from error
    return (count, sound_text(title) if isinstance(title, str) else ""), pages


def _reason(error: BaseException) -> str:
    inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    return sound_text(f"{type(inner).__name__}: {inner}" if str(inner) else type(inner).__name__)


def _damaged(file: TableFile, reason: str) -> UnreadableTableError:
    reason = " ".join(reason.split())[:200]
    return UnreadableTableError(
        f"the PDF cannot be read ({reason}).",
        path=file.relative,
        hint="Get a complete copy, or print it again.",
    )


def _notices(file: TableFile, pages: Sequence[dict[str, Any]]) -> tuple[Notice, ...]:
    pictures = [str(n) for n, page in enumerate(pages, 1) if page["images"] and not page["words"]]
    if not pictures:
        return ()
    more = f" and {len(pictures) - 10:,} more" if len(pictures) > 10 else ""
    message = f"no text on page {', '.join(pictures[:10])}{more}: they hold pictures only"
    return (Notice("picture-pages", message, file.relative),)


def _words(pages: Sequence[dict[str, Any]]) -> frozenset[str]:
    """The words of the document, to distinguish a word cut at a line's end from one with a hyphen."""
    return frozenset(word[0].strip(".,;:()").lower() for page in pages for word in page["words"])


@dataclass
class _Assembly:
    """Joins the blocks of all pages to paragraphs and tables."""

    known: frozenset[str]
    paragraphs: list[Paragraph] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    tables: list[tuple[PdfTable, int]] = field(default_factory=list)
    open_page: int = 0
    """The page that the last table goes on from; 0 where something follows it."""
    tail: list[list[Line]] = field(default_factory=list)
    """The lines of the last paragraphs, those since the last table and page."""
    repeated: list[Line] = field(default_factory=list)
    """Lines at the top of a page that the open table begins with, too."""

    def add(self, block: TextBlock) -> None:
        """Appends a block; a table at a page's top goes on with the one at the end of the page before."""
        if self.open_page and block.page != self.open_page + 1:
            self.open_page = 0
        if block.table is not None:
            table = block.table
            if self.open_page and _goes_on(self.tables[-1][0], table):
                self._begin_with_repeated()
                _join(self.tables[-1][0], table)
            else:
                self._give_back(block.page)
                if block.first_on_page:
                    self._begin_on_page_before(table)
                self.tables.append((table, len(self.paragraphs)))
            self.tail = []
            self.open_page = block.page if block.last_on_page else 0
            self.repeated = []
            return
        if self.open_page:
            lines = self._gone_on_with(block)
            if not lines:
                return
            self._give_back(block.page)
            block = replace(block, lines=lines)
        self._add_text(block)

    def _gone_on_with(self, block: TextBlock) -> list[Line]:
        """The lines of a block that are neither repeated headings nor rows of the open table."""
        table, at = self.tables[-1]
        heads = {_told(row) for row in table.rows[:5]}
        if at == len(self.paragraphs) and at:
            heads.add(self.paragraphs[-1].text)
        lines = list(block.lines)
        while taken := next((n for n in (1, 2, 3) if " ".join(line.text for line in lines[:n]) in heads), 0):
            self.repeated += lines[:taken]
            del lines[:taken]
            if not lines:
                break
        count = next((n for n in range(len(lines), 0, -1) if rows_in_columns(lines[:n], table)), 0)
        if count:
            self._begin_with_repeated()
            table.rows += rows_in_columns(lines[:count], table) or []
            self.repeated = []
            lines = lines[count:]
            if not lines and block.last_on_page:
                self.open_page = block.page
        return lines

    def _begin_with_repeated(self) -> None:
        """A paragraph right above the open table that its next part repeats is a row of it."""
        table, at = self.tables[-1]
        last = self.paragraphs[-1].text if at == len(self.paragraphs) and at else None
        if not table.ruled and last in [line.text for line in self.repeated]:
            assert last is not None
            table.rows.insert(0, (last, *[""] * (table.width - 1)))
            table.merged = [Area(a.top + 1, a.left, a.bottom + 1, a.right) for a in table.merged]
            self.paragraphs.pop()
            self.sizes.pop()
            self.tables[-1] = (table, len(self.paragraphs))

    def _begin_on_page_before(self, table: PdfTable) -> None:
        """Lines at the end of the page before that begin with the table's first row, and fit it, are its rows."""
        if table.ruled or not self.tail or self.paragraphs[-1].page != table.page - 1:
            return
        lines = [line for of_one in self.tail for line in of_one]
        head = _told(table.rows[0])
        for start in range(len(lines)):
            for after in range(start + 1, min(start + 4, len(lines))):
                same = " ".join(line.text for line in lines[start:after]) == head
                rows = rows_in_columns(lines[after:], table) if same else None
                if rows:
                    self._insert_below_head(table, rows)
                    self._drop_last_lines(len(lines) - start)
                    return

    def _insert_below_head(self, table: PdfTable, rows: Sequence[Row]) -> None:
        table.rows[1:1] = rows
        shift = len(rows)
        table.merged = [
            area if area.bottom == 0 else Area(area.top + shift, area.left, area.bottom + shift, area.right)
            for area in table.merged
        ]

    def _drop_last_lines(self, count: int) -> None:
        """Takes the last lines out of the last paragraphs; one without a line is none."""
        while count and self.tail:
            lines = self.tail.pop()
            if count >= len(lines):
                count -= len(lines)
                self.paragraphs.pop()
                self.sizes.pop()
            else:
                text = sound_text(self._text(lines[: len(lines) - count]))
                self.paragraphs[-1] = replace(self.paragraphs[-1], text=text)
                return

    def _give_back(self, page: int) -> None:
        """Ends the open table; lines that were taken for its repeated heading are a paragraph."""
        lines, self.repeated, self.open_page = self.repeated, [], 0
        if lines:
            self._add_text(TextBlock(page, lines))

    def _add_text(self, block: TextBlock) -> None:
        text = sound_text(self._text(block.lines))
        last = self.paragraphs[-1] if self.paragraphs else None
        if (
            block.first_on_page
            and last is not None
            and not block.heading
            and not self.sizes[-1]
            and last.page == block.page - 1
            and not _ENDS.search(last.text)
            and text[:1].islower()
        ):
            self.paragraphs[-1] = replace(last, text=self._joined(last.text, text))
            self.tail = []
            return
        if block.first_on_page:
            self.tail = []
        self.tail.append(list(block.lines))
        self.paragraphs.append(Paragraph(text, block.page))
        self.sizes.append(block.heading)

    def end(self) -> None:
        """Nothing follows."""
        if self.tables:
            self._give_back(self.tables[-1][0].page)
        self.tables = [(table.without_empty_columns(), at) for table, at in self.tables]

    def _text(self, lines: Sequence[Line]) -> str:
        text = lines[0].text
        for line in lines[1:]:
            text = self._joined(text, line.text)
        return text

    def _joined(self, text: str, more: str) -> str:
        """Two lines as one; a word cut at the end of the first is whole where the document has it whole."""
        first = text.rpartition(" ")[2]
        if len(first) > 2 and first.endswith(("-", "\u00ad")) and more[:1].isalpha():
            second = more.partition(" ")[0]
            whole = (first[:-1] + second).strip(".,;:()").lower()
            is_cut = first.endswith("\u00ad") or (more[:1].islower() and whole in self.known)
            return text[:-1] + more if is_cut else text + more
        return f"{text} {more}"

    def content(self, file: TableFile, pages: int, title: str, notices: tuple[Notice, ...]) -> ReadContent:
        """Tables with what surrounds them, and the text."""
        ranks = {size: rank for rank, size in enumerate(sorted({s for s in self.sizes if s}, reverse=True), 1)}
        paragraphs = tuple(
            replace(paragraph, level=min(ranks[size], 9) if size else 0)
            for paragraph, size in zip(self.paragraphs, self.sizes, strict=True)
        )
        places = tuple(TextPlace(at, table.page, _caption(paragraphs, at)) for table, at in self.tables)
        text = DocumentText(paragraphs, places, title, pages)
        grids = [
            Grid(
                file.id,
                Source(file.relative, number=number, media_type=file.media_type),
                tuple(tuple(sound_text(cell) for cell in row) for row in table.rows),
                max(map(len, table.rows)),
                context=context_at(text, number),
                merged=tuple(table.merged),
                notices=notices if number == 0 else (),
            )
            for number, (table, _) in enumerate(self.tables)
        ]
        return ReadContent(tuple(grids), text, () if grids else notices)


def _told(row: Row) -> str:
    return " ".join(" ".join(cell.split()) for cell in row if cell)


def _caption(paragraphs: Sequence[Paragraph], at: int) -> str:
    near = (place for place in (at - 1, at, at - 2) if 0 <= place < len(paragraphs))
    return next((paragraphs[p].text for p in near if _CAPTION.match(paragraphs[p].text)), "")


def _goes_on(first: PdfTable, second: PdfTable) -> bool:
    """Whether a table on the next page is the rest of this one: as many columns in the same places."""
    if first.ruled != second.ruled:
        return False
    if first.ruled:
        return (
            first.width == second.width
            and abs(first.box[0] - second.box[0]) < 6
            and abs(first.box[2] - second.box[2]) < 6
        )
    return _matching(first.edges, second.edges) is not None or _matching(second.edges, first.edges) is not None


def _matching(edges: Sequence[float], others: Sequence[float]) -> list[int] | None:
    """For each of the `others` the place of the edge that it lies at; None if one lies at none."""
    found = [min(range(len(edges)), key=lambda at: abs(edges[at] - other)) for other in others]
    apart = [abs(edges[at] - other) for at, other in zip(found, others, strict=True)]
    rising = all(a < b for a, b in pairwise(found))
    return found if rising and max(apart) < 25 and len(others) >= 2 else None


def _spread(rows: list[Row], places: Sequence[int], width: int) -> list[Row]:
    """The rows with their cells in these places of wider ones."""
    found = []
    for row in rows:
        at = dict(zip(places, row, strict=False))
        found.append(tuple(at.get(column, "") for column in range(width)))
    return found


def _join(first: PdfTable, second: PdfTable) -> None:
    """Appends the rows of the second; a header row that is printed again is left out."""
    if not first.ruled and len(first.edges) != len(second.edges):
        narrow, wide = sorted((first, second), key=lambda table: len(table.edges))
        places = _matching(wide.edges, narrow.edges) or list(range(len(narrow.edges)))
        narrow.rows = _spread(narrow.rows, places, len(wide.edges))
        narrow.merged = [Area(a.top, places[a.left], a.bottom, places[a.right]) for a in narrow.merged]
        narrow.edges = wide.edges
    repeated = 0
    for above, again in zip(first.rows, second.rows, strict=False):
        if [furniture_key(cell) for cell in above] != [furniture_key(cell) for cell in again] or above != again:
            break
        repeated += 1
    if repeated == len(second.rows):
        repeated = 0
    shift = len(first.rows) - repeated
    first.merged += [Area(a.top + shift, a.left, a.bottom + shift, a.right) for a in second.merged if a.top >= repeated]
    first.rows += second.rows[repeated:]
    first.edges, first.box = second.edges, (second.box[0], second.box[1], second.box[2], second.box[3])
