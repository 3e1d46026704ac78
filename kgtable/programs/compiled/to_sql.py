"""Programs as DuckDB SQL over typed tables, and a runner that can do nothing but read these tables.

Every table of a program becomes a DuckDB table with a row for each body row and a column for each
reading of a column that the program needs: its exact number in one unit, its printed text, the text
as equality sees it, the ends of a date or period, a part of it that a function takes. Names are the
headers, always quoted, made different where SQL sees no difference; `SqlQuery.tables` tells which
name stands for what. The steps of the program are common table expressions, in order; constants are
bound parameters. What SQL cannot say with the same meaning raises `ProgramCompilationError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from kgtable.errors import (
    EvaluationError,
    MissingExtraError,
    ProgramCompilationError,
    ProgramTypeError,
    UnitMismatchError,
)
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
    Not,
    Or,
    Program,
    Project,
    Relator,
    Rows,
    SetOperation,
    SetOperator,
    Sort,
    SortKey,
    TableRows,
    Unnest,
    Unpivot,
    ValueKind,
)
from kgtable.programs.compiled.sql_calculations import SqlCalculations
from kgtable.programs.compiled.sql_values import arrow
from kgtable.programs.executor import constant_datum, places_of
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import (
    Datum,
    time_datum,
    time_in,
)
from kgtable.programs.types import (
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

if TYPE_CHECKING:
    import duckdb
from kgtable.programs.compiled.sql_values import (
    MOST_DIGITS,
    BoundConstant,
    ColumnValue,
    ComputedValue,
    KnownValue,
    ListMember,
    SqlCell,
    SqlNames,
    SqlRows,
    SqlStep,
    SqlTable,
    SqlTableBuilder,
    SqlValue,
    handed,
    handed_values,
    quoted,
)

_ANY = Type(None)


@dataclass(frozen=True)
class SqlQuery:
    """A compiled program: the statement, its parameters, the tables it reads, and its output columns
    with their units (None: no number, or one without unit)."""

    text: str
    parameters: Mapping[str, SqlCell]
    tables: tuple[SqlTable, ...]
    names: tuple[str, ...]
    units: tuple[str | None, ...]


@dataclass(frozen=True)
class SqlResult:
    """The rows that DuckDB gave; numbers are in the unit of their column."""

    names: tuple[str, ...]
    units: tuple[str | None, ...]
    rows: tuple[tuple[SqlCell, ...], ...]


def compile_sql(program: Program, relations: Mapping[str, Relation]) -> SqlQuery:
    """A program as one statement of DuckDB's SQL.

    Args:
        program: the program.
        relations: the relations by table id.

    Raises the errors of `check`, and `ProgramCompilationError` for what SQL cannot say.
    """
    check(program, relations)
    try:
        return _Compiler(relations).query(program)
    except (ProgramTypeError, UnitMismatchError) as error:
        # The program is sound: its rows have units that fit one another, the columns as a whole have not.
        raise ProgramCompilationError(f"SQL cannot say this of columns of several units: {error}") from error


def run_sql(program: Program, relations: Mapping[str, Relation]) -> SqlResult:
    """Execute a program in a DuckDB of its own, in memory, without access to files or the network.

    Raises the errors of `compile_sql`, `MissingExtraError` where DuckDB is not installed, and
    `EvaluationError` where the execution fails.
    """
    query = compile_sql(program, relations)
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError("DuckDB", "sql") from error
    with duckdb.connect(":memory:") as connection:
        load_tables(connection, query.tables)
        try:
            rows = connection.execute(query.text, dict(query.parameters)).fetchall()
        except duckdb.Error as error:
            raise EvaluationError(f"DuckDB: {str(error).splitlines()[0]}") from error
    return SqlResult(query.names, query.units, tuple(rows))


def load_tables(connection: duckdb.DuckDBPyConnection, tables: Iterable[SqlTable]) -> None:
    """Make the tables in a fresh connection, then lock it: no files, no extensions, no settings."""
    pa = arrow()
    for table in tables:
        connection.register("incoming", pa.table(dict(table.columns)))
        connection.execute(f"CREATE TABLE {quoted(table.name)} AS SELECT * FROM incoming")
        connection.unregister("incoming")
    for setting in (
        "enable_external_access = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "allow_community_extensions = false",
        "python_enable_replacements = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")


@dataclass
class _Relation:
    """A compiled relation: the step, what its columns are, and by what its rows are ordered."""

    step: SqlStep
    scope: Scope
    bases: tuple[SqlRows, ...]
    computed: tuple[SqlValue, ...]
    order: tuple[str, ...]
    sorted_by: tuple[str, ...] = ()
    """The ORDER BY terms of a sort right below."""
    first_key: str = ""

    def column(self, place: SourceColumn | int) -> SqlValue:
        """What stands in a column."""
        if isinstance(place, int):
            return self.computed[place]
        column = place.column
        base = self.bases[place.source]
        if column == "@label":
            column = base.relation.label_column()
        return ColumnValue(base, column)

    def columns(self) -> list[SqlValue]:
        """All columns, computed ones first."""
        found = list(self.computed)
        for index, base in enumerate(self.bases):
            found += [self.column(SourceColumn(index, column.index)) for column in base.relation.columns]
        return found


class _Compiler(SqlCalculations):
    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self._relations = relations
        self._tables: dict[tuple[str, ...], SqlTableBuilder] = {}
        self._table_names, self._step_names, self._prefixes = SqlNames(), SqlNames(), SqlNames()
        self._steps: list[SqlStep] = []
        self._parameters: dict[str, SqlCell] = {}

    def query(self, program: Program) -> SqlQuery:
        if isinstance(program.root, Rows):
            found = self.rows(program.root)
            names = tuple(name for name, _ in columns_of(found.scope))
            values = found.columns()
            outputs = [f"{_shown(value)} AS {quoted(f'{n} {name}')}" for n, (name, value) in
                       enumerate(zip(names, values, strict=True), 1)]  # fmt: skip
            order = ", ".join((*found.sorted_by, *found.order))
            last = f"SELECT\n  {_lines(outputs)}\nFROM {quoted(found.step.name)}\nORDER BY {order}"
        else:
            value = self.expression(program.root, None)
            names, values = ("value",), [value]
            last = f"SELECT\n  {_shown(value)} AS {quoted('value')}"
        steps = ",\n".join(f"{quoted(step.name)} AS (\n  {step.render()}\n)" for step in self._steps)
        text = f"WITH {steps}\n{last}" if steps else last
        tables = tuple(
            SqlTable(builder.name, "+".join(ids), builder.columns, builder.meanings)
            for ids, builder in self._tables.items()
        )
        units = tuple(value.unit if value.kind == "number" else None for value in values)
        used = {name: cell for name, cell in self._parameters.items() if re.search(rf"\${name}\b", text)}
        return SqlQuery(text, used, tables, names, units)

    def parameter(self, cell: SqlCell) -> str:
        """A bound parameter."""
        if isinstance(cell, Decimal):
            cell = Decimal(f"{cell:f}")
        for name, known in self._parameters.items():
            if type(known) is type(cell) and known == cell and str(known) == str(cell):
                return f"${name}"
        name = f"p{len(self._parameters) + 1}"
        self._parameters[name] = cell
        return f"${name}"

    # Relations

    def rows(self, node: Rows) -> _Relation:
        match node:
            case TableRows():
                return self._table(node)
            case Filter(source, condition):
                found = self.rows(source)
                test = self.condition(condition, found)
                taken = self._over(found, "filter", lambda _: f"WHERE {test}", keep_sort=False)
                if len(found.bases) == 1 and not found.computed:
                    taken = replace(taken, bases=(found.bases[0].narrowed(places_of(node, self._relations)),))
                return taken
            case Join():
                return self._join(node)
            case SetOperation():
                return self._combine(node)
            case GroupBy():
                return self._group(node)
            case Sort(source, keys):
                found = self.rows(source)
                step = SqlStep(self._step_names.take("sort"), _all_and_outputs(found.step.name))
                terms = [term for key in keys for term in self._order(key, found, step)]
                if step.outputs:
                    self._steps.append(step)
                    found = replace(found, step=step)
                order = (*found.sorted_by, *found.order)
                first = terms[0].rsplit(" ", 3)[0]
                return replace(found, sorted_by=tuple(terms), first_key=first, order=order)
            case Limit():
                return self._limit(node)
            case Neighbours():
                return self._neighbours(node)
            case Project():
                return self._project(node)
            case Unpivot():
                return self._unpivot(node)
            case Unnest(source, column, name):
                found = self.rows(source)
                value = self.expression(column, found)
                if not isinstance(value, ColumnValue):
                    raise ProgramCompilationError("SQL can take apart the lists of a column of a table only.")
                step = self._step(
                    "members", lambda step: f"SELECT *{step.listed()}\n  FROM {quoted(found.step.name)}"
                )
                member = ListMember(step, value)
                member.facet("text")
                place = step.output(f"generate_subscripts({value.lists('text', member)}, 1)", "place")
                scope = Scope(
                    found.scope.sources,
                    (name, *found.scope.names),
                    (_ANY, *found.scope.types),
                )
                order = (*found.sorted_by, *found.order, place)
                return _Relation(step, scope, found.bases, (member, *found.computed), order)
        raise ProgramCompilationError(f"SQL cannot say {type(node).__name__}.")

    def _table(self, node: TableRows) -> _Relation:
        bound = bind(node, self._relations)
        if node.tables not in self._tables:
            name = self._table_names.take("+".join(node.tables))
            self._tables[node.tables] = SqlTableBuilder(bound.relation, name)
        base = SqlRows(self._tables[node.tables], node.choice, self._prefixes.take(node.name))
        step = self._step(f"rows of {node.name}", base.render)
        order = ColumnValue(base, "@row").facet("value")
        return _Relation(step, Scope((bound,)), (base,), (), (order,))

    def _join(self, node: Join) -> _Relation:
        if node.similarity:
            raise ProgramCompilationError("SQL cannot join by similarity.")
        left, right = self.rows(node.left), self.rows(node.right)
        tests = [
            f"{a.facet('key')} = {b.facet('key')}"
            for pair in node.on
            for a, b in [(self.expression(pair.left, left), self.expression(pair.right, right))]
        ]
        on = "\n    AND ".join(tests)
        step = self._step(
            "join",
            lambda _: (
                f"SELECT *\n  FROM {quoted(left.step.name)}\n  JOIN {quoted(right.step.name)}\n    ON {on}"
            ),
        )
        order = (*left.sorted_by, *left.order, *right.sorted_by, *right.order)
        scope = joined(left.scope, right.scope)
        return _Relation(step, scope, left.bases + right.bases, left.computed + right.computed, order)

    def _combine(self, node: SetOperation) -> _Relation:
        sides = [self._numbered(self.rows(node.left)), self._numbered(self.rows(node.right))]
        pairs = list(zip(sides[0][0].columns(), sides[1][0].columns(), strict=True))
        taken: dict[tuple[str, str], str] = {}

        def both(step: SqlStep) -> str:
            parts = []
            for side, (found, number) in enumerate(sides):
                columns = "".join(f",\n    {pair[side]} AS {name}" for pair, name in taken.items())
                parts.append(
                    f"SELECT {side} AS side, {number} AS place{columns}\n  FROM {quoted(found.step.name)}"
                )
            return "\n  UNION ALL\n  ".join(parts)

        def take(sqls: Sequence[str], name: str) -> str:
            pair = (sqls[0], sqls[1])
            if pair not in taken:
                taken[pair] = quoted(f"{len(taken) + 1} {name}")
            return taken[pair]

        united = self._step("both", both)
        every = node.operator is SetOperator.UNION_ALL
        keys = [take([a.facet("key"), b.facet("key")], "key") for a, b in pairs]
        kept = {
            SetOperator.UNION: "TRUE",
            SetOperator.INTERSECT: "bool_or(side = 0) AND bool_or(side = 1)",
            SetOperator.EXCEPT: "bool_and(side = 0)",
        }.get(node.operator, "")
        step = self._step(
            "all" if every else node.operator.value,
            lambda step: (
                f"SELECT side * 1000000000000 + place AS {_place(step)}{step.listed()}\n"
                f"  FROM {quoted(united.name)}"
                if every
                else f"SELECT min(side * 1000000000000 + place) AS {_place(step)}{step.listed()}\n"
                f"  FROM {quoted(united.name)}\n  GROUP BY {', '.join(keys)}\n  HAVING {kept}"
            ),
        )

        def hand_on(sqls: Sequence[str], name: str) -> str:
            column = take(sqls, name)
            sql = column if every else f"arg_min_null({column}, side * 1000000000000 + place)"
            return step.output(sql, name)

        values: list[SqlValue] = []
        for a, b in pairs:
            if isinstance(a, KnownValue) and isinstance(b, KnownValue):
                values.append(handed_values([a, b], hand_on))
            elif a.kind == b.kind and a.unit == b.unit:
                sql = hand_on([a.facet("value"), b.facet("value")], "value")
                values.append(ComputedValue(sql, a.unit, truth=a.kind == "truth"))
            else:
                raise ProgramCompilationError("SQL cannot unite columns of different kinds.")
        return _Relation(step, computed(sides[0][0].scope), (), tuple(values), (_place(step),))

    def _group(self, node: GroupBy) -> _Relation:
        found, number = self._numbered(self.rows(node.source))
        keys = [self.expression(key.expression, found) for key in node.keys]
        by = [key.facet("key") for key in keys]

        def render(step: SqlStep) -> str:
            groups = f"\n  GROUP BY {', '.join(by)}" if by else ""
            first = f"min({number}) AS {_place(step)}"
            return f"SELECT {first}{step.listed()}\n  FROM {quoted(found.step.name)}{groups}"

        step = SqlStep(self._step_names.take("groups"), render)

        def first(sqls: Sequence[str], name: str) -> str:
            return step.output(f"arg_min_null({sqls[0]}, {number})", name)

        values: list[SqlValue] = [handed(key, first) for key in keys]
        for measure in node.measures:
            value = self.expression(measure.expression, found, _Group(number))
            if isinstance(value, KnownValue):
                values.append(handed_values([value], lambda sqls, name: step.output(sqls[0], name)))
            else:
                assert isinstance(value, ComputedValue)
                values.append(value.handed(lambda sqls, name: step.output(sqls[0], name)))
        self._steps.append(step)
        scope = Scope((), names_of((*node.keys, *node.measures)), tuple(_ANY for _ in values))
        return _Relation(step, scope, (), tuple(values), (_place(step),))

    def _limit(self, node: Limit) -> _Relation:
        found = self.rows(node.source)
        by = ", ".join((*found.sorted_by, *found.order))
        number = f"row_number() OVER (ORDER BY {by})"
        upper = number
        if node.ties:
            upper = f"rank() OVER (ORDER BY {', '.join(found.sorted_by)})"
        known = f"\n  WHERE {found.first_key} IS NOT NULL" if found.first_key else ""
        test = f"QUALIFY {number} > {node.offset} AND {upper} <= {node.offset + node.count}"
        return self._over(found, "limit", lambda _: f"{known.strip()}\n  {test}".strip(), keep_sort=True)

    def _neighbours(self, node: Neighbours) -> _Relation:
        found, number = self._numbered(self.rows(node.source))
        test = self.condition(node.condition, found)
        chosen = f"SELECT {number} + {node.offset} FROM {quoted(found.step.name)} WHERE {test}"
        return self._over(found, "neighbours", lambda _: f"WHERE {number} IN ({chosen})", keep_sort=True)

    def _project(self, node: Project) -> _Relation:
        found = self.rows(node.source)
        values = [self.expression(output.expression, found) for output in node.columns]
        scope = Scope((), names_of(node.columns), tuple(_ANY for _ in values))
        if not node.distinct:
            return _Relation(
                found.step, scope, (), tuple(values), found.order, found.sorted_by, found.first_key
            )
        found, number = self._numbered(found)
        by = [value.facet("key") for value in values]
        step = self._step(
            "different",
            lambda step: (
                f"SELECT min({number}) AS {_place(step)}{step.listed()}\n"
                f"  FROM {quoted(found.step.name)}\n  GROUP BY {', '.join(by)}"
            ),
        )
        first = [
            handed(value, lambda sqls, name: step.output(f"arg_min_null({sqls[0]}, {number})", name))
            for value in values
        ]
        return _Relation(step, scope, (), tuple(first), (_place(step),))

    def _unpivot(self, node: Unpivot) -> _Relation:
        found = self.rows(node.source)
        places = [found.scope.resolve(ref) for ref in node.columns]
        leaves: list[KnownValue] = []
        headings: list[KnownValue] = []
        for place in places:
            leaf = found.column(place)
            if not isinstance(leaf, ColumnValue) or not isinstance(place, SourceColumn):
                raise ProgramTypeError("Only columns of a table can be unpivoted.")
            leaves.append(leaf)
            name = found.scope.sources[place.source].relation.columns[int(place.column)].name
            span = time_in(name)
            heading = time_datum(span, name) if span else Datum(ValueKind.TEXT, name, text=name)
            headings.append(BoundConstant(self.parameter, heading))
        taken: dict[tuple[str, ...], str] = {}

        def render(step: SqlStep) -> str:
            parts = []
            for branch in range(len(leaves)):
                columns = "".join(f",\n    {sqls[branch]} AS {name}" for sqls, name in taken.items())
                parts.append(
                    f"SELECT *, {branch} AS {_place(step)}{columns}\n  FROM {quoted(found.step.name)}"
                )
            return "\n  UNION ALL\n  ".join(parts)

        step = self._step("unpivoted", render)

        def take(sqls: Sequence[str], name: str) -> str:
            return taken.setdefault(tuple(sqls), quoted(f"{step.name}: {len(taken) + 1} {name}"))

        scope = Scope(
            found.scope.sources, (node.name, node.value, *found.scope.names), (_ANY, _ANY, *found.scope.types)
        )
        values = (handed_values(headings, take), handed_values(leaves, take), *found.computed)
        return _Relation(step, scope, found.bases, values, (*found.sorted_by, *found.order, _place(step)))

    def _over(
        self, found: _Relation, name: str, clauses: Callable[[SqlStep], str], *, keep_sort: bool
    ) -> _Relation:
        """A step that takes some rows of another one."""
        step = self._step(name, lambda step: f"SELECT *\n  FROM {quoted(found.step.name)}\n  {clauses(step)}")
        if keep_sort:
            return replace(found, step=step)
        return replace(found, step=step, order=(*found.sorted_by, *found.order), sorted_by=(), first_key="")

    def _numbered(self, found: _Relation) -> tuple[_Relation, str]:
        """The rows with their place, and its column."""
        by = ", ".join((*found.sorted_by, *found.order))
        step = self._step(
            "numbered",
            lambda step: (
                f"SELECT *, row_number() OVER (ORDER BY {by}) AS {number}\n  FROM {quoted(found.step.name)}"
            ),
        )
        number = quoted(f"{step.name}: number")
        return replace(found, step=step), number

    def _order(self, key: SortKey, found: _Relation, step: SqlStep) -> list[str]:
        value = self.expression(key.expression, found)
        facets = {"number": ("value",), "truth": ("value",), "time": ("start", "end")}.get(
            value.kind, ("rank",)
        )
        direction = "DESC" if key.descending else "ASC"
        sqls = [value.facet(facet) for facet in facets]
        if isinstance(value, ComputedValue):
            # A window cannot be ordered by what may fail, such as a quotient.
            sqls = [sql if sql[0] == '"' else step.output(sql, "key") for sql in sqls]
        return [f"{sql} {direction} NULLS LAST" for sql in sqls]

    def _step(self, name: str, render: Callable[[SqlStep], str]) -> SqlStep:
        step = SqlStep(self._step_names.take(name), render)
        self._steps.append(step)
        return step

    # Expressions

    def expression(self, node: Expression, found: _Relation | None, group: _Group | None = None) -> SqlValue:
        match node:
            case ColumnRef():
                if found is None:
                    raise ProgramTypeError(f"The column {node.name!r} stands outside of any rows.")
                return found.column(found.scope.resolve(node))
            case Constant():
                return BoundConstant(self.parameter, constant_datum(node))
            case Apply(function, operand, index):
                return self._apply(function, self.expression(operand, found, group), index)
            case Arithmetic(operator, left, right):
                return self._arithmetic(
                    operator, self.expression(left, found, group), self.expression(right, found, group)
                )
            case Convert(operand, unit):
                value = self.expression(operand, found, group)
                return ComputedValue(self._in(value, unit), unit)
            case Aggregate():
                return self._aggregate(node, found, group)
            case Lookup(rows, inner):
                return self._lookup(self.rows(rows), inner)
            case _:
                return ComputedValue(self.condition(node, found, group), truth=True)

    def condition(self, node: Expression, found: _Relation | None, group: _Group | None = None) -> str:
        """A condition as SQL of three truth values."""
        match node:
            case And(conditions):
                return _all([self.condition(part, found, group) for part in conditions], "AND")
            case Or(conditions):
                return _all([self.condition(part, found, group) for part in conditions], "OR")
            case Not(inner):
                return f"NOT ({self.condition(inner, found, group)})"
            case Compare(relator, left, right):
                return self._compare(
                    relator, self.expression(left, found, group), self.expression(right, found, group)
                )
            case Membership(operand, choices):
                value = self.expression(operand, found, group)
                if isinstance(choices, Rows):
                    rows = self.rows(choices)
                    column = rows.columns()[0].facet("key")
                    # IN over missing values would be unknown; the algebra passes over them.
                    return (
                        f"{value.facet('key')} IN (\n    SELECT {column} FROM {quoted(rows.step.name)}"
                        f" WHERE {column} IS NOT NULL)"
                    )
                tests = [
                    self._compare(Relator.EQUAL, value, self.expression(choice, found, group))
                    for choice in choices
                ]
                return _all(tests, "OR") if tests else "FALSE"
            case IsMissing(operand):
                value = self.expression(operand, found, group)
                return f"{value.facet('value' if value.kind in ('number', 'truth') else 'text')} IS NULL"
        value = self.expression(node, found, group)
        if value.kind != "truth":
            raise ProgramTypeError("A condition must be a truth value.")
        return value.facet("value")

    def _aggregate(self, node: Aggregate, found: _Relation | None, group: _Group | None) -> SqlValue:
        if node.rows is not None:
            found, number = self._numbered(self.rows(node.rows))
            group = _Group(number)
        elif found is None or group is None:
            raise ProgramTypeError("The aggregate has no rows: it stands in no group.")
        alone = node.rows is not None
        source = quoted(found.step.name)

        def whole(sql: str) -> str:
            return f"(SELECT {sql} FROM {source})" if alone else sql

        function = node.function
        if node.argument is None:
            return ComputedValue(whole("count(*)"), "NUM", digits=18)
        value = self.expression(node.argument, found)
        if function is AggregateFunction.COUNT:
            facet = "value" if value.kind in ("number", "truth") else "text"
            return ComputedValue(whole(f"count({value.facet(facet)})"), "NUM", digits=18)
        if function is AggregateFunction.COUNT_DISTINCT:
            return ComputedValue(whole(f"count(DISTINCT {value.facet('key')})"), "NUM", digits=18)
        if function is AggregateFunction.FIRST:
            return handed(value, lambda sqls, _: whole(f"arg_min_null({sqls[0]}, {group.number})"))
        if function in (AggregateFunction.MIN, AggregateFunction.MAX):
            name = function.value
            if value.kind == "number":
                return ComputedValue(whole(f"{name}({value.facet('value')})"), value.unit, value.scale,
                                 digits=value.digits)  # fmt: skip
            by = value.facet("rank")
            return handed(value, lambda sqls, _: whole(f"arg_{name}_null({sqls[0]}, {by})"))
        number = self._number(value)
        if (
            isinstance(value, ComputedValue) and value.digits > MOST_DIGITS
        ) or function is not AggregateFunction.SUM:
            number = f"CAST({number} AS DOUBLE)" if function is not AggregateFunction.MEDIAN else number
        sql = {AggregateFunction.SUM: "sum", AggregateFunction.MEAN: "avg"}.get(function, "median")
        digits = MOST_DIGITS if function is AggregateFunction.SUM else MOST_DIGITS + 1
        return ComputedValue(whole(f"{sql}({number})"), value.unit, value.scale, digits=digits)

    def _lookup(self, found: _Relation, node: Expression) -> SqlValue:
        value = self.expression(node, found)
        key = value.facet("key")
        source = quoted(found.step.name)

        def one(sqls: Sequence[str], _: str) -> str:
            several = f"count(DISTINCT {key}) > 1"
            failed = "error('several rows match, with different values')"
            # `error` must not be evaluated while nothing is wrong, which the CASE grants.
            return f"(SELECT CASE WHEN {several} THEN {failed} ELSE any_value({sqls[0]}) END FROM {source})"

        return handed(value, one)


@dataclass(frozen=True)
class _Group:
    """The groups around an aggregate: the column that numbers the rows."""

    number: str


def _all_and_outputs(source: str) -> Callable[[SqlStep], str]:
    return lambda step: f"SELECT *{step.listed()}\n  FROM {quoted(source)}"


def _place(step: SqlStep) -> str:
    """The column that orders the rows of a step."""
    return quoted(f"{step.name}: place")


def _shown(value: SqlValue) -> str:
    return value.facet("value" if value.kind in ("number", "truth") else "text")


def _all(parts: Sequence[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else "(" + f"\n    {word} ".join(parts) + ")"


def _lines(parts: Sequence[str]) -> str:
    return ",\n  ".join(parts)
