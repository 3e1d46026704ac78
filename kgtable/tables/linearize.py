"""Tables as text for retrieval and prompts: seven linearisations and seven with their context (thesis, 4.1).

An LLM writes it if there is one; otherwise a template yields the same four parts.

Thesis, section 4.2. Parts are joined by `` | ``; the table, where it takes part, is in plaintext.
"""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from itertools import islice
from types import MappingProxyType

from kgtable.tables.model import Context, Row, Table
from kgtable.values.unit_phrases import parse_unit_text


def headings(table: Table) -> Row:
    """One heading a column: its header path, or ``column n`` (from 1) where it has none.

    The column of labels has the whole corner, which may state the unit of all others.
    """
    return tuple(heading_of(table, column.index) or unnamed(table, column.index) for column in table.columns)


def heading_of(table: Table, index: int) -> str:
    """The header text above a column, with the corner above the labels; empty if there is none."""
    column, structure = table.columns[index], table.structure
    corner = structure.corner.strip() if index == structure.label_column else ""
    return decoded(corner or column.name.strip())


def decoded(text: str) -> str:
    """The text with HTML entities as the characters they stand for.

    >>> decoded("R&amp;D"), decoded("R&D")
    ('R&D', 'R&D')
    """
    return html.unescape(text) if "&" in text else text


def unnamed(table: Table, index: int) -> str:
    """The heading of a column without header text; empty if the table does have a header row."""
    return "" if table.structure.header else f"column {index + 1}"


def body_rows(table: Table) -> Iterator[tuple[int, Row]]:
    """Every body row that is not blank, stripped and padded to the table's width."""
    width = len(table.columns)
    for index, row in table.body():
        cells = tuple(decoded(cell.strip()) for cell in row)
        if any(cells):
            yield index, cells + ("",) * (width - len(cells))


def label(table: Table, row: Row) -> str:
    """The text that names a row."""
    column = table.structure.label_column
    return row[column] if column < len(row) else ""


