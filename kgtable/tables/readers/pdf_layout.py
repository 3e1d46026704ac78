"""The layout of PDF pages: lines, columns of text, tables without rules, paragraphs, headings.

Words come with their boxes; what belongs together is found by how they stand to each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from kgtable.tables.model import Area, Row

_FIGURE = re.compile(
    r"[(\-−–+]?\s?[$€£¥]?\s?[(\-−–]?[\d.,]+\)?\s?%?[a-z*†‡]?|[-–—]|n/?a|n/?m|nil", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"(?:\d{1,2}(?:\.\d{1,2}){0,3}\.?|[A-Z]\.|[IVX]{1,5}\.|Appendix [A-Z]|Chapter \d+)\s+\S"
)
_ENDS = re.compile(r"[.!?:;…][\"'”’)\]]*$")
_PROSE = 6
"""Words in the cells of a column from which on it is a column of running text."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box; the origin is the page's top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool = False


@dataclass(slots=True)
class Line:
    """Words on one height, from left to right, and the runs of them without a wide gap."""

    words: list[Word]

    @property
    def text(self) -> str:
        """The words parted by spaces."""
        return " ".join(word.text for word in self.words)

    @property
    def left(self) -> float:
        """Where its first word begins."""
        return self.words[0].left

    @property
    def right(self) -> float:
        """Where its last word ends."""
        return max(word.right for word in self.words)

    @property
    def top(self) -> float:
        """The height of its highest word."""
        return min(word.top for word in self.words)

    @property
    def bottom(self) -> float:
        """Where its lowest word ends."""
        return max(word.bottom for word in self.words)

    @property
    def size(self) -> float:
        """The size of most of its letters."""
        return median(word.size for word in self.words)

    @property
    def bold(self) -> bool:
        """Whether all of it is bold."""
        return all(word.bold for word in self.words)

    def segments(self) -> list[Line]:
        """Its runs of words with gaps of a space's width; a wider gap parts columns."""
        runs: list[list[Word]] = [[self.words[0]]]
        for before, word in pairwise(self.words):
            if word.left - before.right > max(0.95 * max(before.size, word.size), 5):
                runs.append([word])
            else:
                runs[-1].append(word)
        return [Line(run) for run in runs]


@dataclass(slots=True)
class PdfTable:
    """A table on a page: its rows, the box it stands in, merged areas, the left edges of its columns."""

    rows: list[Row]
    box: tuple[float, float, float, float]
    page: int
    merged: list[Area] = field(default_factory=list)
    edges: tuple[float, ...] = ()
    ruled: bool = False


@dataclass(slots=True)
class Block:
    """A paragraph, a heading (with its size) or a table of a page, in reading order."""

    page: int
    lines: list[Line] = field(default_factory=list)
    table: PdfTable | None = None
    heading: float = 0.0
    first_on_page: bool = False
    last_on_page: bool = False


def lines_of(words: Sequence[Word]) -> list[Line]:
    """Words as lines from the top down: those whose boxes overlap by half in height."""
    lines: list[list[Word]] = []
    middles: list[float] = []
    for word in sorted(words, key=lambda w: ((w.top + w.bottom) / 2, w.left)):
        middle = (word.top + word.bottom) / 2
        if lines and middle - middles[-1] < 0.45 * max(word.bottom - word.top, 4):
            lines[-1].append(word)
            middles[-1] += (middle - middles[-1]) / len(lines[-1])
        else:
            lines.append([word])
            middles.append(middle)
    return [Line(sorted(line, key=lambda w: w.left)) for line in lines]


def page_blocks(page: dict[str, Any], number: int, furniture: frozenset[str]) -> list[Block]:
    """The paragraphs and tables of a page in reading order; running headers and footers are left out.

    Args:
        page: what the worker printed of it.
        number: the page's number, from 1.
        furniture: running lines as `furniture_key` gives them.
    """
    words = [Word(*word) for word in page["words"] if word[0].strip()]
    height = page["height"]
    kept = [
        line
        for line in lines_of(words)
        if not (in_margin(line, height) and furniture_key(line.text) in furniture)
    ]
    words = [word for line in kept for word in line.words]
    ruled = [table for item in page["tables"] if (table := _ruled(item, number)) is not None]
    tables = _outermost(ruled)
    words = [word for word in words if not any(_inside(word, table.box) for table in tables)]
    blocks: list[Block] = []
    for region in _regions(lines_of(words)):
        blocks += _region_blocks(region, number)
    for table in sorted(tables, key=lambda t: t.box[1]):
        at = next((i for i, block in enumerate(blocks) if _below(block, table)), len(blocks))
        blocks.insert(at, Block(number, table=table))
    if blocks:
        blocks[0].first_on_page = blocks[-1].last_on_page = True
    return blocks


