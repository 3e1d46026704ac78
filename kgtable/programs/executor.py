"""Runs programs over relations in memory, keeping which cells each result rests on.

`run` checks a program and executes it. Relations are carried as row numbers into their tables, so a
filter over a million rows copies none of them; see `frames` for these, `column_math` for the work on columns and
`provenance` for the cells read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz, process

from kgtable.errors import EvaluationError, ProgramError, ProgramTypeError
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Convert,
    Expression,
    Filter,
    GroupBy,
    IsMissing,
    Join,
    Limit,
    Lookup,
    Membership,
    Neighbours,
    Node,
    Not,
    Or,
    Program,
    Project,
    Relator,
    Rows,
    SetOperation,
    SetOperator,
    Sort,
    TableRows,
    Unnest,
    Unpivot,
    ValueKind,
    place_of,
)
from kgtable.programs.column_math import (
    BareNumber,
    Mask,
    Vector,
    aggregate,
    aggregate_groups,
    calculate_vectors,
    combine_keys,
    compare_vectors,
    counted,
    extreme_rows,
    keys,
    map_values,
    ranks,
    shared_keys,
)
from kgtable.programs.dimensions import comparable, convert, describe
from kgtable.programs.frames import (
    Frame,
    GroupContext,
    Sight,
    column_of,
    concatenated,
    grouped_rows,
    known_values,
    look,
    shifted,
    with_role,
)
from kgtable.programs.provenance import CellRead, CellRole, Origin, Read, RowGroups, RowTrace
from kgtable.programs.realize import realize
from kgtable.programs.relation import ColumnData, Indices, Relation, distinct
from kgtable.programs.scalars import (
    SCALES,
    Datum,
    apply,
    items,
    key_of,
    normal,
    quantity,
    text_of,
    time_datum,
    time_in,
    time_span,
    truth,
)
from kgtable.programs.types import (
    SURE,
    BoundTable,
    Scope,
    SourceColumn,
    Type,
    bind,
    check,
    columns_of,
    computed,
    joined,
    names_of,
)
from kgtable.tables.model import MeasureKind, Role, spreadsheet_reference
from kgtable.values.decimals import scaled

MOST_ROWS = 5_000_000
"""How many rows a join or a list may give."""

FIRST_CELLS = 20
"""How many cells a result shows unless asked for more."""


@dataclass(frozen=True)
class ProgramResult:
    """Result of a program.

    `names` and `rows` are the columns and rows of a relation; of an expression they are one row with
    one value, or none if the value is missing. `ordered` says that the order of the rows was asked
    for. `derivation` says in words how it was computed. `left_out` are cells with a text that an aggregate could not
    use (unreadable numbers, ranges, bounds such as "<0.1"): table, grid row, column and text; the first ones.
    """

    program: Program
    names: tuple[str, ...]
    columns: tuple[ColumnData, ...]
    ordered: bool
    is_value: bool
    derivation: str
    left_out: tuple[tuple[str, int, int, str], ...]
    _trace: RowTrace = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    @property
    def value(self) -> Datum | None:
        """The value of an expression, or the only value of a relation of one row and column."""
        return self.columns[0][0] if len(self) == 1 and len(self.columns) == 1 else None

    @property
    def values(self) -> list[Datum | None]:
        """The first column."""
        return [self.columns[0][row] for row in range(len(self))] if self.columns else []

    @property
    def empty(self) -> bool:
        """Whether there is no row, or nothing but missing values."""
        return all((column.codes < 0).all() for column in self.columns)

    def rows(self) -> Iterator[tuple[Datum | None, ...]]:
        """The rows, each a value for each column; None is missing."""
        for row in range(len(self)):
            yield tuple(column[row] for column in self.columns)

    def cells(self) -> Iterator[CellRead]:
        """Every cell that the result rests on, once, with its role; never a blank one."""
        return self._trace.cells()

    def citations(self, most: int = FIRST_CELLS) -> tuple[list[CellRead], bool]:
        """The first cells, and whether these are all."""
        found = list(islice(self.cells(), most + 1))
        return found[:most], len(found) <= most


def run(program: Program, relations: Mapping[str, Relation]) -> ProgramResult:
    """Check a program and execute it over relations by table id.

    Raises the errors of `check`, and `EvaluationError` for a division by zero, a lookup with several
    answers, or more rows than can be handled.
    """
    check(program, relations)
    executor = Executor(relations)
    try:
        return _run(program, executor)
    except ProgramError as error:
        if not error.path and executor.failed is not None:
            error.path = place_of(program.root, executor.failed)
        raise


def _run(program: Program, executor: Executor) -> ProgramResult:
    root = program.root
    if isinstance(root, Rows):
        frame = executor.rows(root)
        names = tuple(name for name, _ in columns_of(frame.scope))
        columns = frame.columns()
        trace = RowTrace(((frame.trace, np.arange(frame.size)),), frame.reads_of_all())
        ordered = frame.ordered
    else:
        sight = Sight()
        value = executor.expression(root, None, sight)
        assert not isinstance(value, ColumnData)
        names = ("value",)
        plain = None if value is None else Datum(*value)
        columns = (ColumnData.of([plain]),)
        trace = sight.trace(None, CellRole.COMPARED if isinstance(root, Compare) else CellRole.SELECTED)
        ordered = False
    words = realize(program, sizes=executor.sizes)
    left_out = tuple(dict.fromkeys(executor.left_out))
    if left_out:
        named = (f"{spreadsheet_reference(row, column)} {text!r}" for _, row, column, text in left_out[:MOST_NAMED])
        words += f"; left out: {', '.join(named)}{' …' if len(left_out) > MOST_NAMED else ''}"
    words += "".join(f"; {column} once for each {key}" for column, key in executor.once.items())
    return ProgramResult(program, names, columns, ordered, isinstance(root, Expression), words, left_out, trace)


def places_of(node: Rows, relations: Mapping[str, Relation]) -> Indices:
    """The places of the rows of the (first) table that a relation keeps, without checking it.

    The compilers ask for it: which cells are left decides on the unit that a column has.
    """
    return distinct(Executor(relations).rows(node).places[0]).astype(np.int64)


class Executor:
    """Executes the nodes of programs over relations, by id."""

    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self.left_out: list[tuple[str, int, int, str]] = []
        self.once: dict[str, str] = {}
        """Columns whose values are added once for each value of another."""
        self._relations = relations
        self.sizes: dict[Node, int] = {}
        self.failed: Node | None = None
        """The innermost node whose execution failed."""
        self._parts: dict[tuple[str, ...], BoundTable] = {}

    # Relations

    def rows(self, node: Rows) -> Frame:
        """Execute a relation."""
        try:
            frame = self._rows(node)
        except ProgramError:
            self.failed = self.failed or node
            raise
        self.sizes[node] = frame.size
        return frame

    def _rows(self, node: Rows) -> Frame:
        match node:
            case TableRows():
                return self._table(node)
            case Filter(source, condition):
                frame = self.rows(source)
                sight = Sight()
                rows = np.flatnonzero(self._condition(condition, frame, sight)).astype(np.int64)
                reads = sight.taken(CellRole.CONDITION, rows)
                return frame.take(rows, RowTrace(((frame.trace, rows), *sight.others()), reads))
            case Join():
                return self._join(node)
            case SetOperation(operator, left, right):
                return self._combine(operator, self.rows(left), self.rows(right))
            case GroupBy():
                return self._group(node)
            case Sort():
                return self._sort(node)
            case Limit():
                return self._limit(node)
            case Neighbours(source, condition, offset):
                frame = self.rows(source)
                sight = Sight()
                found = np.flatnonzero(self._condition(condition, frame, sight)).astype(np.int64)
                rows = found + offset
                kept = (rows >= 0) & (rows < frame.size)
                rows, first = np.unique(rows[kept], return_index=True)
                reads = sight.taken(CellRole.CONDITION, found[kept][first])
                return frame.take(rows, RowTrace(((frame.trace, rows), *sight.others()), reads))
            case Project():
                return self._project(node)
            case Unpivot():
                return self._unpivot(node)
            case Unnest():
                return self._unnest(node)
        raise ProgramTypeError(f"{type(node).__name__} is not a relation.")

    def _table(self, node: TableRows) -> Frame:
        if node.tables not in self._parts:
            self._parts[node.tables] = bind(node, self._relations)
        bound = BoundTable(node.name, self._parts[node.tables].relation, node.choice)
        rows = bound.relation.select(node.choice)
        return Frame(Scope((bound,)), len(rows), (rows,), (), RowTrace())

    def _join(self, node: Join) -> Frame:
        left, right = self.rows(node.left), self.rows(node.right)
        first, second = Sight(), Sight()
        pairs = []
        for pair in node.on:
            a = column_of(self.expression(pair.left, left, first), left.size)
            b = column_of(self.expression(pair.right, right, second), right.size)
            pairs.append(_joined_keys(a, b, node.similarity))
        both = [np.concatenate(pair) for pair in pairs]
        numbers, _ = combine_keys(both, left.size + right.size)
        known = np.all([column >= 0 for column in both], axis=0)
        a_keys = np.where(known[: left.size], numbers[: left.size], -1)
        b_keys = np.where(known[left.size :], numbers[left.size :], -2)
        order = np.argsort(b_keys, kind="stable")
        sorted_keys = b_keys[order]
        low = np.searchsorted(sorted_keys, a_keys, "left")
        counts = np.searchsorted(sorted_keys, a_keys, "right") - low
        total = int(counts.sum())
        if total > MOST_ROWS:
            raise EvaluationError(f"The join gives more than {MOST_ROWS} rows.")
        a_rows = np.repeat(np.arange(left.size), counts)
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        b_rows = order[np.repeat(low, counts) + within].astype(np.int64)
        trace = RowTrace(
            ((left.trace, a_rows), (right.trace, b_rows), *first.others(), *second.others()),
            first.taken(CellRole.KEY, a_rows) + second.taken(CellRole.KEY, b_rows),
        )
        a_frame, b_frame = left.take(a_rows), right.take(b_rows)
        return Frame(
            joined(left.scope, right.scope),
            total,
            a_frame.places + b_frame.places,
            a_frame.computed + b_frame.computed,
            trace,
        )

    def _combine(self, operator: SetOperator, left: Frame, right: Frame) -> Frame:
        pairs = list(zip(left.columns(), right.columns(), strict=True))
        size = left.size + right.size
        numbers, first = combine_keys([np.concatenate(shared_keys(a, b)) for a, b in pairs], size)
        columns = [concatenated(a, b) for a, b in pairs]
        sources = RowTrace(
            (
                (left.trace, np.concatenate([np.arange(left.size), np.full(right.size, -1)])),
                (right.trace, np.concatenate([np.full(left.size, -1), np.arange(right.size)])),
            ),
            shifted(left.reads_of_all(), 0, right.size) + shifted(right.reads_of_all(), left.size, 0),
        )
        if operator is SetOperator.UNION_ALL:
            rows = np.arange(size)
            groups: Origin = rows
        else:
            in_left = np.isin(np.arange(len(first)), numbers[: left.size])
            in_right = np.isin(np.arange(len(first)), numbers[left.size :])
            chosen = {
                SetOperator.UNION: in_left | in_right,
                SetOperator.INTERSECT: in_left & in_right,
                SetOperator.EXCEPT: in_left & ~in_right,
            }[operator]
            rows = first[chosen]
            groups = grouped_rows(numbers, np.flatnonzero(chosen))
        found = tuple(column.take(rows) for column in columns)
        return Frame(computed(left.scope), len(rows), (), found, RowTrace(((sources, groups),)))

    def _group(self, node: GroupBy) -> Frame:
        frame = self.rows(node.source)
        sight = Sight()
        key_columns = [column_of(self.expression(key.expression, frame, sight), frame.size) for key in node.keys]
        if key_columns:
            numbers, first = combine_keys([keys(column) for column in key_columns], frame.size)
        else:
            numbers, first = np.zeros(frame.size, dtype=np.int64), np.zeros(1, dtype=np.int64)
        groups = grouped_rows(numbers, np.arange(len(first)))
        found = [column.take(first) for column in key_columns]
        inner = Sight()
        context = GroupContext(frame, groups, inner)
        for measure in node.measures:
            value = self.expression(measure.expression, frame, inner, context)
            found.append(column_of(value, len(first)))
        below = RowTrace(
            ((frame.trace, np.arange(frame.size)), *sight.others(), *inner.others()),
            (*with_role(inner.reads, CellRole.SELECTED), *with_role(sight.reads, CellRole.KEY)),
        )
        scope = Scope((), names_of((*node.keys, *node.measures)), tuple(Type(None) for _ in found))
        return Frame(scope, len(first), (), tuple(found), RowTrace(((below, groups),)))

    def _sort(self, node: Sort) -> Frame:
        frame = self.rows(node.source)
        sight = Sight()
        ranked = []
        for key in node.keys:
            inner = Sight()
            column = column_of(self.expression(key.expression, frame, inner), frame.size)
            if 2 * sum(value.kind is ValueKind.TEXT for value in column.values) <= len(column.values):
                self._note_left_out(column, inner)
            sight.reads += inner.reads
            sight.traces += inner.traces
            found = ranks(column)
            largest = int(found.max(initial=0)) + 1
            ranked.append(np.where(found < 0, largest, largest - 1 - found if key.descending else found))
            ranked[-1] = np.where(found < 0, np.iinfo(np.int64).max, ranked[-1])
        rows = np.lexsort(tuple(reversed(ranked))).astype(np.int64)
        compared = sight.fixed(CellRole.COMPARED)
        reads = sight.taken(CellRole.SELECTED, rows) if len(rows) < 2 else ()
        taken = frame.take(rows, RowTrace(((frame.trace, rows), *sight.others()), (*reads, *compared)))
        taken.ordered, taken.order = True, tuple(rank[rows] for rank in ranked)
        return taken

    def _limit(self, node: Limit) -> Frame:
        frame = self.rows(node.source)
        rows = np.arange(frame.size)
        if frame.order:
            rows = rows[frame.order[0] != np.iinfo(np.int64).max]
        kept = rows[node.offset : node.offset + node.count]
        if node.ties and len(kept):
            last = kept[-1]
            same = np.all([rank[rows] == rank[last] for rank in frame.order], axis=0)
            kept = np.union1d(kept, rows[same & (rows > last)])
        taken = frame.take(kept.astype(np.int64))
        taken.order = tuple(rank[kept] for rank in frame.order)
        return taken

    def _project(self, node: Project) -> Frame:
        frame = self.rows(node.source)
        sight = Sight()
        columns = tuple(
            column_of(self.expression(output.expression, frame, sight), frame.size) for output in node.columns
        )
        scope = Scope((), names_of(node.columns), tuple(Type(None) for _ in columns))
        trace = RowTrace(
            ((frame.trace, np.arange(frame.size)), *sight.others()), with_role(sight.reads, CellRole.SELECTED)
        )
        projected = Frame(scope, frame.size, (), columns, trace, frame.ordered, frame.order)
        if not node.distinct:
            return projected
        numbers, first = combine_keys([keys(column) for column in columns], frame.size)
        groups = grouped_rows(numbers, np.arange(len(first)))
        return projected.take(first, RowTrace(((trace, groups),)))

    def _unpivot(self, node: Unpivot) -> Frame:
        frame = self.rows(node.source)
        places = [frame.scope.resolve(ref) for ref in node.columns]
        found = [place for place in places if isinstance(place, SourceColumn) and isinstance(place.column, int)]
        if len(found) < len(places):
            raise ProgramTypeError("Only columns of a table can be unpivoted.")
        width = len(found)
        rows = np.repeat(np.arange(frame.size), width)
        headings = []
        for place in found:
            relation = frame.scope.sources[place.source].relation
            name = relation.columns[int(place.column)].name
            span = time_in(name)
            headings.append(time_datum(span, name) if span else Datum(ValueKind.TEXT, name, text=name))
        columns = [frame.column(place) for place in found]
        values = [column[row] for row in range(frame.size) for column in columns]
        source = found[0].source
        indices = np.tile(np.array([int(place.column) for place in found], dtype=np.int64), frame.size)
        reads = tuple(
            Read(frame.scope.sources[source].relation, indices, frame.places[source][rows], header=header)
            for header in (False, True)
        )
        taken = frame.take(rows, RowTrace(((frame.trace, rows),), reads))
        taken.scope = Scope(
            frame.scope.sources,
            (node.name, node.value, *frame.scope.names),
            (Type(None), Type(None), *frame.scope.types),
        )
        taken.computed = (ColumnData.of(headings * frame.size), ColumnData.of(values), *taken.computed)
        return taken

    def _unnest(self, node: Unnest) -> Frame:
        frame = self.rows(node.source)
        sight = Sight()
        column = column_of(self.expression(node.column, frame, sight), frame.size)
        lists = [() if (value := column[row]) is None else items(text_of(value)) for row in range(frame.size)]
        rows = np.repeat(np.arange(frame.size), [len(found) for found in lists])
        reads = sight.taken(CellRole.SELECTED, rows)
        taken = frame.take(rows, RowTrace(((frame.trace, rows), *sight.others()), reads))
        taken.scope = Scope(
            frame.scope.sources, (node.name, *frame.scope.names), (Type(ValueKind.TEXT), *frame.scope.types)
        )
        members = (Datum(ValueKind.TEXT, item, text=item) for found in lists for item in found)
        taken.computed = (ColumnData.of(members), *taken.computed)
        return taken

    # Expressions

    def expression(
        self, node: Expression, frame: Frame | None, sight: Sight, group: GroupContext | None = None
    ) -> Vector:
        """The value of an expression for each row of a frame, or one value."""
        try:
            return self._expression(node, frame, sight, group)
        except ProgramError:
            self.failed = self.failed or node
            raise

    def _expression(self, node: Expression, frame: Frame | None, sight: Sight, group: GroupContext | None) -> Vector:
        match node:
            case ColumnRef():
                if group is not None:
                    raise ProgramTypeError(
                        f"The column {node.name!r} has many values in a group.",
                        hint="Make it a key, or take its first value.",
                    )
                if frame is None:
                    raise ProgramTypeError(f"The column {node.name!r} stands outside of any rows.")
                return look(node, frame, sight)
            case Constant():
                return constant_datum(node)
            case Arithmetic(operator, left, right):
                return calculate_vectors(
                    operator, self.expression(left, frame, sight, group), self.expression(right, frame, sight, group)
                )
            case Apply(function, operand, index):
                value = self.expression(operand, frame, sight, group)
                return _mapped(value, lambda found: apply(function, found, index))
            case Convert(operand, unit):
                return _mapped(self.expression(operand, frame, sight, group), lambda found: _converted(found, unit))
            case Lookup():
                return self._lookup(node, sight)
            case Aggregate():
                return self._aggregate(node, sight, group)
            case _:
                return self._truth(node, frame, sight, group)

    def _truth(self, node: Expression, frame: Frame | None, sight: Sight, group: GroupContext | None) -> Vector:
        holds, fails = self._masks(node, frame, sight, group)
        if frame is None:
            return truth(True) if holds[0] else truth(False) if fails[0] else None
        codes = np.where(holds, 0, np.where(fails, 1, -1)).astype(np.int32)
        return ColumnData(codes, [truth(True), truth(False)])

    def _condition(self, node: Expression, frame: Frame, sight: Sight) -> Mask:
        return self._masks(node, frame, sight, None)[0]

    def _masks(
        self, node: Expression, frame: Frame | None, sight: Sight, group: GroupContext | None
    ) -> tuple[Mask, Mask]:
        """For each row whether a condition holds, and whether its negation does."""
        size = 1 if frame is None else frame.size if group is None else group.size
        match node:
            case And(conditions) | Or(conditions):
                pairs = [self._masks(part, frame, sight, group) for part in conditions]
                every = np.logical_and.reduce([pair[isinstance(node, Or)] for pair in pairs])
                some = np.logical_or.reduce([pair[isinstance(node, And)] for pair in pairs])
                return (every, some) if isinstance(node, And) else (some, every)
            case Not(inner):
                holds, fails = self._masks(inner, frame, sight, group)
                return fails, holds
            case Compare(relator, left, right):
                return compare_vectors(
                    relator,
                    self.expression(left, frame, sight, group),
                    self.expression(right, frame, sight, group),
                    size,
                )
            case Membership(operand, choices):
                value = self.expression(operand, frame, sight, group)
                if isinstance(choices, Rows):
                    return self._member(value, choices, sight, size)
                pairs = [
                    compare_vectors(Relator.EQUAL, value, self.expression(choice, frame, sight, group), size)
                    for choice in choices
                ]
                return (
                    np.logical_or.reduce([np.zeros(size, dtype=np.bool_), *(pair[0] for pair in pairs)]),
                    np.logical_and.reduce([known_values(value, size), *(pair[1] for pair in pairs)]),
                )
            case IsMissing(operand):
                known = known_values(self.expression(operand, frame, sight, group), size)
                return ~known, known
        value = self.expression(node, frame, sight, group)
        if isinstance(value, ColumnData):
            yes = _mapped(value, lambda found: found if found.value is True else None)
            no = _mapped(value, lambda found: found if found.value is False else None)
            return known_values(yes, size), known_values(no, size)
        return np.full(size, value is not None and value.value is True), np.full(
            size, value is not None and value.value is False
        )

    def _member(self, value: Vector, choices: Rows, sight: Sight, size: int) -> tuple[Mask, Mask]:
        """Whether values are in the first column of a relation, whose rows count as compared."""
        inner = self.rows(choices)
        column = inner.columns()[0]
        reads = inner.reads_of_all()[:1] if not inner.computed else ()
        sight.traces.append(RowTrace(((inner.trace, None),), with_role(list(reads), CellRole.COMPARED)))
        known = known_values(value, size)
        mine, theirs = shared_keys(column_of(value, size), column)
        found = np.isin(mine, theirs[theirs >= 0]) & known
        return found, known & ~found

    def _lookup(self, node: Lookup, sight: Sight) -> Datum | None:
        frame = self.rows(node.rows)
        inner = Sight()
        column = column_of(self.expression(node.value, frame, inner), frame.size)
        sight.traces.append(inner.trace(frame, CellRole.SELECTED, np.arange(frame.size)))
        found = {key_of(column.values[code]): column.values[code] for code in column.used()}
        if len(found) > 1:
            shown = ", ".join(text_of(value) for value in list(found.values())[:4])
            raise EvaluationError(
                f"{frame.size} rows match, with different values: {shown}{', …' if len(found) > 4 else ''}.",
                hint="Narrow the rows down to one.",
            )
        return next(iter(found.values()), None)

    def _aggregate(self, node: Aggregate, sight: Sight, group: GroupContext | None) -> Vector:
        if node.rows is None:
            if group is None:
                raise ProgramTypeError("The aggregate has no rows: it is not in a group.")
            return self._of_groups(node, group)
        frame = self.rows(node.rows)
        inner = Sight()
        every = np.arange(frame.size)
        bounds = np.array([0, frame.size], dtype=np.int64)
        if node.argument is None:
            for source, places in zip(frame.scope.sources, frame.places, strict=True):
                inner.reads.append(Read(source.relation, source.relation.label_column(), places))
            sight.traces.append(inner.trace(frame, CellRole.SELECTED, every))
            return quantity(frame.size, "NUM")
        column = column_of(self.expression(node.argument, frame, inner), frame.size)
        if node.function in _OF_NUMBERS:
            self._note_left_out(column, inner)
        if node.function is AggregateFunction.SUM:
            _check_added(inner)
        every, bounds = self._once(node, column, inner, RowGroups(every, bounds))
        if node.function in (AggregateFunction.MIN, AggregateFunction.MAX):
            best = extreme_rows(node.function, column, every)
            selected = RowTrace(((frame.trace, best),), inner.taken(CellRole.SELECTED, best))
            sight.traces.append(selected)
            sight.traces.append(inner.trace(frame, CellRole.COMPARED, every))
        elif node.function is AggregateFunction.FIRST:
            sight.traces.append(RowTrace(((frame.trace, every[:1]),), inner.taken(CellRole.SELECTED, every[:1])))
        else:
            sight.traces.append(inner.trace(frame, CellRole.SELECTED, every))
        return aggregate(node.function, column, every, bounds, _name(node.argument))[0]

    def _note_left_out(self, column: ColumnData, sight: Sight) -> None:
        """Note the cells with a text or an error such as ``#REF!``, among those that an aggregate of numbers reads."""
        texts = [value.kind is ValueKind.TEXT for value in column.values]
        if len(sight.reads) != 1 or (texts and all(texts)):
            return
        (read,) = sight.reads
        if isinstance(read.columns, int) and len(read.rows) == len(column):
            unlike = np.array([*texts, True], dtype=np.bool_)[column.codes] & (read.rows >= 0)
            for row in read.rows[unlike][:MOST_UNREAD].tolist():
                text = read.relation.text(row, read.columns)
                known = read.relation.data(read.columns).codes[row] >= 0
                if (known or text.startswith("#")) and len(self.left_out) <= MOST_NAMED:
                    self.left_out.append((*read.relation.position(row, read.columns), text))

    def _of_groups(self, node: Aggregate, group: GroupContext) -> ColumnData:
        frame, groups = group.frame, group.groups
        if node.argument is None:
            return counted(np.diff(groups.starts))
        own = Sight()
        column = column_of(self.expression(node.argument, frame, own), frame.size)
        group.sight.reads += own.reads
        group.sight.traces += own.traces
        rows, starts = self._once(node, column, own, groups)
        return aggregate_groups(node.function, column, rows, starts, _name(node.argument))

    def _once(
        self, node: Aggregate, column: ColumnData, sight: Sight, groups: RowGroups
    ) -> tuple[Indices, npt.NDArray[np.int64]]:
        """The rows of each group, without those that repeat a measure of one key value; see `Meaning.grain`."""
        if node.function not in _OF_NUMBERS or not isinstance(node.argument, ColumnRef) or len(sight.reads) != 1:
            return groups.rows, groups.starts
        (read,) = sight.reads
        relation, place = read.relation, read.columns
        grain = relation.columns[place].meaning.grain if isinstance(place, int) and not read.header else None
        if grain is None or len(read.rows) != len(column):
            return groups.rows, groups.starts
        group = np.repeat(np.arange(len(groups.starts) - 1), np.diff(groups.starts))
        keys = relation.data(grain).codes[read.rows]
        told = np.stack([group, keys[groups.rows], column.codes[groups.rows]])
        first = np.sort(np.unique(told, axis=1, return_index=True)[1])
        first = np.union1d(first, np.flatnonzero(told[1] < 0))
        if len(first) < len(groups.rows):
            self.once[relation.columns[place].name] = relation.columns[grain].name
        return groups.rows[first], np.searchsorted(first, groups.starts)