def as_csv(table: Table) -> str:
    """Headings, then one line per row, values separated by commas and quoted where RFC 4180 asks for it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings(table))
    writer.writerows(row for _, row in body_rows(table))
    return out.getvalue()


def as_header_first_column(table: Table) -> str:
    """One line of headings, one line of row labels: short, with the words that most questions use."""
    labels = [label(table, row) for _, row in body_rows(table)]
    return f"{_joined(headings(table))}\n{_joined(tuple(labels))}\n"


def as_markdown(table: Table) -> str:
    """A pipe table. Pipes in cells are escaped, line breaks become spaces."""
    lines = [_pipes(headings(table)), "|" + "---|" * len(table.columns)]
    lines += [_pipes(row) for _, row in body_rows(table)]
    return "\n".join(lines) + "\n"


def as_html(table: Table) -> str:
    """``<table>`` with ``<thead>`` and ``<tbody>``, every text escaped."""
    lines = ["<table>", f"<thead><tr>{_tagged('th', headings(table))}</tr></thead>", "<tbody>"]
    lines += [f"<tr>{_tagged('td', row)}</tr>" for _, row in body_rows(table)]
    return "\n".join([*lines, "</tbody>", "</table>"]) + "\n"


def as_plaintext(table: Table) -> str:
    """One line per row: ``heading: value`` pairs separated by commas, empty cells kept in place."""
    names = headings(table)
    return "".join(
        " , ".join(f"{name}: {value}" for name, value in zip(names, row, strict=False)) + "\n"
        for _, row in body_rows(table)
    )


def _joined(texts: Row) -> str:
    return " ".join(" ".join(text.split()) for text in texts if text)


def _pipes(cells: Row) -> str:
    escaped = (" ".join(cell.split()).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


def _tagged(tag: str, cells: Row) -> str:
    return "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)


def as_text(table: Table) -> str:
    """Each row as its label with one ``- has heading: value`` line a cell, under its group.

    A group row that carries values of its own is written under its parent's heading first; a group
    without values appears as heading only. Nested groups are named by their whole path. A corner
    that states a unit is in the first line.
    """
    corner = decoded(table.structure.corner.strip())
    lines = [f"{corner}:"] if parse_unit_text(corner) else []
    current: str | None = None
    for index, row in body_rows(table):
        facts = list(_facts(table, row))
        if index in table.structure.groups and not facts:
            continue
        heading = _heading(table, index)
        if heading != current:
            lines += ["", heading] if lines else [heading]
            current = heading
        lines += [f"{label(table, row)}:", *facts]
    return "\n".join(lines) + "\n" if lines else ""


def _heading(table: Table, row: int) -> str:
    names = []
    for group in table.group_path(row):
        cells = table.grid.head[group]
        column = table.structure.label_column
        name = cells[column].strip() if column < len(cells) else ""
        names.append(decoded(name or next((cell.strip() for cell in cells if cell.strip()), "")).rstrip(":"))
    return f"Group: {' > '.join(names)}" if names else "Ungrouped:"


def _facts(table: Table, row: Row) -> Iterator[str]:
    for column, (heading, value) in enumerate(zip(headings(table), row, strict=False)):
        if column != table.structure.label_column and value:
            yield f"- has {heading}: {value}".rstrip()


LABELS_SHOWN = 40


def as_schema(table: Table) -> str:
    """Description, meaning of the columns, values of the label column, and one row as an example."""
    names = headings(table)
    rows = [row for _, row in body_rows(table)]
    about = "; ".join(part for part in (table.context.title, *table.context.heading) if part)
    description = f"The table {f'“{about}” ' if about else ''}has {len(rows)} rows and {len(names)} columns."
    labels = list(islice(dict.fromkeys(text for row in rows if (text := label(table, row))), LABELS_SHOWN))
    row_name = names[table.structure.label_column] if names else ""
    sentences = [
        description,
        f"Its columns are {', '.join(name for name in names if name)}.",
        f"The values of {row_name or 'the first column'} include {', '.join(labels)}." if labels else "",
    ]
    if rows:
        pairs = zip(names, next((row for row in rows if sum(map(bool, row)) > 1), rows[0]), strict=False)
        sentences.append(f"For example: {', '.join(f'{n} is {v}' if n else v for n, v in pairs if v)}.")
    return " ".join(filter(None, sentences)) + "\n"


def _headings(table: Table) -> tuple[str, ...]:
    context = table.context
    return tuple(dict.fromkeys((context.title, *context.heading, context.caption, *title_texts(table))))


def titles(table: Table) -> tuple[str, ...]:
    """The texts of the rows above the header, as they are printed."""
    rows = table.grid.head
    texts = (next(filter(str.strip, rows[row]), "") for row in table.structure.titles if row < len(rows))
    return tuple(filter(None, texts))


def introduction(table: Table) -> tuple[str, tuple[str, ...]]:
    """The features of a table, for a model: its title with headings and caption, and the texts next to it."""
    context = table.context
    title = " › ".join(dict.fromkeys(filter(None, (context.title, *context.heading, context.caption, *titles(table)))))
    beside = (*(context.before[-1:] or context.paragraphs[-1:]), *context.after[:1])
    return title or table.id, tuple(filter(str.strip, beside))


def title_texts(table: Table) -> tuple[str, ...]:
    """The texts of the rows above the header, entities decoded."""
    return tuple(decoded(text.strip()) for text in titles(table))


def _before(context: Context) -> tuple[str, ...]:
    # Paragraphs whose side of the table is not known count as text before it.
    return (*context.before, *context.paragraphs)


def _paragraphs(*parts: str) -> str:
    return " | ".join(stripped for part in parts if (stripped := decoded(part.strip())))


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
        TableFormat.CSV: as_csv,
        TableFormat.HEADER_FIRST_COLUMN: as_header_first_column,
        TableFormat.MARKDOWN: as_markdown,
        TableFormat.HTML: as_html,
        TableFormat.PLAINTEXT: as_plaintext,
        TableFormat.SCHEMA: as_schema,
        TableFormat.TEXT: as_text,
    }
)

TABLE_FORMATS = tuple(_WRITERS)
"""The linearisations of the table alone (thesis, 4.1)."""


def format_table(table: Table, name: TableFormat | str) -> str:
    """The table as text in the format of that name.

    Raises `ValueError` for a name that is not a `TableFormat`.
    """
    format = TableFormat(name)
    return _WRITERS[format](table) if format in _WRITERS else _in_context(table, format)


def _in_context(table: Table, format: TableFormat) -> str:
    """The parts that a format names, in order: headings, the text before, the table; all text around is its context."""
    parts, context = format.split("-"), table.context
    around = "context" in parts
    return _paragraphs(
        *(_headings(table) if around or "heading" in parts else ()),
        *(_before(context) if around or "pretext" in parts else ()),
        *([as_plaintext(table)] if "table" in parts else ()),
        *(context.after if around else ()),
    )


ROWS_PER_CHUNK = 40


def chunks(table: Table, rows: int = ROWS_PER_CHUNK) -> Iterator[Table]:
    """The table cut every `rows` body rows, header and surroundings repeated; whole if it is short.

    Positions stay what they are: rows outside a piece are blank in it, except the labels of the
    groups that its rows belong to. A streamed table is walked once and cut the same way.
    """
    piece: dict[int, Row] = {}
    first = True
    for index, row in body_rows(table):
        if len(piece) == rows:
            yield _only(table, piece)
            piece, first = {}, False
        piece[index] = row
    if first:
        yield table
    elif piece:
        yield _only(table, piece)


def _only(table: Table, piece: dict[int, Row]) -> Table:
    kept = dict(piece)
    for index in piece:
        for group in table.group_path(index):
            if group not in kept:
                column = table.structure.label_column
                row = table.grid.head[group]
                kept[group] = ("",) * column + row[column : column + 1]
    head = table.grid.head[: table.structure.body_start]
    body = (kept.get(index, ()) for index in range(len(head), max(kept) + 1))
    return replace(table, grid=replace(table.grid, rows=(*head, *body)))
