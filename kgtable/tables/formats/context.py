"""The seven context-augmented formats: headings and surrounding text with or without the table.

Thesis, section 4.2. Parts are joined by `` | ``; the table, where it takes part, is in plaintext.
"""

from __future__ import annotations

from kgtable.tables.formats.linear import as_plaintext
from kgtable.tables.model import Context, Table


def as_heading(table: Table) -> str:
    """Section heading and subheading."""
    return _joined(*_headings(table.context))


def as_heading_table(table: Table) -> str:
    """Heading and subheading, then the table."""
    return _joined(*_headings(table.context), as_plaintext(table))


def as_pretext(table: Table) -> str:
    """The text before the table."""
    return _joined(*_before(table.context))


def as_heading_pretext(table: Table) -> str:
    """Heading and subheading, then the text before the table."""
    return _joined(*_headings(table.context), *_before(table.context))


def as_heading_pretext_table(table: Table) -> str:
    """Heading and subheading, the text before the table, then the table."""
    return _joined(*_headings(table.context), *_before(table.context), as_plaintext(table))


def as_context(table: Table) -> str:
    """Heading, subheading, the text before and the text after."""
    return _joined(*_headings(table.context), *_before(table.context), *table.context.after)


def as_context_table(table: Table) -> str:
    """Heading, subheading, the text before, the table, then the text after."""
    context = table.context
    return _joined(*_headings(context), *_before(context), as_plaintext(table), *context.after)


def _headings(context: Context) -> tuple[str, ...]:
    return tuple(dict.fromkeys((context.title, *context.heading, context.caption)))


def _before(context: Context) -> tuple[str, ...]:
    # Paragraphs whose side of the table is not known count as text before it.
    return (*context.before, *context.paragraphs)


def _joined(*parts: str) -> str:
    return " | ".join(stripped for part in parts if (stripped := part.strip()))
