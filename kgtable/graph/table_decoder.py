"""Decoding of tables: from statements to cells, rows, structure and context.

The one place that reads the graph's shape back (`kgtable.graph.table_encoder` writes it). It takes
statements however they were found: the whole graph of a table, its frame, or single rows.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.errors import GraphError, GraphNotFoundError
from kgtable.graph.cell_areas import parse_areas, parse_positions
from kgtable.graph.table_content import CellContent, ContentRow, TableContent, word_of
from kgtable.graph.terms import (
    CSVW,
    DCTERMS,
    KGT,
    QUANTITY_KIND,
    QUDT,
    RDF,
    RDFS,
    ROW_CLASSES,
    UNIT,
    XSD,
    Namespaces,
    exact_decimal,
    literal_text,
)
from kgtable.tables.model import (
    Column,
    Context,
    Grid,
    Meaning,
    MeasureKind,
    Position,
    Role,
    Row,
    Source,
    Structure,
    Table,
)

ObjectTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
NodeStatements: TypeAlias = Mapping[str, list[ObjectTerm]]
"""The statements of the graph about a node: the objects by predicate."""

TYPE, LABEL, TITLE = f"{RDF}type", f"{RDFS}label", f"{CSVW}titles"
TEXT, GROUP, PRINTED = f"{KGT}text", f"{KGT}group", f"{KGT}printed"
NUMBER, LOWER, UPPER, UNIT_OF = (
    f"{QUDT}numericValue", f"{KGT}lowerBound", f"{KGT}upperBound", f"{QUDT}hasUnit",
)  # fmt: skip
OF_CELLS = (TEXT, NUMBER, LOWER, UPPER, UNIT_OF, *(f"{KGT}{name}" for name in ("scale", "note", "period")))
"""The predicates of a cell's own node that `cell_content` reads."""

_ABOVE = frozenset({"HeaderRow", "TitleRow"})
"""The classes of rows above the body."""

