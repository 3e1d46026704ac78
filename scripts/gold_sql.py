"""SQL as it stands in benchmarks, translated into the algebra of programs.

`SqlTranslator` takes a statement apart with sqlglot and builds the program: joins, filters, groups,
sorts, limits, set operators, subqueries. Where SQL differs in meaning (sums of identifiers, bare
columns beside aggregates) the program says so on purpose, with the function `number` or a `first`.
What the algebra cannot say raises `UntranslatableError` with the reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import sqlglot
from sqlglot import expressions as sql

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
    ValueKind,
    walk,
)
from kgtable.programs.relation import ColumnRole, Relation
from kgtable.programs.scalars import apply, items, normal, text_of

_AGGREGATES = {
    sql.Count: AggregateFunction.COUNT,
    sql.Sum: AggregateFunction.SUM,
    sql.Avg: AggregateFunction.MEAN,
    sql.Min: AggregateFunction.MIN,
    sql.Max: AggregateFunction.MAX,
}
_ADDED = frozenset({AggregateFunction.SUM, AggregateFunction.MEAN})
_ARITHMETIC = {
    sql.Add: Operator.ADD,
    sql.Sub: Operator.SUBTRACT,
    sql.Mul: Operator.MULTIPLY,
    sql.Div: Operator.DIVIDE,
}
_RELATORS = {
    sql.EQ: Relator.EQUAL,
    sql.NEQ: Relator.NOT_EQUAL,
    sql.LT: Relator.LESS,
    sql.LTE: Relator.LESS_OR_EQUAL,
    sql.GT: Relator.GREATER,
    sql.GTE: Relator.GREATER_OR_EQUAL,
}
_TIMES = (ValueKind.DATE, ValueKind.PERIOD)
_SQUALL_COLUMN = re.compile(r"c(\d+)((?:_[a-z]+\d*)*)")
_SQUALL_PARTS = {
    "first": Function.MAIN,
    "second": Function.ASIDE,
    "minimum": Function.START,
    "maximum": Function.END,
    "year": Function.YEAR,
    "month": Function.MONTH,
    "day": Function.DAY,
    "hour": Function.HOUR,
    "length": Function.ITEMS,
    "raw": Function.TEXT,
}


class UntranslatableError(Exception):
    """What the algebra cannot say; the message is the reason, in a few words."""


@dataclass(frozen=True)
class SqlTable:
    """A table as a statement names it: its relation, and the names of its columns in lower case."""

    relation: Relation
    columns: tuple[str, ...]
    choice: RowChoice = RowChoice.MEMBERS
    texts: frozenset[int] = frozenset()
    """The columns that the database holds as texts, so that it orders numbers in them as texts."""


@dataclass
class SqlScope:
    """What columns can refer to in one SELECT: tables by alias, or the columns of a subquery."""

    tables: dict[str, SqlTable] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    lists: dict[str, Expression] = field(default_factory=dict)
    outer: SqlScope | None = None

    def find(self, name: str, table: str) -> tuple[str, int] | None:
        """The alias and index of a column."""
        for alias, found in self.tables.items():
            if (not table or alias == table) and name in found.columns:
                return alias, found.columns.index(name)
        return None


@dataclass
class Grouping:
    """The measures that a grouped SELECT needs, in the order in which they are met."""

    keys: list[Expression]
    measures: list[Expression] = field(default_factory=list)

    def named(self, measure: Expression) -> Expression:
        """The column of the grouped relation that holds an expression over the group."""
        if measure in self.keys:
            return ColumnRef(f"key {self.keys.index(measure) + 1}")
        if measure not in self.measures:
            self.measures.append(measure)
        return ColumnRef(f"measure {self.measures.index(measure) + 1}")


class SqlTranslator:
    """Translates statements over some tables.

    Args:
        tables: the tables by their names in the statements, in lower case.
        squall: whether columns are SQUALL's ``c3_number`` and the like.
    """

    def __init__(self, tables: Mapping[str, SqlTable], *, squall: bool = False) -> None:
        self._tables, self._squall = tables, squall

    def program(self, statement: str) -> Program:
        """The program. Raises `UntranslatableError`."""
        text = re.sub(r"\bnot null\b", "is not null", statement.strip().rstrip(";"))
        try:
            tree = sqlglot.parse_one(text, read="sqlite")
        except sqlglot.errors.SqlglotError as error:
            raise UntranslatableError("SQL that does not parse") from error
        scalar = isinstance(tree, sql.Select) and self._is_scalar(tree)
        root = self._scalar_select(tree, None) if scalar else self._query(tree, None)
        left = next((node for node in walk(root) if isinstance(node, _Part)), None)
        if left is not None:
            raise UntranslatableError(f"the part {left.name!r} of a cell")
        return Program(root)

    # Statements

    def _query(self, tree: sql.Expression, outer: SqlScope | None) -> Rows:
        if isinstance(tree, sql.Subquery | sql.Paren):
            return self._query(tree.this, outer)
        if isinstance(tree, sql.SetOperation):
            if isinstance(tree, sql.Intersect):
                operator = SetOperator.INTERSECT
            elif isinstance(tree, sql.Except):
                operator = SetOperator.EXCEPT
            else:
                operator = SetOperator.UNION if tree.args.get("distinct") else SetOperator.UNION_ALL
            return SetOperation(operator, self._query(tree.left, outer), self._query(tree.right, outer))
        if isinstance(tree, sql.Select):
            return self._select(tree, outer)
        raise UntranslatableError(f"a {type(tree).__name__}")

    def _is_scalar(self, tree: sql.Select) -> bool:
        """Whether it is one value by its form: one aggregate of all rows, or no table at all."""
        if len(tree.expressions) != 1:
            return False
        if _from(tree) is None:
            return True
        if tree.args.get("group") or tree.args.get("having") or tree.args.get("limit"):
            return False
        only = tree.expressions[0].unalias()
        return _has_aggregate(only) and not _has_bare_column(only)

    def _scalar_select(self, tree: sql.Select, outer: SqlScope | None) -> Expression:
        only = tree.expressions[0].unalias()
        if _from(tree) is None:
            return self._expression(only, SqlScope(outer=outer), None)
        scope = SqlScope(outer=outer)
        source = self._source(tree, scope)
        return self._expression(only, scope, None, source)

    def _source(self, tree: sql.Select, scope: SqlScope) -> Rows:
        """FROM, JOIN and WHERE."""
        start = _from(tree)
        assert start is not None
        rows = self._table(start.this, scope)
        where = tree.args.get("where")
        conditions = list(where.this.flatten()) if where and isinstance(where.this, sql.And) else []
        conditions = conditions or ([where.this] if where else [])
        for join in tree.args.get("joins") or []:
            if join.side or join.kind.upper() in ("LEFT", "RIGHT", "FULL"):
                raise UntranslatableError("an outer join")
            before = dict(scope.tables)
            right = self._table(join.this, scope)
            on = join.args.get("on")
            parts = list(on.flatten()) if isinstance(on, sql.And) else [on] if on is not None else []
            pairs, rest = self._pairs(parts, before, scope)
            if not pairs:
                pairs, conditions = self._pairs(conditions, before, scope)
            if not pairs:
                raise UntranslatableError("a join without equal keys")
            rows = Join(rows, right, tuple(pairs))
            conditions = [*conditions, *rest]
        for column in tree.find_all(sql.Column):
            if column.find_ancestor(sql.Select) is tree:
                self._column(column, scope, None)
        for name, column in scope.lists.items():
            rows = Unnest(rows, column, name)
        if conditions:
            found = tuple(self._expression(part, scope, None) for part in conditions)
            rows = Filter(rows, found[0] if len(found) == 1 else And(found))
        return rows

    def _pairs(
        self, parts: Sequence[sql.Expression], before: Mapping[str, SqlTable], scope: SqlScope
    ) -> tuple[list[KeyPair], list[sql.Expression]]:
        """The conditions that equate a column of the tables before with one of the last table."""
        pairs, rest = [], []
        for part in parts:
            sides = (part.this, part.expression) if isinstance(part, sql.EQ) else ()
            refs = [self._column(side, scope, None) for side in sides if isinstance(side, sql.Column)]
            if len(refs) == 2 and all(isinstance(ref, ColumnRef) for ref in refs):
                inside = [isinstance(ref, ColumnRef) and ref.table in before for ref in refs]
                if inside == [True, False]:
                    pairs.append(KeyPair(refs[0], refs[1]))
                    continue
                if inside == [False, True]:
                    pairs.append(KeyPair(refs[1], refs[0]))
                    continue
            rest.append(part)
        return pairs, rest

    def _table(self, node: sql.Expression, scope: SqlScope) -> Rows:
        if isinstance(node, sql.Subquery):
            inner = self._query(node.this, scope.outer)
            if isinstance(inner, Project | GroupBy):
                outputs = inner.columns if isinstance(inner, Project) else (*inner.keys, *inner.measures)
                scope.computed.update({output.name.lower(): output.name for output in outputs if output.name})
            return inner
        if not isinstance(node, sql.Table) or node.name.lower() not in self._tables:
            raise UntranslatableError("a table that is not there")
        table = self._tables[node.name.lower()]
        alias = (node.alias or node.name).lower()
        scope.tables[alias] = table
        id = table.relation.id
        return TableRows((id,), "" if alias == id else alias, table.choice)

    def _select(self, tree: sql.Select, outer: SqlScope | None) -> Rows:
        if _from(tree) is None:
            raise UntranslatableError("several values without a table")
        scope = SqlScope(outer=outer)
        rows = self._source(tree, scope)
        outputs = [(item.unalias(), item.alias) for item in tree.expressions]
        aliases = {alias.lower(): item for item, alias in outputs if alias}
        order = tree.args["order"].expressions if tree.args.get("order") else []
        having = tree.args["having"].this if tree.args.get("having") else None
        keys = [part.this if isinstance(part, sql.Ordered) else part for part in order]
        keys = [
            aliases.get(part.name.lower(), part) if isinstance(part, sql.Column) else part for part in keys
        ]
        group = tree.args["group"].expressions if tree.args.get("group") else []
        grouping: Grouping | None = None
        if group or having is not None or any(map(_has_aggregate, [*keys, *(item for item, _ in outputs)])):
            grouping = Grouping([self._expression(key, scope, None) for key in group])
        columns = self._outputs(outputs, scope, grouping)
        sort_keys = tuple(
            SortKey(
                self._sort_key(self._expression(key, scope, grouping), scope, grouping),
                bool(isinstance(part, sql.Ordered) and part.args.get("desc")),
            )
            for key, part in zip(keys, order, strict=True)
        )
        condition = None if having is None else self._expression(having, scope, grouping)
        if grouping is not None:
            rows = GroupBy(
                _extreme_first(rows, grouping.measures),
                tuple(Named(key, f"key {place}") for place, key in enumerate(grouping.keys, 1)),
                tuple(Named(part, f"measure {place}") for place, part in enumerate(grouping.measures, 1)),
            )
            if condition is not None:
                rows = Filter(rows, condition)
        distinct = bool(tree.args.get("distinct"))
        if sort_keys:
            rows = Sort(rows, sort_keys)
        if columns is not None and distinct:
            rows = Project(rows, columns, True)
        limit = tree.args.get("limit")
        if limit is not None:
            offset = tree.args.get("offset")
            rows = Limit(rows, int(limit.expression.name), int(offset.expression.name) if offset else 0)
        return rows if columns is None or distinct else Project(rows, columns)

    def _outputs(
        self, outputs: Sequence[tuple[sql.Expression, str]], scope: SqlScope, grouping: Grouping | None
    ) -> tuple[Named, ...] | None:
        """The projected columns; None for ``SELECT *`` of one table or computed rows."""
        if any(isinstance(item, sql.Star) for item, _ in outputs):
            if len(outputs) == 1 and len(scope.tables) == 1:
                return tuple(
                    Named(ColumnRef(index, alias))
                    for alias, table in scope.tables.items()
                    for index in range(len(table.columns))
                )
            if len(outputs) == 1:
                return None
        columns = []
        for place, (item, alias) in enumerate(outputs, 1):
            if isinstance(item, sql.Column) and isinstance(item.this, sql.Star):
                table = scope.tables[item.table.lower()]
                columns += [Named(ColumnRef(i, item.table.lower())) for i in range(len(table.columns))]
                continue
            name = alias or (item.name if isinstance(item, sql.Column) else "") or f"value {place}"
            columns.append(Named(self._expression(item, scope, grouping), name))
        return tuple(columns)

    # Expressions

    def _expression(
        self,
        node: sql.Expression,
        scope: SqlScope,
        grouping: Grouping | None,
        rows: Rows | None = None,
    ) -> Expression:
        """An expression; aggregates become columns of the grouping, or aggregates of `rows`."""

        def inner(part: sql.Expression) -> Expression:
            return self._expression(part, scope, grouping, rows)

        if isinstance(node, sql.Column | sql.Identifier):
            return self._column(node, scope, grouping)
        if isinstance(node, sql.Paren):
            return inner(node.this)
        if isinstance(node, sql.Literal):
            return Constant(node.name) if node.is_string else _number(node.name)
        if isinstance(node, sql.Neg):
            if isinstance(node.this, sql.Literal):
                return _number(f"-{node.this.name}")
            return Apply(Function.NEGATE, self._numeric(inner(node.this), scope))
        if type(node) in _AGGREGATES:
            return self._aggregate(node, scope, grouping, rows)
        if type(node) in _ARITHMETIC:
            return self._arithmetic(_ARITHMETIC[type(node)], inner(node.this), inner(node.expression), scope)
        if type(node) in _RELATORS:
            return self._compare(node, inner)
        if isinstance(node, sql.And):
            return And(tuple(inner(part) for part in node.flatten()))
        if isinstance(node, sql.Or):
            return Or(tuple(inner(part) for part in node.flatten()))
        if isinstance(node, sql.Not):
            return Not(inner(node.this))
        if isinstance(node, sql.Is):
            return IsMissing(inner(node.this))
        if isinstance(node, sql.Between):
            value = inner(node.this)
            return And(
                (
                    Compare(Relator.GREATER_OR_EQUAL, value, inner(node.args["low"])),
                    Compare(Relator.LESS_OR_EQUAL, value, inner(node.args["high"])),
                )
            )
        if isinstance(node, sql.In):
            query = node.args.get("query")
            if query is not None:
                return Membership(inner(node.this), self._query(query, scope))
            operand = inner(node.this)
            choices = tuple(map(inner, node.expressions))
            if self._squall:
                choices = tuple(
                    self._printed(operand, part)[0] if isinstance(part, Constant) else part
                    for part in choices
                )
            return Membership(operand, choices)
        if isinstance(node, sql.Like):
            return _like(inner(node.this), inner(node.expression))
        if isinstance(node, sql.Subquery):
            return self._scalar(node.this, scope)
        if isinstance(node, sql.Select):
            return self._scalar(node, scope)
        if isinstance(node, sql.Abs):
            return Apply(Function.ABSOLUTE, self._numeric(inner(node.this), scope))
        if isinstance(node, sql.Length):
            return Apply(Function.LENGTH, inner(node.this))
        if isinstance(node, sql.Anonymous) and node.name.lower() == "julianday":
            return inner(node.expressions[0])
        if isinstance(node, sql.Cast):
            return Apply(Function.NUMBER, inner(node.this))
        raise UntranslatableError(f"the function or operator {node.key}")

    def _scalar(self, tree: sql.Expression, scope: SqlScope) -> Expression:
        """A subquery as one value: SQL takes the first row."""
        if isinstance(tree, sql.Select) and self._is_scalar(tree):
            return self._scalar_select(tree, scope)
        rows = self._query(tree, scope)
        if isinstance(rows, Project) and len(rows.columns) == 1 and not rows.distinct:
            inner = rows.source
            single = isinstance(inner, Limit) and inner.count == 1
            return Lookup(inner if single else Limit(inner), rows.columns[0].expression)
        raise UntranslatableError("a subquery of several columns as a value")

    def _column(
        self, node: sql.Column | sql.Identifier, scope: SqlScope, grouping: Grouping | None
    ) -> Expression:
        name = node.name.lower()
        table = node.table.lower() if isinstance(node, sql.Column) else ""
        found: Expression | None = None
        if self._squall:
            found = self._squall_column(name, scope)
        elif (place := scope.find(name, table)) is not None:
            found = ColumnRef(place[1], place[0])
        if found is None and name in scope.computed:
            found = ColumnRef(scope.computed[name])
        if found is None:
            outer = scope.outer
            while outer is not None:
                if outer.find(name, table):
                    raise UntranslatableError("a correlated subquery")
                outer = outer.outer
            if not table and (not isinstance(node, sql.Column) or node.this.quoted):
                return Constant(node.name)
            raise UntranslatableError("a column that is not there")
        if grouping is None:
            return found
        return grouping.named(found if found in grouping.keys else Aggregate(AggregateFunction.FIRST, found))

    def _squall_column(self, name: str, scope: SqlScope) -> Expression | None:
        if name in ("id", "agg"):
            return ColumnRef("@row")
        match = _SQUALL_COLUMN.fullmatch(name)
        if match is None:
            if name == "present_ref":
                raise UntranslatableError("the present day")
            return None
        (table,) = {id(found): found for found in scope.tables.values()}.values() or (None,)
        if table is None:
            return None
        index = int(match[1]) - 1
        if index >= len(table.columns):
            raise UntranslatableError("a column that is not there")
        found: Expression = ColumnRef(index)
        parts = match[2].split("_")[1:]
        if parts and parts[-1] == "min":
            return _Minutes(found)
        for part in parts:
            number = re.fullmatch(r"number(\d*)", part)
            if part == "parsed":
                continue
            if part == "list":
                name = f"c{index + 1}_list"
                scope.lists[name] = found
                found = ColumnRef(name)
            elif part == "number" and found == ColumnRef(index) and _all_quantities(table, index):
                continue
            elif number:
                found = Apply(Function.NUMBER, found, int(number[1] or 1))
            elif part == "result":
                found = _Result(found)
            elif part in ("address", "home"):
                found = _Address(found) if part == "address" else _Home(found)
            elif part in _SQUALL_PARTS:
                found = Apply(_SQUALL_PARTS[part], found)
            else:
                raise UntranslatableError(f"the part {part!r} of a cell")
        return found

    def _aggregate(
        self, node: sql.Expression, scope: SqlScope, grouping: Grouping | None, rows: Rows | None
    ) -> Expression:
        function = _AGGREGATES[type(node)]
        argument = node.this
        if isinstance(argument, sql.Distinct):
            if function is not AggregateFunction.COUNT or len(argument.expressions) != 1:
                raise UntranslatableError("distinct values in an aggregate other than count")
            function, argument = AggregateFunction.COUNT_DISTINCT, argument.expressions[0]
        found = None if isinstance(argument, sql.Star) else self._expression(argument, scope, None)
        if found is not None:
            if function in _ADDED:
                found = self._numeric(found, scope, times=False)
            elif function in (AggregateFunction.MIN, AggregateFunction.MAX):
                found = self._sortable(found, scope)
        if grouping is not None:
            return grouping.named(Aggregate(function, found))
        if rows is None:
            raise UntranslatableError("an aggregate in a condition of single rows")
        return Aggregate(function, found, rows)

    def _arithmetic(
        self, operator: Operator, left: Expression, right: Expression, scope: SqlScope
    ) -> Expression:
        if left == ColumnRef("@row") and isinstance(right, Constant):
            return Arithmetic(operator, left, right)
        times = operator is Operator.SUBTRACT
        return Arithmetic(
            operator, self._numeric(left, scope, times=times), self._numeric(right, scope, times=times)
        )

    def _compare(self, node: sql.Expression, inner: Callable[[sql.Expression], Expression]) -> Expression:
        relator = _RELATORS[type(node)]
        left, right = inner(node.this), inner(node.expression)
        if self._squall and isinstance(right, Constant):
            right, exact = self._printed(left, right)
            raw = isinstance(left, Apply) and left.function is Function.TEXT
            if raw and not exact and relator in (Relator.EQUAL, Relator.NOT_EQUAL):
                ends = Compare(Relator.ENDS, left, right)
                return ends if relator is Relator.EQUAL else Not(ends)
        if isinstance(left, _Minutes) and isinstance(right, Constant) and isinstance(right.value, Decimal):
            return Compare(relator, left.operand, Constant(right.value, ValueKind.QUANTITY, "MIN"))
        if isinstance(left, _Result | _Address | _Home):
            if relator is not Relator.EQUAL or not isinstance(right, Constant):
                raise UntranslatableError(f"the part {left.name!r} of a cell")
            if isinstance(left, _Home):
                away = Or(
                    tuple(Compare(Relator.STARTS, left.operand, Constant(sign)) for sign in ("@", "at "))
                )
                return Not(away) if right.value == "home" else away
            place = Relator.STARTS if isinstance(left, _Result) else Relator.ENDS
            return Compare(place, left.operand, right)
        return Compare(relator, left, right)

    def _printed(self, left: Expression, constant: Constant) -> tuple[Constant, bool]:
        """SQUALL's constant, which has lost its accents and signs, as the column prints it, if it does."""
        column = next((part for part in walk(left) if isinstance(part, ColumnRef)), None)
        (table,) = {id(found): found for found in self._tables.values()}.values()
        if not isinstance(constant.value, str) or column is None:
            return constant, True
        index = (
            column.name
            if isinstance(column.name, int)
            else int(str(column.name)[1:].split("_")[0]) - 1
            if (str(column.name).startswith("c"))
            else None
        )
        if index is None:
            return constant, True
        texts: dict[str, str] = {}
        for value in table.relation.data(index).values:
            parts = [value.text, *items(value.text)]
            parts += [text_of(part) for f in (Function.MAIN, Function.ASIDE) if (part := apply(f, value))]
            for text in parts:
                texts.setdefault(normal(text), text)
        if normal(constant.value) in texts:
            return constant, True
        bare = {_without_accents(text): text for text in texts.values()}
        found = bare.get(_without_accents(constant.value))
        return (constant, False) if found is None else (Constant(found), True)

    def _numeric(self, found: Expression, scope: SqlScope, *, times: bool = True) -> Expression:
        """An operand of arithmetic: texts, identifiers and ranks taken as numbers on purpose."""
        if isinstance(found, Lookup):
            return Lookup(found.rows, self._numeric(found.value, scope, times=times))
        if not isinstance(found, ColumnRef):
            return found
        kind, role = self._column_type(found, scope)
        plain = (ValueKind.QUANTITY, ValueKind.DURATION, None, *(_TIMES if times else ()))
        return found if role is ColumnRole.PLAIN and kind in plain else Apply(Function.NUMBER, found)

    def _sort_key(self, found: Expression, scope: SqlScope, grouping: Grouping | None) -> Expression:
        """What rows or groups are ordered by."""
        if grouping is not None and isinstance(found, ColumnRef) and str(found.name).startswith("key "):
            key = grouping.keys[int(str(found.name)[4:]) - 1]
            sortable = self._sortable(key, scope)
            return (
                Apply(sortable.function, found) if isinstance(sortable, Apply) and sortable != key else found
            )
        return self._sortable(found, scope)

    def _sortable(self, found: Expression, scope: SqlScope) -> Expression:
        """What rows are ordered by: identifiers as numbers, or as texts where they are none."""
        if not isinstance(found, ColumnRef) or not isinstance(found.name, int):
            return found
        table = scope.tables.get(found.table) or next(iter(scope.tables.values()))
        if found.name in table.texts:
            return Apply(Function.TEXT, found)
        if self._column_type(found, scope)[1] is not ColumnRole.IDENTIFIER:
            return found
        assert isinstance(found.name, int)
        numeric = all(str(value.value).isdigit() for value in table.relation.data(found.name).values)
        return Apply(Function.NUMBER if numeric else Function.TEXT, found)

    def _column_type(self, ref: ColumnRef, scope: SqlScope) -> tuple[ValueKind | None, ColumnRole]:
        tables = [scope]
        while tables[-1].outer is not None:
            tables.append(tables[-1].outer)
        for place in tables:
            table = place.tables.get(ref.table) or next(iter(place.tables.values()), None)
            if table is not None and isinstance(ref.name, int) and ref.name < len(table.relation.columns):
                column = table.relation.columns[ref.name]
                return column.kind, column.role
        return None, ColumnRole.PLAIN


