"""Programs as SPARQL 1.1 over kgtable's graph, for the embedded store and any other endpoint.

The query reads the shape of `kgtable.graph.table_encoder`: a named graph for each table, a node for each row, one
triple for each cell, quantities with exact numbers and QUDT units. Units of one column that differ are brought together
by multipliers in the query.

What maps directly is compiled: select, filter, count, sum, mean, extremes, groups, the first rows of an order, joins on
equal keys, conversion. Everything else raises `ProgramCompilationError` and runs in memory.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from kgtable.errors import ProgramTypeError, UnitMismatchError
from kgtable.graph.terms import FIXED_PREFIXES, Namespaces, text_literal
from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    And,
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
    Not,
    Or,
    Program,
    Project,
    Relator,
    Rows,
    Sort,
    TableRows,
)
from kgtable.programs.compiled.sparql_cells import (
    MOST_LISTED,
    SIGNS,
    Pattern,
    QueryContext,
    SparqlValue,
    TablePattern,
    decimal_literal,
    does_not_map,
    pattern_lines,
)
from kgtable.programs.executor import constant_datum, places_of
from kgtable.programs.realize import realize
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import normal, text_of
from kgtable.programs.types import Scope, Type, bind, check, columns_of, joined, names_of

_ANY = Type(None)


@dataclass(frozen=True)
class SparqlQuery:
    """A compiled program: the query, and the name, variable and unit of each output column.

    The unit is None for a value that is not a number, or has none.
    """

    text: str
    names: tuple[str, ...]
    variables: tuple[str, ...]
    units: tuple[str | None, ...]


def compile_sparql(program: Program, relations: Mapping[str, Relation], names: Namespaces | None = None) -> SparqlQuery:
    """A program as a SPARQL query over the graph of its tables, with these namespaces.

    Raises the errors of `check`, and `ProgramCompilationError` for what does not map to SPARQL.
    """
    check(program, relations)
    try:
        return _Compiler(relations, names or Namespaces()).query(program)
    except (ProgramTypeError, UnitMismatchError) as error:
        # The program is sound: its rows have units that fit one another, the columns as a whole have not.
        raise does_not_map(f"a column of several units ({error})") from error


@dataclass
class _SubSelect:
    """A sub-select whose output variables are found out while the rest is compiled."""

    context: QueryContext
    inner: Pattern
    modifiers: list[str] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    """The variables by their expressions over the inner pattern."""

    def output(self, value: SparqlValue, wanted: str = "value", call: str = "{}") -> SparqlValue:
        """A value of the inner pattern, or a call's result on it, as seen outside."""
        sparql = call.format(value.sparql)
        if sparql not in self.outputs:
            self.outputs[sparql] = sparql if is_variable(sparql) else self.context.variable(wanted)
        return replace(value, sparql=self.outputs[sparql], cell=None)

    def lines(self) -> Iterator[str]:
        """The lines of the pattern."""
        columns = [name if name == sparql else f"({sparql} AS {name})" for sparql, name in self.outputs.items()]
        head = f"SELECT {' '.join(columns)} WHERE {{"
        wrapped: Pattern = [head] if len(head) < 100 else ["SELECT", [*columns], "WHERE {"]
        yield from pattern_lines(["{", [*wrapped, self.inner, "}", *self.modifiers], "}"])


@dataclass
class _Relation:
    """A compiled relation: its pattern, its columns by table, the computed ones, and what orders its rows."""

    pattern: Pattern
    scope: Scope
    tables: tuple[Callable[[int], SparqlValue], ...] = ()
    computed: tuple[SparqlValue, ...] = ()
    order: tuple[str, ...] = ()
    sorted_by: tuple[tuple[str, bool], ...] = ()
    """The variables of a sort right below, and whether the largest come first."""
    table: TablePattern | None = None
    """The table whose rows these are, where they are those of one."""


