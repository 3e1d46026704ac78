"""Programs in words, for people who check an answer.

>>> from kgtable.programs.algebra import *
>>> paid = Filter(TableRows(("orders",)), Compare(Relator.EQUAL, ColumnRef("Status"), Constant("paid")))
>>> total = Aggregate(AggregateFunction.SUM, ColumnRef("Amount"), paid)
>>> realize(Program(total))
'sum of Amount where Status is "paid"'
>>> realize(Program(total), sizes={paid: 3})
'sum of Amount where Status is "paid", 3 rows'
>>> realize(Program(GroupBy(paid, (Named(ColumnRef("Client")),), (Named(Aggregate(AggregateFunction.COUNT)),))))
'number of rows by Client where Status is "paid"'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

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
    Function,
    GroupBy,
    IsMissing,
    Join,
    Limit,
    Lookup,
    Membership,
    Named,
    Neighbours,
    Node,
    Not,
    Operator,
    Or,
    Program,
    Project,
    Relator,
    RowChoice,
    Rows,
    SetOperation,
    SetOperator,
    Sort,
    SortKey,
    TableRows,
    Unnest,
    Unpivot,
    ValueKind,
    tables_of,
    walk,
)
from kgtable.programs.dimensions import describe
from kgtable.programs.scalars import format_decimal, normal
from kgtable.values.units import scale_name

_AGGREGATES = {
    AggregateFunction.COUNT: "number of {} that are given",
    AggregateFunction.COUNT_DISTINCT: "number of different {}",
    AggregateFunction.SUM: "sum of {}",
    AggregateFunction.MEAN: "average of {}",
    AggregateFunction.MIN: "lowest {}",
    AggregateFunction.MAX: "highest {}",
    AggregateFunction.MEDIAN: "median of {}",
    AggregateFunction.FIRST: "first {}",
}
_RELATORS = {
    Relator.EQUAL: "is",
    Relator.NOT_EQUAL: "is not",
    Relator.LESS: "is less than",
    Relator.LESS_OR_EQUAL: "is at most",
    Relator.GREATER: "is more than",
    Relator.GREATER_OR_EQUAL: "is at least",
    Relator.CONTAINS: "contains",
    Relator.STARTS: "starts with",
    Relator.ENDS: "ends with",
}
_TIME_RELATORS = {
    Relator.EQUAL: "is in",
    Relator.NOT_EQUAL: "is not in",
    Relator.LESS: "is before",
    Relator.LESS_OR_EQUAL: "is not after",
    Relator.GREATER: "is after",
    Relator.GREATER_OR_EQUAL: "is not before",
}
_FUNCTIONS = {
    Function.NEGATE: "minus {}",
    Function.ABSOLUTE: "size of {}",
    Function.NUMBER: "number in {}",
    Function.YEAR: "year of {}",
    Function.MONTH: "month of {}",
    Function.DAY: "day of {}",
    Function.HOUR: "hour of {}",
    Function.YEAR_MONTH: "year and month of {}",
    Function.YEAR_QUARTER: "year and quarter of {}",
    Function.WEEKDAY: "day of the week of {}",
    Function.WEEKDAY_NAME: "weekday of {}",
    Function.LENGTH: "length of {}",
    Function.ITEMS: "number of items in {}",
    Function.ITEM: "item of {}",
    Function.START: "start of {}",
    Function.END: "end of {}",
    Function.SPAN: "span of {}",
    Function.MAIN: "main text of {}",
    Function.ASIDE: "text in brackets of {}",
    Function.TEXT: "text of {}",
}
_SETS = {
    SetOperator.UNION: "{} or {}",
    SetOperator.UNION_ALL: "{} and then {}",
    SetOperator.INTERSECT: "{} that are also among {}",
    SetOperator.EXCEPT: "{} that are not among {}",
}
MOST_COLUMNS = 4
"""Maximum columns that are all named; of longer lists, only the first and the last are."""

_CHOICES = {RowChoice.ALL: "totals included", RowChoice.TOTALS: "totals alone"}
_PSEUDO = {"@row": "row number", "@group": "group", "@label": "label", "@table": "table"}


def realize(program: Program, *, sizes: Mapping[Node, int] | None = None) -> str:
    """A program in words; with `sizes`, the number of rows that each relation returned."""
    return _Words(program, sizes or {}).node(program.root)


def _pseudo_column(name: str) -> str:
    """A column's name, that of a pseudo column in words."""
    level = name.removeprefix("@group")
    if name != level and level.isdecimal():
        return f"group of level {level}" if level != "1" else "group"
    return _PSEUDO.get(name, name)


