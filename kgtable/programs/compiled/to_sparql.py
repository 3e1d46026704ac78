"""Programs as SPARQL 1.1 over kgtable's graph, for the embedded store and any other endpoint.

The query reads the shape of `kgtable.graph.table_encoder`: a named graph for each table, a node for each row, one
triple for each cell, quantities with exact numbers and QUDT units. Units of one column that differ, and those of two
sides of a comparison, are brought together by multipliers in the query.

What maps directly is compiled: select, filter, count, sum, mean, extremes, groups, the first rows of an order, joins on
equal keys, conversion. Everything else raises `ProgramCompilationError` and runs in memory.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

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
    CellReading,
    ColumnReading,
    ComputedTerm,
    GraphRows,
    HandedReading,
    SparqlConstant,
    SparqlValue,
    comparison_of,
    number_in,
    number_of,
)
from kgtable.programs.compiled.sparql_patterns import (
    BracedPattern,
    GroupPattern,
    QueryContext,
    SubSelect,
    decimal_literal,
    does_not_map,
    indented,
    is_variable,
)
from kgtable.programs.executor import constant_datum, places_of
from kgtable.programs.realize import realize
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import number_in_unit, sort_key
from kgtable.programs.types import Scope, Type, bind, check, columns_of, joined, names_of

_ANY = Type(None)
_HandOn = Callable[[str, str], str]
"""Gives the outer variable of an expression over the inner pattern, named after the second text."""


@dataclass(frozen=True)
class SparqlQuery:
    """A compiled program: the query, and the name, variable and unit of each output column.

    The unit is None for what is not a number, or has none.
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
class _Relation:
    """A compiled relation: its pattern, what its columns are, and the variables that order its rows."""

    group: GroupPattern
    scope: Scope
    bases: tuple[GraphRows, ...] = ()
    computed: tuple[SparqlValue, ...] = ()
    order: tuple[str, ...] = ()
    sorted_by: tuple[tuple[str, bool], ...] = ()
    """The variables of a sort right below, and whether the largest come first."""