def furniture_key(text: str) -> str:
    """A line of a page's margin without its numbers, which differ from page to page."""
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", text.lower()).strip()


def in_margin(line: Line, height: float) -> bool:
    """Whether a line stands where running headers and footers do."""
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
    empty = {column for column in range(width) if not any(row[column : column + 1] != ("",) for row in rows)}
    used = [column for column in range(width) if any(column < len(row) and row[column] for row in rows)]
    whole = len(rows) == len(item["rows"]) and not empty and len(used) == width
    kept = rows if len(used) == width else [tuple(row[c] for c in used if c < len(row)) for row in rows]
    if len(used) < 2:
        return None
    merged = [Area(*span) for span in item["spans"]] if whole else []
    left, top, right, bottom = item["box"]
    return PdfTable(kept, (left, top, right, bottom), page, merged, ruled=True)


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


def _below(block: Block, table: PdfTable) -> bool:
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


def _region_blocks(lines: list[Line], page: int) -> list[Block]:
    blocks: list[Block] = []
    text: list[Line] = []
    index = 0
    while index < len(lines):
        end = _table_end(lines, index)
        table = _aligned(lines[index:end], page) if end - index >= 2 else None
        if table is not None:
            above = _header_above(text, lines[index], table)
            if above:
                table = _aligned([*text[-above:], *lines[index:end]], page) or table
                del text[-above:]
        if table is None:
            text.append(lines[index])
            index += 1
            continue
        blocks += _paragraphs(text, page)
        text = []
        blocks.append(Block(page, table=table))
        index = end
    return [*blocks, *_paragraphs(text, page)]


def _header_above(text: list[Line], first: Line, table: PdfTable) -> int:
    """How many lines right above are headings over several columns: short, and right of the first column."""
    start = table.edges[1] if len(table.edges) > 1 else first.left
    count, below = 0, first
    while count < min(3, len(text)):
        line = text[-1 - count]
        over = line.left > table.edges[0] + 20 and line.right > start and len(line.words) <= 8
        if not over or below.top - line.bottom > 1.5 * line.size or line.size > 1.15 * first.size:
            break
        count, below = count + 1, line
    return count


def _table_end(lines: list[Line], start: int) -> int:
    """Behind the last line of a run that begins here and could be a table: lines of several segments."""
    if len(lines[start].segments()) < 2:
        return start
    end, last = start + 1, start + 1
    pitch = 2.6 * max(lines[start].size, 6)
    alone, second = 0, lines[start].segments()[1].left
    while end < len(lines):
        line = lines[end]
        if line.top - lines[end - 1].bottom > pitch or line.size > 1.3 * lines[start].size:
            break
        parts = line.segments()
        if len(parts) >= 2:
            alone, last = 0, end + 1
            second = min(second, parts[1].left)
        else:
            alone += 1
            labels = line.right <= second + 5
            if alone > (6 if labels else 3 if len(line.words) <= 8 else 1) or len(line.words) > 16:
                break
            if labels and end == len(lines) - 1 and alone <= 2:
                last = end + 1
        end += 1
    return last


def _aligned(lines: list[Line], page: int) -> PdfTable | None:
    """The lines as a table where their segments stand below each other; None where they are running text."""
    split = [line.segments() for line in lines]
    several = [parts for parts in split if len(parts) > 1]
    if len(several) < 2:
        return None
    counts = Counter(len(parts) for parts in several)
    usual = max(counts, key=lambda n: (counts[n] * n, n))
    columns = _columns([parts for parts in several if len(parts) >= usual] or several)
    if len(columns) < 2:
        columns = _columns([parts for parts in several if len(parts) == max(counts)])
    if len(columns) < 2 or len(columns) > 60:
        return None
    rows: list[list[str]] = []
    merged: list[Area] = []
    cells: list[list[str]] = [[] for _ in columns]
    for parts in split:
        row = [""] * len(columns)
        for part in parts:
            covered = [
                i
                for i, (left, right) in enumerate(columns)
                if min(part.right, right) - max(part.left, left) > 0
            ]
            at = (
                covered[0]
                if covered
                else min(
                    range(len(columns)),
                    key=lambda i: abs(columns[i][0] + columns[i][1] - part.left - part.right),
                )
            )
            if len(covered) > 1 and len(parts) > 1:
                merged.append(Area(len(rows), covered[0], len(rows), covered[-1]))
            row[at] = f"{row[at]} {part.text}".strip()
        rows.append(row)
        for at, text in enumerate(row):
            if text:
                cells[at].append(text)
    if not _is_tabular(cells, several):
        return None
    rows, merged = _unwrapped(rows, merged, lines)
    box = (
        min(line.left for line in lines),
        lines[0].top,
        max(line.right for line in lines),
        lines[-1].bottom,
    )
    edges = tuple(left for left, _ in columns)
    return PdfTable([tuple(row) for row in rows], box, page, merged, edges)


