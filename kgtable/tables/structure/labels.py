"""Which column names the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kgtable.tables.model import Row
from kgtable.tables.structure.cells import Look, blank, look

_RANK_NAME = re.compile(
    r"#|№|n[or°º]\.?|num(?:ber)?\.?|rank(?:ing)?|rk\.?|pos(?:ition)?\.?|place|s(?:\.|r\.?|l\.?)?\s*no\.?|index|row",
    re.IGNORECASE,
)
_RUNNING = re.compile(r"[#=T]?\s*\d{1,6}[.):=]?(?:st|nd|rd|th)?\s*(?:\(\d+\)|\[\w+\]|[*†‡])?")


def find_label_column(rows: Sequence[Row], width: int, names: Sequence[str]) -> int:
    """The column whose text names a row; `rows` is a sample of the body, `names` the header texts.

    The first column as in the thesis, unless it is blank or a mere rank or running number: then the
    first textual column right of it whose texts mostly differ.
    """
    if (
        not rows
        or width < 2
        or not _is_mere_number([_cell(row, 0) for row in rows], names[0] if names else "")
    ):
        return 0
    candidates: list[tuple[float, int]] = []
    for column in range(1, width):
        texts = [text for row in rows if not blank(text := _cell(row, column))]
        wordy = sum(look(text) is Look.TEXT for text in texts)
        if not texts or wordy * 2 < len(rows):
            continue
        distinct = len(set(texts)) / len(texts)
        if distinct >= 0.7:
            return column
        candidates.append((-distinct, column))
    return min(candidates)[1] if candidates else 0


def _cell(row: Row, column: int) -> str:
    return row[column] if column < len(row) else ""


def _is_mere_number(texts: Sequence[str], name: str) -> bool:
    """Whether a first column only counts the rows, or holds nothing."""
    present = [text.strip() for text in texts if not blank(text)]
    if not present:
        return True
    running = [int(re.sub(r"\D.*", "", text.lstrip("#=T "))) for text in present if _RUNNING.fullmatch(text)]
    if _RANK_NAME.fullmatch(name.strip()):
        return len(running) * 2 >= len(present)
    if len(running) < 0.9 * len(present) or len(running) < 3:
        return False
    steps = sum(after - before == 1 for before, after in pairwise(running))
    return running[0] in (0, 1) and steps >= 0.9 * (len(running) - 1)
