"""Tables at hand, as a source of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgtable.answering.evidence import Quantity
from kgtable.errors import GraphNotFoundError
from kgtable.graph.terms import Namespaces
from kgtable.tables.model import Position, Table


class MemoryTables:
    """Tables that are at hand, with their numbers where known."""

    def __init__(
        self,
        tables: Iterable[Table],
        quantities: Mapping[str, Mapping[Position, Quantity]] | None = None,
        names: Namespaces | None = None,
    ) -> None:
        self._tables = {table.id: table for table in tables}
        self._quantities = quantities or {}
        self._names = names or Namespaces()

    def table(self, id: str) -> Table:
        """The table with this id. Raises `GraphNotFoundError` where there is none."""
        if id not in self._tables:
            raise GraphNotFoundError(f"There is no table {id!r}.")
        return self._tables[id]

    def quantities(self, id: str) -> Mapping[Position, Quantity]:
        """The numbers of its body cells by grid position."""
        return self._quantities.get(id, {})

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI of a cell."""
        return self._names.cell_iri(id, row, column)
