"""Tables of a graph as data frames, CSV, and HTML in a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtable.building.catalogue import TableRecord
from kgtable.errors import GraphNotFoundError
from kgtable.graph.export import csv_text
from kgtable.tables.model import Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TableView:
    """A table of the graph: its record in the catalogue, and its cells when asked for."""

    record: TableRecord
    table: Table

    @property
    def id(self) -> str:
        """The table's id."""
        return self.record.id

    def to_frame(self) -> pd.DataFrame:
        """The body rows as texts under the column names."""
        import pandas as pd

        names = [column.name or f"[column {column.index + 1}]" for column in self.table.columns]
        rows = [[*row, *[""] * (len(names) - len(row))] for _, row in self.table.body()]
        return pd.DataFrame(rows, columns=pd.Index(names, dtype=object))

    def to_csv(self, *, defuse: bool = False) -> str:
        """The table as CSV, every cell as it was read."""
        return csv_text(self.table, defuse=defuse)

    def __repr__(self) -> str:
        return f"TableView({self.id!r}, {self.record.rows:,} rows, {self.record.width:,} columns)"

    def _repr_html_(self) -> str:
        title = html.escape(self.record.title or self.id)
        return (
            f"<p><b>{title}</b> ({html.escape(self.record.path)})</p>{self.to_frame().to_html(notebook=True)}"
        )


class Tables(Mapping[str, TableView]):
    """The tables of a graph by id, in the order they were read."""

    def __init__(self, records: Mapping[str, TableRecord], read: Callable[[str], Table]) -> None:
        self._records = records
        self._read = read

    def __getitem__(self, id: str) -> TableView:
        if id not in self._records:
            raise GraphNotFoundError(f"The graph holds no table {id!r}.", hint="`kg.tables` lists them.")
        return TableView(self._records[id], self._read(id))

    def __contains__(self, id: object) -> bool:
        return id in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        ids = [repr(id) for id, _ in zip(self._records, range(3), strict=False)]
        more = ", …" if len(self) > len(ids) else ""
        return f"Tables({len(self):,}: {', '.join(ids)}{more})"

    def to_frame(self) -> pd.DataFrame:
        """One row for each table: id, title, file, sheet, rows, columns, cells."""
        import pandas as pd

        records = self._records.values()
        return pd.DataFrame(
            [(r.id, r.title, r.path, r.sheet, r.rows, r.width, r.cells) for r in records],
            columns=["id", "title", "file", "sheet", "rows", "columns", "cells"],
        )

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(notebook=True, max_rows=20))
