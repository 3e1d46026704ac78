"""Tables of a PDF without rules between their cells: words aligned below each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from kgtable.tables.model import Area, Row
from kgtable.tables.readers.pdf_lines import Line, PdfTable, Rule

_FIGURE = re.compile(r"[(\-−–+]?\s?[$€£¥]?\s?[(\-−–]?[\d.,]+\)?\s?%?[a-z*†‡]?|[-–—]|n/?a|n/?m|nil", re.IGNORECASE)
_LEADER = re.compile(r"(?:\.\s?){4,}\s*(?P<pages>\d{1,4}(?:,\s\d{1,4})*)(?=\s*$|\s+[^\W\d_])")
"""Dots that lead from a name to its pages, at the end of a line of contents or of an index, or of a column of one."""
_LONGEST_ENTRY = 1_000
_FEWEST_ENTRIES, _MANY_ENTRIES = 5, 20
_MARK = re.compile(r"(?:\[[^\W\d_][^\[\]]*\]\s*)+")
_PROSE = 6
"""Words per cell from which a column counts as running text."""


def rows_above(text: list[Line], lines: list[Line], table: PdfTable, rules: Sequence[Rule]) -> int:
    """How many lines above belong to the table: below a rule as wide as it, or one as far apart as its rows are."""
    for count in range(min(3, len(text)), 0, -1):
        first, next_line = text[-count], [*text[len(text) - count + 1 :], lines[0]][0]
        if _ruled_off(rules, table, first.top - 1.2 * first.size, first.top + 1):
            return count
        if first.size > 1.15 * lines[0].size or next_line.top - first.bottom > 2.6 * first.size:
            continue
    if not text or len(lines) < 3:
        return 0
    line = text[-1]
    steps = [below.top - above.top for above, below in pairwise(lines)]
    as_far = abs(lines[0].top - line.top - median(steps)) < 0.06 * median(steps) + 0.2
    before = line.top - text[-2].top if len(text) > 1 else 3 * median(steps)
    as_printed = abs(line.size - lines[0].size) < 0.2 and line.bold == lines[0].bold
    begins = abs(line.left - table.edges[0]) < 2 and line.right < table.box[0] + 0.6 * (table.box[2] - table.box[0])
    return int(as_far and as_printed and begins and before > 1.05 * median(steps) and len(line.words) <= 6)


def rows_below(lines: list[Line], start: int, end: int, table: PdfTable, rules: Sequence[Rule]) -> int:
    """How many lines below belong to the table: the rest of a label, or what a rule as wide as the table is below."""
    for count in range(min(3, len(lines) - end), 0, -1):
        line = lines[end + count - 1]
        if line.top - lines[end + count - 2].bottom > 2.6 * line.size:
            continue
        labels = all(one.right <= table.edges[1] + 5 for one in lines[end : end + count])
        if labels and _ruled_off(rules, table, line.bottom - 1, line.bottom + 1.2 * line.size):
            return count
    steps = [below.top - above.top for above, below in pairwise(lines[start:end])]
    count = 0
    while end + count < len(lines) and len(steps) > 1:
        line = lines[end + count]
        close = line.top - lines[end + count - 1].top
        as_label = line.right <= table.edges[1] + 5 and abs(line.left - table.edges[0]) < 12
        if not as_label or close > 0.8 * max(steps) or close > 1.02 * min(steps) or len(line.segments()) > 1:
            break
        count += 1
    return count


def _ruled_off(rules: Sequence[Rule], table: PdfTable, top: float, bottom: float) -> bool:
    """Whether a rule runs there over most of the table's width, or several short ones do."""
    left, right = table.box[0], table.box[2]
    there = [rule for rule in rules if top <= rule.height <= bottom and rule.left > left - 40]
    covered = sum(max(min(rule.right, right) - max(rule.left, left), 0) for rule in there)
    return covered >= 0.7 * (right - left) and max(rule.right for rule in there) < right + 0.5 * (right - left)


