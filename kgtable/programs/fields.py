"""The fields of a plain question: what is measured, how, by what, of which rows; programs made from them, and back.

Fields say what people ask of tables: one measure of one table, or of two joined by a key, for each value of some
columns. `Fields.program` writes the program, always filter, group, sort, limit, project; `fields_of` reads fields from
programs that rules, models and people wrote. `offered` says which values of each field have a meaning.

>>> asked = Fields(("orders",), FieldColumn("Amount"), How.SUM, by=(FieldColumn("Day", bucket=Bucket.MONTH),))
>>> fields_of(asked.program()) == asked
True
>>> address_of(asked)
'table=orders&how=sum&measure=Amount&by=%5B%7B%22column%22%3A%22Day%22%2C%22bucket%22%3A%22month%22%7D%5D'
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl, urlencode

import numpy as np

from kgtable.errors import ProgramError, ProgramSyntaxError
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
    Apply,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    Function,
    GroupBy,
    IsMissing,
    Join,
    KeyPair,
    Limit,
    Lookup,
    Membership,
    Named,
    Node,
    Not,
    Operator,
    Or,
    Program,
    Project,
    Relator,
    RowChoice,
    Rows,
    Sort,
    SortKey,
    TableRows,
    ValueKind,
)
from kgtable.programs.display import display
from kgtable.programs.realize import realize
from kgtable.programs.relation import Relation, RelationColumn
from kgtable.programs.scalars import Datum, TimeSpan, normal, text_of, time_span
from kgtable.programs.syntax import parse_program, program_to_json
from kgtable.programs.types import TIMES, check, names_of
from kgtable.tables.model import Meaning, MeasureKind, Role

MOST_KEYS, MOST_CONDITIONS, MOST_ASKED, MOST_VALUES = 4, 40, 200, 200
"""How many keys, conditions, columns to show, and values of a condition fields may have."""
MOST_GROUPS = 10_000
"""Number of distinct values from which a column is not offered for groups."""
LONGEST_ADDRESS = 16_000


class How(StrEnum):
    """Aggregates of the measure; without one, rows are counted. `SHARE` is the part of the whole in percent: of each
    group, or of the rows that the conditions keep."""

    VALUE = "value"
    LIST = "list"
    SUM = "sum"
    MEAN = "mean"
    MEDIAN = "median"
    MIN = "min"
    MAX = "max"
    COUNT = "count"
    DISTINCT = "distinct"
    SHARE = "share"


_AGGREGATES = {
    How.SUM: AggregateFunction.SUM,
    How.MEAN: AggregateFunction.MEAN,
    How.MEDIAN: AggregateFunction.MEDIAN,
    How.MIN: AggregateFunction.MIN,
    How.MAX: AggregateFunction.MAX,
    How.COUNT: AggregateFunction.COUNT,
    How.DISTINCT: AggregateFunction.COUNT_DISTINCT,
}
_HOWS = {function: how for how, function in _AGGREGATES.items()}


class Bucket(StrEnum):
    """The part of a date. `MONTH` is one of a year (2024-03), `SEASON` the month of any year, from 1."""

    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    SEASON = "season"
    WEEKDAY = "weekday"


BUCKETS = {
    Bucket.YEAR: Function.YEAR,
    Bucket.QUARTER: Function.YEAR_QUARTER,
    Bucket.MONTH: Function.YEAR_MONTH,
    Bucket.SEASON: Function.MONTH,
    Bucket.WEEKDAY: Function.WEEKDAY_NAME,
}
"""The date function of each bucket."""
_OF_FUNCTIONS: dict[Function | None, Bucket] = {function: bucket for bucket, function in BUCKETS.items()}


def bucket_of(function: Function | None) -> Bucket | None:
    """The bucket of a date function; None for another function."""
    return _OF_FUNCTIONS.get(function)


@dataclass(frozen=True, slots=True)
class FieldColumn:
    """A column by header or 0-based index, of the table with this id where two are joined, or a bucket of its dates."""

    name: str | int
    table: str = ""
    bucket: Bucket | None = None

    @property
    def expression(self) -> Expression:
        """The value of a row."""
        ref = ColumnRef(self.name, self.table)
        return ref if self.bucket is None else Apply(BUCKETS[self.bucket], ref)

    @property
    def sorted_by(self) -> Expression:
        """The sort key of the values: weekdays sort by their number."""
        if self.bucket is Bucket.WEEKDAY:
            return Apply(Function.WEEKDAY, ColumnRef(self.name, self.table))
        return self.expression

    @property
    def title(self) -> str:
        """Its name in a result."""
        name = f"column {self.name}" if isinstance(self.name, int) else self.name
        return name if self.bucket is None else f"{self.bucket} of {name}"


VALUE = FieldColumn("@value")
"""Name of a group's value, where it is shown or sorted by; no column of a table has this name."""


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """Rows whose column compares so with one of the values; with none of them for ``!=``.

    Without values, rows whose cell is blank. `negated` turns it round.
    """

    column: FieldColumn
    values: tuple[Constant, ...] = ()
    relator: Relator = Relator.EQUAL
    negated: bool = False

    @property
    def expression(self) -> Expression:
        """The condition in the algebra."""
        operand = self.column.expression
        if not self.values:
            found: Expression = IsMissing(operand)
        elif len(self.values) > 1 and self.relator is Relator.EQUAL:
            found = Membership(operand, self.values)
        else:
            parts = tuple(Compare(self.relator, operand, value) for value in self.values)
            several = And if self.relator is Relator.NOT_EQUAL else Or
            found = parts[0] if len(parts) == 1 else several(parts)
        return Not(found) if self.negated else found


