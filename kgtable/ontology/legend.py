"""The meanings of signs in cells by a table's notes: zero, or no value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from kgtable.tables.column_profile import ColumnStyle
from kgtable.tables.model import Table
from kgtable.values.lexicon import ANY, senses

_MEANINGS: Final = frozenset({"no value", "no amount"})
_PARTS = re.compile(r"[,;\n]|\.\s+(?=\S{1,3}\s*[=:])")
_ENTRY = re.compile(
    r"(?:.*\s)?['\"“„]?(?P<sign>[-–—−.…:*/]{1,3}|\d{1,4}|[a-zX]{1,2})['\"”“]?\s*[=:]\s*(?P<meaning>\S.*)"
)
_SAID = re.compile(r"(?:.*\s)?['\"“„]?(?P<sign>[-–—−.…:*/]{1,3})['\"”“]?\s+(?P<meaning>\w.*)")
_MEANS: Final = frozenset({"means"})
_DASHES: Final = frozenset("-–—−")
_MOST_CODES: Final = 12
"""Maximum distinct values of a column of codes; the greatest may stand for no value."""


def signs_of_legend(notes: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The signs that notes say stand for zero, and those that they say stand for no value.

    >>> zero, missing = signs_of_legend(["Note: - means zero, .. means not available", "9 = no answer"])
    >>> sorted(zero), sorted(missing)
    (['-', '–', '—', '−'], ['..', '9'])
    """
    found: dict[str, set[str]] = {meaning: set() for meaning in _MEANINGS}
    for note in notes:
        for part in _PARTS.split(note):
            entry = _ENTRY.fullmatch(part.strip())
            linked = entry or _SAID.fullmatch(part.strip())
            said = senses(linked["meaning"], _MEANINGS | _MEANS, ANY) if linked else ()
            if entry is None:  # a word must say what a sign alone may only list
                said = said[1:] if said and said[0].sense in _MEANS and not said[0].first else ()
            if linked and said and said[0].sense in found:
                found[said[0].sense] |= _DASHES if linked["sign"] in _DASHES else {linked["sign"]}
    return frozenset(found["no amount"]), frozenset(found["no value"])


def under_legend(table: Table, styles: Sequence[ColumnStyle]) -> list[ColumnStyle]:
    """The styles of columns with the signs that the table's notes explain; figures only in columns of codes."""
    head, structure = table.grid.head, table.structure
    notes = [" ".join(filter(None, head[row])) for row in sorted(structure.footnotes) if row < len(head)]
    zeros, missing = signs_of_legend((*notes, *table.context.after))
    if not zeros and not missing:
        return list(styles)
    figures = {int(sign) for sign in missing if sign.isdecimal()}
    signs = frozenset(sign for sign in missing if not sign.isdecimal())
    found = []
    for column, style in enumerate(styles):
        cells = {row[column].strip() for row in head[structure.body_start :] if column < len(row)}
        codes = {int(cell) for cell in cells if cell.isdecimal() and len(cell) <= 4}
        last = {max(codes)} & figures if 0 < len(codes) <= _MOST_CODES else set()
        has_numbers = bool(codes) or any(any(map(str.isdigit, cell)) for cell in cells)
        found.append(
            replace(style, zeros=zeros, missing_codes=style.missing_codes | signs | set(map(str, last)), cache={})
            if has_numbers and not style.is_identifier
            else style
        )
    return found
