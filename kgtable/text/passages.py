"""The running text of a document: its paragraphs, and the overlapping passages that are searched.

Passages are as in TableRAG (Huawei, section 3.2, and its code): about 1,000 tokens, 200 of which are those of
the passage before; but they begin and end with a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


SIZE, OVERLAP = 1_000, 200
"""Tokens of a passage, and how many of them it shares with the one before."""

BESIDE = 2
"""Paragraphs right before or after a table that speak of it."""

_TOKEN = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_")
_NUMBERED = re.compile(r"\b(Table|Tab\.|Exhibit|Schedule)\s+([A-Z]?\d+(?:[.\-]\d+)*|[IVX]+)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph as it is in its document.

    `page` counts from 1, None if the document has no pages; `level` is that of a heading, 0 for text.
    """

    text: str
    page: int | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Place of a table in a document's text: the number of paragraphs before it, its page and its caption."""

    paragraphs: int
    page: int | None = None
    caption: str = ""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a document: all of its paragraphs in reading order, and where its tables are."""

    paragraphs: tuple[Paragraph, ...] = ()
    tables: tuple[TextPlace, ...] = ()
    title: str = ""
    pages: int | None = None
    of_tables: bool = False
    """Whether all of it is about all of the tables, as what a sidecar says of them."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Sentences of a document that follow each other.

    `first` and `last` are the numbers of its first and last paragraph, `headings` those it is under;
    `tables` the numbers of the tables that it is next to, or that it names.
    """

    text: str
    first: int
    last: int
    page: int | None = None
    headings: tuple[str, ...] = ()
    tables: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Unit:
    paragraph: int
    start: int
    end: int
    tokens: int


def count_tokens(text: str) -> int:
    """Estimated number of a language model's tokens in a text.

    >>> count_tokens("Revenue grew by 12.5 %.")
    9
    """
    return sum(1 for _ in _TOKEN.finditer(text))


def split_passages(document: DocumentText, size: int = SIZE, overlap: int = OVERLAP) -> list[Passage]:
    """The passages of a document, in order; every character of a sentence is in at least one.

    Args:
        document: its paragraphs and the places of its tables.
        size: tokens of a passage; a longer sentence is cut between words.
        overlap: tokens at most that a passage repeats of the one before.
    """
    units = [unit for number in range(len(document.paragraphs)) for unit in _units(document, number, size)]
    passages: list[Passage] = []
    first = 0
    while first < len(units):
        last, tokens = first, units[first].tokens
        while last + 1 < len(units) and tokens + units[last + 1].tokens <= size:
            last += 1
            tokens += units[last].tokens
        passages.append(_passage(document, units[first : last + 1]))
        if last + 1 >= len(units):
            break
        following, shared = last + 1, 0
        while following - 1 > first and shared + units[following - 1].tokens <= overlap:
            following -= 1
            shared += units[following].tokens
        first = following
    return passages


def _units(document: DocumentText, number: int, size: int) -> Iterator[_Unit]:
    text = document.paragraphs[number].text
    for start, end in sentence_spans(text):
        tokens = count_tokens(text[start:end])
        if tokens <= size:
            yield _Unit(number, start, end, tokens)
            continue
        pieces = list(_TOKEN.finditer(text, start, end))
        edges = [start]
        for at in range(size, len(pieces), size):
            space = text.rfind(" ", edges[-1] + 1, pieces[at].start() + 1)
            edges.append(space + 1 if space > edges[-1] else pieces[at].start())
        for left, right in zip(edges, [*edges[1:], end], strict=True):
            yield _Unit(number, left, right, count_tokens(text[left:right]))


def _passage(document: DocumentText, units: Sequence[_Unit]) -> Passage:
    spans: dict[int, tuple[int, int]] = {}
    for unit in units:
        start, _ = spans.get(unit.paragraph, (unit.start, unit.end))
        spans[unit.paragraph] = (start, unit.end)
    paragraphs = document.paragraphs
    text = "\n\n".join(paragraphs[number].text[start:end] for number, (start, end) in spans.items())
    first, last = units[0].paragraph, units[-1].paragraph
    tables = tuple(
        number
        for number, place in enumerate(document.tables)
        if document.of_tables or _beside(place, first, last) or _names(place, text)
    )
    return Passage(text, first, last, paragraphs[first].page, _headings(paragraphs, first), tables)


def _beside(place: TextPlace, first: int, last: int) -> bool:
    return first - BESIDE < place.paragraphs <= last + BESIDE


def _names(place: TextPlace, text: str) -> bool:
    """Whether a text speaks of a table by the number in its caption ("see Table 3")."""
    numbered = _NUMBERED.match(place.caption.strip())
    if numbered is None:
        return False
    return any(found[2].lower() == numbered[2].lower() for found in _NUMBERED.finditer(text))


def _headings(paragraphs: Sequence[Paragraph], number: int) -> tuple[str, ...]:
    """The headings that a paragraph is under, the outermost first."""
    found: list[str] = []
    level = paragraphs[number].level or 100
    for at in range(number - 1, -1, -1):
        if 0 < paragraphs[at].level < level:
            level = paragraphs[at].level
            found.append(paragraphs[at].text)
        if level == 1:
            break
    return tuple(reversed(found))