_STRING, _DOUBLE = f"{XSD}string", f"{XSD}double"
_TOTALS = f"{KGT}totals"
_NOTHING: NodeStatements = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its cells' texts, the group row above it, the contents of the cells that are not blank, its label.

    `kinds` are its classes by local name; `literals` the typed literals by column; `summed` the rows that it totals.
    """

    cells: Row
    parent: int | None = None
    contents: Mapping[int, CellContent] = field(default_factory=dict)
    label: str = ""
    kinds: frozenset[str] = frozenset()
    literals: Mapping[int, ox.Literal] = field(default_factory=dict)
    summed: tuple[int, ...] = ()

    @property
    def quantities(self) -> dict[int, CellContent]:
        """The cells with a number, no range, by column."""
        return {column: content for column, content in self.contents.items() if content.is_number}

    def quantity(self, column: int) -> CellContent | None:
        """The cell of a column, if it is a number and no range."""
        found = self.contents.get(column)
        return found if found is not None and found.is_number else None


@dataclass(frozen=True, slots=True)
class TableFrame:
    """A table whose body rows may be missing (blank then), and how many it has.

    `predicates` are the IRIs of its columns; none if a table is not from a graph.
    """

    table: Table
    body_rows: int
    predicates: tuple[str, ...] = ()


@dataclass(frozen=True)
class DecodedTable:
    """A whole table with its rows: `rows[i]` is grid row i."""

    frame: TableFrame
    rows: tuple[TableRow, ...]

    @property
    def table(self) -> Table:
        """The table itself."""
        return self.frame.table

    @cached_property
    def quantities(self) -> Mapping[Position, CellContent]:
        """The numbers of all its cells by grid position, ranges left out."""
        return {
            (index, column): quantity
            for index, row in enumerate(self.rows)
            for column, quantity in row.quantities.items()
        }


def body_rows(table: Table) -> int:
    """The number of body rows that are not groups."""
    return sum(row not in table.structure.groups for row, _ in table.body())


class TableStatements:
    """Statements about one table, or about a part of it, by subject.

    Statements about single rows are read by the table's `frame`, which was read before. Raises
    `GraphNotFoundError` if there are no statements; methods raise `GraphError` if these
    contradict the graph's shape.
    """

    def __init__(
        self, id: str, names: Namespaces, triples: Iterable[ox.Triple], frame: TableFrame | None = None
    ) -> None:
        self.id = id
        self.iri = names.table_iri(id)
        self._frame = frame
        self._nodes: dict[str, dict[str, list[ObjectTerm]]] = defaultdict(lambda: defaultdict(list))
        for triple in triples:
            found = triple.object
            assert not isinstance(found, ox.Triple)
            subject = triple.subject
            if isinstance(subject, ox.NamedNode):
                self._nodes[subject.value][triple.predicate.value].append(found)
        if not self._nodes:
            raise GraphNotFoundError(
                f"The graph holds no table {id!r}.", hint="kgtable info lists the tables it holds."
            )

    def table(self) -> Table:
        """The table as it was read, with the structure that was found, from all its statements."""
        with _sound(self.id):
            return self._table(partial=False)

    def frame(self) -> TableFrame:
        """The table as far as the statements go: rows that they do not name are blank."""
        with _sound(self.id):
            table = self._table(partial=True)
            rows = self._of_table.get(f"{KGT}rows")
            structure = table.structure
            body = int(rows[0].value) - structure.body_start - len(structure.groups) if rows else 0
            return TableFrame(table, max(body, 0), self._predicates)

    def whole(self) -> DecodedTable:
        """The table with its rows and numbers, from all its statements."""
        with _sound(self.id):
            table = self._table(partial=False)
            rows = tuple(self._row(index) for index in range(len(table.grid.head)))
            return DecodedTable(TableFrame(table, body_rows(table), self._predicates), rows)

    def row(self, index: int) -> TableRow | None:
        """A row of the grid; None if the statements name none."""
        with _sound(self.id):
            return self._row(index) if index in self._rows else None

    def content(self) -> TableContent:
        """The texts and values of all cells, from all statements."""
        with _sound(self.id):
            context = self._context()
            columns = tuple(
                (column.name, predicate)
                for column, predicate in zip(self._header_columns(), self._predicates, strict=True)
            )
            rows = tuple(self._content_rows())
            around = (*context.before, *context.after, *context.paragraphs)
            return TableContent(self.id, context.title, context.caption, context.heading, around, columns, rows)

    @cached_property
    def _of_table(self) -> NodeStatements:
        return self._nodes.get(self.iri, _NOTHING)

    @cached_property
    def _rows(self) -> dict[int, NodeStatements]:
        prefix = f"{self.iri}/row/"
        return {int(iri[len(prefix) :]): node for iri, node in self._nodes.items() if iri.startswith(prefix)}

    @cached_property
    def _width(self) -> int:
        return self._frame.table.grid.width if self._frame else _integer(self._of_table, "width")

    @cached_property
    def _predicates(self) -> tuple[str, ...]:
        if self._frame is not None:
            return self._frame.predicates
        return tuple(
            str(self._nodes[f"{self.iri}/column/{index}"][f"{KGT}predicate"][0].value) for index in range(self._width)
        )

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {predicate: index for index, predicate in enumerate(self._predicates)}

    def _table(self, *, partial: bool) -> Table:
        of_table = self._of_table
        texts = tuple(
            self._texts(index) if not partial or index in self._rows else ()
            for index in range(max(self._rows, default=-1) + 1)
        )
        grid = Grid(
            id=self.id,
            source=Source(_text(of_table, "source") or "", sheet=_text(of_table, "sheet")),
            rows=texts,
            width=self._width,
            context=self._context(),
            merged=parse_areas(_text(of_table, "merged") or ""),
            formats=_positions_json(of_table, "formats"),
            indents={place: int(level) for place, level in _positions_json(of_table, "indents").items()},
            header_cells=frozenset(parse_positions(_text(of_table, "headerCells") or "")),
        )
        return Table(grid, self._structure())

    def _cell(self, row: int, column: int) -> NodeStatements:
        return self._nodes.get(f"{self.iri}/cell/{row}/{column}", _NOTHING)

    def _row(self, index: int) -> TableRow:
        node, contents = self._rows[index], self._contents(index)
        literals = {
            column: found
            for predicate, column in self._columns.items()
            for found in node.get(predicate, ())
            if isinstance(found, ox.Literal) and found.datatype.value != _STRING
        }
        label = _label(node) or ""
        return TableRow(self._texts(index), _parent(node), contents, label, _kinds(node), literals, _summed(node))

    def _width_of(self, node: NodeStatements) -> int:
        return _integer(node, "width") if f"{KGT}width" in node else self._width

    def _texts(self, index: int) -> Row:
        cells = [""] * self._width_of(self._rows[index])
        for column, content in self._contents(index).items():
            cells[column] = content.text
        return tuple(cells)

    def _content_rows(self) -> Iterator[ContentRow]:
        for index, node in sorted(self._rows.items()):
            if found := self._contents(index):
                parent = self._rows.get(-1 if (above := _parent(node)) is None else above, _NOTHING)
                is_header = bool(_kinds(node) & _ABOVE)
                yield ContentRow(index, is_header, _label(node), _label(parent), tuple(sorted(found.items())))

    def _contents(self, index: int) -> dict[int, CellContent]:
        """The cells of a row that are not blank."""
        node = self._rows[index]
        if _kinds(node) & _ABOVE:
            texts = ((column, _text(self._cell(index, column), "text")) for column in range(self._width_of(node)))
            return {column: CellContent(text, is_node=True) for column, text in texts if text is not None}
        return {
            column: cell_content(found, self._cell(index, column))
            for predicate, column in self._columns.items()
            for found in node.get(predicate, ())
        }

    def _header_columns(self) -> tuple[Column, ...]:
        return tuple(Column(index, self._path(index), self._meaning(index)) for index in range(self._width))

    def _meaning(self, index: int) -> Meaning | None:
        node = self._nodes[f"{self.iri}/column/{index}"]
        role, kind = _local_name(node, f"{KGT}role", KGT), _local_name(node, f"{KGT}measureKind", KGT)
        if role is None:
            return None
        return Meaning(
            Role(role),
            None if kind is None else MeasureKind(kind),
            _text(node, "variant"),
            _local_name(node, f"{QUDT}hasQuantityKind", QUANTITY_KIND),
            tuple(sorted(text_of(value) for value in node.get(f"{KGT}evidence", ()))),
            float(_text(node, "confidence") or 0),
            None if (grain := node.get(f"{KGT}grain")) is None else int(str(grain[0].value).rpartition("/")[2]),
        )

    def _structure(self) -> Structure:
        rows = sorted(self._rows.items())
        kinds: dict[str, set[int]] = defaultdict(set)
        for index, node in self._rows.items():
            for kind in _kinds(node):
                kinds[kind].add(index)
        marks = _text(self._of_table, "marks")
        return Structure(
            columns=self._header_columns(),
            titles=tuple(sorted(kinds["TitleRow"])),
            header=tuple(sorted(kinds["HeaderRow"])),
            unit_rows=frozenset(kinds["UnitRow"]),
            body_start=_integer(self._of_table, "bodyStart"),
            label_column=_integer(self._of_table, "labelColumn"),
            corner=_text(self._of_table, "corner") or "",
            parents={index: parent for index, node in rows if (parent := _parent(node)) is not None},
            summed={index: summed for index, node in rows if (summed := _summed(node))},
            measures={
                index: MeasureKind(name)
                for index, node in rows
                if (name := _local_name(node, f"{KGT}measureKind", KGT)) is not None
            },
            marks={} if marks is None else json.loads(marks),
            shared=parse_areas(_text(self._of_table, "shared") or ""),
            confidence=float(_text(self._of_table, "confidence") or 1),
            **rows_by_class(kinds),
        )

    def _path(self, index: int) -> tuple[str, ...]:
        node = self._nodes[f"{self.iri}/column/{index}"]
        path = _text(node, "path")
        if path is not None:
            return tuple(json.loads(path))
        titles = node.get(TITLE)
        return () if titles is None else (text_of(titles[0]),)

    def _context(self) -> Context:
        title = self._of_table.get(f"{DCTERMS}title")
        return Context(
            title="" if title is None else text_of(title[0]),
            heading=self._surrounding("heading"),
            caption=_text(self._of_table, "caption") or "",
            before=self._surrounding("before"),
            after=self._surrounding("after"),
            paragraphs=self._surrounding("paragraph"),
        )

    def _surrounding(self, name: str) -> tuple[str, ...]:
        count = len(self._of_table.get(f"{KGT}{name}", ()))
        return tuple(_text(self._nodes[f"{self.iri}/{name}/{order}"], "text") or "" for order in range(count))


def rows_by_class(kinds: Mapping[str, Iterable[int]]) -> dict[str, Any]:
    """The fields of a `Structure` that name body rows, from the rows of each class by its local name."""
    return {field: frozenset(kinds.get(name, ())) for field, name in ROW_CLASSES.items()}


def cell_content(found: ObjectTerm, cell: NodeStatements) -> CellContent:
    """A cell of the body by the object of its statement and, if it is a node, that node's statements."""
    if isinstance(found, ox.Literal):
        datatype = found.datatype.value
        text = literal_text(found.value, datatype)
        value = word_of(text) if datatype == _STRING else found.value if datatype.startswith(XSD) else None
        return CellContent(_text(cell, "text") or text, bool(cell), value)
    return node_content(cell)


