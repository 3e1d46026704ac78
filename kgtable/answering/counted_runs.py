"""Programs that count or add up rows of a long table in another engine, without reading the table.

The engine gives the value, how many rows each condition leaves, and the first cells of each column that the program
reads; kgtable compiles against a bounded part of the table (`TableSample`), and tells by the cells so found what the
result is cited with. All of it is what reading the whole columns would give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgtable.answering.program_answers import COUNTED_CELLS, MOST_CITATIONS
from kgtable.errors import ProgramCompilationError, ProgramError, UnknownColumnError
from kgtable.graph.table_sample import MOST_SPECIAL, TableSample
from kgtable.graph.table_source import TableReader
from kgtable.ontology.annotate import AnnotatedTable
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    ColumnRef,
    Filter,
    Lookup,
    Node,
    Program,
    Rows,
    TableRows,
    walk,
)
from kgtable.programs.compiled.to_sparql import SparqlQuery, compile_rows, compile_sparql
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.long_table import long_relation
from kgtable.programs.realize import realize
from kgtable.programs.relation import SAMPLED, MemberKind, Relation, SampleOf
from kgtable.programs.types import check
from kgtable.tables.model import HEAD_ROWS

FIRST_ROWS = HEAD_ROWS + 200
"""First rows that are read, to know how the columns of a table are typed."""

_TYPED_ROWS = 4 * SAMPLED + MOST_SPECIAL
"""First rows that are read where too few of `FIRST_ROWS` have a cell in some column that is used."""

_EXTREMES = (AggregateFunction.MIN, AggregateFunction.MAX)


@dataclass(frozen=True)
class CountedRun:
    """A program that was compiled against a part of its table.

    `result` is the program over that part, whose first cells are those of the whole; `calculation` and `cells_read` are
    those of the whole.
    """

    query: SparqlQuery
    result: ProgramResult
    calculation: str
    cells_read: int


def counted_run(program: Program, sample: TableSample, reader: TableReader) -> CountedRun | None:
    """Compile a program, and find what it reads, by queries that count.

    None for a program or a table that needs more than these tell: other programs than one aggregate over the rows
    that conditions leave of one table; columns of numbers of several units, or of more different texts than a query
    can list. Raises `UnknownColumnError`, and what the store's queries raise.
    """
    root = program.root
    if not isinstance(root, Aggregate) or not _is_countable(root) or sample.special_rows is None:
        return None
    try:
        return _Counting(root, sample, reader).run(program)
    except UnknownColumnError:
        raise
    except ProgramError:
        return None  # reading the columns tells whether it is one


class _Counting:
    """One aggregate over the rows that filters leave of a table of which a part is known."""

    def __init__(self, root: Aggregate, sample: TableSample, reader: TableReader) -> None:
        self._root, self._sample, self._reader = root, sample, reader
        self._table = next(node for node in walk(root) if isinstance(node, TableRows)).tables[0]
        self._whole = SampleOf(sample.size)

    def run(self, program: Program) -> CountedRun:
        headers = long_relation(self._sample.frame, self._sample.source(0, ()), sample=self._whole)
        label = headers.label_column()
        named = dict.fromkeys(
            label if node.name == "@label" else headers.resolve(_real(node))
            for node in walk(self._root)
            if isinstance(node, ColumnRef)
        )
        columns = list(named if self._root.argument is not None else {label: None, **named})
        relation = self._sampled(named, columns)
        relations = {self._table: relation}
        check(program, relations)
        stored = {self._table: self._reader.beginning(self._table)}
        query = compile_sparql(program, relations, self._reader.names, stored)
        sizes, filled = self._counts(columns, relations, stored)
        cited = self._cited(columns, relations, stored)
        result = run(program, {self._table: self._sampled(named, columns, cited)})
        words = realize(program, sizes=sizes)
        return CountedRun(query, result, words, min(filled, COUNTED_CELLS))

    def _sampled(self, named: Iterable[int], columns: Sequence[int], more: Sequence[int] = ()) -> Relation:
        """The part of the table that shows what the named columns hold; of the others nothing but cells is asked."""
        rows = set(more)
        unlisted = set(columns)
        for column in named:
            sketch = self._sample.sketch(column)
            if sketch is None:
                raise ProgramCompilationError("A part of the table does not tell what a column holds.")
            rows.update(sketch.rows)
            if not sketch.has_numbers:
                unlisted.discard(column)
        return self._relation(columns, sorted(rows), replace(self._whole, unlisted=frozenset(unlisted)))

    def _relation(self, columns: Sequence[int], more: Sequence[int], known: SampleOf) -> Relation:
        """The first rows and some more, as many first ones as the types of the columns are decided by."""
        frame = self._sample.frame
        blank = self._sample.blank_rows
        start, first = frame.structure.body_start, FIRST_ROWS
        while True:
            found = long_relation(frame, self._sample.source(first, more), blank, known)
            enough = all(_is_typed(found, column, start + first) for column in columns)
            if enough or first >= min(known.size, _TYPED_ROWS):
                return found
            first = min(2 * first, _TYPED_ROWS)

    def _counts(
        self,
        columns: Sequence[int],
        relations: Mapping[str, Relation],
        stored: Mapping[str, AnnotatedTable],
    ) -> tuple[dict[Node, int], int]:
        """How many rows each relation of the program has, and how many cells the last one has in these columns."""
        sizes: dict[Node, int] = {}
        cells = 0
        node = self._root.rows
        while isinstance(node, Rows):
            wanted = columns if node is self._root.rows else ()
            pattern = compile_rows(node, relations, self._reader.names, stored, columns=wanted)
            cell = {column: f"?readCell{column}" for column in wanted}
            counts = ["(COUNT(*) AS ?readRows)"]
            counts += [f"(COUNT({name}) AS {name}s)" for name in cell.values()]
            inner = [
                f"OPTIONAL {{ GRAPH {pattern.graph} {{ {pattern.row} {pattern.predicates[column]} {name} }} }}"
                for column, name in cell.items()
            ]
            query = pattern.query(f"SELECT {' '.join(counts)} WHERE {{", inner, [], self._reader.names)
            found = next(self._sample.numbers(query))
            sizes[node] = found[0]
            cells += sum(found[1:])
            node = node.source if isinstance(node, Filter) else None
        return sizes, cells

    def _cited(
        self,
        columns: Sequence[int],
        relations: Mapping[str, Relation],
        stored: Mapping[str, AnnotatedTable],
    ) -> list[int]:
        """The rows of the first cells that the program reads in each of its columns."""
        assert self._root.rows is not None
        names = self._reader.names
        found: list[int] = []
        for column in columns:
            pattern = compile_rows(self._root.rows, relations, names, stored, columns=[column])
            cell = f"GRAPH {pattern.graph} {{ {pattern.row} {pattern.predicates[column]} ?readCell }}"
            tail = [f"ORDER BY {pattern.place}", f"LIMIT {MOST_CITATIONS}"]
            query = pattern.query(f"SELECT {pattern.place} WHERE {{", [cell], tail, names)
            found += (row for row, *_ in self._sample.numbers(query))
        if self._root.function in _EXTREMES:
            pattern = compile_rows(self._root.rows, relations, names, stored, key=self._root.argument)
            order = "DESC" if self._root.function is AggregateFunction.MAX else "ASC"
            tail = [f"ORDER BY {order}({pattern.key}) {pattern.place}", f"LIMIT {MOST_CITATIONS}"]
            query = pattern.query(f"SELECT {pattern.place} WHERE {{", [], tail, names)
            found += (row for row, *_ in self._sample.numbers(query))
        return found


def _is_countable(root: Aggregate) -> bool:
    """Whether a program is one aggregate over the rows that conditions leave of one table."""
    nodes = list(walk(root))
    tables = [node for node in nodes if isinstance(node, TableRows)]
    relations = [node for node in nodes if isinstance(node, Rows)]
    return (
        len(tables) == 1
        and len(tables[0].tables) == 1
        and all(isinstance(node, TableRows | Filter) for node in relations)
        and not any(isinstance(node, Aggregate | Lookup) and node is not root for node in nodes)
    )


def _real(node: ColumnRef) -> str | int:
    """The name of a column of the table. Raises `ProgramCompilationError` for a pseudo column."""
    if isinstance(node.name, str) and node.name.startswith("@"):
        raise ProgramCompilationError(f"A part of the table does not tell {node.name}.")
    return node.name


def _is_typed(relation: Relation, column: int, end: int) -> bool:
    """Whether the rows before `end` are as many as decide on the type of a column."""
    rows = (
        row
        for row, (kind, text) in enumerate(zip(relation.kinds.tolist(), relation.texts(column), strict=True))
        if kind <= MemberKind.AGGREGATE and text.strip() and relation.place(row)[1] < end
    )
    return sum(1 for _ in rows) >= SAMPLED
