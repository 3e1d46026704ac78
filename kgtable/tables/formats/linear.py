"""The flat linearisations: CSV, header and first column, Markdown, HTML, plaintext (thesis, 4.1)."""

from __future__ import annotations

import csv
import html
import io

from kgtable.tables.formats.layout import body_rows, headings, label
from kgtable.tables.model import Row, Table


def as_csv(table: Table) -> str:
    """Headings, then a line a row, values separated by commas and quoted where RFC 4180 asks for it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings(table))
    writer.writerows(row for _, row in body_rows(table))
    return out.getvalue()


def as_header_first_column(table: Table) -> str:
    """One line of headings, one line of row labels: short, and what most questions name."""
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
    """A line a row: ``heading: value`` pairs separated by commas, empty cells kept in place."""
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