@dataclass(frozen=True, slots=True)
class FieldOrder:
    """The order of rows or groups: by a column, or by `VALUE`."""

    by: FieldColumn
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Having:
    """Groups whose value compares so with a number."""

    value: Constant
    relator: Relator = Relator.EQUAL


@dataclass(frozen=True, slots=True)
class FieldJoin:
    """A second table, and the columns of the first and of this one that are equal."""

    table: str
    left: FieldColumn
    right: FieldColumn
    similarity: int = 0


@dataclass(frozen=True, slots=True)
class Fields:
    """A question as fields.

    `tables` are the ids of one table or of its parts, `measure` a column, or None if rows are counted. `by` are the
    keys of groups. `ask` are the columns shown: of rows for `How.LIST` (none: all), of groups the keys and `VALUE`
    (none: all). `order`, `first`, `skip` and `ties` choose groups, or rows if there are none; `distinct` shows equal
    rows once. Raises `ProgramSyntaxError` if fields contradict each other.
    """

    tables: tuple[str, ...]
    measure: FieldColumn | None = None
    how: How = How.COUNT
    by: tuple[FieldColumn, ...] = ()
    where: tuple[FieldCondition, ...] = ()
    ask: tuple[FieldColumn, ...] = ()
    order: FieldOrder | None = None
    first: int | None = None
    skip: int = 0
    ties: bool = False
    distinct: bool = False
    having: Having | None = None
    join: FieldJoin | None = None
    choice: RowChoice = RowChoice.MEMBERS

    def __post_init__(self) -> None:
        unmeasured = (How.LIST, How.COUNT, How.SHARE)
        faults = {
            "Name a table.": not self.tables,
            f"The {self.how} of what? Name a measure.": self.measure is None and self.how not in unmeasured,
            "A list has columns to ask for, not a measure.": self.measure is not None and self.how is How.LIST,
            f"Groups have a sum, count or other aggregate, not a {self.how}.": bool(self.by)
            and self.how in (How.VALUE, How.LIST),
            "'having' is a condition on groups: name a column in 'by'.": self.having is not None and not self.by,
            "Ties need an order.": self.ties and self.order is None,
            "Groups show their keys and the value.": bool(self.by) and bool({*self.ask} - {*self.by, VALUE}),
            "Groups are sorted by a key or by the value.": bool(self.by)
            and self.order is not None
            and self.order.by not in (*self.by, VALUE),
            "Only groups have a value to show or to sort by.": not self.by
            and VALUE in (*self.ask, *([self.order.by] if self.order else [])),
            "A key occurs twice in 'by'.": len(set(self.by)) < len(self.by),
        }
        fault = next((words for words, holds in faults.items() if holds), None)
        if fault is not None:
            raise ProgramSyntaxError(fault)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the keys and of the value in the result of groups, no two alike."""
        taken: dict[str, str] = {}
        told = (
            f"{self.how} of {self.measure.title}" if self.measure else ("share" if self.how is How.SHARE else "count")
        )
        for title in (*(key.title for key in self.by), told):
            name = title
            while normal(name) in taken or not name:
                name += " (2)"
            taken[normal(name)] = name
        return tuple(taken.values())

    def program(self) -> Program:
        """The program: filter, group, sort, limit, project."""
        rows = self._rows()
        if self.by:
            return Program(self._groups(rows))
        rows = self._limited(rows if self.order is None else self._sorted(rows))
        if self.how is How.VALUE and self.measure is not None:
            return Program(Lookup(rows, self.measure.expression))
        if self.how is How.LIST:
            asked = tuple(Named(column.expression, column.title if column.bucket else "") for column in self.ask)
            return Program(Project(rows, asked, self.distinct) if asked else rows)
        return Program(self._aggregate(rows, self._source()))

    def _source(self) -> Rows:
        rows: Rows = TableRows(self.tables, choice=self.choice)
        if self.join is not None:
            pair = KeyPair(self.join.left.expression, self.join.right.expression)
            rows = Join(rows, TableRows((self.join.table,)), (pair,), self.join.similarity)
        return rows

    def _rows(self) -> Rows:
        conditions = tuple(condition.expression for condition in self.where)
        if not conditions:
            return self._source()
        return Filter(self._source(), conditions[0] if len(conditions) == 1 else And(conditions))

    def _sorted(self, rows: Rows) -> Rows:
        assert self.order is not None
        return Sort(rows, (SortKey(self.order.by.sorted_by, self.order.descending),))

    def _limited(self, rows: Rows) -> Rows:
        return rows if self.first is None else Limit(rows, self.first, self.skip, self.ties)

    def _aggregate(self, rows: Rows | None, whole: Rows) -> Expression:
        argument = None if self.measure is None else self.measure.expression
        if self.how is How.SHARE:
            function = AggregateFunction.COUNT if argument is None else AggregateFunction.SUM
            return Arithmetic(Operator.SHARE, Aggregate(function, argument, rows), Aggregate(function, argument, whole))
        return Aggregate(_AGGREGATES[self.how], argument, rows)

    def _groups(self, rows: Rows) -> Rows:
        # Names of weekdays have no order of their own: the rows are put into theirs, and groups follow their rows.
        by_weekday = self.order is not None and self.order.by.bucket is Bucket.WEEKDAY
        keys = tuple(map(Named, (key.expression for key in self.by), self.names))
        told = Named(self._aggregate(None, rows), self.names[-1])
        found: Rows = GroupBy(self._sorted(rows) if by_weekday else rows, keys, (told,))
        if self.having is not None:
            found = Filter(found, Compare(self.having.relator, ColumnRef(self.names[-1]), self.having.value))
        if self.order is not None and not by_weekday:
            found = Sort(found, (SortKey(self._named(self.order.by), self.order.descending),))
        found = self._limited(found)
        shown = tuple(Named(self._named(column)) for column in self.ask)
        return Project(found, shown, self.distinct) if shown else found

    def _named(self, column: FieldColumn) -> ColumnRef:
        return ColumnRef(self.names[-1] if column == VALUE else self.names[self.by.index(column)])


_WORDS = {
    How.VALUE: "value", How.SUM: "sum", How.MEAN: "average", How.MEDIAN: "median", How.MIN: "lowest",
    How.MAX: "highest", How.COUNT: "number", How.DISTINCT: "number of different", How.SHARE: "share", How.LIST: "list",
}  # fmt: skip


def told_of(asked: Fields) -> dict[str, str]:
    """The fields that are set, in words, by the names that people know them by.

    >>> told_of(Fields(("orders",), FieldColumn("Amount"), How.SUM, (FieldColumn("Day", bucket=Bucket.YEAR),), first=3))
    {'Measure': 'Amount', 'How': 'sum', 'By': 'year of Day', 'First': '3'}
    """
    order = asked.order
    shown = ["the value" if column == VALUE else column.title for column in asked.ask]
    found = {
        "Measure": asked.measure.title if asked.measure else "" if asked.how is How.LIST else "rows",
        "How": _WORDS[asked.how],
        "By": ", ".join(key.title for key in asked.by),
        "Where": " and ".join(realize(Program(condition.expression)) for condition in asked.where),
        "Shown": ", ".join(shown),
        "Order": "" if order is None else
        f"{'value' if order.by == VALUE else order.by.title}, {'highest' if order.descending else 'lowest'} first",
        "First": "" if asked.first is None else f"{asked.first:,}" + (f" after {asked.skip:,}" if asked.skip else ""),
        "Having": "" if asked.having is None else
        realize(Program(Compare(asked.having.relator, ColumnRef("value"), asked.having.value))),
        "Joined": "" if asked.join is None else f"{asked.join.table} by {asked.join.left.title}",
        "Rows": "" if asked.choice is RowChoice.MEMBERS else "totals alone" if asked.choice is RowChoice.TOTALS else
        "totals included",
    }  # fmt: skip
    return {name: words for name, words in found.items() if words}


# Programs read as fields


class _UnsaidError(Exception):
    """Fields cannot express a program."""


def fields_of(program: Program) -> Fields | None:
    """The fields with the same result as a program; None if fields cannot express it, such as nested programs.

    Fields do not keep that the group of blank keys comes last.
    """
    try:
        return _read(program.root)
    except (_UnsaidError, ProgramSyntaxError):
        return None


def _read(root: Node) -> Fields:
    match root:
        case Lookup(rows, value):
            return _rows_read(rows, how=How.VALUE, measure=_column(value))
        case Aggregate(_, argument, Rows() as rows):
            return _rows_read(rows, how=_how(root), measure=None if argument is None else _column(argument))
        case Arithmetic(Operator.SHARE, Aggregate(_, argument, Rows() as rows), Aggregate(_, _, Rows() as whole)):
            found = _rows_read(rows, how=How.SHARE, measure=None if argument is None else _column(argument))
            return _same(found, root) if whole == _table_below(rows) else _unsaid()
        case Rows():
            group = _group_below(root)
            return _list_read(root) if group is None else _groups_read(root, group)
    _unsaid()


def _unsaid() -> NoReturn:
    raise _UnsaidError


def _same(found: Fields, root: Node) -> Fields:
    """Fields, if the program that they make is this one."""
    return found if found.program().root == root else _unsaid()


def _how(node: Aggregate) -> How:
    return _HOWS.get(node.function) or _unsaid()


def _column(node: Expression) -> FieldColumn:
    match node:
        case ColumnRef(name, table):
            return FieldColumn(name, table)
        case Apply(function, ColumnRef(name, table), 1) if function in _OF_FUNCTIONS:
            return FieldColumn(name, table, _OF_FUNCTIONS[function])
    _unsaid()


def _table_below(rows: Rows) -> Rows:
    while isinstance(rows, Filter | Sort | Limit):
        rows = rows.source
    return rows


def _group_below(rows: Rows) -> GroupBy | None:
    while isinstance(rows, Filter | Sort | Limit | Project):
        rows = rows.source
    return rows if isinstance(rows, GroupBy) else None


def _list_read(root: Rows) -> Fields:
    if not isinstance(root, Project):
        return _rows_read(root, how=How.LIST)
    return _rows_read(
        root.source, how=How.LIST, ask=tuple(_column(output.expression) for output in root.columns),
        distinct=root.distinct,
    )  # fmt: skip


def _rows_read(rows: Rows, **given: Any) -> Fields:
    """Fields of a table's rows: limit, sort and filters from the top down, each at most once but filters."""
    if isinstance(rows, Limit):
        given |= {"first": rows.count, "skip": rows.offset, "ties": rows.ties}
        rows = rows.source
    if isinstance(rows, Sort):
        given["order"] = FieldOrder(*_sort_key(rows))
        rows = rows.source
    conditions: tuple[FieldCondition, ...] = ()
    while isinstance(rows, Filter):
        conditions = (*_conditions(rows.condition), *conditions)
        rows = rows.source
    join = None
    if isinstance(rows, Join) and isinstance(rows.right, TableRows) and len(rows.on) == len(rows.right.tables) == 1:
        if rows.right.choice is not RowChoice.MEMBERS or rows.right.alias:
            _unsaid()
        pair = rows.on[0]
        join = FieldJoin(rows.right.tables[0], _column(pair.left), _column(pair.right), rows.similarity)
        rows = rows.left
    if not isinstance(rows, TableRows) or (join is not None and rows.alias):
        _unsaid()
    found = Fields(rows.tables, where=_merged(conditions), join=join, choice=rows.choice, **given)
    return found if join is not None else _of_one_table(found, {*rows.tables, rows.alias, ""})


