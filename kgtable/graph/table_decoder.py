"""Tables from the graph alone: every cell's text, the structure, the context."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

import pyoxigraph as ox

from kgtable.errors import GraphError, GraphNotFoundError
from kgtable.graph.store import TripleStore
from kgtable.graph.table_encoder import parse_areas, parse_positions
from kgtable.graph.terms import CSVW, DCTERMS, KGT, RDF, Namespaces, literal_text
from kgtable.tables.model import Column, Context, Grid, Row, Source, Structure, Table

Node: TypeAlias = dict[str, list[ox.NamedNode | ox.BlankNode | ox.Literal]]

_TYPE = f"{RDF}type"


def read_table(store: TripleStore, id: str, names: Namespaces) -> Table:
    """The table with this id as it was read, with the structure that was found.

    Raises `GraphNotFoundError` where the graph holds no such table, `GraphError` where its statements
    do not make a table.
    """
    return table_from_triples(store.graph(names.table_iri(id)), id, names)


def table_from_triples(triples: Iterable[ox.Triple], id: str, names: Namespaces) -> Table:
    """The table that the triples of its graph describe; see `read_table`."""
    nodes: dict[str, Node] = defaultdict(lambda: defaultdict(list))
    for triple in triples:
        assert isinstance(triple.subject, ox.NamedNode)
        assert not isinstance(triple.object, ox.Triple)
        nodes[triple.subject.value][triple.predicate.value].append(triple.object)
    if not nodes:
        raise GraphNotFoundError(
            f"The graph holds no table {id!r}.", hint="kgtable info lists the tables it holds."
        )
    try:
        return _Reader(nodes, id, names).table()
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise GraphError(
            f"The statements about table {id!r} are incomplete or damaged: {error!r}."
        ) from error


class _Reader:
    def __init__(self, nodes: dict[str, Node], id: str, names: Namespaces) -> None:
        self._nodes = nodes
        self._id = id
        self._iri = names.table_iri(id)
        self._node = nodes[self._iri]
        self._width = _integer(self._node, "width")
        self._rows = {
            _integer(node, "row"): node for iri, node in nodes.items() if iri.startswith(f"{self._iri}/row/")
        }

    def table(self) -> Table:
        grid = Grid(
            id=self._id,
            source=Source(_text(self._node, "source") or "", sheet=_text(self._node, "sheet")),
            rows=self._grid_rows(),
            width=self._width,
            context=self._context(),
            merged=parse_areas(_text(self._node, "merged") or ""),
            formats=_positions_json(self._node, "formats"),
            indents={place: int(level) for place, level in _positions_json(self._node, "indents").items()},
            header_cells=frozenset(parse_positions(_text(self._node, "headerCells") or "")),
        )
        return Table(grid, self._structure())

    def _grid_rows(self) -> tuple[Row, ...]:
        columns = self._columns()
        rows: list[list[str]] = []
        for index in range(max(self._rows, default=-1) + 1):
            node = self._rows[index]
            width = _integer(node, "width") if f"{KGT}width" in node else self._width
            rows.append([""] * width)
            for predicate, column in columns.items():
                for value in node.get(predicate, ()):
                    rows[index][column] = self._cell_text(value)
        for iri, node in self._nodes.items():
            if iri.startswith(f"{self._iri}/cell/") and f"{KGT}column" in node:
                rows[_integer(node, "row")][_integer(node, "column")] = _text(node, "text") or ""
        return tuple(map(tuple, rows))

    def _cell_text(self, value: ox.NamedNode | ox.BlankNode | ox.Literal) -> str:
        if isinstance(value, ox.Literal):
            return literal_text(value.value, value.datatype.value)
        return _text(self._nodes[value.value], "text") or ""

    def _columns(self) -> dict[str, int]:
        columns = {}
        for index in range(self._width):
            (predicate,) = self._nodes[f"{self._iri}/column/{index}"][f"{KGT}predicate"]
            columns[str(predicate.value)] = index
        return columns

    def _structure(self) -> Structure:
        parents = {
            index: int(node[f"{KGT}group"][0].value.rpartition("/")[2])
            for index, node in sorted(self._rows.items())
            if f"{KGT}group" in node
        }
        marks = _text(self._node, "marks")
        return Structure(
            columns=tuple(Column(index, self._path(index)) for index in range(self._width)),
            titles=tuple(sorted(self._rows_of("TitleRow"))),
            header=tuple(sorted(self._rows_of("HeaderRow"))),
            unit_rows=self._rows_of("UnitRow"),
            body_start=_integer(self._node, "bodyStart"),
            label_column=_integer(self._node, "labelColumn"),
            corner=_text(self._node, "corner") or "",
            groups=self._rows_of("Group"),
            parents=parents,
            totals=self._rows_of("TotalRow"),
            footnotes=self._rows_of("FootnoteRow"),
            of_which=self._rows_of("OfWhichRow"),
            marks={} if marks is None else json.loads(marks),
        )

    def _path(self, index: int) -> tuple[str, ...]:
        node = self._nodes[f"{self._iri}/column/{index}"]
        path = _text(node, "path")
        if path is not None:
            return tuple(json.loads(path))
        titles = node.get(f"{CSVW}titles")
        return () if titles is None else (_literal(titles[0]),)

    def _rows_of(self, kind: str) -> frozenset[int]:
        wanted = f"{KGT}{kind}"
        return frozenset(
            index for index, node in self._rows.items() if any(type.value == wanted for type in node[_TYPE])
        )

    def _context(self) -> Context:
        title = self._node.get(f"{DCTERMS}title")
        return Context(
            title="" if title is None else _literal(title[0]),
            heading=self._texts("heading"),
            caption=_text(self._node, "caption") or "",
            before=self._texts("before"),
            after=self._texts("after"),
            paragraphs=self._texts("paragraph"),
        )

    def _texts(self, name: str) -> tuple[str, ...]:
        count = len(self._node.get(f"{KGT}{name}", ()))
        return tuple(
            _text(self._nodes[f"{self._iri}/{name}/{order}"], "text") or "" for order in range(count)
        )


def _integer(node: Node, name: str) -> int:
    return int(node[f"{KGT}{name}"][0].value)


def _text(node: Node, name: str) -> str | None:
    values = node.get(f"{KGT}{name}")
    return None if values is None else _literal(values[0])


def _literal(value: ox.NamedNode | ox.BlankNode | ox.Literal) -> str:
    if not isinstance(value, ox.Literal):
        raise ValueError(f"{value} stands where a text is expected")
    return literal_text(value.value, value.datatype.value)


def _positions_json(node: Node, name: str) -> dict[tuple[int, int], str]:
    text = _text(node, name)
    found: dict[str, str] = {} if text is None else json.loads(text)
    return {place: value for value, places in found.items() for place in parse_positions(places)}