@dataclass(frozen=True, slots=True)
class _Part(Expression):
    """A part of a cell that SQUALL has and only a comparison can use."""

    operand: Expression
    name = "result"


class _Result(_Part):
    """The first or last piece of a result such as ``W 21-7``."""


class _Address(_Part):
    """The town of an address."""

    name = "address"


class _Home(_Part):
    """Whether an opponent is met at home."""

    name = "home"


class _Minutes(_Part):
    """The minutes of a duration."""

    name = "min"


def _extreme_first(rows: Rows, measures: Sequence[Expression]) -> Rows:
    """SQLite takes a bare column beside one MIN or MAX from the row that has it: that row comes first."""
    aggregates = [measure for measure in measures if isinstance(measure, Aggregate)]
    extremes = [
        found
        for found in aggregates
        if found.function in (AggregateFunction.MIN, AggregateFunction.MAX) and found.argument is not None
    ]
    firsts = any(found.function is AggregateFunction.FIRST for found in aggregates)
    if len(extremes) != 1 or not firsts or extremes[0].argument is None:
        return rows
    return Sort(rows, (SortKey(extremes[0].argument, extremes[0].function is AggregateFunction.MAX),))


def _from(tree: sql.Select) -> sql.Expression | None:
    return tree.args.get("from_") or tree.args.get("from")