def _sort_key(rows: Sort) -> tuple[FieldColumn, bool]:
    if len(rows.keys) > 1:
        _unsaid()
    match rows.keys[0].expression:
        case Apply(Function.WEEKDAY, ColumnRef(name, table), 1):
            return FieldColumn(name, table, Bucket.WEEKDAY), rows.keys[0].descending
        case Apply(Function.WEEKDAY_NAME):
            _unsaid()
    return _column(rows.keys[0].expression), rows.keys[0].descending


def _of_one_table(found: Fields, names: set[str]) -> Fields:
    """Fields whose columns do not say again which table they are of."""

    def plain(part: Any) -> Any:
        if isinstance(part, FieldColumn):
            return replace(part, table="") if part.table in names else _unsaid()
        if isinstance(part, tuple):
            return tuple(map(plain, part))
        if isinstance(part, FieldCondition):
            return replace(part, column=plain(part.column))
        return replace(part, by=plain(part.by)) if isinstance(part, FieldOrder) else part

    return replace(found, **{field.name: plain(getattr(found, field.name)) for field in fields(found)})


def _conditions(node: Expression) -> tuple[FieldCondition, ...]:
    match node:
        case And(parts):
            return tuple(found for part in parts for found in _conditions(part))
        case Or(parts):
            return (_either([_conditions(part) for part in parts]),)
        case Not(inner):
            found = _conditions(inner)
            return (replace(found[0], negated=not found[0].negated),) if len(found) == 1 else _unsaid()
        case Compare(relator, operand, Constant() as value):
            return (FieldCondition(_column(operand), (value,), relator),)
        case Membership(operand, tuple() as values) if values and all(isinstance(one, Constant) for one in values):
            return (FieldCondition(_column(operand), values),)
        case IsMissing(operand):
            return (FieldCondition(_column(operand)),)
    _unsaid()