def _columns(parts: Sequence[Sequence[Line]]) -> list[tuple[float, float]]:
    """The spans that segments below each other share."""
    spans = sorted((segment.left, segment.right) for line in parts for segment in line)
    columns: list[tuple[float, float]] = []
    for left, right in spans:
        if columns and left < columns[-1][1] - 0.5:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def _is_tabular(cells: list[list[str]], several: Sequence[Sequence[Line]]) -> bool:
    figures = sum(_FIGURE.fullmatch(text) is not None for column in cells[1:] for text in column)
    others = sum(len(column) for column in cells[1:])
    if not others:
        return False
    if sum(len(column) >= 2 for column in cells) < 2:
        return False
    if figures >= 0.4 * others:
        return len(several) >= 2
    wordy = [median(len(text.split()) for text in column) for column in cells if column]
    if max(wordy) > 3 * _PROSE or median(wordy) > _PROSE:
        return False
    listed = cells[0] and all(re.fullmatch(r"[•●▪◦o\-–*]|\(?[\dA-Za-z]{1,3}[.)]", text) for text in cells[0])
    return len(several) >= 3 and not (len(cells) == 2 and listed)


def _unwrapped(
    rows: list[list[str]], merged: list[Area], lines: list[Line]
) -> tuple[list[list[str]], list[Area]]:
    """Rows that are printed over several lines as one: lines closer to each other than rows are."""
    steps = [b.top - a.top for a, b in pairwise(lines)]
    usual = median(steps) if steps else 0.0
    within = _step_within_cells(steps)
    out: list[list[str]] = []
    places: dict[int, int] = {}
    for index, row in enumerate(rows):
        before = out[-1] if out else None
        if before is not None and within and steps[index - 1] <= within:
            out[-1] = [f"{upper} {lower}".strip() for upper, lower in zip(before, row, strict=True)]
        elif (
            before is not None
            and before[0]
            and not any(before[1:])
            and row[0]
            and row[0][0].islower()
            and steps[index - 1] <= usual * 1.05
        ):
            out[-1] = [f"{before[0]} {row[0]}", *row[1:]]
        else:
            out.append(row)
        places[index] = len(out) - 1
    return out, [Area(places[a.top], a.left, places[a.bottom], a.right) for a in merged]


def _step_within_cells(steps: list[float]) -> float:
    """Up to which distance lines belong to one row; 0 where all lines stand equally far apart."""
    if len(steps) < 2:
        return 0.0
    ordered = sorted(steps)
    gap, at = max((b / max(a, 1.0), n) for n, (a, b) in enumerate(pairwise(ordered)))
    smaller = at + 1
    apart = gap >= 1.25 and ordered[at] <= 1.35 * ordered[0] and len(ordered) - smaller >= 0.25 * len(ordered)
    return ordered[at] + 0.1 if apart else 0.0


def _paragraphs(lines: list[Line], page: int) -> list[Block]:
    if not lines:
        return []
    blocks = [Block(page, [lines[0]])]
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
            blocks.append(Block(page, [line]))
        else:
            blocks[-1].lines.append(line)
    return blocks


def mark_headings(blocks: Sequence[Block]) -> None:
    """Gives blocks that are headings the size by which they are ranked."""
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
        numbered = (
            _NUMBERED.match(text) and len(block.lines) == 1 and len(text) < 90 and not _ENDS.search(text)
        )
        if large or ((bold or numbered) and size >= 0.95 * body):
            block.heading = round(size * 2) / 2 + (0.2 if bold else 0.0) + (0.1 if numbered else 0.0)
