"""The table schema: what a table is about, in four parts (thesis, 4.1).

An LLM writes it where there is one; the template gives the same four parts without.
"""

from __future__ import annotations

from itertools import islice

from kgtable.tables.formats.layout import body_rows, headings, label
from kgtable.tables.model import Table

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