def _either(parts: Sequence[tuple[FieldCondition, ...]]) -> FieldCondition:
    found = [part[0] for part in parts if len(part) == 1 and part[0].values and not part[0].negated]
    alike = {(part.column, part.relator) for part in found}
    if len(found) < len(parts) or len(alike) > 1 or found[0].relator is Relator.NOT_EQUAL:
        _unsaid()
    return replace(found[0], values=tuple(value for part in found for value in part.values))


def _merged(conditions: Sequence[FieldCondition]) -> tuple[FieldCondition, ...]:
    """Conditions, with the values that one column shall not have side by side."""
    found: list[FieldCondition] = []
    for one in conditions:
        before = found[-1] if found else None
        apart = (
            before is not None and before.relator is one.relator is Relator.NOT_EQUAL and before.column == one.column
        )
        if before is not None and apart and not before.negated and not one.negated:
            found[-1] = replace(before, values=before.values + one.values)
        else:
            found.append(one)
    return tuple(found)


def _groups_read(root: Rows, group: GroupBy) -> Fields:
    if len(group.measures) != 1:
        _unsaid()
    names = list(map(normal, names_of((*group.keys, *group.measures))))
    below = _rows_read(group.source)
    keys = tuple(_column(key.expression) for key in group.keys)
    if below.join is None:
        keys = tuple(replace(key, table="") for key in keys)
    places = (*keys, VALUE)

    def named(node: Expression) -> FieldColumn:
        if not isinstance(node, ColumnRef):
            _unsaid()
        wanted = normal(node.name) if isinstance(node.name, str) else ""
        place = names.index(wanted) if wanted in names else node.name
        return places[place] if isinstance(place, int) and place < len(places) else _unsaid()

    found: dict[str, Any] = {"by": keys, "order": below.order}
    if below.first is not None or (below.order is not None and below.order.by not in keys):
        _unsaid()
    rows = root
    if isinstance(rows, Project):
        found |= {"ask": tuple(named(output.expression) for output in rows.columns), "distinct": rows.distinct}
        rows = rows.source
    if isinstance(rows, Limit):
        found |= {"first": rows.count, "skip": rows.offset, "ties": rows.ties}
        rows = rows.source
    if isinstance(rows, Sort):
        told = [key for key in rows.keys if not isinstance(key.expression, IsMissing)]
        if len(told) > 1 or (told and below.order is not None):
            _unsaid()
        if told:
            found["order"] = FieldOrder(named(told[0].expression), told[0].descending)
        rows = rows.source
    match rows:
        case Filter(GroupBy() as inner, Compare(relator, value, Constant() as limit)) if named(value) == VALUE:
            found["having"], rows = Having(limit, relator), inner
    if rows is not group:
        _unsaid()
    return _told_of(replace(below, order=None), group, found)


