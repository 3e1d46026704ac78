"""Tables and their exact numbers as evidence: from the graph, or in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TypeAlias, TypeVar

import pyoxigraph as ox

from kgtable.answering.evidence import CellQuantity, TableFrame, TableRow
from kgtable.errors import GraphNotFoundError
from kgtable.graph.store import TripleStore
from kgtable.graph.table_decoder import table_from_triples
from kgtable.graph.terms import KGT, QUDT, UNIT, XSD, Namespaces, literal_text
from kgtable.ontology.annotate import annotate
from kgtable.resources import read_shipped
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.model import Position, Table


def body_rows(table: Table) -> int:
    """How many rows of the body are no groups."""
    return sum(row not in table.structure.groups for row, _ in table.body())


def row_of(table: Table, row: int, quantities: Mapping[Position, CellQuantity]) -> TableRow | None:
    """One row of a whole table with its numbers, or None where there is none."""
    if not 0 <= row < len(table.grid.head):
        return None
    cells = table.grid.head[row]
    found = ((column, quantities.get((row, column))) for column in range(len(cells)))
    numbers = {column: number for column, number in found if number is not None}
    return TableRow(cells, table.structure.parents.get(row), numbers)


Object: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple

_KEPT = 64
_KEPT_ROWS = 20_000
_Found = TypeVar("_Found")
_Key = TypeVar("_Key")


class GraphTables:
    """Tables of a graph; what was read last is kept. May be used from several threads."""

    def __init__(self, store: TripleStore, names: Namespaces) -> None:
        self._store, self._names = store, names
        self._tables: OrderedDict[str, tuple[TableFrame, dict[Position, CellQuantity]]] = OrderedDict()
        self._frames: OrderedDict[str, tuple[TableFrame, dict[str, int]]] = OrderedDict()
        self._rows: OrderedDict[tuple[str, int], TableRow | None] = OrderedDict()
        self._lock = threading.RLock()

    def table(self, id: str) -> Table:
        """The whole table. Raises `GraphNotFoundError` where the graph has none of this id."""
        return self._whole(id)[0].table

    def quantities(self, id: str) -> Mapping[Position, CellQuantity]:
        """The numbers of all its body cells by grid position."""
        return self._whole(id)[1]

    def frame(self, id: str) -> TableFrame:
        """The table without the rows of its body that are no groups; the whole one where it was read."""
        whole = self._tables.get(id)
        return self._frame(id)[0] if whole is None else whole[0]

    def row(self, id: str, row: int) -> TableRow | None:
        """One row, or None where the table has none there."""
        whole = self._tables.get(id)
        if whole is not None:
            return row_of(whole[0].table, row, whole[1])
        return self._keep(self._rows, (id, row), _KEPT_ROWS, lambda: self._read_row(id, row))

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI of a cell."""
        return self._names.cell_iri(id, row, column)

    def _keep(
        self, kept: OrderedDict[_Key, _Found], key: _Key, most: int, read: Callable[[], _Found]
    ) -> _Found:
        with self._lock:
            if key in kept:
                kept.move_to_end(key)
                return kept[key]
            found = kept[key] = read()
            if len(kept) > most:
                kept.popitem(last=False)
            return found

    def _whole(self, id: str) -> tuple[TableFrame, dict[Position, CellQuantity]]:
        def read() -> tuple[TableFrame, dict[Position, CellQuantity]]:
            triples = list(self._store.graph(self._names.table_iri(id)))
            table = table_from_triples(triples, id, self._names)
            return TableFrame(table, body_rows(table)), _quantities(triples, self._names)

        return self._keep(self._tables, id, _KEPT, read)

    def _frame(self, id: str) -> tuple[TableFrame, dict[str, int]]:
        def read() -> tuple[TableFrame, dict[str, int]]:
            triples = self._ask("answer_frame", self._names.table_iri(id))
            count = next((_integer(t.object) for t in triples if t.predicate.value == f"{KGT}rows"), 0)
            table = table_from_triples([*triples, *_blank_rows(triples, self._names, id)], id, self._names)
            body = count - table.structure.body_start - len(table.structure.groups)
            return TableFrame(table, max(body, 0)), _columns(triples)

        return self._keep(self._frames, id, _KEPT, read)

    def _read_row(self, id: str, row: int) -> TableRow | None:
        frame, columns = self._frame(id)
        if row < frame.table.structure.body_start:
            return TableRow(frame.table.grid.head[row], None, {}) if row >= 0 else None
        iri = self._names.row_iri(id, row)
        triples = self._ask("answer_row", self._names.table_iri(id), ox.NamedNode(iri))
        if not triples:
            return None
        return _row_from(triples, iri, columns, frame.table.grid.width, self._names)

    def _ask(self, query: str, table: str, row: ox.NamedNode | None = None) -> list[ox.Triple]:
        bindings = {"table": ox.NamedNode(table)} | ({} if row is None else {"row": row})
        results = self._store.query(read_shipped(f"queries/{query}.rq"), bindings=bindings)
        assert isinstance(results, ox.QuerySolutions)
        return [ox.Triple(found["s"], found["p"], found["o"]) for found in results]


def _columns(triples: Iterable[ox.Triple]) -> dict[str, int]:
    """The index of each column by its predicate."""
    found: dict[str, dict[str, ox.Triple]] = defaultdict(dict)
    for triple in triples:
        if triple.predicate.value in (f"{KGT}predicate", f"{KGT}column"):
            found[str(triple.subject)][triple.predicate.value] = triple
    return {
        _value(node[f"{KGT}predicate"].object): _integer(node[f"{KGT}column"].object)
        for node in found.values()
        if len(node) == 2
    }