def node_content(cell: NodeStatements) -> CellContent:
    """A cell by the statements of its own node."""
    single = cell.get(NUMBER)
    return CellContent(
        _text(cell, "text") or "",
        True,
        _decimal(single or cell.get(LOWER), cell),
        _local_name(cell, UNIT_OF, UNIT),
        _text(cell, "scale"),
        _text(cell, "note"),
        _text(cell, "period"),
        None if single else _decimal(cell.get(UPPER), cell),
        _text(cell, "denominator"),
    )


def _decimal(values: list[ObjectTerm] | None, cell: NodeStatements) -> str | None:
    """The text of a number; of one stored as a double with all the digits that are printed."""
    if values is None:
        return None
    number, text = values[0], str(values[0].value)
    if isinstance(number, ox.Literal) and number.datatype.value == _DOUBLE:
        text = exact_decimal(text, _text(cell, "text") or "")
    text = text.removesuffix(".0")
    try:
        Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text!r} is not a number") from error
    return text


def is_plain_text(found: ObjectTerm | None) -> bool:
    """Whether all that is known of a cell is its text."""
    return isinstance(found, ox.Literal) and found.datatype.value == _STRING


def _kinds(node: NodeStatements) -> frozenset[str]:
    return frozenset(kind.value[len(KGT) :] for kind in node.get(TYPE, ()) if kind.value.startswith(KGT))


