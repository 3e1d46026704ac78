"""Where the sentences of a text begin and end."""

from __future__ import annotations

import re

_ENDS = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s+[\"'“‘(\[]*[A-Z0-9À-Þ€$£•–-])|[。！？]|\n\s*\n|;\s*\n")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[“\"'])(?:(?:[A-Za-z]\.)+[A-Za-z]|[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Fig|Figs|Eq|Sec|Art|Inc|Ltd"
    r"|Corp|Co|vs|approx|ca|cf|e\.g|i\.e|etc|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|al|pp?|Vol|Rev|Gen)\.$"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The sentences of a text as spans without the white space between them.

    >>> text = "Sales of Acme Inc. Ltd grew by 4.2 %. Costs fell, e.g. rents. Why?"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Sales of Acme Inc. Ltd grew by 4.2 %.', 'Costs fell, e.g. rents.', 'Why?']
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _ENDS.finditer(text):
        end = match.end() if match[0].strip() else match.start()
        if match[0] == "." and _ABBREVIATION.search(text, max(start, end - 24), end):
            continue
        if text[start:end].strip():
            spans.append(_trimmed(text, start, end))
            start = match.end()
    if text[start:].strip():
        spans.append(_trimmed(text, start, len(text)))
    return spans


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
