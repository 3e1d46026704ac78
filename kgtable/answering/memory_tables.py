"""Tables at hand, as a source of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgtable.answering.evidence import Frame, Quantity, TableRow
from kgtable.answering.rows import body_rows, row_of
from kgtable.errors import GraphNotFoundError
from kgtable.graph.terms import Namespaces
from kgtable.ontology.annotation import annotate
from kgtable.tables.model import Position, Table
from kgtable.tables.values import Kind, type_cell

_SCALES = {3: "T", 6: "M", 9: "B", 12: "TN"}


class MemoryTables:
    """Tables that are at hand; numbers that are not given are read from their cells."""

    def __init__(
        self,
        tables: Iterable[Table],
        quantities: Mapping[str, Mapping[Position, Quantity]] | None = None,
        names: Namespaces | None = None,
    ) -> None:
        self._tables = {table.id: table for table in tables}
        self._quantities = dict(quantities or {})
        self._names = names or Namespaces()

    def table(self, id: str) -> Table:
        """The table with this id. Raises `GraphNotFoundError` where there is none."""
        if id not in self._tables:
            raise GraphNotFoundError(f"There is no table {id!r}.")
        return self._tables[id]

    def frame(self, id: str) -> Frame:
        """The whole table, with the number of its body rows that are no groups."""
        table = self.table(id)
        return Frame(table, body_rows(table))

    def row(self, id: str, row: int) -> TableRow | None:
        """One row of the grid, or None where there is none."""
        return row_of(self.table(id), row, self.quantities(id))

    def quantities(self, id: str) -> Mapping[Position, Quantity]:
        """The numbers of its body cells by grid position."""
        if id not in self._quantities:
            self._quantities[id] = quantities_of(self.table(id))
        return self._quantities[id]

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI of a cell."""
        return self._names.cell_iri(id, row, column)


def quantities_of(table: Table) -> dict[Position, Quantity]:
    """The numbers of a table's body cells, with the units and scales that its texts give them."""
    annotated = annotate(table)
    found: dict[Position, Quantity] = {}
    for row, cells in table.body():
        label = cells[table.structure.label_column] if table.structure.label_column < len(cells) else ""
        for column, text in enumerate(cells):
            value = type_cell(text, annotated.styles[column]) if text else None
            if value is not None and value.kind is Kind.NUMBER and value.number is not None:
                known = annotated.quantities.resolve(value.number, row, column, label)
                found[row, column] = Quantity(known.value, known.unit, _SCALES.get(known.scale))
    return found