def _told_of(below: Fields, group: GroupBy, found: dict[str, Any]) -> Fields:
    match group.measures[0].expression:
        case Aggregate(_, argument, None) as told:
            how = _how(told)
        case Arithmetic(Operator.SHARE, Aggregate(function, argument, None), Aggregate(other, whole, Rows() as rows)):
            how = How.SHARE
            source = group.source.source if isinstance(group.source, Sort) else group.source
            if (function, argument, rows) != (other, whole, source):
                _unsaid()
        case _:
            _unsaid()
    measure = None if argument is None else _column(argument)
    if measure is not None and below.join is None:
        measure = replace(measure, table="")
    return replace(below, measure=measure, how=how, **found)


# Fields as JSON and as the query of an address

_Made = TypeVar("_Made")


def fields_to_json(asked: Fields) -> dict[str, Any]:
    """Fields as plain data, without defaults; `parse_fields` reads it back."""
    found: dict[str, Any] = {"table": asked.tables[0]} if len(asked.tables) == 1 else {"tables": list(asked.tables)}
    found["how"] = asked.how.value
    for name in _FIELDS:
        value = getattr(asked, name)
        if value not in (None, (), False, 0, RowChoice.MEMBERS) and name not in found:
            found[name] = plain_data(value)
    return found


_FIELDS = ("measure", "by", "where", "ask", "order", "first", "skip", "ties", "distinct", "having", "join", "choice")


