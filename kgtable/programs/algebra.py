"""A small typed algebra over tables: relations (`Rows`) and expressions (`Expression`) as frozen trees.

A program is a tree of two sorts of nodes. *Relations* give rows: rows of a table, a filter, a join, a
grouping, … *Expressions* give one value: for each row of the relation around them, or, where they
contain no column, once. Aggregates and lookups turn a relation into an expression, membership tests
take a relation, so both sorts nest.

The meaning of a node (units, ties, blank cells) is documented in its class; `types` refuses programs without
meaning, `executor` runs them in memory, `syntax` reads and writes them as JSON, `realize` puts them
in words. Nodes are plain data: compare equal by content, hash, pickle, and hold no table.

Columns
    A `ColumnRef` names a column by its header (compared without case, space and footnote marks; the
    whole header path or its last level), or by its 0-based index in its table. Of joined tables,
    `table` says which. The pseudo columns begin with ``@``: ``@row`` is the place of the row among
    the rows of its table that take part, from 1; ``@group`` the heading above the row, ``@group1``,
    ``@group2``, … the heading of that level, the outermost first; ``@label`` the row's label;
    ``@table`` the id of its table.

Numbers
    A cell's number is its exact decimal in its unit, scale applied (``1.2`` in a column of millions
    is 1200000). A `Constant` without unit and scale is *bare*: next to a column, in a comparison, a
    sum or a difference, it is read as the column prints its numbers (``50`` is 50 million there); in
    a product, quotient or power it is a pure number.

Missing cells
    A comparison with a missing cell does not hold, nor does its negation by ``!=``; aggregates pass
    over missing cells; arithmetic with one is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

PSEUDO_COLUMNS = ("@row", "@group", "@label", "@table")
"""The names of the pseudo columns; ``@group1``, ``@group2``, … in addition to them."""


class ValueKind(StrEnum):
    """The type of a value. A year, quarter or other span is a period; an entity is named by an identifier."""

    QUANTITY = "quantity"
    DATE = "date"
    PERIOD = "period"
    DURATION = "duration"
    TEXT = "text"
    TRUTH = "truth"
    ENTITY = "entity"


class RowChoice(StrEnum):
    """Which rows of a table take part: its members; all that hold values, totals too; totals alone."""

    MEMBERS = "members"
    ALL = "all"
    TOTALS = "totals"


class Operator(StrEnum):
    """Arithmetic of two operands.

    `SHARE` is left / right in percent; `PERCENT_CHANGE` from left to right, (right - left) / left, in
    percent; `RATIO` left / right of comparable units, without a unit. The difference of two dates is
    a number of days, of two years one of years.
    """

    ADD = "add"
    SUBTRACT = "subtract"
    MULTIPLY = "multiply"
    DIVIDE = "divide"
    RATIO = "ratio"
    SHARE = "share"
    PERCENT_CHANGE = "percent_change"
    POWER = "power"


class Relator(StrEnum):
    """Comparison of two operands, giving truth.

    Equality of texts goes without case, doubled spaces and footnote marks. A date equals the period
    that it lies in, is less than one that begins after it. `CONTAINS`, `STARTS` and `ENDS` look for
    the right text in the left one.
    """

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    CONTAINS = "contains"
    STARTS = "starts"
    ENDS = "ends"


class AggregateFunction(StrEnum):
    """Function of an aggregate. `COUNT` counts values that are not missing, or rows without argument;
    `COUNT_DISTINCT` different values; `FIRST` takes that of the first row."""

    COUNT = "count"
    COUNT_DISTINCT = "count_distinct"
    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    MEDIAN = "median"
    FIRST = "first"


class Function(StrEnum):
    """A function of one value.

    `NEGATE` and `ABSOLUTE` keep the unit. `NUMBER` is the number in a text or the number that an
    identifier, year or rank is; `index` says which of several, from 1. `YEAR`, `MONTH` and `DAY` are
    parts of a date, `HOUR` of a time, as numbers; `YEAR_MONTH` and `YEAR_QUARTER` the period that a date lies in
    (``2024-03``, ``2024-Q1``); `WEEKDAY` its day of the week, 1 for Monday, `WEEKDAY_NAME` that day's name.
    `LENGTH` counts the characters of a text, `ITEMS` the members of a list printed in a cell, `ITEM` is the
    `index`-th of them; `START` and `END` are the ends of a range or period printed in a cell. `SPAN` is their
    difference. `MAIN` is the text before a bracket or line break, `ASIDE` the text in the first brackets or on the
    lines below. `TEXT` is the printed text.
    """

    NEGATE = "negate"
    ABSOLUTE = "absolute"
    NUMBER = "number"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    YEAR_MONTH = "year_month"
    YEAR_QUARTER = "year_quarter"
    WEEKDAY = "weekday"
    WEEKDAY_NAME = "weekday_name"
    LENGTH = "length"
    ITEMS = "items"
    ITEM = "item"
    START = "start"
    END = "end"
    SPAN = "span"
    MAIN = "main"
    ASIDE = "aside"
    TEXT = "text"


PARTS_OF_TIME = frozenset((Function.YEAR, Function.MONTH, Function.DAY, Function.HOUR, Function.WEEKDAY))
"""Functions that give a part of a date or time as a number."""
SPANS_OF_TIME = frozenset((Function.YEAR_MONTH, Function.YEAR_QUARTER))
"""Functions that give the period that a date lies in."""


class SetOperator(StrEnum):
    """Set operation on two relations of the same number of columns, column by column from the left.

    All but `UNION_ALL` give different rows only.
    """

    UNION = "union"
    UNION_ALL = "union_all"
    INTERSECT = "intersect"
    EXCEPT = "except"


class Rows:
    """A relation: rows with named columns. Base of all its operators."""

    __slots__ = ()


class Expression:
    """A value for each row around it, or one value where it has no column. Base of all its operators."""

    __slots__ = ()


Node: TypeAlias = Rows | Expression


# Expressions


@dataclass(frozen=True, slots=True)
class ColumnRef(Expression):
    """The cell of a row in a column: by header or 0-based index, of the table with this id or alias."""

    name: str | int
    table: str = ""


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A literal.

    `value` is a `Decimal` for a quantity or duration (in seconds), a truth value for `TRUTH`, else
    text; dates and periods as ``2024-03-05``, ``2024-03``, ``2024``, ``2024-Q3``, ``2010/2014``.
    `unit` is a QUDT local name, `scale` one of ``ONE T M B TN``; the value is as printed before the scale.
    """

    value: Decimal | str | bool
    kind: ValueKind = ValueKind.TEXT
    unit: str | None = None
    scale: str | None = None

    @property
    def bare(self) -> bool:
        """Whether it is a number that says neither unit nor scale."""
        return self.kind is ValueKind.QUANTITY and self.unit is None and self.scale is None


