"""What all formats start from: column headings, and body rows padded to the table's width."""

from __future__ import annotations

from collections.abc import Iterator

from kgtable.tables.model import Row, Table


def headings(table: Table) -> Row:
    """One heading a column: its header path, or ``column n`` (from 1) where it has none."""
    return tuple(column.name.strip() or unnamed(table, column.index) for column in table.columns)


def unnamed(table: Table, index: int) -> str:
    """The heading of a column without header text; empty where the table does have a header row."""
    return "" if table.structure.header else f"column {index + 1}"


def body_rows(table: Table) -> Iterator[tuple[int, Row]]:
    """Every body row that is not blank, stripped and padded to the table's width."""
    width = len(table.columns)
    for index, row in table.body():
        cells = tuple(cell.strip() for cell in row)
        if any(cells):
            yield index, cells + ("",) * (width - len(cells))


def label(table: Table, row: Row) -> str:
    """The text that names a row."""
    column = table.structure.label_column
    return row[column] if column < len(row) else ""