def plain_data(part: Any) -> Any:
    """A part of fields as plain data."""
    if isinstance(part, tuple):
        return [plain_data(item) for item in part]
    if isinstance(part, FieldColumn):
        more = {"table": part.table} if part.table else {}
        more |= {"bucket": part.bucket.value} if part.bucket else {}
        return {"column": part.name, **more} if more else part.name
    if isinstance(part, Constant):
        plain = part.kind is ValueKind.TEXT and part.unit is None and part.scale is None
        return part.value if plain else program_to_json(Program(part))
    if isinstance(part, FieldCondition | FieldOrder | Having | FieldJoin):
        default = {"relator": Relator.EQUAL, "negated": False, "values": (), "descending": False, "similarity": 0}
        named = ((field.name, getattr(part, field.name)) for field in fields(part))
        return {name: plain_data(value) for name, value in named if default.get(name, part) != value}
    return part.value if isinstance(part, StrEnum) else part


def parse_fields(data: object) -> Fields:
    """Fields from JSON text or decoded JSON. Raises `ProgramSyntaxError` with the place as `path`."""
    if isinstance(data, str):
        if len(data) > LONGEST_ADDRESS:
            raise ProgramSyntaxError(f"The fields are longer than {LONGEST_ADDRESS:,} characters.")
        data = _decoded(data, "root")
    given = _object(data, ("table", "tables", "how", *_FIELDS), "root")
    tables = given.pop("tables", [given.pop("table", None)])
    read: dict[str, Callable[[Any, str], Any]] = {
        "measure": _column_of, "how": _member(How), "by": _several(_column_of, MOST_KEYS),
        "where": _several(_condition_of, MOST_CONDITIONS), "ask": _several(_column_of, MOST_ASKED),
        "order": lambda one, path: _part(one, path, FieldOrder, by=_column_of, descending=_truth),
        "having": lambda one, path: _part(one, path, Having, value=_constant_of, relator=_member(Relator)),
        "join": lambda one, path: _part(
            one, path, FieldJoin, table=_text, left=_column_of, right=_column_of, similarity=_whole(0, 100)
        ),
        "first": _whole(1, 10**6), "skip": _whole(0, 10**6), "ties": _truth, "distinct": _truth,
        "choice": _member(RowChoice),
    }  # fmt: skip
    found = {name: read[name](value, name) for name, value in given.items() if value is not None}
    return Fields(tables=_several(_text, 1000)(tables, "tables"), **found)


def address_of(asked: Fields) -> str:
    """Fields as the query of an address, each a parameter: texts as they are, everything else as JSON."""
    return urlencode({name: _in_address(value) for name, value in fields_to_json(asked).items()})


def fields_in(address: str | Mapping[str, str]) -> Fields:
    """Fields from the query of an address, or from its parameters. Raises `ProgramSyntaxError`."""
    if isinstance(address, str):
        pairs = parse_qsl(address[: LONGEST_ADDRESS + 1], keep_blank_values=True)
        address, text = dict(pairs), address
        if len(text) > LONGEST_ADDRESS or len(address) < len(pairs):
            raise ProgramSyntaxError("The address is too long, or names a field twice.")
    given = {name: _decoded(text, name) if _is_json(text) else text for name, text in address.items() if text}
    return parse_fields(given)


def _is_json(text: str) -> bool:
    return text[:1] in ("[", "{", '"', "-") or text[:1].isdecimal() or text in ("true", "false", "null")


