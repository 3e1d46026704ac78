"""The layout of PDF pages: lines, columns of text, tables by alignment, paragraphs, headings.

Words come with their boxes; what belongs together is found by their relative positions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from kgtable.tables.model import Area
from kgtable.tables.readers.pdf_alignment import (
    aligned,
    header_above,
    lists_pages,
    rows_above,
    rows_below,
    table_end,
)
from kgtable.tables.readers.pdf_lines import Line, PdfTable, Rule, Word, lines_of

_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[A-Z]\.|[IVX]{1,5}\.|Appendix [A-Z]|Chapter \d+)\s+\S")
_STACKED_FROM = 5
_ENDS = re.compile(r"[.!?:;…][\"'”’)\]]*$")


@dataclass(slots=True)
class TextBlock:
    """A paragraph, a heading (with its size) or a table of a page, in reading order."""

    page: int
    lines: list[Line] = field(default_factory=list)
    table: PdfTable | None = None
    heading: float = 0.0
    first_on_page: bool = False
    last_on_page: bool = False


def page_blocks(page: dict[str, Any], number: int, furniture: frozenset[str]) -> list[TextBlock]:
    """The paragraphs and tables of a page in reading order; running headers and footers are left out.

    Args:
        page: what the worker printed of it.
        number: the page's number, from 1.
        furniture: running lines as returned by `furniture_key`.
    """
    words = [Word(*word) for word in page["words"] if word[0].strip()]
    height = page["height"]
    kept = [line for line in lines_of(words) if not (in_margin(line, height) and furniture_key(line.text) in furniture)]
    words = [word for line in kept for word in line.words]
    ruled = [table for item in page["tables"] if (table := _ruled(item, number)) is not None]
    tables = _outermost(ruled)
    words = [word for word in words if not any(_inside(word, table.box) for table in tables)]
    blocks: list[TextBlock] = []
    rules = [Rule(*rule) for rule in page["rules"]]
    for region in _regions(lines_of(words)):
        blocks += _region_blocks(region, number, rules)
    for table in sorted(tables, key=lambda t: t.box[1]):
        at = next((i for i, block in enumerate(blocks) if _below(block, table)), len(blocks))
        blocks.insert(at, TextBlock(number, table=table))
    if blocks:
        blocks[0].first_on_page = blocks[-1].last_on_page = True
    return blocks


def furniture_key(text: str) -> str:
    """A line of a page's margin without its numbers, which differ from page to page."""
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", text.lower()).strip()


def in_margin(line: Line, height: float) -> bool:
    """Whether a line is where running headers and footers are."""
    return line.bottom < 0.09 * height or line.top > 0.91 * height


def running_lines(pages: Sequence[dict[str, Any]]) -> frozenset[str]:
    """The keys of lines in the margins of so many pages that they are headers or footers."""
    counts: Counter[str] = Counter()
    for page in pages:
        words = [Word(*word) for word in page["words"] if word[0].strip()]
        height = page["height"]
        margin = [w for w in words if w.bottom < 0.09 * height or w.top > 0.91 * height]
        counts.update({furniture_key(line.text) for line in lines_of(margin)})
    often = (key for key, count in counts.items() if count >= max(3, 0.3 * len(pages)))
    return frozenset(key for key in often if key == "#" or re.search(r"[^\W\d_]", key.replace("#", "")))


def _ruled(item: dict[str, Any], page: int) -> PdfTable | None:
    rows = [tuple(_cell(text) for text in row) for row in item["rows"]]
    rows = [row for row in rows if any(row)]
    width = max(map(len, rows), default=0)
    filled = sum(bool(cell) for row in rows for cell in row)
    if len(rows) < 2 or width < 2 or filled < 3 or filled < 0.2 * len(rows) * width:
        return None
    if len(rows) * width <= 4 and any(len(cell) > 300 for row in rows for cell in row):
        return None
    if sum(any(column < len(row) and row[column] for row in rows) for column in range(width)) < 2:
        return None
    if any(_stacked(row) for row in rows):
        return None
    merged = [Area(*span) for span in item["spans"]] if len(rows) == len(item["rows"]) else []
    left, top, right, bottom = item["box"]
    return PdfTable(rows, (left, top, right, bottom), page, merged, ruled=True)


def _stacked(cells: Sequence[str]) -> bool:
    """Whether two cells hold as many lines, five or more: the rules frame whole columns, not rows."""
    counts = Counter(cell.count("\n") + 1 for cell in cells)
    return any(lines >= _STACKED_FROM and count > 1 for lines, count in counts.items())


def _cell(text: str | None) -> str:
    return "\n".join(part.strip() for part in (text or "").split("\n")).strip()


def _outermost(tables: list[PdfTable]) -> list[PdfTable]:
    kept: list[PdfTable] = []
    for table in sorted(tables, key=lambda t: -(t.box[2] - t.box[0]) * (t.box[3] - t.box[1])):
        inside = any(
            k.box[0] - 1 <= table.box[0]
            and k.box[1] - 1 <= table.box[1]
            and table.box[2] <= k.box[2] + 1
            and table.box[3] <= k.box[3] + 1
            for k in kept
        )
        if not inside:
            kept.append(table)
    return kept


def _inside(word: Word, box: tuple[float, float, float, float]) -> bool:
    x, y = (word.left + word.right) / 2, (word.top + word.bottom) / 2
    return box[0] - 1 <= x <= box[2] + 1 and box[1] - 1 <= y <= box[3] + 1