_OF_NUMBERS = (AggregateFunction.SUM, AggregateFunction.MEAN, AggregateFunction.MEDIAN)
MOST_UNREAD = 1_000
"""Maximum cells without a number that are searched for an error."""
MOST_NAMED = 8
"""Cells left out that a derivation names."""


def _check_added(sight: Sight) -> None:
    """Raise `ProgramTypeError` if a sum adds levels of several times, or rows that are different measures."""
    for read in sight.reads:
        if not isinstance(read.columns, int) or read.header:
            continue
        relation, meaning = read.relation, read.relation.columns[read.columns].meaning
        name, rows = relation.columns[read.columns].name, read.rows[read.rows >= 0]
        if meaning.kind is MeasureKind.LEVEL and meaning.confidence >= SURE and relation.observed_at is not None:
            times = relation.data(relation.observed_at).codes[rows]
            if len(distinct(times[times >= 0])) > 1:
                raise ProgramTypeError(
                    f"The column {name!r} holds levels at different times, which do not add up.",
                    hint="Take the last one, or their average.",
                )
        if meaning.kind is None and meaning.role is Role.MEASURE:
            known = relation.tables[0].structure.measures
            kinds = {known.get(relation.place(int(row))[1]) for row in rows[:MOST_CHECKED].tolist()}
            if len(kinds) > 1 or kinds == {MeasureKind.RATE}:
                raise ProgramTypeError(
                    f"The rows of the column {name!r} are different measures, or rates, which do not add up.",
                    hint="Name the rows that are to be added.",
                )