@dataclass(frozen=True, slots=True)
class Arithmetic(Expression):
    """Two operands and an operator; over columns it goes row by row."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Apply(Expression):
    """A function of one value; `index` as `Function` says."""

    function: Function
    operand: Expression
    index: int = 1


@dataclass(frozen=True, slots=True)
class Convert(Expression):
    """A quantity in another unit of the same kind, named by its QUDT local name."""

    operand: Expression
    unit: str


@dataclass(frozen=True, slots=True)
class Compare(Expression):
    """Whether two values compare so."""

    relator: Relator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Membership(Expression):
    """Whether a value is among others: listed ones, or those in the first column of a relation."""

    operand: Expression
    choices: tuple[Expression, ...] | Rows


@dataclass(frozen=True, slots=True)
class IsMissing(Expression):
    """Whether a cell is blank or holds a marker such as ``n/a``."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And(Expression):
    """Whether all conditions hold."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """Whether one of the conditions holds."""

    conditions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """Whether a condition does not hold."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Aggregate(Expression):
    """A function of many rows: of `rows`, or, where that is None, of the rows of the group around it.

    Without `argument`, a count counts rows. The aggregate of a relation is one value in any context.
    """

    function: AggregateFunction
    argument: Expression | None = None
    rows: Rows | None = None


@dataclass(frozen=True, slots=True)
class Lookup(Expression):
    """The value of an expression in the one row of a relation: one cell.

    Several rows are fine where they agree; else the program fails, which a `Limit` avoids. No row
    returns a missing value.
    """

    rows: Rows
    value: Expression


# Relations


@dataclass(frozen=True, slots=True)
class TableRows(Rows):
    """Rows of a table, or of several that are parts of one (equal headers), one after the other.

    `tables` are table ids, `alias` the name that column references use (else the first id).
    """

    tables: tuple[str, ...]
    alias: str = ""
    choice: RowChoice = RowChoice.MEMBERS

    @property
    def name(self) -> str:
        """What column references call it."""
        return self.alias or self.tables[0]


