"""What the columns of a table hold, seen from a sample of its lower rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgtable.tables.model import Row
from kgtable.tables.structure.cells import Look, look

SAMPLE_ROWS = 100
DEEPEST_HEADER = 8


@dataclass(frozen=True, slots=True)
class Profile:
    """Which columns are numeric below, and which of these hold years."""

    numeric: frozenset[int]
    years: frozenset[int]

    def votes(self, row: Row) -> tuple[int, int]:
        """How many cells of a row speak for a header and how many for the body.

        Only numeric columns vote: a text above numbers names them, a number among numbers is one more.
        """
        header = body = 0
        for column, text in enumerate(row):
            if column not in self.numeric:
                continue
            kind = look(text)
            if kind is Look.EMPTY:
                continue
            if kind in (Look.NUMBER, Look.MISSING) or (kind is Look.YEAR and column in self.years):
                body += 1
            else:
                header += 1
        return header, body


def profile_rows(rows: Sequence[Row], width: int) -> Profile:
    """The profile of a table's columns, from the rows that are surely below its header.

    Small tables are judged by their lower half, others by up to 100 rows below the deepest header.
    """
    start = min(DEEPEST_HEADER, len(rows) // 2)
    numbers, years, others = [0] * width, [0] * width, [0] * width
    for row in rows[start : start + SAMPLE_ROWS]:
        for column, text in enumerate(row):
            kind = look(text)
            if kind is Look.NUMBER:
                numbers[column] += 1
            elif kind is Look.YEAR:
                years[column] += 1
            elif kind not in (Look.EMPTY, Look.MISSING):
                others[column] += 1
    numeric = frozenset(
        column for column in range(width) if 0 < numbers[column] + years[column] >= others[column]
    )
    return Profile(numeric, frozenset(column for column in numeric if years[column] > numbers[column]))
