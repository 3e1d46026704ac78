"""What a model is shown of the tables of a question, by TableRAG and by the paper's baselines alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgtable.retrieval.result import Retrieval


@dataclass(frozen=True, slots=True)
class ShownTable:
    """What is shown of one table.

    `text` is what stands in the prompt. `columns` are the columns whose names stand in it, `cells` the
    values, by column, `rows` the grid rows that are shown with all of these columns. `scored` are the
    places of cells for the result of retrieval, the best first.
    """

    table: str
    text: str
    columns: tuple[int, ...] = ()
    cells: tuple[tuple[int, str], ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShownRetrieval(Retrieval):
    """A retrieval with what a model is shown; `refused` says why that is nothing, where it is.

    `queries_told` are the queries for columns and for cells; `encoded` counts the texts that were encoded
    for this question's tables (those of queries left out).
    """

    shown: tuple[ShownTable, ...] = ()
    refused: str = ""
    encoded: int = 0

    @property
    def shown_columns(self) -> set[tuple[str, int]]:
        """All columns that are shown, by table id."""
        return {(table.table, column) for table in self.shown for column in table.columns}

    @property
    def shown_values(self) -> set[tuple[str, int, str]]:
        """All values of cells that are shown one by one, by table id and column."""
        return {(table.table, column, text) for table in self.shown for column, text in table.cells}


def render(tables: Sequence[ShownTable], aliases: Sequence[str], titles: Sequence[str]) -> str:
    """The tables for a prompt, each under its alias and title."""
    parts = [
        f"Table {alias}" + (f" ({title})" if title else "") + f":\n{shown.text}"
        for shown, alias, title in zip(tables, aliases, titles, strict=True)
    ]
    return "\n\n".join(parts)