def _label(node: NodeStatements) -> str | None:
    return text_of(node[LABEL][0]) if LABEL in node else None


def _parent(node: NodeStatements) -> int | None:
    return int(node[GROUP][0].value.rpartition("/")[2]) if GROUP in node else None


def _local_name(node: NodeStatements, predicate: str, namespace: str) -> str | None:
    values = node.get(predicate)
    return None if values is None else str(values[0].value).removeprefix(namespace)


def _integer(node: NodeStatements, name: str) -> int:
    return int(node[f"{KGT}{name}"][0].value)


def _text(node: NodeStatements, name: str) -> str | None:
    values = node.get(f"{KGT}{name}")
    return None if values is None else text_of(values[0])


def text_of(value: ObjectTerm) -> str:
    """The text of a literal of the graph. Raises `ValueError` for an IRI or blank node."""
    if not isinstance(value, ox.Literal):
        raise ValueError(f"{value} stands where a text is expected")
    return literal_text(value.value, value.datatype.value)


def _positions_json(node: NodeStatements, name: str) -> dict[Position, str]:
    text = _text(node, name)
    found: dict[str, str] = {} if text is None else json.loads(text)
    return {place: value for value, places in found.items() for place in parse_positions(places)}


def _summed(node: NodeStatements) -> tuple[int, ...]:
    """The rows that a row totals."""
    return tuple(sorted(int(str(member.value).rpartition("/")[2]) for member in node.get(_TOTALS, ())))


@contextmanager
def _sound(id: str) -> Iterator[None]:
    """Turns what goes wrong where a table's statements were changed by hand into a `GraphError`."""
    try:
        yield
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise GraphError(
            f"The statements about table {id!r} are incomplete or damaged: {error!r}.",
            hint="Building the graph again restores them.",
        ) from error