class _Words:
    def __init__(self, program: Program, sizes: Mapping[Node, int]) -> None:
        self._sizes = sizes
        self._several = len(tables_of(program)) > 1
        names = [node.name for node in walk(program.root) if isinstance(node, TableRows)]
        self._aliases = len(set(names)) > 1
        self._named = {
            normal(output.name): output.expression
            for node in walk(program.root)
            if isinstance(node, GroupBy | Project)
            for output in (*(node.keys + node.measures if isinstance(node, GroupBy) else node.columns),)
            if output.name and not isinstance(output.expression, ColumnRef)
        }
        self._naming: set[str] = set()
        self._said: set[Node] = set()

    def node(self, node: Node) -> str:
        return self.rows(node) if isinstance(node, Rows) else self.expression(node)

    # Relations

    def rows(self, node: Rows) -> str:
        """A relation as a noun phrase: its columns, then its rows."""
        match node:
            case SetOperation(operator, left, right):
                return _SETS[operator].format(self.rows(left), self.rows(right))
            case Project(source, columns, _):
                shown: tuple[Named, ...] | None = columns
            case _:
                source, shown = node, None
        group = _group_of(source)
        if group is None:
            return f"rows{self.which(node)}" if shown is None else f"{self._outputs(shown)}{self.which(source)}"
        self._said.add(group)
        keys = [self.expression(key.expression) for key in group.keys]
        told = [self.expression(one.expression) for one in (group.measures if shown is None else shown)]
        told = [words for words in told if words not in keys]
        by = f" by {', '.join(keys)}" if keys and told else ""
        return f"{', '.join(told) or self._outputs(shown or group.keys)}{by}{self.which(source)}"

    def which(self, node: Rows) -> str:
        """Which rows, as it follows a noun: ``where Status is "paid", 3 rows``."""
        words = self._which(node)
        group, read = _group_of(node), node
        while group is None and isinstance(read, Limit | Sort):
            read = read.source  # the rows that were compared, not the ones that won
        size = self._sizes.get(read if group is None else group.source)
        told = [f"{size:,} {'row' if size == 1 else 'rows'}"] if size is not None else []
        told += sorted({_CHOICES[table.choice] for table in _read_by(node) if table.choice in _CHOICES})
        return ", ".join((words, *told))

    def _which(self, node: Rows) -> str:
        """Which rows, without their number, which only the outermost rows tell."""
        match node:
            case TableRows(tables):
                return f" of {' and '.join(tables)}" if self._several else ""
            case Filter(source, condition):
                conditions = [condition]
                while isinstance(source, Filter):
                    conditions.insert(0, source.condition)
                    source = source.source
                words = " and ".join(self._inner(part) for part in conditions)
                return f"{self._which(source)} where {words}"
            case Limit(Sort(source, keys), count, offset, ties):
                return f"{self._which(source)} {self._extreme(keys, count, offset, ties)}"
            case Limit(source, count, offset, _):
                first = "first row" if count == 1 else f"first {count} rows"
                return f"{self._which(source)}, {first}" + (f" after {offset}" if offset else "")
            case Sort(GroupBy(Unpivot(), grouped), keys) if [key.expression for key in keys] == [
                ColumnRef(one.name) for one in grouped
            ]:
                return self._which(node.source)  # columns are in order anyway
            case Sort(source, keys):
                shown = tuple(key for key in keys if not isinstance(key.expression, IsMissing))  # blank ones last
                return f"{self._which(source)}, sorted by {self._keys(shown)}" if shown else self._which(source)
            case Join(left, right, on, similarity):
                like = "resembles" if similarity else "is"
                pairs = " and ".join(
                    f"{self.expression(pair.left)} {like} {self.expression(pair.right)}" for pair in on
                )
                return f"{self._which(left)} joined with those{self._which(right)} by {pairs}"
            case Neighbours(source, condition, offset):
                where = "after" if offset > 0 else "before"
                steps = f"{abs(offset)} rows " if abs(offset) > 1 else "right "
                return f"{self._which(source)} {steps}{where} that where {self.expression(condition)}"
            case Unpivot(source, columns, _, _):
                names = [self.expression(column) for column in columns]
                listed = f"{names[0]} to {names[-1]}" if len(names) > MOST_COLUMNS else ", ".join(names)
                return f"{self._which(source)}, column by column ({listed})"
            case Unnest(source, column, _):
                return f"{self._which(source)}, by each item of {self.expression(column)}"
            case GroupBy(source, keys, _):
                said = node in self._said or not keys
                return ("" if said else f" by {self._outputs(keys)}") + self._which(source)
            case Project(source, _, _):
                return self._which(source)
        return f" of ({self.rows(node)})"

    def _extreme(self, keys: tuple[SortKey, ...], count: int, offset: int, ties: bool) -> str:
        word = "highest" if keys[0].descending else "lowest"
        key = self.expression(keys[0].expression)
        then = f", then {self._keys(keys[1:])}" if len(keys) > 1 else ""
        number = "" if count == 1 else f"{count} "
        after = f" after the first {offset}" if offset else ""
        return f"with the {number}{word} {key}{then}{after}{'' if ties else ', the first of equals'}"

    def _keys(self, keys: tuple[SortKey, ...]) -> str:
        return ", then ".join(
            f"{self.expression(key.expression)}{', highest first' if key.descending else ''}" for key in keys
        )

    def _outputs(self, outputs: tuple[Named, ...]) -> str:
        return ", ".join(self.expression(output.expression) for output in outputs)

    # Expressions

    def expression(self, node: Expression) -> str:
        """An expression as a noun phrase or, for a condition, a clause."""
        match node:
            case ColumnRef(str() as name, "") if normal(name) in self._named.keys() - self._naming:
                self._naming.add(normal(name))
                words = self.expression(self._named[normal(name)])
                self._naming.discard(normal(name))
                return words
            case ColumnRef(name, table):
                word = f"the {_ordinal(name + 1)} column" if isinstance(name, int) else _pseudo_column(name)
                return f"{table}.{word}" if table and self._aliases else word
            case Constant():
                return _constant(node)
            case Arithmetic(operator, left, right):
                return self._arithmetic(operator, left, right)
            case Apply(function, operand, index):
                words = _FUNCTIONS[function].format(self._inner(operand))
                ordinal = function is Function.ITEM or (function is Function.NUMBER and index > 1)
                return f"{words}, the {_ordinal(index)}" if ordinal else words
            case Convert(operand, unit):
                return f"{self._inner(operand)} in {describe(unit)}"
            case Compare(relator, left, right):
                return f"{self._inner(left)} {_relator(relator, right)} {self._inner(right)}"
            case Membership(operand, choices):
                if isinstance(choices, Rows):
                    return f"{self._inner(operand)} is among {self.rows(choices)}"
                listed = " or ".join(self._inner(choice) for choice in choices)
                return f"{self._inner(operand)} is {listed}"
            case IsMissing(operand):
                return f"{self._inner(operand)} is not given"
            case And(conditions):
                said = ((part, self._inner(part)) for part in conditions)
                return " and ".join(f"({text})" if isinstance(part, Membership) else text for part, text in said)
            case Or(conditions):
                return " or ".join(self._inner(part) for part in conditions)
            case Not(Compare(Relator.CONTAINS, left, right)):
                return f"{self._inner(left)} does not contain {self._inner(right)}"
            case Not(Membership(operand, choices)):
                return self.expression(Membership(operand, choices)).replace(" is ", " is not ", 1)
            case Not(IsMissing(operand)):
                return f"{self._inner(operand)} is given"
            case Not(condition):
                return f"not {self._inner(condition)}"
            case Lookup(rows, value):
                return f"{self.expression(value)}{self.which(rows)}"
            case Aggregate(function, argument, rows):
                which = "" if rows is None else self.which(rows)
                if argument is None:
                    return f"number of rows{which}"
                return f"{_AGGREGATES[function].format(self._inner(argument))}{which}"
        return type(node).__name__

    def _inner(self, node: Expression) -> str:
        """An operand: in brackets if its parts would merge with the surrounding text."""
        words = self.expression(node)
        compound = isinstance(node, Arithmetic | Or) or (isinstance(node, Lookup | Aggregate) and node.rows is not None)
        return f"({words})" if compound or isinstance(node, And) else words

    def _arithmetic(self, operator: Operator, left: Expression, right: Expression) -> str:
        a, b = self._inner(left), self._inner(right)
        match operator:
            case Operator.ADD:
                return f"{a} + {b}"
            case Operator.SUBTRACT:
                return f"{a} - {b}"
            case Operator.MULTIPLY:
                return f"{a} * {b}"
            case Operator.DIVIDE:
                return f"{a} / {b}"
            case Operator.POWER:
                return f"{a} ^ {b}"
            case Operator.RATIO:
                return f"ratio of {a} to {b}"
            case Operator.SHARE:
                return f"{a} in percent of {b}"
            case Operator.PERCENT_CHANGE:
                return f"percent change from {a} to {b}"


