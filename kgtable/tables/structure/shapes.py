"""Columns that are not of numbers but print digits in one shape: dates, times, lengths, codes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from kgtable.tables.model import Row
from kgtable.tables.structure.cells import Look, blank, look
from kgtable.tables.structure.profile import Profile

SAMPLE_ROWS = 60
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
            line[column] for line in below[:SAMPLE_ROWS] if column < len(line) and not blank(line[column])
        ]
        counts = Counter(map(shape_of, texts))
        shape, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
        if count * 5 < len(texts) * 4 or not (shape == Look.DATE.value or "9" in shape):
            continue
        same = shape_of(row[column]) == shape
        body += same
        header += not same and not blank(row[column])
    return header, body
