"""What a file holds: its tables, and the text that they stand in."""

from __future__ import annotations

from dataclasses import dataclass

from kgtable.tables.model import Context, Grid, Notice
from kgtable.text.passages import DocumentText, Paragraph, TextPlace


@dataclass(frozen=True)
class ReadContent:
    """The tables of a file in its order, its text, and notices that belong to none of its tables."""

    grids: tuple[Grid, ...] = ()
    text: DocumentText = DocumentText()  # noqa: RUF009
    notices: tuple[Notice, ...] = ()
    media_type: str = ""
    sha256: str = ""

    @property
    def has_text(self) -> bool:
        """Whether there is any running text."""
        return bool(self.text.paragraphs)


_BEFORE, _AFTER = 3, 2
"""How many paragraphs around a table count as its context."""


def context_at(text: DocumentText, table: int) -> Context:
    """What surrounds a table of a document: the headings it stands under, its caption, paragraphs beside it."""
    place = text.tables[table]
    headings: dict[int, str] = {}
    for paragraph in text.paragraphs[: place.paragraphs]:
        if paragraph.level:
            headings = {level: known for level, known in headings.items() if level < paragraph.level}
            headings[paragraph.level] = paragraph.text
    beside = text.paragraphs[max(place.paragraphs - _BEFORE, 0) : place.paragraphs]
    behind = text.paragraphs[place.paragraphs : place.paragraphs + _AFTER]
    return Context(
        text.title,
        tuple(known for _, known in sorted(headings.items()) if known != text.title),
        place.caption,
        tuple(p.text for p in beside if not p.level and p.text != place.caption),
        tuple(p.text for p in behind if not p.level and p.text != place.caption),
    )


def text_beside(grids: tuple[Grid, ...]) -> DocumentText:
    """The text that a sidecar gives of a file's tables: what stands before, among and after them.

    Each text is a paragraph; all tables of the file stand behind those that come before them.
    """
    context = grids[0].context
    before = (*context.before, *context.paragraphs)
    paragraphs = [Paragraph(text, level=1 + at) for at, text in enumerate(context.heading)] if before else []
    paragraphs += [Paragraph(text) for text in before]
    place = len(paragraphs)
    paragraphs += [Paragraph(text) for text in context.after]
    places = tuple(TextPlace(place, caption=grid.context.caption) for grid in grids)
    return DocumentText(tuple(paragraphs), places, context.title, of_tables=True)
