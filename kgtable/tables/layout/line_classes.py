"""The class of each line of a sheet, by boosted trees over its features and a decoder over the sequence of lines.

The trees are trained by `scripts/train_lines.py` and kept in `line_trees.npz`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.tables.layout.line_features import describe_lines
from kgtable.tables.model import Grid, Position, Row

CLASSES: Final = "mhgdtn"
"""Metadata above a table, header, group heading, data, total or another derived row, note."""
MODEL: Final = Path(__file__).with_name("line_trees.npz")
SURE: Final = 0.9
DOUBTFUL: Final = 0.7
"""Below these, other evidence decides in addition to the class of a line, and a person should look at it."""
MOVES_WEIGHT: Final = 0.5
"""Weight of the usual sequence of classes against the trees."""

MOST_ABOVE, MOST_BELOW = 4_000, 1_000
"""Lines that are looked at from the top and from the end of a long table."""

_Scores: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LineTrees:
    """Boosted trees, all in one table of nodes, and how often a zone follows another.

    A node of a tree goes to the first of its two `children` where its feature is at most `threshold`, else to the
    second; a leaf goes to itself and has a `value`. `moves` are logarithms by gap (none, blank lines), zone
    before (the first is the start) and zone.
    """

    feature: npt.NDArray[np.int64]
    threshold: npt.NDArray[np.float32]
    children: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    roots: npt.NDArray[np.int64]
    start: _Scores
    moves: _Scores
    depth: int

    def probabilities(self, values: npt.NDArray[np.float32]) -> _Scores:
        """The probability of each class for each line."""
        flat, base = values.ravel(), (np.arange(len(values)) * values.shape[1])[:, None]
        at = np.broadcast_to(self.roots, (len(values), len(self.roots)))
        for _ in range(self.depth):
            below = flat.take(base + self.feature.take(at)) > self.threshold.take(at)
            at = self.children.take(2 * at + below)
        raw = self.start + self.value.take(at).reshape(len(values), -1, len(CLASSES)).sum(axis=1)
        raw = np.exp(raw - raw.max(axis=1, keepdims=True))
        return np.asarray(raw / raw.sum(axis=1, keepdims=True))


@lru_cache(maxsize=1)
def load_trees(path: Path | None = None) -> LineTrees:
    """The trees of a file, by default those of the package."""
    with np.load(path or MODEL, allow_pickle=False) as held:
        feature, threshold = held["feature"].astype(np.int64), held["threshold"].astype(np.float32)
        roots, left = held["roots"].astype(np.int64), held["left"].astype(np.int64)
        tree = np.searchsorted(roots, np.arange(len(feature)), side="right") - 1
        own = np.arange(len(feature))
        leaf = left == 0
        return LineTrees(
            feature,
            threshold,
            np.column_stack([np.where(leaf, own, own + 1), np.where(leaf, own, roots[tree] + left)]).ravel(),
            np.where(leaf, held["value"].astype(np.float64), 0.0),
            roots,
            held["start"].astype(np.float64),
            held["moves"].astype(np.float64),
            int(held["depth"]),
        )


ZONES: Final = ("m", "h", "gdt", "n")
"""The classes by zone: text above, header, body, notes."""
_ZONE_OF: Final = np.array([next(at for at, zone in enumerate(ZONES) if kind in zone) for kind in CLASSES])


def decode(probabilities: _Scores, rows: npt.NDArray[np.int64], moves: _Scores) -> str:
    """The class of each line: the likeliest sequence of zones (Viterbi), and in the body what the trees say."""
    zones = probabilities @ np.eye(len(ZONES))[_ZONE_OF]
    emitted = np.log(np.maximum(zones, 1e-6))
    score = emitted[0] + MOVES_WEIGHT * moves[0, 0]
    back: list[npt.NDArray[np.int64]] = []
    gaps = np.diff(rows) > 1
    for line in range(1, len(emitted)):
        total = score[:, None] + MOVES_WEIGHT * moves[int(gaps[line - 1]), 1:]
        best = total.argmax(axis=0)
        back.append(best)
        score = total[best, np.arange(len(ZONES))] + emitted[line]
    path = [int(score.argmax())]
    for best in reversed(back):
        path.append(int(best[path[-1]]))
    of_zone = np.array(path[::-1])
    kinds = np.where(_ZONE_OF[None, :] == of_zone[:, None], probabilities, -1.0).argmax(axis=1)
    return "".join(CLASSES[kind] for kind in kinds.tolist())


@dataclass(frozen=True, slots=True)
class LineReading:
    """The class of each line that holds text and was looked at, by grid row, and the trees' confidence in it."""

    kinds: Mapping[int, str]
    confidence: Mapping[int, float]
    sums: Mapping[int, tuple[int, ...]]
    """The rows above or below each row that it adds up."""

    def rows(self, kinds: str) -> list[int]:
        """The rows of some classes, in order."""
        return [row for row, kind in self.kinds.items() if kind in kinds]


def read_lines(grid: Grid) -> LineReading:
    """The class of each line of a grid; for a long one, of the lines at its top and its end."""
    return _read(grid.head, grid.width, frozenset(grid.indents.items()))


@lru_cache(maxsize=4)
def _read(head: tuple[Row, ...], width: int, indents: frozenset[tuple[Position, int]]) -> LineReading:
    rows, left = head, 0
    if len(head) > MOST_ABOVE + MOST_BELOW:
        left = len(head) - MOST_ABOVE - MOST_BELOW
        rows = head[:MOST_ABOVE] + head[-MOST_BELOW:]
    lines = describe_lines(rows, width, dict(indents))
    if not len(lines.rows):
        return LineReading({}, {}, {})
    trees = load_trees()
    scores = trees.probabilities(lines.values)
    kinds = decode(scores, lines.rows, trees.moves)
    places = [*range(MOST_ABOVE), *range(MOST_ABOVE + left, len(head))] if left else range(len(head))
    held = [places[row] for row in lines.rows.tolist()]
    sure = [float(score[CLASSES.index(kind)]) for score, kind in zip(scores, kinds, strict=True)]
    sums = {places[row]: tuple(places[member] for member in members) for row, members in lines.sums.items()}
    return LineReading(dict(zip(held, kinds, strict=True)), dict(zip(held, sure, strict=True)), sums)