def rows_in_columns(lines: Sequence[Line], table: PdfTable) -> list[Row] | None:
    """Lines as rows of a table by alignment that they go on with; None if they are not aligned."""
    rows: list[Row] = []
    for line in lines:
        parts = line.segments()
        places = []
        for part in parts:
            covered = [
                at
                for at, (left, right) in enumerate(table.columns)
                if min(part.right, right) - max(part.left, left) > 0
            ]
            places.append(covered[0] if len(covered) == 1 else -1)
        if rows and places == [0] and line.text[:1].islower():
            rows[-1] = (f"{rows[-1][0]} {line.text}", *rows[-1][1:])
            continue
        if len(parts) < 2 or -1 in places or sorted(set(places)) != places:
            return None
        at_place = dict(zip(places, parts, strict=True))
        rows.append(tuple(at_place[at].text if at in at_place else "" for at in range(len(table.columns))))
    return rows or None


def header_above(text: list[Line], first: Line, table: PdfTable) -> int:
    """How many lines right above are headings over several columns: short, and right of the first column."""
    start = table.edges[1] if len(table.edges) > 1 else first.left
    count, below = 0, first
    while count < min(6, len(text)):
        line = text[-1 - count]
        over = line.left > table.edges[0] + 20 and line.right > start and len(line.words) <= 8
        if not over or below.top - line.bottom > 1.5 * line.size or line.size > 1.15 * first.size:
            break
        count, below = count + 1, line
    return count


def table_end(lines: list[Line], start: int) -> int:
    """The end of a run of lines that begins here and could be a table: lines of several segments."""
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
            short = labels or line.right - line.left < 0.3 * (lines[start].right - lines[start].left)
            if alone > (6 if short else 3 if len(line.words) <= 8 else 1) or len(line.words) > 16:
                break
            if labels and end == len(lines) - 1 and alone <= 2:
                last = end + 1
        end += 1
    return last


def lists_pages(lines: Sequence[str]) -> bool:
    """Whether lines are contents or an index: names that dots lead to pages.

    The pages rise, or are several for a name, or there are many in two columns.

    >>> lists_pages([f"{n} Chapter {'. ' * 20} {n * 3}" for n in range(1, 8)])
    True
    >>> lists_pages([f"Region {n} {'. ' * 20} {n * 3} {n * 7}" for n in range(1, 8)])
    False
    """
    found = [(line, match) for line in lines for match in _LEADER.finditer(line[:_LONGEST_ENTRY])]
    if len(found) < _FEWEST_ENTRIES or len({line for line, _ in found}) < 0.5 * len(lines):
        return False
    pages = [int(match["pages"].split(",")[0]) for _, match in found]
    several = any("," in match["pages"] for _, match in found)
    in_columns = len(found) >= _MANY_ENTRIES and len(found) >= 1.4 * len({line for line, _ in found})
    return several or in_columns or pages == sorted(pages)


def aligned(lines: list[Line], page: int) -> PdfTable | None:
    """The lines as a table if their segments are aligned; None if they are running text."""
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
                i for i, (left, right) in enumerate(columns) if min(part.right, right) - max(part.left, left) > 0
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
    return PdfTable([tuple(row) for row in rows], box, page, merged, edges, columns=tuple(columns))


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
    if len(cells) == 2 and all(_MARK.fullmatch(text) for text in cells[1]):
        return False  # kinds in brackets at the margin, as manuals set them next to definitions
    if figures >= 0.4 * others:
        return len(several) >= 2
    wordy = [median(len(text.split()) for text in column) for column in cells if column]
    if max(wordy) > 3 * _PROSE or median(wordy) > _PROSE:
        return False
    listed = cells[0] and all(re.fullmatch(r"[•●▪◦o\-–*]|\(?[\dA-Za-z]{1,3}[.)]", text) for text in cells[0])
    return len(several) >= 3 and not (len(cells) == 2 and listed)


def _unwrapped(rows: list[list[str]], merged: list[Area], lines: list[Line]) -> tuple[list[list[str]], list[Area]]:
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
    """Up to which distance lines belong to one row; 0 if all lines are equally far apart."""
    if len(steps) < 2:
        return 0.0
    ordered = sorted(steps)
    gap, at = max((b / max(a, 1.0), n) for n, (a, b) in enumerate(pairwise(ordered)))
    smaller = at + 1
    apart = gap >= 1.25 and ordered[at] <= 1.35 * ordered[0] and len(ordered) - smaller >= 0.25 * len(ordered)
    return ordered[at] + 0.1 if apart else 0.0
