"""Footnote rows at the end of a table, and the marks that point to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kgtable.tables.layout.cell_roles import blank
from kgtable.tables.layout.header import filled
from kgtable.tables.model import Grid, Row

LONGEST_LABEL = 300
LONGEST_NOTE = 4_000
SENTENCE = 80

_SUPERSCRIPTS = "¹²³⁴⁵⁶⁷⁸⁹⁰ᵃᵇᶜᵈᵉᶠ"
_SYMBOL = r"\*{1,4}|[†‡§¶]{1,3}|\#"
_ROUND = rf"\(\s?(?:\d{{1,2}}|[a-z]|[ivx]{{1,4}}|{_SYMBOL})\s?\)"
_SQUARE = r"\[\s?(?:\d{1,3}|[a-z]|note \d+)\s?\]"
_RAISED = rf"(?:{_SYMBOL}|[{_SUPERSCRIPTS}]+)"
_NOTE_START = re.compile(
    rf"\s*(?P<mark>{_ROUND}|{_SQUARE}|{_RAISED}|(?P<plain>(?:\d{{1,2}}|[a-z])(?=[.):]\s|\s[^\W\d_])[.):]?))"
    r"\s*(?P<text>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_NOTE_WORD = re.compile(
    r"\s*(?:sources?|notes?|n\.?b\.?|remarks?|see also|key|legend)\s*[:.(\d]|\s*(?:copyright\b|©)",
    re.IGNORECASE,
)
_MARK = re.compile(rf"{_ROUND}|{_SQUARE}|{_RAISED}$|(?<=[^\W\d_])\d{{1,2}}$")


def find_footnotes(body: Mapping[int, Row]) -> frozenset[int]:
    """The rows at the end of a table that hold a note or a source instead of data."""
    found: set[int] = set()
    indexes = list(body)
    for position in range(len(indexes) - 1, 0, -1):
        row = body[indexes[position]]
        columns = filled(row)
        if not columns:
            continue
        text = row[columns[0]].strip()
        alone = len({row[column].strip() for column in columns}) == 1 and len(row) > 1
        if not alone or not _is_note(text):
            break
        found.add(indexes[position])
    return frozenset(found)


def find_marks(
    grid: Grid, header: Iterable[int], body: Iterable[Row], footnotes: Iterable[int]
) -> Mapping[str, str]:
    """The footnote marks of headers and body cells with their texts, where a note explains them.

    Marks are keyed as printed: ``(1)``, ``[a]``, ``*``, ``†``, or ``1`` where it is glued to a word.
    Notes are looked for in the footnote rows first, then around the table.
    """
    notes: dict[str, str] = {}
    own = [next((cell for cell in grid.head[row] if not blank(cell)), "") for row in sorted(footnotes)]
    for text in (*own, *grid.context.after, *grid.context.before, *grid.context.paragraphs):
        match = _NOTE_START.match(text[:LONGEST_NOTE])
        if match:
            notes.setdefault(_plain(match["mark"]), match["text"].strip())
    if not notes:
        return {}
    marks: dict[str, str] = {}
    cells = (cell for row in (*(grid.head[row] for row in header), *body) for cell in row)
    for text in cells:
        for match in _MARK.finditer(text[-LONGEST_LABEL:].strip()):
            core = _plain(match[0])
            if core in notes:
                marks.setdefault(match[0], notes[core])
    return marks


def _is_note(text: str) -> bool:
    if _NOTE_WORD.match(text):
        return True
    match = _NOTE_START.match(text)
    if match and not match["plain"]:
        return True
    return len(text) > SENTENCE and text.endswith(".")


def _plain(mark: str) -> str:
    """A mark without its brackets and without being raised."""
    return mark.strip("()[].: ").casefold().translate(str.maketrans(_SUPERSCRIPTS, "1234567890abcdef"))
