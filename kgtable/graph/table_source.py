"""Tables read from a triple store: whole, as frames with single rows, or cell by cell.

A mapping may have given other predicates and datatypes than the cells alone suggest. The graph says
which: the predicate of each column, and for each cell whether it is a quantity, a typed literal or a text.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from operator import itemgetter
from typing import Any, TypeVar

import pyoxigraph as ox

from kgtable.graph.results import python_value
from kgtable.graph.sparql_text import with_values
from kgtable.graph.store import EmbeddedStore, TripleStore, select
from kgtable.graph.table_content import CellContent, ColumnSource, FoundCell, TableContent
from kgtable.graph.table_decoder import (
    GROUP,
    LABEL,
    OF_CELLS,
    TEXT,
    DecodedTable,
    ObjectTerm,
    TableFrame,
    TableRow,
    TableStatements,
    cell_content,
    is_plain_text,
    rows_by_class,
    text_of,
)
from kgtable.graph.terms import KGT, XSD, CellAddress, Namespaces
from kgtable.resources import read_shipped
from kgtable.tables.model import Position, Table

AT_ONCE = 2_000
"""Nodes asked for by one query."""

CELLS_AT_ONCE = 20_000
"""Most cells of a table that a remote store returns in one query; a larger table is read in pages of rows."""

_KEPT = 64
KEPT_CELLS = 2_000_000
"""Maximum cells of cached whole tables; one table of any size is always cached."""
_KEPT_FRAMES = 256
_KEPT_ROWS = 20_000
_Found = TypeVar("_Found")
_Key = TypeVar("_Key")
_Item = TypeVar("_Item")
_Subject = tuple[str, str]
"""The named graph of a table as SPARQL writes it, and the IRI of a row or cell in it."""
_Said = dict[str, ObjectTerm]
_Contained = Mapping[str, Mapping[int, tuple[int, ...]]]
CONTAINS_ROW = f"{KGT}containsRow"


def read_table(store: TripleStore, id: str, names: Namespaces) -> Table:
    """The table with this id as it was read, with the structure that was found.

    Raises `GraphNotFoundError` if the graph holds no such table, `GraphError` if its statements
    do not make a table.
    """
    return TableReader(store, names).read(id)


class TableReader:
    """Tables of a graph; the last ones read are cached. May be used from several threads.

    Methods that take an id raise `GraphNotFoundError` if the graph holds no such table, `GraphError`
    if its statements do not make a table.
    """

    def __init__(
        self, store: TripleStore, names: Namespaces, columns: Callable[[str], ColumnSource | None] = lambda id: None
    ) -> None:
        """`columns` returns the body of a table column by column, if that form is stored next to the graph's store.

        A store outside this process returns a large table in pages of rows.
        """
        self._store, self.names = store, names
        self.by_pages = not isinstance(store, EmbeddedStore)
        """Whether large tables are read in pages of rows, by queries to a store that is not of this process."""
        self.columns = columns
        self._tables: OrderedDict[str, DecodedTable] = OrderedDict()
        self._frames: OrderedDict[str, TableFrame] = OrderedDict()
        self._rows: OrderedDict[tuple[str, int], TableRow | None] = OrderedDict()
        self._lock = threading.RLock()
        self._known_contained: _Contained | None = None

    @property
    def _contained(self) -> _Contained:
        """The rows that contain others according to another table, by table, with their members."""
        if self._known_contained is None:
            found = select(self._store, read_shipped("queries/contained-rows.rq"))
            self._known_contained = _contained_rows((row["row"], row["member"]) for row in found)
        return self._known_contained

    def _with_contained(self, frame: TableFrame) -> TableFrame:
        """The table, with the rows that contain others according to another table among its totals."""
        table = frame.table
        contained = self._contained.get(self.names.table_iri(table.id))
        if not contained:
            return frame
        structure = table.structure
        summed = {**contained, **structure.summed}
        own = structure.totals
        added = frozenset(contained) - own
        structure = replace(structure, totals=own | added, contained=added, summed=summed)
        return replace(frame, table=replace(table, structure=structure))

    def table(self, id: str) -> Table:
        """The whole table, kept for the next call."""
        return self.decoded(id).table

    def decoded(self, id: str) -> DecodedTable:
        """The whole table with the values of its cells, cached."""
        known = id in self._tables
        found = self._keep(self._tables, id, _KEPT, lambda: self._read_whole(id))
        if not known:
            with self._lock:
                cells = sum(map(_cells_of, self._tables.values()))
                while cells > KEPT_CELLS and len(self._tables) > 1:
                    cells -= _cells_of(self._tables.popitem(last=False)[1])
        return found

    def quantities(self, id: str) -> Mapping[Position, CellContent]:
        """The numbers of all its cells by grid position."""
        return self.decoded(id).quantities

    def values(self, id: str) -> Mapping[Position, Any]:
        """Cells that are more than text by grid position: exact numbers, years, dates, booleans, None for markers."""
        found: dict[Position, Any] = {}
        for index, row in enumerate(self.decoded(id).rows):
            for column, quantity in row.quantities.items():
                found[index, column] = quantity.number
            for column, literal in row.literals.items():
                value = None if literal.datatype.value == f"{KGT}missing" else python_value(literal)
                is_year = literal.datatype.value == f"{XSD}gYear" and literal.value.isdecimal()
                found[index, column] = int(literal.value) if is_year else value
        return found

    def read(self, id: str) -> Table:
        """The whole table, read again."""
        return self._statements(id).table()

    def content(self, id: str, rows: Iterable[int] | None = None) -> TableContent:
        """The texts and values of its cells, read again; with `rows`, of a large table those of these rows alone."""
        if rows is not None and self._is_large(id):
            return self._parts_of(id, rows).content()
        return self._statements(id).content()

    def frame(self, id: str) -> TableFrame:
        """The table without the rows of its body that are not groups; the whole one where it was read."""
        whole = self._tables.get(id)
        if whole is not None:
            return whole.frame
        return self._keep(self._frames, id, _KEPT_FRAMES, lambda: self._read_frames([id])[id])

    def marked_frame(self, id: str) -> TableFrame:
        """The table without the rows of its body that are not groups; which of them are totals and notes is known."""
        frame = self.frame(id)
        kinds: dict[str, set[int]] = defaultdict(set)
        query = with_values(read_shipped("queries/marked-rows.rq"), [(self._graph(id),)])
        for found in select(self._store, query):
            kinds[found["kind"].value.rpartition("#")[2]].add(int(found["number"].value))
        known = {"groups": frame.table.structure.groups}  # which the query does not ask for
        structure = replace(frame.table.structure, **(rows_by_class(kinds) | known))
        return self._with_contained(replace(frame, table=replace(frame.table, structure=structure)))

    def row(self, id: str, row: int) -> TableRow | None:
        """One row of the grid, or None if the table has none there."""
        return self.rows(id, [row]).get(row)

    def rows(self, id: str, rows: Iterable[int]) -> dict[int, TableRow]:
        """The rows of the grid that the table has among these, by number."""
        wanted = list(rows)
        found = self.fetch({id: wanted})
        return {row: known for row in wanted if (known := found.get((id, row))) is not None}

    def fetch(self, wanted: Mapping[str, Collection[int]]) -> dict[tuple[str, int], TableRow | None]:
        """Read the frames of these tables and the given rows in one batch, except those that are known.

        Returns all the rows, however many of them are kept for later calls.
        """
        with self._lock:
            missing = [id for id in wanted if id not in self._tables and id not in self._frames]
            for id, frame in self._read_frames(missing).items():
                self._keep(self._frames, id, _KEPT_FRAMES, lambda frame=frame: frame)  # type: ignore[misc]
            found: dict[tuple[str, int], TableRow | None] = {}
            for id, rows in wanted.items():
                if (whole := self._tables.get(id)) is not None:
                    found |= {(id, row): whole.rows[row] for row in rows if 0 <= row < len(whole.rows)}
                else:
                    found |= {(id, row): self._rows[id, row] for row in rows if (id, row) in self._rows}
            new = [(id, row) for id, rows in wanted.items() if id not in self._tables for row in rows]
            read = self._read_rows(place for place in new if place not in found)
            for place, row in read.items():
                self._keep(self._rows, place, _KEPT_ROWS, lambda row=row: row)  # type: ignore[misc]
            return found | read

    def cell_iri(self, id: str, row: int, column: int) -> str:
        """The IRI that a cell is cited by: its own node, or that of its row where it is a mere literal."""
        found = self.row(id, row)
        is_node = found is not None and column in found.contents and found.contents[column].is_node
        return self.names.cell_iri(id, row, column) if is_node else self.names.row_iri(id, row)

    def statements(self, id: str, iri: str) -> list[tuple[str, ObjectTerm]]:
        """The statements of a table's graph about a row or a cell: predicates (IRIs) and objects, sorted."""
        found = [
            (triple.predicate.value, triple.object)
            for _, triple in self._describe([(self._graph(id), iri)])
            if not isinstance(triple.object, ox.Triple)
        ]
        return sorted(found, key=lambda pair: (pair[0], str(pair[1])))

    def cells(self, cells: Sequence[tuple[CellAddress, str | None]]) -> list[FoundCell | None]:
        """The cells at these addresses, None if the graph holds none.

        Each is given with its column's predicate (a full IRI), None for a cell above the body.
        """
        return list(chain.from_iterable(map(self._cells, _parts(cells))))

    def queries_for(self, cells: Iterable[CellAddress]) -> list[str]:
        """Queries that show the rows of these cells."""
        rows = dict.fromkeys((self._graph(id), self.names.row_iri(id, row)) for id, row, _ in cells)
        return [_described(part) for part in _parts(rows)]

    def _keep(self, kept: OrderedDict[_Key, _Found], key: _Key, most: int, read: Callable[[], _Found]) -> _Found:
        with self._lock:
            if key in kept:
                kept.move_to_end(key)
                return kept[key]
            found = kept[key] = read()
            if len(kept) > most:
                kept.popitem(last=False)
            return found

    def _statements(self, id: str) -> TableStatements:
        if self._is_large(id):
            frame = self.frame(id)
            structure = frame.table.structure
            end = structure.body_start + frame.body_rows + len(structure.groups)
            return self._parts_of(id, range(structure.body_start, end))
        return TableStatements(id, self.names, self._store.graph(self.names.table_iri(id)))

    def _is_large(self, id: str) -> bool:
        """Whether a table is read in pages of rows."""
        if not self.by_pages:
            return False
        frame = self.frame(id)
        return frame.body_rows * frame.table.grid.width > CELLS_AT_ONCE

    def _parts_of(self, id: str, rows: Iterable[int]) -> TableStatements:
        """The statements of a table's graph about the body's surroundings and these rows of it, page by page."""
        triples = [triple for _, triple in self._framed([(self._graph(id),)])]
        known = {triple.subject.value for triple in triples if isinstance(triple.subject, ox.NamedNode)}
        prefix = f"{self.names.table_iri(id)}/cell/"
        iris = ((self._graph(id), self.names.row_iri(id, row)) for row in rows)
        for part in _parts(subject for subject in iris if subject[1] not in known):
            found = [triple for _, triple in self._describe(part)]
            objects = dict.fromkeys(triple.object for triple in found if isinstance(triple.object, ox.NamedNode))
            cells = ((self._graph(id), node.value) for node in objects if node.value.startswith(prefix))
            triples += [*found, *(triple for _, triple in self._describe(cells))]
        return TableStatements(id, self.names, triples)

    def _read_whole(self, id: str) -> DecodedTable:
        whole = self._statements(id).whole()
        rows = tuple(self._called(id, index, row) or row for index, row in enumerate(whole.rows))
        return replace(whole, frame=self._with_contained(whole.frame), rows=rows)

    def _called(self, id: str, index: int, row: TableRow | None) -> TableRow | None:
        """A row; a total if it contains others according to another table."""
        if row is None or index not in self._contained.get(self.names.table_iri(id), ()):
            return row
        return replace(row, kinds=row.kinds | {"TotalRow"})

    def _graph(self, id: str) -> str:
        return str(ox.NamedNode(self.names.table_iri(id)))

    def _read_frames(self, ids: Iterable[str]) -> dict[str, TableFrame]:
        found: dict[str, TableFrame] = {}
        for part in _parts(ids, _KEPT):
            graphs = ((self._graph(id),) for id in part)
            triples: dict[str, list[ox.Triple]] = defaultdict(list)
            for table, triple in self._framed(graphs):
                triples[table].append(triple)
            for id in part:
                found[id] = TableStatements(id, self.names, triples.get(self.names.table_iri(id), ())).frame()
        return found

    def _framed(self, graphs: Iterable[tuple[str]]) -> list[tuple[str, ox.Triple]]:
        """What surrounds the bodies of some tables; the same query finds the rows that contain others."""
        framed, contained = [], []
        for table, triple in self._triples(with_values(read_shipped("queries/frames.rq"), graphs)):
            if triple.predicate.value == CONTAINS_ROW:
                contained.append((triple.subject, triple.object))
            else:
                framed.append((table, triple))
        if self._known_contained is None:
            self._known_contained = _contained_rows(contained)
        return framed

    def _read_rows(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], TableRow | None]:
        found: dict[tuple[str, int], TableRow | None] = {}
        body: list[tuple[str, int]] = []
        frames: dict[str, TableFrame] = {}
        for id, row in places:
            frame = frames.get(id) or frames.setdefault(id, self.frame(id))
            if row >= frame.table.structure.body_start:
                body.append((id, row))
            elif row >= 0:
                found[id, row] = _above_the_body(frame, row)
        rows = {(self._graph(id), self.names.row_iri(id, row)): (id, row) for id, row in body}
        said: dict[str, list[ox.Triple]] = defaultdict(list)
        cells: dict[_Subject, None] = {}
        for table, triple in self._describe(rows):
            said[table].append(triple)
            if isinstance(triple.object, ox.NamedNode) and triple.object.value.startswith(f"{table}/cell/"):
                cells[f"<{table}>", triple.object.value] = None
        for table, triple in self._describe(cells):
            said[table].append(triple)
        statements = {
            id: TableStatements(id, self.names, said[iri], frames[id])
            for id in {id for id, _ in body}
            if (iri := self.names.table_iri(id)) in said
        }
        for id, row in body:
            found[id, row] = self._called(id, row, statements[id].row(row)) if id in statements else None
        return found

    def _describe(self, subjects: Iterable[_Subject]) -> Iterator[tuple[str, ox.Triple]]:
        for part in _parts(subjects):
            yield from self._triples(_described(part))

    def _triples(self, query: str) -> Iterator[tuple[str, ox.Triple]]:
        for found in select(self._store, query):
            yield found[0].value, ox.Triple(found[1], found[2], found[3])

    def _cells(self, cells: Sequence[tuple[CellAddress, str | None]]) -> list[FoundCell | None]:
        """Reads the rows of the cells, then the statements about headings and about cells that are not plain text."""
        tables = {id: self.names.table_iri(id) for id in {at.table: None for at, _ in cells}}
        graphs = {id: str(ox.NamedNode(iri)) for id, iri in tables.items()}
        rows = [(graphs[id], f"{tables[id]}/row/{row}") for (id, row, _), _ in cells]
        iris = [(graphs[id], f"{tables[id]}/cell/{row}/{column}") for (id, row, column), _ in cells]
        predicates = [predicate for _, predicate in cells]
        body = self._said(
            (row for row, predicate in zip(rows, predicates, strict=True) if predicate is not None),
            (LABEL, GROUP, *dict.fromkeys(filter(None, predicates))),
        )
        held = [
            None if predicate is None else body[row].get(predicate)
            for row, predicate in zip(rows, predicates, strict=True)
        ]
        headings = {row: (row[0], _iri(said.get(GROUP))) for row, said in body.items()}
        telling = (cell for cell, found in zip(iris, held, strict=True) if not is_plain_text(found))
        more = self._said((*telling, *filter(itemgetter(1), headings.values())), (LABEL, *OF_CELLS))
        labels = {
            row: (_text(said.get(LABEL)) or "", _text(more.get(headings[row], {}).get(LABEL)))
            for row, said in body.items()
        }
        read: list[FoundCell | None] = []
        for row, cell, predicate, found in zip(rows, iris, predicates, held, strict=True):
            about = {name: [term] for name, term in more.get(cell, {}).items()}
            if predicate is None:
                text = _text(about[TEXT][0]) if TEXT in about else None
                read.append(None if text is None else FoundCell("", None, CellContent(text, is_node=True)))
            else:
                read.append(None if found is None else FoundCell(*labels[row], cell_content(found, about)))
        return read

    def _said(self, subjects: Iterable[_Subject], predicates: Sequence[str]) -> dict[_Subject, _Said]:
        """What each subject says by these predicates (the last, where it says several things by one)."""
        said: dict[_Subject, _Said] = {subject: {} for subject in subjects}
        if not said:
            return said
        query = read_shipped("queries/retrieved.rq")
        # Numbers are sent as texts, which results say in fewer bytes.
        query = with_values(query, ((f'"{n}"', str(ox.NamedNode(iri))) for n, iri in enumerate(predicates)))
        query = with_values(query, ((f'"{n}"', graph, f"<{iri}>") for n, (graph, iri) in enumerate(said)))
        by_number = list(said.values())
        for solution in select(self._store, query):
            by_number[int(solution[0].value)][predicates[int(solution[1].value)]] = solution[2]
        return said