def _group_of(node: Rows) -> GroupBy | None:
    while isinstance(node, Filter | Sort | Limit):
        node = node.source
    return node if isinstance(node, GroupBy) else None


def _read_by(node: Rows) -> Iterator[TableRows]:
    """The tables whose rows a relation chooses from, without those that only its conditions read."""
    match node:
        case TableRows():
            yield node
        case SetOperation(_, left, right) | Join(left, right):
            yield from _read_by(left)
            yield from _read_by(right)
        case Filter(source) | Limit(source) | Sort(source) | Neighbours(source) | Unpivot(source):
            yield from _read_by(source)
        case Unnest(source) | GroupBy(source) | Project(source):
            yield from _read_by(source)


def _relator(relator: Relator, right: Expression) -> str:
    if isinstance(right, Constant) and right.kind in (ValueKind.DATE, ValueKind.PERIOD):
        return _TIME_RELATORS.get(relator, _RELATORS[relator])
    return _RELATORS[relator]


def _constant(node: Constant) -> str:
    value = node.value
    if isinstance(value, Decimal):
        number = f"{format_decimal(value)} {scale_name(node.scale, node.unit)}".rstrip()
        if node.kind is ValueKind.DURATION:
            return f"{number} seconds"
        return number if node.unit in (None, "UNITLESS", "NUM") else f"{number} {describe(node.unit)}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if node.kind in (ValueKind.DATE, ValueKind.PERIOD) else f'"{value}"'


def _ordinal(index: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(index % 10 if index % 100 not in (11, 12, 13) else 0, "th")
    return f"{index}{suffix}"