MOST_CHECKED = 5_000
"""Rows of a sum whose kinds are looked at."""


def constant_datum(node: Constant) -> Datum:
    """The value of a literal; a bare number as `BareNumber`."""
    value = node.value
    if isinstance(value, Decimal):
        if node.bare:
            return BareNumber(ValueKind.QUANTITY, value)
        number = scaled(value, SCALES.get(node.scale or "ONE", 0))
        unit = "SEC" if node.kind is ValueKind.DURATION else node.unit
        scale = None if node.scale == "ONE" else node.scale
        return Datum(node.kind, number, unit, scale)
    if isinstance(value, bool):
        return truth(value)
    if node.kind in (ValueKind.DATE, ValueKind.PERIOD):
        span = time_span(value)
        if span is None:
            raise ProgramTypeError(f"{value!r} is not a date or period.")
        return time_datum(span)
    return Datum(node.kind, value)


def _converted(value: Datum, unit: str) -> Datum:
    if value.number is None:
        raise ProgramTypeError(f"{text_of(value)!r} is not a quantity and cannot be converted.")
    if not comparable(value.unit, unit):
        raise ProgramTypeError(f"{describe(value.unit)} cannot be converted to {describe(unit)}.")
    scale = value.scale if value.unit == unit else None
    return Datum(ValueKind.QUANTITY, convert(value.number, value.unit, unit), unit, scale)