def _in_address(value: Any) -> str:
    if isinstance(value, str) and not _is_json(value):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _decoded(text: str, path: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if text[:1].isdecimal() or text[:1] == "-":
            return text  # the id of a table may begin with a year
        raise ProgramSyntaxError(f"{text[:40]!r} is not JSON.", path=path) from None


def _object(data: object, known: Sequence[str], path: str) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise ProgramSyntaxError("An object is needed.", path=path)
    unknown = next((str(name) for name in data if name not in known), None)
    if unknown is not None:
        raise ProgramSyntaxError(f"There is no field {unknown[:40]!r}: there are {', '.join(known)}.", path=path)
    return dict(data)


def _part(data: object, path: str, made: Callable[..., _Made], **read: Callable[[Any, str], Any]) -> _Made:
    """A part of fields from an object, each of whose values is read by the reader of its name."""
    given = _object(data, tuple(read), path)
    try:
        return made(**{name: read[name](value, f"{path}.{name}") for name, value in given.items()})
    except TypeError:
        raise ProgramSyntaxError(f"It needs {', '.join(read)}.", path=path) from None


def _several(read: Callable[[Any, str], _Made], most: int) -> Callable[[Any, str], tuple[_Made, ...]]:
    def each(data: Any, path: str) -> tuple[_Made, ...]:
        if not isinstance(data, list | tuple) or len(data) > most:
            raise ProgramSyntaxError(f"A list of at most {most} is needed.", path=path)
        return tuple(read(item, f"{path}[{place}]") for place, item in enumerate(data))

    return each


def _column_of(data: Any, path: str) -> FieldColumn:
    given = dict(data) if isinstance(data, Mapping) else {"column": data}
    bucket = given.pop("bucket", None)
    ref = _leaf({"column": None, **given}, path)
    assert isinstance(ref, ColumnRef)
    return FieldColumn(ref.name, ref.table, None if bucket is None else _member(Bucket)(bucket, path))


def _condition_of(data: Any, path: str) -> FieldCondition:
    values = _several(_constant_of, MOST_VALUES)
    return _part(data, path, FieldCondition, column=_column_of, values=values, relator=_member(Relator), negated=_truth)


def _constant_of(data: Any, path: str) -> Constant:
    found = _leaf(data if isinstance(data, Mapping) else {"value": data}, path)
    return found if isinstance(found, Constant) else _needed("A value", path)


def _leaf(data: Mapping[str, Any], path: str) -> Node:
    """A column or a literal, as programs write them."""
    try:
        return parse_program(data).root
    except ProgramSyntaxError as error:
        error.path = path
        raise


def _member(kind: type[StrEnum]) -> Callable[[Any, str], Any]:
    known = [member.value for member in kind]
    return lambda data, path: kind(data) if data in known else _needed(f"One of {', '.join(known)}", path)


def _whole(least: int, most: int) -> Callable[[Any, str], int]:
    return lambda data, path: (
        data
        if isinstance(data, int) and not isinstance(data, bool) and least <= data <= most
        else _needed(f"A whole number from {least:,} to {most:,}", path)
    )


def _truth(data: Any, path: str) -> bool:
    return data if isinstance(data, bool) else _needed("true or false", path)


def _text(data: Any, path: str) -> str:
    return data if isinstance(data, str) and 0 < len(data) <= 2_000 else _needed("A text", path)


def _needed(what: str, path: str) -> NoReturn:
    raise ProgramSyntaxError(f"{what} is needed.", path=path)


# What is offered


@dataclass(frozen=True, slots=True)
class OfferedColumn:
    """A column that fields may name, and its possible uses.

    `hows` are those that it may have as a measure, given the other fields; `groups` and `buckets` say how it may group
    rows. `distinct` counts its different values; None if they are not read.
    """

    column: FieldColumn
    title: str
    kind: ValueKind
    unit: str | None
    distinct: int | None
    hows: tuple[How, ...]
    groups: bool
    buckets: tuple[Bucket, ...]


def offered(relations: Mapping[str, Relation], asked: Fields) -> tuple[OfferedColumn, ...]:
    """The columns of the tables of some fields, with the uses that the type checker accepts.

    Balances are not offered as sums over several times, nor columns of too many different values as groups. Raises the
    errors of `check` for a table that is not there.
    """
    ids = (asked.tables[0], *([asked.join.table] if asked.join else []))
    check(replace(asked, by=(), where=(), ask=(), order=None, having=None, measure=None, how=How.COUNT,
                  ties=False).program(), relations)  # fmt: skip
    return tuple(
        _offered(relations, column, FieldColumn(name_in(relations[id], column), id if asked.join else ""), asked)
        for id in ids
        for column in relations[id].columns
    )


def name_in(relation: Relation, column: RelationColumn) -> str | int:
    """The header of a column, or its index where the header does not lead to it."""
    try:
        named = bool(column.header) and column.header[0] != "@" and relation.resolve(column.header) == column.index
    except ProgramError:
        named = False
    return column.header if named else column.index


MOST_TYPED = 100_000
"""Maximum cells of a table whose columns are read in full; beyond that they are offered by their stored meaning."""


def _offered(
    relations: Mapping[str, Relation], column: RelationColumn, name: FieldColumn, asked: Fields
) -> OfferedColumn:
    relation = relations[name.table or asked.tables[0]]
    levels = _adds_times(relation, name, asked)
    if len(relation) * len(relation.columns) > MOST_TYPED:
        meaning = relation.tables[0].columns[relation.in_table(column.index)].meaning or _UNDECIDED
        hows = _by_role(meaning, levels)
        is_time = meaning.role is Role.TIME
        groups = meaning.role in (Role.CATEGORY, Role.FLAG, Role.LABEL, Role.TIME)
        kind = ValueKind.PERIOD if is_time else ValueKind.QUANTITY if meaning.role is Role.MEASURE else ValueKind.TEXT
        different, unit = None, None
    else:
        codes = relation.data(column.index).codes[relation.select(asked.choice)]
        counts = np.bincount(codes[codes >= 0], minlength=1)
        different, filled = int((counts > 0).sum()), int(counts.sum())
        repeated = different < filled or column.index == relation.label_column()
        groups = bool(filled) and repeated and different <= MOST_GROUPS
        kind, unit = column.kind, next(iter(column.units), None)
        is_time = kind in TIMES and different > 1
        hows = tuple(how for how in How if how is not How.LIST and _has_meaning(how, relations, kind, name, asked))
        hows = tuple(how for how in hows if not levels or how not in (How.SUM, How.SHARE))
    hows = tuple(how for how in hows if how is not How.VALUE or not asked.by)
    buckets = tuple(Bucket) if is_time else ()
    return OfferedColumn(name, column.name, kind, unit, different, hows, groups, buckets)


_UNDECIDED = Meaning(Role.TEXT)
_NAMES = (How.VALUE, How.COUNT, How.DISTINCT)
_ORDERED = (How.VALUE, How.MIN, How.MAX, How.COUNT, How.DISTINCT)


def _by_role(meaning: Meaning, levels: bool) -> tuple[How, ...]:
    """How a column of this meaning may be aggregated, if its cells are not read."""
    if meaning.role is not Role.MEASURE:
        return _ORDERED if meaning.role in (Role.TIME, Role.ORDINAL) else _NAMES
    unadded = levels or meaning.kind is MeasureKind.RATE
    return tuple(how for how in How if how is not How.LIST and not (unadded and how in (How.SUM, How.SHARE)))


def _has_meaning(
    how: How, relations: Mapping[str, Relation], kind: ValueKind, name: FieldColumn, asked: Fields
) -> bool:
    if how is How.VALUE:
        return True
    plain = replace(asked, measure=name, how=how, order=None, having=None, ask=(), ties=False, where=())
    try:
        check(plain.program(), relations)
    except ProgramError:
        return False
    return how not in (How.MIN, How.MAX) or kind is not ValueKind.TEXT


def _adds_times(relation: Relation, name: FieldColumn, asked: Fields) -> bool:
    """Whether a sum would add levels, such as balances, of several times: unless groups are of one time each."""
    column = relation.resolve(name.name)
    meaning = relation.tables[0].columns[relation.in_table(column)].meaning or _UNDECIDED
    if meaning.kind is not MeasureKind.LEVEL or relation.observed_at is None:
        return False
    time = name_in(relation, relation.columns[relation.observed_at])
    return not any(key.bucket is None and key.name == time for key in asked.by)


MOST_SEARCHED = 20_000


@dataclass(frozen=True, slots=True)
class OfferedValue:
    """A value of a column as a condition names it, as people read it, and the number of rows that have it."""

    value: Constant
    text: str
    rows: int


def values_of(relation: Relation, column: FieldColumn, most: int, find: str = "") -> list[OfferedValue]:
    """The values of a column that hold a text, the most frequent first, at most `most` of the most frequent 20,000.

    Raises `UnknownColumnError`.
    """
    data = relation.data(relation.resolve(column.name))
    codes = data.codes[relation.select(RowChoice.MEMBERS)]
    counts = np.bincount(codes[codes >= 0], minlength=1)
    listed = np.argsort(-counts, kind="stable")[: MOST_SEARCHED if find else 4 * most]
    found: dict[str, OfferedValue] = {}  # cells that print one value differently are listed once
    for code in listed[counts[listed] > 0].tolist():
        text = display(data.values[code])
        if normal(find) in normal(text):
            known = found.get(normal(text)) or OfferedValue(_constant(data.values[code]), text, 0)
            found[normal(text)] = replace(known, rows=known.rows + int(counts[code]))
    return sorted(found.values(), key=lambda one: -one.rows)[:most]


def _constant(datum: Datum) -> Constant:
    """The literal that a value equals."""
    value = datum.value
    if isinstance(value, Decimal):
        measured = datum.kind is ValueKind.QUANTITY
        return Constant(value, datum.kind, datum.unit if measured else None, "ONE" if measured else None)
    if isinstance(value, bool):
        return Constant(value, ValueKind.TRUTH)
    if isinstance(value, TimeSpan) and time_span(value.lexical) is not None:
        return Constant(value.lexical, datum.kind)
    return Constant(text_of(datum))