def _below(block: TextBlock, table: PdfTable) -> bool:
    top = block.lines[0].top if block.lines else block.table.box[1] if block.table else 0.0
    return top >= table.box[1]


def _regions(lines: list[Line]) -> list[list[Line]]:
    """The lines in reading order: of a page in two columns of running text the left one first."""
    gutter = _gutter(lines)
    if gutter is None:
        return [lines]
    regions: list[list[Line]] = []
    left: list[Word] = []
    right: list[Word] = []

    def close() -> None:
        for side in (left, right):
            if side:
                regions.append(lines_of(side))
                side.clear()

    for line in lines:
        crossing = any(word.left < gutter < word.right for word in line.words) or _spans(line, gutter)
        if crossing:
            close()
            if regions and len(regions[-1]) and regions[-1][-1].right > gutter > regions[-1][-1].left:
                regions[-1].append(line)
            else:
                regions.append([line])
        else:
            left += [word for word in line.words if word.right <= gutter]
            right += [word for word in line.words if word.left >= gutter]
    close()
    return regions


def _spans(line: Line, gutter: float) -> bool:
    """Whether a line runs over the gutter without a gap there."""
    return any(segment.left < gutter < segment.right for segment in line.segments())


def _gutter(lines: list[Line]) -> float | None:
    """Where the space between two columns of running text is; None for a page in one column."""
    if len(lines) < 12:
        return None
    first, last = min(line.left for line in lines), max(line.right for line in lines)
    if last - first < 200:
        return None
    gaps: Counter[int] = Counter()
    for line in lines:
        parts = line.segments()
        for a, b in pairwise(parts):
            if len(a.words) >= 4 and len(b.words) >= 4:
                gaps.update(range(int(a.right) + 1, int(b.left)))
    if not gaps:
        return None
    middle = (first + last) / 2
    at, count = max(gaps.items(), key=lambda item: (item[1], -abs(item[0] - middle)))
    return float(at) if count >= 0.35 * len(lines) and abs(at - middle) < 0.25 * (last - first) else None


def _region_blocks(lines: list[Line], page: int, rules: Sequence[Rule]) -> list[TextBlock]:
    blocks: list[TextBlock] = []
    if lists_pages([line.text for line in lines]):
        return _paragraphs(lines, page)
    text: list[Line] = []
    index = 0
    while index < len(lines):
        end = table_end(lines, index)
        if lists_pages([line.text for line in lines[index:end]]):
            text += lines[index:end]
            index = end
            continue
        table = aligned(lines[index:end], page) if end - index >= 2 else None
        if table is None:
            text.append(lines[index])
            index += 1
            continue
        end += rows_below(lines, index, end, table, rules)
        above = max(header_above(text, lines[index], table), rows_above(text, lines[index:end], table, rules))
        whole = [*text[len(text) - above :], *lines[index:end]]
        table = aligned(whole, page) or table
        if len(table.rows) > 1 and table.box[1] <= whole[0].top and above:
            del text[-above:]
        blocks += _paragraphs(text, page)
        text = []
        blocks.append(TextBlock(page, table=table))
        index = end
    return [*blocks, *_paragraphs(text, page)]


def _paragraphs(lines: list[Line], page: int) -> list[TextBlock]:
    if not lines:
        return []
    blocks = [TextBlock(page, [lines[0]])]
    right = max(line.right for line in lines)
    left = min(line.left for line in lines)
    gaps = [b.top - a.bottom for a, b in pairwise(lines) if b.top > a.bottom - 2]
    usual = median(gaps) if gaps else 0.0
    for before, line in pairwise(lines):
        gap = line.top - before.bottom
        short = before.right < left + 0.8 * (right - left) and bool(_ENDS.search(before.text))
        parted = (
            gap > max(1.6 * usual, usual + 0.35 * line.size)
            or gap < -4 * line.size
            or abs(line.size - before.size) > 0.08 * max(line.size, before.size) + 0.3
            or (before.bold != line.bold and (before.right < right - 40 or line.bold))
            or short
            or (line.left - before.left > 0.9 * line.size and bool(_ENDS.search(before.text)))
        )
        if parted:
            blocks.append(TextBlock(page, [line]))
        else:
            blocks[-1].lines.append(line)
    return blocks


def mark_headings(blocks: Sequence[TextBlock]) -> None:
    """Assigns heading blocks the size by which they are ranked."""
    sizes: Counter[float] = Counter()
    for block in blocks:
        for line in block.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    if not sizes:
        return
    body = max(sizes, key=lambda size: (sizes[size], -size))
    for block in blocks:
        text = " ".join(line.text for line in block.lines)
        if not block.lines or len(block.lines) > 3 or len(text) > 160 or not any(c.isalpha() for c in text):
            continue
        size = block.lines[0].size
        large = size >= 1.12 * body
        bold = all(line.bold for line in block.lines) and not _ENDS.search(text.rstrip(":"))
        numbered = _NUMBERED.match(text) and len(block.lines) == 1 and len(text) < 90 and not _ENDS.search(text)
        if large or ((bold or numbered) and size >= 0.95 * body):
            block.heading = round(size * 2) / 2 + (0.2 if bold else 0.0) + (0.1 if numbered else 0.0)
