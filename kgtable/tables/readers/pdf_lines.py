"""The elements of a PDF page: words, lines, rules, and the tables that are found in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from kgtable.tables.model import Area, Row

_LEADER = re.compile(r"\s*(?:[.…]\s*){4,}")
"""Dots that lead from a label to its figures."""


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
        """The words separated by spaces."""
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
        """Its runs of words with gaps of a space's width; a wider gap or a leader of dots parts columns."""
        words = [word for word in self.words if not _LEADER.fullmatch(word.text)] or self.words
        runs: list[list[Word]] = [[words[0]]]
        for before, word in pairwise(words):
            if word.left - before.right > max(0.95 * max(before.size, word.size), 5):
                runs.append([word])
            else:
                runs[-1].append(word)
        return [Line(run) for run in runs]


@dataclass(slots=True)
class PdfTable:
    """A table on a page: its rows, the box it is in, merged areas, the left edges of its columns."""

    rows: list[Row]
    box: tuple[float, float, float, float]
    page: int
    merged: list[Area] = field(default_factory=list)
    edges: tuple[float, ...] = ()
    ruled: bool = False
    columns: tuple[tuple[float, float], ...] = ()

    @property
    def width(self) -> int:
        """Cells of its widest row."""
        return max(map(len, self.rows), default=0)

    def without_empty_columns(self) -> PdfTable:
        """The table without columns that no row has words in; merged areas are not reported then."""
        used = [at for at in range(self.width) if any(at < len(row) and row[at] for row in self.rows)]
        if len(used) == self.width:
            return self
        rows = [tuple(row[at] for at in used if at < len(row)) for row in self.rows]
        return replace(self, rows=rows, merged=[])


class Rule(NamedTuple):
    """A horizontal rule: from where to where, and its height."""

    left: float
    right: float
    height: float


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