def _blank_rows(triples: Iterable[ox.Triple], names: Namespaces, id: str) -> list[ox.Triple]:
    """Statements that make the rows between those of a frame blank ones."""
    prefix = f"{names.table_iri(id)}/row/"
    known = {_value(triple.subject) for triple in triples}
    last = max((int(iri.removeprefix(prefix)) for iri in known if iri.startswith(prefix)), default=-1)
    missing = [row for row in range(last) if f"{prefix}{row}" not in known]
    blank = []
    for row in missing:
        node = ox.NamedNode(f"{prefix}{row}")
        blank.append(ox.Triple(node, ox.NamedNode(f"{KGT}row"), _literal(row)))
        blank.append(ox.Triple(node, ox.NamedNode(f"{KGT}width"), _literal(0)))
    return blank


def _row_from(
    triples: Iterable[ox.Triple], iri: str, columns: Mapping[str, int], width: int, names: Namespaces
) -> TableRow:
    """A row's texts, its group and its numbers."""
    nodes: dict[str, list[tuple[str, Object]]] = defaultdict(list)
    triples = list(triples)
    for triple in triples:
        nodes[_value(triple.subject)].append((triple.predicate.value, triple.object))
    parent = None
    ragged = [_integer(found) for predicate, found in nodes[iri] if predicate == f"{KGT}width"]
    cells = [""] * (ragged[0] if ragged else width)
    for predicate, found in nodes[iri]:
        column = columns.get(predicate)
        if predicate == f"{KGT}group":
            parent = int(_value(found).rpartition("/")[2])
        elif column is not None and column < len(cells):
            cells[column] = _text_of(found, nodes)
    for node, said in nodes.items():
        address = names.parse_cell_iri(node)
        text = next((_text_of(found, nodes) for predicate, found in said if predicate == f"{KGT}text"), None)
        if address is not None and text is not None and address.column < len(cells):
            cells[address.column] = text
    quantities = {place[1]: found for place, found in _quantities(triples, names).items()}
    return TableRow(tuple(cells), parent, quantities)


def _text_of(
    found: Object,
    nodes: Mapping[str, list[tuple[str, Object]]],
) -> str:
    if isinstance(found, ox.Literal):
        return literal_text(found.value, found.datatype.value)
    said = nodes.get(_value(found), [])
    return next((_text_of(text, {}) for predicate, text in said if predicate == f"{KGT}text"), "")


def _quantities(triples: Iterable[ox.Triple], names: Namespaces) -> dict[Position, CellQuantity]:
    """The quantity nodes of a table's graph by the position in their IRI."""
    values: dict[str, Decimal] = {}
    units: dict[str, str] = {}
    scales: dict[str, str] = {}
    for triple in triples:
        subject, predicate = _value(triple.subject), triple.predicate.value
        if predicate == f"{QUDT}numericValue":
            values[subject] = Decimal(_value(triple.object))
        elif predicate == f"{QUDT}hasUnit":
            units[subject] = _value(triple.object).removeprefix(UNIT)
        elif predicate == f"{KGT}scale":
            scales[subject] = _value(triple.object)
    quantities: dict[Position, CellQuantity] = {}
    for iri, value in values.items():
        address = names.parse_cell_iri(iri)
        if address is not None:
            quantities[address.row, address.column] = CellQuantity(value, units.get(iri), scales.get(iri))
    return quantities


def _value(term: Object) -> str:
    return str(term) if isinstance(term, ox.Triple) else str(term.value)


def _integer(term: Object) -> int:
    return int(_value(term))


def _literal(value: int) -> ox.Literal:
    return ox.Literal(str(value), datatype=ox.NamedNode(f"{XSD}integer"))


_SCALES = {3: "T", 6: "M", 9: "B", 12: "TN"}


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
        self._names = names or Namespaces()

    def table(self, id: str) -> Table:
        """The table with this id. Raises `GraphNotFoundError` where there is none."""
        if id not in self._tables:
            raise GraphNotFoundError(f"There is no table {id!r}.")
        return self._tables[id]

    def frame(self, id: str) -> TableFrame:
        """The whole table, with the number of its body rows that are no groups."""
        table = self.table(id)
        return TableFrame(table, body_rows(table))

    def row(self, id: str, row: int) -> TableRow | None:
        """One row of the grid, or None where there is none."""
        return row_of(self.table(id), row, self.quantities(id))

    def quantities(self, id: str) -> Mapping[Position, CellQuantity]:
        """The numbers of its body cells by grid position."""
        if id not in self._quantities:
            self._quantities[id] = quantities_of(self.table(id))
        return self._quantities[id]

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI of a cell."""
        return self._names.cell_iri(id, row, column)


def quantities_of(table: Table) -> dict[Position, CellQuantity]:
    """The numbers of a table's body cells, with the units and scales that its texts give them."""
    annotated = annotate(table)
    found: dict[Position, CellQuantity] = {}
    for row, cells in table.body():
        label = cells[table.structure.label_column] if table.structure.label_column < len(cells) else ""
        for column, text in enumerate(cells):
            value = type_cell(text, annotated.styles[column]) if text else None
            if value is not None and value.kind is CellKind.NUMBER and value.number is not None:
                known = annotated.quantities.resolve(value.number, row, column, label)
                found[row, column] = CellQuantity(known.value, known.unit, _SCALES.get(known.scale))
    return found
