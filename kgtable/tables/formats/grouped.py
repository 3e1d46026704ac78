"""The text format that spells the hierarchy out with ``Group:`` and ``Ungrouped:`` (thesis, 4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kgtable.tables.formats.layout import body_rows, headings, label
from kgtable.tables.model import Row, Table

UnitOf = Callable[[int, int], str]
"""The unit and scale of the cell at a row and column as words, empty where there is none."""


def no_unit(row: int, column: int) -> str:
    """The `UnitOf` of a table whose units are not known."""
    return ""


def as_text(table: Table, unit_of: UnitOf = no_unit) -> str:
    """Each row as its label with one ``- has heading: value`` line a cell, under its group.

    A group row that carries values of its own is written under its parent's heading first; a group
    without values appears as heading only. Nested groups are named by their whole path.
    """
    lines: list[str] = []
    current: str | None = None
    for index, row in body_rows(table):
        facts = list(_facts(table, index, row, unit_of))
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
        names.append((name or next((cell.strip() for cell in cells if cell.strip()), "")).rstrip(":"))
    return f"Group: {' > '.join(names)}" if names else "Ungrouped:"


def _facts(table: Table, index: int, row: Row, unit_of: UnitOf) -> Iterator[str]:
    for column, (heading, value) in enumerate(zip(headings(table), row, strict=False)):
        if column != table.structure.label_column and value:
            yield f"- has {heading}: {value} {unit_of(index, column)}".rstrip()
