"""A long table in pieces that each read as a table of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kgtable.tables.formats.layout import body_rows
from kgtable.tables.model import Row, Table

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
