"""Which columns a phrase lists by their whole headers."""

from __future__ import annotations

import re
from collections import Counter

from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import stems

_SMALL = frozenset(stems("of the a an in and for to"))
_PART = re.compile(r",|\band\b|&", re.IGNORECASE)
_OF = re.compile(r"\bof\b", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\[column \d+\]")


def columns_named(view: TableView, phrase: str) -> tuple[int, ...]:
    """The columns all of whose header's words the phrase has, in its order.

    What follows *of* only completes a header, since it names the thing and not what is told of it. A
    header's last word counts once: *manager name* names the column of that header, and none called name.
    """
    words = stems(phrase)
    before = frozenset(word for part in _PART.split(phrase) for word in stems(_OF.split(part)[0]))
    left = Counter(words)
    found: dict[int, int] = {}
    headers = {column: _header(view, column) for column in view.columns}
    for column in sorted(headers, key=lambda one: (-len(headers[one]), one)):
        header = headers[column]
        if header and left[header[-1]] and before & set(header) and set(header) <= set(words):
            left[header[-1]] -= 1
            found[column] = words.index(header[-1])
    return tuple(sorted(found, key=lambda column: (found[column], column)))


def _header(view: TableView, column: int) -> tuple[str, ...]:
    if _PLACEHOLDER.fullmatch(view.called((0, column))):
        return ()
    return tuple(word for word in view.spelled_headers[column] if word not in _SMALL)
