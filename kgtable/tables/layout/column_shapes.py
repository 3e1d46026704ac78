"""Contents of columns, from a sample of their lower rows: kinds of cells and shapes of digits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kgtable.tables.layout.cell_roles import Look, blank, look
from kgtable.tables.model import Row

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


SHAPE_ROWS = 60
LONGEST_SHAPE = 24
MOST_COLUMNS = 200

_DIGITS = re.compile(r"[0-9]+")


def shape_of(text: str) -> str:
    """What a text looks like: a date, or itself with every number as a 9; nothing if it is long.

    >>> shape_of("3.42 m"), shape_of("31 Dec. 2024")
    ('9.9 m', 'date')
    """
    text = text.strip()
    if len(text) > LONGEST_SHAPE:
        return ""
    return Look.DATE.value if look(text) is Look.DATE else _DIGITS.sub("9", text)


def shape_votes(row: Row, below: Sequence[Row], profile: Profile) -> tuple[int, int]:
    """How many cells of a row speak for a header and how many for the body by their shape.

    Columns vote that are not numeric and where at least four of five cells below have one shape with
    digits: a cell of another shape is of a header, one of the same is of the body.
    """
    columns = [column for column in range(min(len(row), MOST_COLUMNS)) if column not in profile.numeric]
    if not any(_DIGITS.search(row[column][:LONGEST_SHAPE]) for column in columns):
        return 0, 0
    header = body = 0
    for column in columns:
        texts = [
            line[column] for line in below[:SHAPE_ROWS] if column < len(line) and not blank(line[column])
        ]
        counts = Counter(map(shape_of, texts))
        shape, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
        if count * 5 < len(texts) * 4 or not (shape == Look.DATE.value or "9" in shape):
            continue
        same = shape_of(row[column]) == shape
        body += same
        header += not same and not blank(row[column])
    return header, body
