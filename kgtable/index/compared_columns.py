"""Pairs of columns that were compared for joins and are none: the next build need not compare them again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kgtable.index.corpus import NONE, Places
from kgtable.index.postings import Flags, Integers, mapped, ranges

_PAIRS, _RELATED = "joins.rejected.npy", "joins.related.npy"


def _empty() -> Integers:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class ComparedColumns:
    """What a search for joins found out beside them.

    `rejected` are the pairs of columns that were compared and are no join, each as one number (the referring column
    times the number of columns, plus the other), rising. `related` tells of each table whether another one has a
    heading, or the beginning of its id, in common with it; this bears on how a pair is judged.
    """

    columns: int
    rejected: Integers = field(default_factory=_empty)
    related: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def save(self, folder: Path) -> None:
        """Write them into an index folder."""
        pairs = np.stack(np.divmod(self.rejected, max(self.columns, 1)), axis=1).astype(np.int32)
        np.save(folder / _PAIRS, pairs, allow_pickle=False)
        np.save(folder / _RELATED, self.related, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path, columns: int) -> ComparedColumns:
        """What `save` wrote of so many columns; nothing where it is missing or damaged."""
        try:
            pairs = mapped(folder / _PAIRS).astype(np.int64)
            return cls(columns, pairs[:, 0] * columns + pairs[:, 1], mapped(folder / _RELATED))
        except (OSError, ValueError, IndexError):
            return cls(columns)

    def moved(self, tables: Mapping[int, int], before: Places, now: Places) -> ComparedColumns:
        """The same for another index that has some of the tables as they were, by their numbers before and now."""
        columns = len(now.column_table)
        if not len(self.related) or not tables:
            return ComparedColumns(columns)
        old, new = (np.fromiter(of, np.int64, len(tables)) for of in (tables.keys(), tables.values()))
        related = np.zeros(now.tables, dtype=np.bool_)
        related[new] = self.related[old]
        place = np.full(len(before.column_table), NONE, dtype=np.int64)
        of_old, of_new = (
            ranges(places.table_column_start[some], places.table_column_start[some + 1])
            for places, some in ((before, old), (now, new))
        )
        place[of_old] = of_new
        left, right = np.divmod(self.rejected, max(self.columns, 1))
        left, right = place[left], place[right]
        kept = (left != NONE) & (right != NONE)
        return ComparedColumns(columns, np.sort(left[kept] * columns + right[kept]), related)


def unchanged_places(before: Sequence[str], now: Sequence[str], unchanged: Collection[str]) -> dict[int, int]:
    """The number of each unchanged table before and now."""
    place = {id: at for at, id in enumerate(now)}
    return {at: place[id] for at, id in enumerate(before) if id in unchanged and id in place}