def _contained_rows(pairs: Iterable[tuple[Any, Any]]) -> _Contained:
    found: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, member in pairs:
        table, _, number = row.value.rpartition("/row/")
        found[table][int(number)].append(int(member.value.rpartition("/")[2]))
    return {table: {row: tuple(sorted(rows[row])) for row in sorted(rows)} for table, rows in found.items()}


def _cells_of(table: DecodedTable) -> int:
    return len(table.rows) * table.table.grid.width


def _parts(items: Iterable[_Item], size: int | None = None) -> Iterator[Sequence[_Item]]:
    iterator = iter(items)
    while part := tuple(islice(iterator, size or AT_ONCE)):
        yield part


def _described(subjects: Iterable[_Subject]) -> str:
    rows = ((graph, str(ox.NamedNode(iri))) for graph, iri in subjects)
    return with_values(read_shipped("queries/described.rq"), rows)


def _above_the_body(frame: TableFrame, row: int) -> TableRow | None:
    head = frame.table.grid.head
    if row >= len(head):
        return None
    structure = frame.table.structure
    kinds = {"HeaderRow" if row in structure.header else "TitleRow"}
    if row in structure.unit_rows:
        kinds.add("UnitRow")
    contents = {column: CellContent(text, is_node=True) for column, text in enumerate(head[row]) if text}
    return TableRow(head[row], contents=contents, kinds=frozenset(kinds))


def _text(term: ObjectTerm | None) -> str | None:
    return text_of(term) if isinstance(term, ox.Literal) else None


def _iri(term: ObjectTerm | None) -> str:
    return term.value if isinstance(term, ox.NamedNode) else ""