class _Compiler(QueryContext):
    def __init__(self, relations: Mapping[str, Relation], names: Namespaces) -> None:
        super().__init__(names)
        self._relations = relations

    def query(self, program: Program) -> SparqlQuery:
        if isinstance(program.root, Rows):
            found = self.rows(program.root)
            names = tuple(name for name, _ in columns_of(found.scope))
            values = list(found.computed)
            for read, source in zip(found.tables, found.scope.sources, strict=True):
                values += [read(column.index) for column in source.relation.columns]
        else:
            found = _Relation([], Scope())
            names, values = ("value",), [self.expression(program.root, found)]
        shown = [self._shown(value, found.pattern) for value in values]
        variables = [
            sparql if is_variable(sparql) and shown.count(sparql) == 1 else self.variable(name)
            for sparql, name in zip(shown, names, strict=True)
        ]
        columns = [
            sparql if sparql == variable else f"({sparql} AS {variable})"
            for sparql, variable in zip(shown, variables, strict=True)
        ]
        modifiers, where = self._ordering(found), found.pattern
        if len(where) == 1 and isinstance(where[0], _SubSelect) and not where[0].modifiers:
            select = where[0]
            if set(columns) == set(select.outputs.values()):
                # One aggregate is a query of its own, not a sub-select of one.
                by_name = {name: sparql for sparql, name in select.outputs.items()}
                columns, where = [f"({by_name[name]} AS {name})" for name in columns], select.inner
        body = pattern_lines([f"SELECT {' '.join(columns)} WHERE {{", where, "}", *modifiers])
        words = textwrap.wrap(" ".join(realize(program).split()), 100)
        text = "\n".join([*(f"# {line}" for line in words), _declared("\n".join(body), self.names)]) + "\n"
        units = tuple(value.unit for value in values)
        return SparqlQuery(text, names, tuple(name.removeprefix("?") for name in variables), units)

    def _shown(self, value: SparqlValue, pattern: Pattern) -> str:
        """A number, or a text as the program prints it."""
        printed = {text: text_of(datum) for text, datum in (value.texts or {}).items()}
        if all(normal(text) == normal(other) for text, other in printed.items()):
            return value.sparql
        if len(printed) > MOST_LISTED:
            raise does_not_map("how each of many cells is printed")
        text, held, shown = self.bound(pattern, value.sparql, "text"), self.variable("held"), self.variable("printed")
        rows: Pattern = [f"({text_literal(text)} {text_literal(other)})" for text, other in printed.items()]
        pattern += ["OPTIONAL {", [f"VALUES ({held} {shown}) {{", rows, "}", f"FILTER({held} = {text})"], "}"]
        return shown

    # Relations

    def rows(self, node: Rows) -> _Relation:
        match node:
            case TableRows():
                bound = bind(node, self._relations)
                table = TablePattern(self, node, bound.relation)
                return _Relation([table], Scope((bound,)), (table.column,), order=(table.place,), table=table)
            case Filter(source, condition):
                found = self._unsorted(source)
                for part in condition.conditions if isinstance(condition, And) else (condition,):
                    found.pattern.append(f"FILTER({self.condition(part, found, required=True)})")
                if found.table is not None:
                    places = places_of(node, self._relations)
                    found.table.rows = places if len(places) else found.table.rows
                return found
            case Join():
                return self._join(node)
            case GroupBy():
                return self._group(node)
            case Sort(source, keys):
                found = self._unsorted(source)
                terms = [(self.expression(key.expression, found).order(), key.descending) for key in keys]
                return replace(
                    found,
                    sorted_by=tuple((self.bound(found.pattern, term, "key"), descending) for term, descending in terms),
                )
            case Limit(ties=True):
                return self._ties(node)
            case Limit():
                return self._limit(node)[1]
            case Project(source, columns, distinct=True):
                return self._group(GroupBy(source, columns, ()))  # in the order of the first rows
            case Project(source, columns):
                found = self.rows(source)
                values = tuple(self.expression(output.expression, found) for output in columns)
                scope = Scope((), names_of(columns), tuple(_ANY for _ in values))
                return replace(found, scope=scope, tables=(), computed=values, table=None)
        raise does_not_map(type(node).__name__)

    def _unsorted(self, node: Rows) -> _Relation:
        """The rows below an operator; only a limit or a projection keeps the order of a sort."""
        found = self.rows(node)
        if found.sorted_by:
            raise does_not_map("an order below another operator")
        return found

    def _ordering(self, found: _Relation) -> list[str]:
        terms = []
        for variable, descending in found.sorted_by:
            # Missing values come last; in descending order they do so by themselves. Virtuoso sorts by variables alone.
            if descending:
                terms.append(f"DESC({variable})")
            else:
                terms += [self.bound(found.pattern, f"!BOUND({variable})", "missing"), f"ASC({variable})"]
        terms += found.order
        return [f"ORDER BY {' '.join(terms)}"] if terms else []

    def _join(self, node: Join) -> _Relation:
        if node.similarity:
            raise does_not_map("a join by similarity")
        left, right = self._unsorted(node.left), self._unsorted(node.right)
        for pair in node.on:
            key = self.variable("key")
            for side, expression in ((left, pair.left), (right, pair.right)):
                value = self.expression(expression, side)
                _require(value)
                side.pattern += [f"BIND({value.join_key()} AS {key})", f"FILTER(BOUND({key}))"]
        return _Relation(
            ["{", left.pattern, "}", "{", right.pattern, "}"],
            joined(left.scope, right.scope),
            left.tables + right.tables,
            left.computed + right.computed,
            left.order + right.order,
        )

    def _group(self, node: GroupBy) -> _Relation:
        one = isinstance(node.source, Limit) and node.source.count == 1  # its rows are equal in the sort's order
        found = self.rows(node.source) if one else self._unsorted(node.source)
        keys = [self.expression(key.expression, found) for key in node.keys]
        select = _SubSelect(self, found.pattern)
        by = [self.bound(found.pattern, key.group_key(), "key") for key in keys]
        values = [select.output(key, "value", "{}" if key.sparql in by else "MIN({})") for key in keys]
        if by:
            select.modifiers.append(f"GROUP BY {' '.join(dict.fromkeys(by))}")
        for measure in node.measures:
            if not isinstance(measure.expression, Aggregate) or measure.expression.rows is not None:
                raise does_not_map("a measure of a group that is not one of its aggregates")
            values.append(select.output(self._aggregated(measure.expression, found, alone=False)))
        order: tuple[str, ...] = ()
        if by and found.order:
            first = found.order[0]
            for variable in found.order[1:]:
                first = f"({first} * 10000000 + {variable})"
            order = (select.output(SparqlValue(f"MIN({first})"), "first").sparql,)
        scope = Scope((), names_of((*node.keys, *node.measures)), tuple(_ANY for _ in values))
        return _Relation([select], scope, (), tuple(values), order)

    def _limit(self, node: Limit) -> tuple[_SubSelect, _Relation]:
        """The first rows as a sub-select that returns the requested values."""
        found = self.rows(node.source)
        if found.sorted_by:
            found.pattern.append(f"FILTER(BOUND({found.sorted_by[0][0]}))")
        modifiers = [*self._ordering(found), f"LIMIT {node.count}"]
        select = _SubSelect(self, found.pattern, [*modifiers, *([f"OFFSET {node.offset}"] if node.offset else [])])
        for variable in (*found.order, *(variable for variable, _ in found.sorted_by)):
            select.output(SparqlValue(variable))
        tables = tuple(partial(lambda read, column: select.output(read(column)), read) for read in found.tables)
        values = tuple(map(select.output, found.computed))
        return select, replace(found, pattern=[select], tables=tables, computed=values, table=None)

    def _ties(self, node: Limit) -> _Relation:
        """The rows that are not worse than the worst of the first ones."""
        found = self.rows(node.source)
        if node.offset or len(found.sorted_by) != 1:
            raise does_not_map("ties of a sort by several keys, or not from its first row")
        _, other = self._limit(replace(node, ties=False))
        (key, descending), (worst, _) = found.sorted_by[0], other.sorted_by[0]
        select = _SubSelect(self, other.pattern)
        bound = select.output(SparqlValue(worst), "worst", "MIN({})" if descending else "MAX({})").sparql
        found.pattern += [select, f"FILTER({key} {'>=' if descending else '<='} {bound})"]
        return found

    def bound(self, pattern: Pattern, sparql: str, wanted: str) -> str:
        """A variable with the value of an expression."""
        if is_variable(sparql):
            return sparql
        variable = self.variable(wanted)
        pattern.append(f"BIND({sparql} AS {variable})")
        return variable

    # Expressions

    def expression(self, node: Expression, found: _Relation) -> SparqlValue:
        match node:
            case ColumnRef():
                place = found.scope.resolve(node)
                if isinstance(place, int):
                    return found.computed[place]
                column = place.column
                if column == "@label":
                    column = found.scope.sources[place.source].relation.label_column()
                if isinstance(column, int):
                    return found.tables[place.source](column)
                raise does_not_map(column)
            case Constant():
                datum = constant_datum(node)
                if datum.number is not None:
                    return SparqlValue(decimal_literal(datum.number), datum.unit)
                return SparqlValue(text_literal(text_of(datum)), texts={text_of(datum): datum})
            case Convert(operand, unit):
                return SparqlValue(self.expression(operand, found).number(unit), unit)
            case Aggregate(rows=Rows() as rows):
                inner = self.rows(rows)
                select = _SubSelect(self, inner.pattern)
                value = self._aggregated(node, inner, alone=True)
                of = f" {node.argument.name}" if isinstance(node.argument, ColumnRef) else ""
                found.pattern.append(select)
                return select.output(value, f"{node.function.value}{of}")
            case Lookup(value=of_rows, rows=rows):
                inner = self.rows(rows)
                value = self.expression(of_rows, inner)
                select = _SubSelect(self, inner.pattern)
                key = SparqlValue(self.bound(inner.pattern, value.group_key(), "key"))
                # No HAVING: Virtuoso takes it only after GROUP BY.
                count = select.output(key, "different", "COUNT(DISTINCT {})").sparql
                found.pattern += [select, f"FILTER({count} <= 1)"]
                return select.output(value, "the value", "SAMPLE({})")
        raise does_not_map(type(node).__name__)

    def condition(self, node: Expression, found: _Relation, *, required: bool = False) -> str:
        """A condition; a missing value makes it an error, which no filter passes.

        With `required` the rows without the cells that it compares can be left out beforehand.
        """
        match node:
            case And(conditions) | Or(conditions):
                sign = " && " if isinstance(node, And) else " || "
                return sign.join(f"({self.condition(part, found)})" for part in conditions)
            case Not(inner):
                return f"!({self.condition(inner, found)})"
            case Membership(operand, choices) if not isinstance(choices, Rows):
                return self.condition(Or(tuple(Compare(Relator.EQUAL, operand, one) for one in choices)), found)
            case IsMissing(operand):
                return f"!BOUND({self.bound(found.pattern, self.expression(operand, found).sparql, 'value')})"
            case Compare(relator, left, right):
                value = self.expression(left, found)
                if isinstance(right, Constant):
                    test = value.compared(relator, constant_datum(right))
                elif relator in SIGNS:
                    other = self.expression(right, found)
                    test = f"{value.number()} {SIGNS[relator]} {other.number(value.unit)}"
                    _require(other, required)
                else:
                    raise does_not_map("a comparison of these columns")
                _require(value, required)
                return test
        raise does_not_map(f"{type(node).__name__} as a condition")

    def _aggregated(self, node: Aggregate, found: _Relation, *, alone: bool) -> SparqlValue:
        """An aggregate over rows; `alone` where the rows serve nothing else."""
        function = node.function
        if node.argument is None:
            return SparqlValue("COUNT(*)", "NUM")
        value = self.expression(node.argument, found)
        if function is AggregateFunction.COUNT_DISTINCT:
            return SparqlValue(f"COUNT(DISTINCT {self.bound(found.pattern, value.group_key(), 'key')})", "NUM")
        # An expression that fails for one row would spoil the aggregate of all.
        sparql = self.bound(found.pattern, value.sparql, "value")
        if function is AggregateFunction.COUNT:
            return SparqlValue(f"COUNT({sparql})", "NUM")
        _require(value, alone)
        if alone and not value.complete and value.cell is None:
            found.pattern.append(f"FILTER(BOUND({sparql}))")
        if function in (AggregateFunction.MIN, AggregateFunction.MAX):
            if value.order() != value.sparql or not (alone or value.complete):
                raise does_not_map("the extremes of texts, or of groups with missing values")
            return replace(value, sparql=f"{function.value.upper()}({sparql})")
        if function not in (AggregateFunction.SUM, AggregateFunction.MEAN):
            raise does_not_map(function.value)
        if value.is_repeated:
            raise does_not_map("values that are added once for each value of another column")
        value.number()
        total = f"SUM({sparql})" if alone or value.complete else f"SUM(COALESCE({sparql}, 0))"
        # The sum of nothing is missing; SPARQL says 0. Virtuoso knows no aggregates within IF.
        rest = f"/ COUNT({sparql})" if function is AggregateFunction.MEAN else f"+ 0 / COUNT({sparql})"
        return replace(value, sparql=f"({total} {rest})")


def _require(value: SparqlValue, required: bool = True) -> None:
    """Leave out the rows without a value."""
    if required and value.cell is not None:
        value.cell.required = True


def is_variable(sparql: str) -> bool:
    return re.fullmatch(r"\?\w+", sparql) is not None


def _declared(body: str, names: Namespaces) -> str:
    known = {**FIXED_PREFIXES, "ex": names.ex, "data": names.data}
    used = [name for name in known if re.search(rf"(?<![\w<]){name}:", body)]
    return "\n".join([*(f"PREFIX {name}: <{known[name]}>" for name in used), body])
