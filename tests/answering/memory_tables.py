"""Tables in memory as evidence, without a graph (`kgtable.graph.table_source.TableReader` reads a graph's)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kgtable.errors import GraphNotFoundError
from kgtable.graph.table_content import CellContent
from kgtable.graph.table_decoder import DecodedTable, TableFrame, TableRow
from kgtable.graph.terms import Namespaces
from kgtable.tables.model import Position, Table
from tests.graph.decoding import decode_in_memory


class MemoryTables:
    """Tables that are at hand, as a graph would give them; numbers may be given beside them."""

    def __init__(
        self,
        tables: Iterable[Table],
        quantities: Mapping[str, Mapping[Position, CellContent]] | None = None,
        names: Namespaces | None = None,
    ) -> None:
        self._tables = {table.id: table for table in tables}
        self._quantities = dict(quantities or {})
        self._names = names or Namespaces()
        self._decoded: dict[str, DecodedTable] = {}

    def table(self, id: str) -> Table:
        """The table with this id. Raises `GraphNotFoundError` where there is none."""
        if id not in self._tables:
            raise GraphNotFoundError(f"There is no table {id!r}.")
        return self._tables[id]

    def frame(self, id: str) -> TableFrame:
        """The whole table, with the number of its body rows that are no groups."""
        return self._whole(id).frame

    def row(self, id: str, row: int) -> TableRow | None:
        """One row of the grid, or None where there is none."""
        rows = self._whole(id).rows
        return rows[row] if 0 <= row < len(rows) else None

    def rows(self, id: str, rows: Iterable[int]) -> dict[int, TableRow]:
        """The rows of the grid that there are among these, by number."""
        found = ((row, self.row(id, row)) for row in rows)
        return {row: known for row, known in found if known is not None}

    def fetch(self, wanted: Mapping[str, Collection[int]]) -> None:
        """Nothing: all tables are at hand."""

    def decoded(self, id: str) -> DecodedTable:
        """The whole table with the values of its cells."""
        return self._whole(id)

    def quantities(self, id: str) -> Mapping[Position, CellContent]:
        """The numbers of its body cells by grid position."""
        return self._whole(id).quantities

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI that the cell would be cited by in a graph."""
        found = self.row(id, row)
        is_node = found is not None and column in found.contents and found.contents[column].is_node
        return self._names.cell_iri(id, row, column) if is_node else self._names.row_iri(id, row)

    def _whole(self, id: str) -> DecodedTable:
        if id not in self._decoded:
            self._decoded[id] = decode_in_memory(self.table(id), self._names, self._quantities.get(id))
        return self._decoded[id]