def _number(text: str) -> Constant:
    return Constant(Decimal(text), ValueKind.QUANTITY)


def _all_quantities(table: SqlTable, index: int) -> bool:
    data = table.relation.data(index)
    return all(data.values[code].kind is ValueKind.QUANTITY for code in data.used())


def _has_aggregate(node: sql.Expression) -> bool:
    return any(type(part) in _AGGREGATES and _depth(part, node) for part in node.walk())


def _has_bare_column(node: sql.Expression) -> bool:
    """Whether a column stands beside the aggregates."""
    return any(
        isinstance(part, sql.Column) and _depth(part, node) and not _inside_aggregate(part, node)
        for part in node.walk()
    )


def _depth(part: sql.Expression, top: sql.Expression) -> bool:
    """Whether a part belongs to the SELECT of `top`, not to one nested in it."""
    current: sql.Expression | None = part
    while current is not None and current is not top:
        current = current.parent
        if isinstance(current, sql.Select):
            return False
    return not isinstance(top, sql.Select | sql.Subquery)


def _inside_aggregate(part: sql.Expression, top: sql.Expression) -> bool:
    current: sql.Expression | None = part
    while current is not None:
        if type(current) in _AGGREGATES:
            return True
        if current is top:
            return False
        current = current.parent
    return False


def _without_accents(text: str) -> str:
    """Letters and figures alone."""
    plain = unicodedata.normalize("NFKD", normal(text))
    return "".join(sign for sign in plain if sign.isalnum())


def _like(left: Expression, right: Expression) -> Expression:
    if not isinstance(right, Constant) or not isinstance(right.value, str):
        raise UntranslatableError("a pattern that is no constant")
    core = right.value.strip("%")
    if "%" in core or "_" in core or not core:
        raise UntranslatableError("a pattern with wildcards inside")
    starts, ends = right.value.startswith("%"), right.value.endswith("%")
    if starts and ends:
        relator = Relator.CONTAINS
    elif starts:
        relator = Relator.ENDS
    else:
        relator = Relator.STARTS if ends else Relator.EQUAL
    return Compare(relator, left, Constant(core))
