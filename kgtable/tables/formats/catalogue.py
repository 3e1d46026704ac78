"""All table formats by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType

from kgtable.tables.formats import context, linear
from kgtable.tables.formats.grouped import as_text
from kgtable.tables.formats.schema import as_schema
from kgtable.tables.model import Table


class TableFormat(StrEnum):
    """A way to write a table as text."""

    CSV = "csv"
    HEADER_FIRST_COLUMN = "header-first-column"
    MARKDOWN = "markdown"
    HTML = "html"
    PLAINTEXT = "plaintext"
    SCHEMA = "schema"
    TEXT = "text"
    HEADING = "heading"
    HEADING_TABLE = "heading-table"
    PRETEXT = "pretext"
    HEADING_PRETEXT = "heading-pretext"
    HEADING_PRETEXT_TABLE = "heading-pretext-table"
    CONTEXT = "context"
    CONTEXT_TABLE = "context-table"


_WRITERS: Mapping[TableFormat, Callable[[Table], str]] = MappingProxyType(
    {
        TableFormat.CSV: linear.as_csv,
        TableFormat.HEADER_FIRST_COLUMN: linear.as_header_first_column,
        TableFormat.MARKDOWN: linear.as_markdown,
        TableFormat.HTML: linear.as_html,
        TableFormat.PLAINTEXT: linear.as_plaintext,
        TableFormat.SCHEMA: as_schema,
        TableFormat.TEXT: as_text,
        TableFormat.HEADING: context.as_heading,
        TableFormat.HEADING_TABLE: context.as_heading_table,
        TableFormat.PRETEXT: context.as_pretext,
        TableFormat.HEADING_PRETEXT: context.as_heading_pretext,
        TableFormat.HEADING_PRETEXT_TABLE: context.as_heading_pretext_table,
        TableFormat.CONTEXT: context.as_context,
        TableFormat.CONTEXT_TABLE: context.as_context_table,
    }
)

TABLE_FORMATS = tuple(TableFormat)[:7]
"""The linearisations of the table alone (thesis, 4.1)."""

CONTEXT_FORMATS = tuple(TableFormat)[7:]
"""The formats with headings and surrounding text (thesis, 4.2)."""


def format_table(table: Table, name: TableFormat | str) -> str:
    """The table as text in the format of that name.

    Raises `ValueError` for a name that is not a `TableFormat`.
    """
    return _WRITERS[TableFormat(name)](table)