@dataclass(frozen=True, slots=True)
class Filter(Rows):
    """The rows for which a condition holds, in their order. Over a `GroupBy` it is SQL's HAVING."""

    source: Rows
    condition: Expression


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Equality of a join: an expression over the left relation and one over the right."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Join(Rows):
    """The pairs of rows whose keys are all equal, in the order of the left rows, then of the right.

    `similarity` (0 to 100) above 0 also joins texts that are at least so similar by rapidfuzz's
    ratio of sorted words, each left row with the most similar right ones.
    """

    left: Rows
    right: Rows
    on: tuple[KeyPair, ...]
    similarity: int = 0


@dataclass(frozen=True, slots=True)
class SetOperation(Rows):
    """Two relations combined by a set operator; column names are those of the left."""

    operator: SetOperator
    left: Rows
    right: Rows


@dataclass(frozen=True, slots=True)
class Named:
    """An output column of a relation: an expression and the name of the column."""

    expression: Expression
    name: str = ""


@dataclass(frozen=True, slots=True)
class GroupBy(Rows):
    """One row for each different combination of keys, in the order of their first rows.

    Its columns are the keys, then the measures: expressions over aggregates without `rows` of their own.
    Without keys it is one row, also of no rows.
    """

    source: Rows
    keys: tuple[Named, ...]
    measures: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class SortKey:
    """Sort order of rows: an expression, and whether the largest come first."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Sort(Rows):
    """The rows in the order of the keys; equal ones stay in their order, missing values come last."""

    source: Rows
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Limit(Rows):
    """The first `count` rows after `offset`; over a `Sort`, the extreme ones.

    With `ties`, which needs a `Sort` right below, also those equal to the last one by its keys. Rows
    whose first sort key is missing are not candidates.
    """

    source: Rows
    count: int = 1
    offset: int = 0
    ties: bool = False


@dataclass(frozen=True, slots=True)
class Neighbours(Rows):
    """The rows `offset` rows after (before, if negative) those for which the condition holds,
    in the order of the source: that of the table, or of a `Sort`."""

    source: Rows
    condition: Expression
    offset: int = 1


@dataclass(frozen=True, slots=True)
class Project(Rows):
    """Chosen columns or expressions of each row; `distinct` drops rows equal to an earlier one."""

    source: Rows
    columns: tuple[Named, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Unpivot(Rows):
    """One row for each row and each of some columns: the column's header and its cell.

    The source's columns stay; the header (a year or period where it is one) is the column `name`,
    the cell the column `value`. It asks in which year a row was highest.
    """

    source: Rows
    columns: tuple[ColumnRef, ...]
    name: str = "column"
    value: str = "value"


@dataclass(frozen=True, slots=True)
class Unnest(Rows):
    """One row for each member of the list that a cell prints (``a, b and c``), as the new column `name`."""

    source: Rows
    column: Expression
    name: str = "item"


@dataclass(frozen=True, slots=True)
class Program:
    """A relation or an expression without columns of its own, to be executed over tables."""

    root: Node


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below a node, in the order of its fields."""
    for field in fields(node):  # type: ignore[arg-type]
        yield from _nodes(getattr(node, field.name))


def walk(node: Node) -> Iterator[Node]:
    """A node and all nodes below it, parents first.

    >>> [type(part).__name__ for part in walk(Aggregate(AggregateFunction.COUNT, None, TableRows(("t",))))]
    ['Aggregate', 'TableRows']
    """
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))


def place_of(root: Node, wanted: Node) -> str:
    """The path of a node in a tree, as errors name it; "" where it is not there.

    >>> rows = TableRows(("t",))
    >>> place_of(Aggregate(AggregateFunction.COUNT, None, Limit(rows)), rows)
    'root.rows.source'
    """
    pending: list[tuple[str, object]] = [("root", root)]
    while pending:
        path, part = pending.pop()
        if part is wanted:
            return path
        if isinstance(part, tuple):
            pending.extend((f"{path}[{index}]", item) for index, item in enumerate(part))
        elif isinstance(part, Named | SortKey):
            pending.append((path, part.expression))
        elif isinstance(part, Rows | Expression | KeyPair):
            pending.extend((f"{path}.{field.name}", getattr(part, field.name)) for field in fields(part))  # type: ignore[arg-type]
    return ""


def tables_of(program: Program) -> tuple[str, ...]:
    """The ids of all tables that a program reads, each once, in the order of their first mention."""
    found: dict[str, None] = {}
    for node in walk(program.root):
        if isinstance(node, TableRows):
            found.update(dict.fromkeys(node.tables))
    return tuple(found)


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Rows | Expression):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif isinstance(value, Named | SortKey):
        yield value.expression
    elif isinstance(value, KeyPair):
        yield value.left
        yield value.right