def _mapped(value: Vector, function: Callable[[Datum], Datum | None]) -> Vector:
    if value is None:
        return None
    if isinstance(value, ColumnData):
        return map_values(value, function)
    found = function(value)
    return BareNumber(*found) if found is not None and isinstance(value, BareNumber) else found


def _joined_keys(left: ColumnData, right: ColumnData, similarity: int) -> tuple[Indices, Indices]:
    """Keys in common; with a similarity, texts without an equal one get the key of the most similar."""
    mine, theirs = shared_keys(left, right)
    if not similarity:
        return mine, theirs
    there = {normal(text_of(right.values[code])): code for code in right.used()}
    key_there = {int(code): int(key) for code, key in zip(right.codes, theirs, strict=True)}
    table: dict[int, int] = {}
    for code in left.used():
        text = normal(text_of(left.values[code]))
        if text not in there:
            best = process.extractOne(text, list(there), scorer=fuzz.token_sort_ratio, score_cutoff=similarity)
            if best is not None:
                table[code] = key_there[there[best[0]]]
    found = [table.get(int(code), int(key)) for code, key in zip(left.codes, mine, strict=True)]
    return np.array(found, dtype=np.int64), theirs


def _name(argument: Expression) -> str:
    return str(argument.name) if isinstance(argument, ColumnRef) else ""