class _Compiler(QueryContext):
    def __init__(self, relations: Mapping[str, Relation], names: Namespaces) -> None:
        super().__init__(names)
        self._relations = relations

    def query(self, program: Program) -> SparqlQuery:
        if isinstance(program.root, Rows):
            found = self.rows(program.root)
            names = tuple(name for name, _ in columns_of(found.scope))
            values = self._columns(found)
        else:
            found = _Relation(GroupPattern(), Scope())
            names, values = ("value",), [self.expression(program.root, found)]
        shown = [value.number() if value.kind == "number" else _shown(value) for value in values]
        variables = [
            sparql if is_variable(sparql) and shown.count(sparql) == 1 else self.variable(name)
            for sparql, name in zip(shown, names, strict=True)
        ]
        columns = [
            sparql if sparql == variable else f"({sparql} AS {variable})"
            for sparql, variable in zip(shown, variables, strict=True)
        ]
        modifiers = self._ordering(found)
        where = found.group.lines()
        if self._is_flat(found) and set(columns) == set(found.group.blocks[0].outputs.values()):  # type: ignore[attr-defined]
            # One aggregate is a query of its own, not a sub-select of one.
            select = found.group.blocks[0]
            assert isinstance(select, SubSelect)
            by_name = {name: sparql for sparql, name in select.outputs.items()}
            columns = [f"({by_name[name]} AS {name})" for name in columns]
            where = select.inner.lines()
        body = "\n".join([f"SELECT {' '.join(columns)} WHERE {{", *indented(where), "}", *modifiers])
        words = textwrap.wrap(" ".join(realize(program).split()), 100)
        units = tuple(value.unit if value.kind == "number" else None for value in values)
        text = "\n".join([*(f"# {line}" for line in words), _declared(body, self.names)]) + "\n"
        return SparqlQuery(text, names, tuple(name.removeprefix("?") for name in variables), units)

    def _is_flat(self, found: _Relation) -> bool:
        blocks = found.group.blocks
        return len(blocks) == 1 and isinstance(blocks[0], SubSelect) and not blocks[0].modifiers

    # Relations

    def rows(self, node: Rows) -> _Relation:
        match node:
            case TableRows():
                bound = bind(node, self._relations)
                base = GraphRows(self, node, bound.relation)
                return _Relation(base.group, Scope((bound,)), (base,), (), (base.place,))
            case Filter(source, condition):
                found = self._unsorted(source)
                for part in condition.conditions if isinstance(condition, And) else (condition,):
                    test = self.condition(part, found, required=True)
                    found.group.add(f"FILTER({test})")
                if len(found.bases) == 1 and not found.computed:
                    base = found.bases[0].narrowed(places_of(node, self._relations))
                    found = replace(found, bases=(base,))
                return found
            case Join():
                return self._join(node)
            case GroupBy():
                return self._group(node)
            case Sort(source, keys):
                found = self._unsorted(source)
                terms = []
                for key in keys:
                    value = self.expression(key.expression, found)
                    terms.append((self.bound(found.group, value.order(), "key"), key.descending))
                return replace(found, sorted_by=tuple(terms))
            case Limit():
                return self._limit(node)
            case Project(source, columns, distinct=True):
                return self._group(GroupBy(source, columns, ()))  # in the order of the first rows
            case Project(source, columns):
                found = self.rows(source)
                values = tuple(self.expression(output.expression, found) for output in columns)
                scope = Scope((), names_of(columns), tuple(_ANY for _ in values))
                return replace(found, scope=scope, bases=(), computed=values)
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
            # Missing values come last; in falling order they do so by themselves. Virtuoso sorts by variables alone.
            if descending:
                terms.append(f"DESC({variable})")
            else:
                terms += [self.bound(found.group, f"!BOUND({variable})", "missing"), f"ASC({variable})"]
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
                if not isinstance(value, CellReading):
                    raise does_not_map("a join by computed keys")
                sparql = value.key()
                value.require()
                side.group.add(f"BIND({sparql} AS {key})", f"FILTER(BOUND({key}))")
        group = GroupPattern(BracedPattern(left.group), BracedPattern(right.group))
        bases, values = left.bases + right.bases, left.computed + right.computed
        return _Relation(group, joined(left.scope, right.scope), bases, values, left.order + right.order)

    def _group(self, node: GroupBy) -> _Relation:
        one = isinstance(node.source, Limit) and node.source.count == 1  # its rows are equal in the sort's order
        found = self.rows(node.source) if one else self._unsorted(node.source)
        keys = [self.expression(key.expression, found) for key in node.keys]
        select = SubSelect(self, found.group)
        outer = GroupPattern(select)
        by = [self.bound(found.group, key.group_key(), "key") for key in keys]
        if by:
            select.modifiers.append(f"GROUP BY {' '.join(dict.fromkeys(by))}")

        def hand_on(sparql: str, wanted: str) -> str:
            return select.keep(sparql) if sparql in by else select.output(f"MIN({sparql})", wanted)

        values = [self._handed(key, hand_on, outer) for key in keys]
        for measure in node.measures:
            if not isinstance(measure.expression, Aggregate) or measure.expression.rows is not None:
                raise does_not_map("a measure of a group that is not one of its aggregates")
            value = self._aggregated(measure.expression, found, alone=False)
            values.append(self._handed(value, select.output, outer))
        order: tuple[str, ...] = ()
        if node.keys and found.order:
            first = found.order[0]
            for variable in found.order[1:]:
                first = f"({first} * 10000000 + {variable})"
            order = (select.output(f"MIN({first})", "first"),)
        scope = Scope((), names_of((*node.keys, *node.measures)), tuple(_ANY for _ in values))
        return _Relation(outer, scope, (), tuple(values), order)

    def _limit(self, node: Limit) -> _Relation:
        """The first rows as a sub-select: cells are read anew outside of it."""
        if node.ties:
            return self._ties(node)
        found = self.rows(node.source)
        if found.sorted_by:
            found.group.add(f"FILTER(BOUND({found.sorted_by[0][0]}))")
        select = SubSelect(self, found.group)
        outer = GroupPattern(select)
        for variable in (*(name for base in found.bases for name in (base.row, base.place)), *found.order):
            select.keep(variable)
        for variable, _ in found.sorted_by:
            select.keep(variable)
        select.modifiers += [*self._ordering(found), f"LIMIT {node.count}"]
        select.modifiers += [f"OFFSET {node.offset}"] if node.offset else []

        def hand_on(sparql: str, wanted: str) -> str:
            return select.keep(sparql) if is_variable(sparql) else select.output(sparql, wanted)

        values = tuple(self._handed(value, hand_on, outer) for value in found.computed)
        bases = tuple(base.again(outer) for base in found.bases)
        return replace(found, group=outer, bases=bases, computed=values)

    def _ties(self, node: Limit) -> _Relation:
        """The rows that are not worse than the worst of the first ones."""
        found, other = self.rows(node.source), self._limit(replace(node, ties=False))
        if node.offset or len(found.sorted_by) != 1:
            raise does_not_map("ties of a sort by several keys, or not from its first row")
        (key, descending), (worst, _) = found.sorted_by[0], other.sorted_by[0]
        select = SubSelect(self, other.group)
        bound = select.output(f"{'MIN' if descending else 'MAX'}({worst})", "worst")
        found.group.blocks.append(select)
        found.group.add(f"FILTER({key} {'>=' if descending else '<='} {bound})")
        return found

    def _columns(self, found: _Relation) -> list[SparqlValue]:
        values = list(found.computed)
        for base in found.bases:
            values += [ColumnReading(base, column.index) for column in base.relation.columns]
        return values

    def _handed(self, value: SparqlValue, hand_on: _HandOn, group: GroupPattern) -> SparqlValue:
        """A value inside a sub-select, as it is outside."""
        if isinstance(value, CellReading):
            return HandedReading(self, value, group, hand_on)
        return ComputedTerm(hand_on(value.number(), "value"), value.unit, value.scale)

    def bound(self, group: GroupPattern, sparql: str, wanted: str) -> str:
        """A variable with the value of an expression."""
        if is_variable(sparql):
            return sparql
        variable = self.variable(wanted)
        group.add(f"BIND({sparql} AS {variable})")
        return variable

    # Expressions

    def expression(self, node: Expression, found: _Relation) -> SparqlValue:
        match node:
            case ColumnRef():
                place = found.scope.resolve(node)
                if isinstance(place, int):
                    return found.computed[place]
                base, column = found.bases[place.source], place.column
                return ColumnReading(base, base.relation.label_column() if column == "@label" else column)
            case Constant():
                return SparqlConstant(constant_datum(node))
            case Convert(operand, unit):
                return ComputedTerm(number_in(self.expression(operand, found), unit), unit)
            case Aggregate(rows=Rows() as rows):
                inner = self.rows(rows)
                select = SubSelect(self, inner.group)
                value = self._aggregated(node, inner, alone=True)
                of = f" {node.argument.name}" if isinstance(node.argument, ColumnRef) else ""
                found.group.blocks.append(select)
                hand_on = lambda sparql, _: select.output(sparql, f"{node.function.value}{of}")  # noqa: E731
                return self._handed(value, hand_on, found.group)
            case Lookup():
                return self._lookup(node, found)
        raise does_not_map(type(node).__name__)

    def condition(self, node: Expression, found: _Relation, *, required: bool = False) -> str:
        """A condition; a missing value makes it an error, which no filter passes.

        With `required` the rows without the cells that it compares can be left out beforehand.
        """
        match node:
            case And(conditions):
                return " && ".join(f"({self.condition(part, found)})" for part in conditions)
            case Or(conditions):
                return " || ".join(f"({self.condition(part, found)})" for part in conditions)
            case Not(inner):
                return f"!({self.condition(inner, found)})"
            case Compare(relator, left, right):
                a, b = self.expression(left, found), self.expression(right, found)
                sparql = comparison_of(relator, a, b)
                if required:
                    a.require()
                    b.require()
                return sparql
            case Membership(operand, choices) if not isinstance(choices, Rows):
                value = self.expression(operand, found)
                others = [self.expression(choice, found) for choice in choices]
                tests = [f"({comparison_of(Relator.EQUAL, value, other)})" for other in others]
                return " || ".join(tests) or "false"
            case IsMissing(operand):
                value = self.expression(operand, found)
                sparql = value.number() if value.kind == "number" else _shown(value)
                return f"!BOUND({self.bound(found.group, sparql, 'value')})"
        raise does_not_map(f"{type(node).__name__} as a condition")

    def _aggregated(self, node: Aggregate, found: _Relation, *, alone: bool) -> SparqlValue:
        """An aggregate over rows; `alone` where the rows serve nothing else."""
        function = node.function
        if node.argument is None:
            return ComputedTerm("COUNT(*)", "NUM")
        value = self.expression(node.argument, found)
        if function is AggregateFunction.COUNT_DISTINCT:
            key = self.bound(found.group, value.group_key(), "key")
            return ComputedTerm(f"COUNT(DISTINCT {key})", "NUM")
        if function is AggregateFunction.COUNT:
            sparql = value.number() if value.kind == "number" else _shown(value)
            # An expression that fails for one row would spoil the count of all.
            return ComputedTerm(f"COUNT({self.bound(found.group, sparql, 'value')})", "NUM")
        if function in (AggregateFunction.MIN, AggregateFunction.MAX):
            return self._extreme(function, value, found, alone=alone)
        if function not in (AggregateFunction.SUM, AggregateFunction.MEAN):
            raise does_not_map(function.value)
        if isinstance(value, ColumnReading) and value.is_repeated:
            raise does_not_map("values that are added once for each value of another column")
        number = self._given(number_of(value), value, found, alone=alone)
        total = f"SUM({number})" if alone or value.complete else f"SUM(COALESCE({number}, 0))"
        if function is AggregateFunction.MEAN:
            return ComputedTerm(f"({total} / COUNT({number}))", value.unit, value.scale)
        # The sum of nothing is missing; SPARQL says 0. Virtuoso knows no aggregates within IF.
        return ComputedTerm(f"({total} + 0 / COUNT({number}))", value.unit, value.scale)

    def _given(self, sparql: str, value: SparqlValue, found: _Relation, *, alone: bool) -> str:
        """The values to aggregate; rows without one are left out where nothing else needs them."""
        if alone:
            value.require()
        if value.complete:
            return sparql
        sparql = self.bound(found.group, sparql, "value")
        if alone and not isinstance(value, ColumnReading):
            found.group.add(f"FILTER(BOUND({sparql}))")
        return sparql

    def _extreme(
        self, function: AggregateFunction, value: SparqlValue, found: _Relation, *, alone: bool
    ) -> SparqlValue:
        """The smallest or largest value; a missing one would spoil it, so it takes the other extreme."""
        name, sparql = function.value.upper(), value.order()
        if value.kind != "number" and (not isinstance(value, CellReading) or sparql != value.term()):
            raise does_not_map("the order of these texts")
        sparql = self._given(sparql, value, found, alone=alone)
        aggregate = f"{name}({sparql})"
        if not alone and not value.complete and isinstance(value, CellReading) and value.terms:
            pick = max if function is AggregateFunction.MIN else min
            other = pick(value.terms, key=lambda term: sort_key(value.terms[term]))
            number = number_in_unit(value.terms[other], value.unit)
            worst = decimal_literal(number) if value.kind == "number" else text_literal(other)
            aggregate = f"IF(COUNT({sparql}) > 0, {name}(COALESCE({sparql}, {worst})), 1 / 0)"
        if isinstance(value, CellReading) and value.kind != "number":
            return HandedReading(self, value, found.group, lambda *_: aggregate)
        return ComputedTerm(aggregate, value.unit, value.scale)

    def _lookup(self, node: Lookup, found: _Relation) -> SparqlValue:
        inner = self.rows(node.rows)
        value = self.expression(node.value, inner)
        select = SubSelect(self, inner.group)
        different = value.group_key() if isinstance(value, CellReading) else value.number()
        different = self.bound(inner.group, different, "key")
        # No HAVING: Virtuoso takes it only after GROUP BY.
        count = select.output(f"COUNT(DISTINCT {different})", "different")
        found.group.blocks.append(select)
        found.group.add(f"FILTER({count} <= 1)")

        def hand_on(sparql: str, wanted: str) -> str:
            return select.output(f"SAMPLE({sparql})", f"the {wanted}")

        return self._handed(value, hand_on, found.group)


def _shown(value: SparqlValue) -> str:
    return value.text() if isinstance(value, CellReading) else value.number()


def _declared(body: str, names: Namespaces) -> str:
    """A query with the prefixes that it uses."""
    known = {**FIXED_PREFIXES, "ex": names.ex, "data": names.data}
    used = [name for name in known if re.search(rf"(?<![\w<]){name}:", body)]
    return "\n".join([*(f"PREFIX {name}: <{known[name]}>" for name in used), body])
