"""Tables in memory as evidence, beside those of a graph (`kgtable.graph.table_source.TableReader`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kgtable.errors import GraphNotFoundError
from kgtable.graph.table_decoder import CellQuantity, TableFrame, TableRow, body_rows
from kgtable.graph.terms import SCALES, Namespaces
from kgtable.ontology.annotate import annotate
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.model import Position, Table


class MemoryTables:
    """Tables that are at hand; numbers that are not given are read from their cells."""

    def __init__(
        self,
        tables: Iterable[Table],
        quantities: Mapping[str, Mapping[Position, CellQuantity]] | None = None,
        names: Namespaces | None = None,
    ) -> None:
        self._tables = {table.id: table for table in tables}
        self._quantities = dict(quantities or {})
        self._by_row: dict[str, dict[int, dict[int, CellQuantity]]] = {}
        self._frames: dict[str, TableFrame] = {}
        self._names = names or Namespaces()

    def table(self, id: str) -> Table:
        """The table with this id. Raises `GraphNotFoundError` where there is none."""
        if id not in self._tables:
            raise GraphNotFoundError(f"There is no table {id!r}.")
        return self._tables[id]

    def frame(self, id: str) -> TableFrame:
        """The whole table, with the number of its body rows that are no groups."""
        if id not in self._frames:
            table = self.table(id)
            self._frames[id] = TableFrame(table, body_rows(table))
        return self._frames[id]

    def row(self, id: str, row: int) -> TableRow | None:
        """One row of the grid, or None where there is none."""
        table = self.table(id)
        if not 0 <= row < len(table.grid.head):
            return None
        return TableRow(
            table.grid.head[row], table.structure.parents.get(row), self._numbers(id).get(row, {})
        )

    def rows(self, id: str, rows: Iterable[int]) -> dict[int, TableRow]:
        """The rows of the grid that there are among these, by number."""
        found = ((row, self.row(id, row)) for row in rows)
        return {row: known for row, known in found if known is not None}

    def fetch(self, wanted: Mapping[str, Collection[int]]) -> None:
        """Nothing: all tables are at hand."""

    def quantities(self, id: str) -> Mapping[Position, CellQuantity]:
        """The numbers of its body cells by grid position."""
        if id not in self._quantities:
            self._quantities[id] = quantities_of(self.table(id))
        return self._quantities[id]

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI of a cell."""
        return self._names.cell_iri(id, row, column)

    def _numbers(self, id: str) -> dict[int, dict[int, CellQuantity]]:
        if id not in self._by_row:
            by_row: dict[int, dict[int, CellQuantity]] = {}
            for (row, column), quantity in self.quantities(id).items():
                by_row.setdefault(row, {})[column] = quantity
            self._by_row[id] = by_row
        return self._by_row[id]


def quantities_of(table: Table) -> dict[Position, CellQuantity]:
    """The numbers of a table's body cells, with the units, scales and periods that its texts give them.

    Ranges are left out: they are no single number.
    """
    annotated = annotate(table)
    found: dict[Position, CellQuantity] = {}
    for row, cells in table.body():
        label = cells[table.structure.label_column] if table.structure.label_column < len(cells) else ""
        for column, text in enumerate(cells):
            value = type_cell(text, annotated.styles[column]) if text else None
            if value is None or value.kind is not CellKind.NUMBER or value.number is None:
                continue
            known = annotated.quantities.resolve(value.number, row, column, label)
            if known.upper is None:
                period = annotated.quantities.period(row, column, label)
                found[row, column] = CellQuantity(
                    known.value, known.unit, SCALES.get(known.scale), period=period
                )
    return found
