"""Programs as SPARQL 1.1 over kgtable's graph, for the embedded store and any other endpoint.

The query reads the shape of `kgtable.graph.table_encoder`: a named graph for each table, a node for
each row, one triple for each cell, quantities with exact numbers and QUDT units. Units of one column
that differ, and those of two sides of a comparison, are brought together by multipliers in the query.

Equality of texts goes without case, footnote marks and typographic signs, and many parts of cells
(the year in a text, the number in a score) are more than SPARQL's functions say. What a condition or
a reading means is therefore tried on all different cells of the column while compiling: the simplest
SPARQL that agrees on every cell is taken, else the cells are listed with what they mean. What SPARQL
cannot say with the same meaning raises `ProgramCompilationError`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgtable.errors import ProgramCompilationError, ProgramTypeError, UnitMismatchError
from kgtable.graph.terms import FIXED_PREFIXES, Namespaces, text_literal
from kgtable.ontology.annotate import AnnotatedTable
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
    TableRows,
    Unnest,
    Unpivot,
    ValueKind,
)
from kgtable.programs.compiled.sparql_calculations import (
    calculation_of,
    comparison_of,
    number_in,
    number_of,
    part_of,
)
from kgtable.programs.compiled.sparql_patterns import (
    MOST_LISTED,
    BracedPattern,
    GroupPattern,
    QueryBlock,
    QueryContext,
    QueryLines,
    SubSelect,
    decimal_literal,
    indented,
    is_variable,
    values_table,
)
from kgtable.programs.compiled.sparql_rows import ColumnReading, GraphRows, UnpivotedReading
from kgtable.programs.compiled.sparql_values import (
    CellReading,
    ComputedTerm,
    HandedReading,
    ListedReading,
    SparqlConstant,
    SparqlValue,
)
from kgtable.programs.dimensions import (
    COUNTS,
)
from kgtable.programs.executor import constant_datum, places_of
from kgtable.programs.realize import realize
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import (
    Datum,
    items,
    number_in_unit,
    sort_key,
    text_of,
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

_ANY = Type(None)


@dataclass(frozen=True)
class SparqlQuery:
    """A compiled program: the query, and the name, variable and unit of each output column (the unit is
    None for what is no number, or has none)."""

    text: str
    names: tuple[str, ...]
    variables: tuple[str, ...]
    units: tuple[str | None, ...]


def compile_sparql(
    program: Program,
    relations: Mapping[str, Relation],
    names: Namespaces | None = None,
    annotated: Mapping[str, AnnotatedTable] | None = None,
) -> SparqlQuery:
    """A program as a SPARQL query over the graph of its tables.

    Args:
        program: the program.
        relations: the relations by table id.
        names: the namespaces of the graph.
        annotated: the tables as they were encoded, where a user's mapping changed predicates or styles.

    Raises the errors of `check`, and `ProgramCompilationError` for what SPARQL cannot say.
    """  # fmt: skip
    check(program, relations)
    try:
        return _Compiler(relations, names or Namespaces(), annotated or {}).query(program)
    except (ProgramTypeError, UnitMismatchError) as error:
        # The program is sound: its rows have units that fit one another, the columns as a whole have not.
        raise ProgramCompilationError(
            f"SPARQL cannot say this of columns of several units: {error}"
        ) from error


def _declared(body: str, names: Namespaces) -> str:
    """A query with the prefixes that it uses."""
    known = {**FIXED_PREFIXES, "ex": names.ex, "data": names.data}
    used = [name for name in known if re.search(rf"(?<![\w<]){name}:", body)]
    return "\n".join([*(f"PREFIX {name}: <{known[name]}>" for name in used), body])


class _Union(QueryBlock):
    """Two relations one after the other, with equal variables for what is asked of both."""

    def __init__(self, context: QueryContext, sides: Sequence[_Relation]) -> None:
        self._context, self._sides = context, sides
        self.side, self.place = context.variable("side"), context.variable("place")
        self._taken: dict[tuple[str, ...], str] = {}

    def take(self, sparqls: Sequence[str], wanted: str) -> str:
        """The variable that holds an expression over the left side, or one over the right side."""
        key = tuple(sparqls)
        if key not in self._taken:
            self._taken[key] = self._context.variable(wanted)
        return self._taken[key]

    def lines(self) -> list[str]:
        found: list[str] = []
        for number, side in enumerate(self._sides):
            order = _one_number(side.order)
            columns = [f"({number} AS {self.side})", f"({order} AS {self.place})"]
            columns += [f"({sparqls[number]} AS {name})" for sparqls, name in self._taken.items()]
            inner = [f"SELECT {' '.join(columns)} WHERE {{", *indented(side.group.lines()), "}"]
            found += ["UNION"] * bool(number) + ["{", *indented(inner), "}"]
        return found


@dataclass
class _Relation:
    """A compiled relation: its pattern, what its columns are, and the variables that order its rows."""

    group: GroupPattern
    scope: Scope
    bases: tuple[GraphRows, ...]
    computed: tuple[SparqlValue, ...]
    order: tuple[str, ...]
    sorted_by: tuple[tuple[str, bool], ...] = ()
    """The variables of a sort right below, and whether the largest come first."""
    plain: bool = False
    """Whether it is the rows of a table, all of them."""


@dataclass(frozen=True)
class _GroupScope:
    """The groups around an aggregate: the relation that is grouped, and, once asked for, its first rows."""

    node: GroupBy
    select: SubSelect
    outer: GroupPattern
    firsts: list[_Relation]


class _Compiler(QueryContext):
    def __init__(
        self, relations: Mapping[str, Relation], names: Namespaces, annotated: Mapping[str, AnnotatedTable]
    ) -> None:
        super().__init__(names, annotated)
        self._relations = relations

    def query(self, program: Program) -> SparqlQuery:
        if isinstance(program.root, Rows):
            found = self.rows(program.root)
            names = tuple(name for name, _ in columns_of(found.scope))
            values = self._columns(found)
        else:
            found = _Relation(GroupPattern(), Scope(), (), (), ())
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
        order = self._ordering(found)
        only = found.group.blocks[0] if len(found.group.blocks) == 1 else None
        unsorted = isinstance(only, SubSelect) and not found.sorted_by
        if unsorted and isinstance(only, SubSelect) and set(columns) <= {*only.outputs.values(), *only.kept}:
            by_name = {name: sparql for sparql, name in only.outputs.items()}
            columns = [f"({by_name[name]} AS {name})" if name in by_name else name for name in columns]
            words = " ".join(order).split()
            terms = [f"ASC({by_name[word]})" if word in by_name else word for word in words]
            modifiers = [*only.modifiers, *([" ".join(terms)] if terms else [])]
            limited = any(line.startswith(("LIMIT", "ORDER")) for line in only.modifiers)
            if not limited:
                where = only.inner.lines()
                return self._finished(program, columns, where, modifiers, names, variables, values)
        where = found.group.lines()
        return self._finished(program, columns, where, order, names, variables, values)

    def _finished(
        self, program: Program, columns: Sequence[str], where: Sequence[str], modifiers: Sequence[str],
        names: tuple[str, ...], variables: Sequence[str], values: Sequence[SparqlValue],
    ) -> SparqlQuery:  # fmt: skip
        body = "\n".join([f"SELECT {' '.join(columns)} WHERE {{", *indented(where), "}", *modifiers])
        words = textwrap.wrap(" ".join(realize(program).split()), 100)
        units = tuple(value.unit if value.kind == "number" else None for value in values)
        text = "\n".join([*(f"# {line}" for line in words), _declared(body, self.names)]) + "\n"
        return SparqlQuery(text, names, tuple(name.removeprefix("?") for name in variables), units)

    # Relations

    def rows(self, node: Rows) -> _Relation:
        match node:
            case TableRows():
                bound = bind(node, self._relations)
                base = GraphRows(self, node, bound.relation)
                return _Relation(base.group, Scope((bound,)), (base,), (), tuple(base.order), plain=True)
            case Filter(source, condition):
                found = self.rows(source)
                for part in condition.conditions if isinstance(condition, And) else (condition,):
                    test = self.condition(part, found, required=True)
                    found.group.add(f"FILTER({test})")
                if len(found.bases) == 1 and not found.computed:
                    base = found.bases[0].narrowed(places_of(node, self._relations))
                    found = replace(found, bases=(base,))
                return replace(found, sorted_by=(), plain=False, order=self._total_order(found))
            case Join():
                return self._join(node)
            case SetOperation():
                return self._combine(node)
            case GroupBy():
                return self._group(node)
            case Sort(source, keys):
                found = self.rows(source)
                terms = []
                for key in keys:
                    value = self.expression(key.expression, found)
                    terms.append((self.bound(found.group, value.order(), "key"), key.descending))
                return replace(found, sorted_by=tuple(terms), order=self._total_order(found), plain=False)
            case Limit():
                return self._limit(node)
            case Neighbours():
                return self._neighbours(node)
            case Project():
                return self._project(node)
            case Unpivot():
                return self._unpivot(node)
            case Unnest():
                return self._unnest(node)
        raise ProgramCompilationError(f"SPARQL cannot say {type(node).__name__}.")

    def _total_order(self, found: _Relation) -> tuple[str, ...]:
        """The order of the rows; a sort that something else stands upon is kept by a limit alone."""
        if found.sorted_by:
            raise ProgramCompilationError("SPARQL keeps no order below another operator.")
        return found.order

    def _ordering(self, found: _Relation) -> list[str]:
        terms = []
        for variable, descending in found.sorted_by:
            # What is missing comes last; falling it does so by itself. Virtuoso sorts by variables alone.
            if descending:
                terms.append(f"DESC({variable})")
            else:
                terms += [self.bound(found.group, f"!BOUND({variable})", "missing"), f"ASC({variable})"]
        terms += [name for name in found.order if is_variable(name)]
        return [f"ORDER BY {' '.join(terms)}"] if terms else []

    def _join(self, node: Join) -> _Relation:
        if node.similarity:
            raise ProgramCompilationError("SPARQL cannot join by similarity.")
        left, right = self.rows(node.left), self.rows(node.right)
        self._total_order(left)
        self._total_order(right)
        for pair in node.on:
            a, b = self.expression(pair.left, left), self.expression(pair.right, right)
            if isinstance(a, ComputedTerm) != isinstance(b, ComputedTerm):
                raise ProgramCompilationError("SPARQL cannot join cells with what it computes.")
            key = self.variable("key")
            for side, value in ((left, a), (right, b)):
                sparql = value.key()
                value.require()
                side.group.add(f"BIND({sparql} AS {key})", f"FILTER(BOUND({key}))")
        group = GroupPattern(BracedPattern(left.group), BracedPattern(right.group))
        scope = joined(left.scope, right.scope)
        return _Relation(
            group, scope, left.bases + right.bases, left.computed + right.computed, left.order + right.order
        )

    def _combine(self, node: SetOperation) -> _Relation:
        sides = [self._settled(self.rows(node.left)), self._settled(self.rows(node.right))]
        pairs = list(zip(*map(self._columns, sides), strict=True))
        union = _Union(self, sides)
        select = SubSelect(self, GroupPattern(union))
        outer = GroupPattern(select)
        place = f"({union.side} * 1000000000 + {union.place})"
        every = node.operator is SetOperator.UNION_ALL
        if any(isinstance(a, ComputedTerm) != isinstance(b, ComputedTerm) for a, b in pairs):
            raise ProgramCompilationError("SPARQL cannot unite cells with what it computes.")
        keys = [union.take([a.key(), b.key()], "key") for a, b in pairs]
        if not every:
            select.modifiers.append(f"GROUP BY {' '.join(dict.fromkeys(keys))}")
            kept = {
                SetOperator.INTERSECT: f"HAVING(COUNT(DISTINCT {union.side}) = 2)",
                SetOperator.EXCEPT: f"HAVING(MAX({union.side}) = 0)",
            }.get(node.operator)
            select.modifiers += [kept] if kept else []

        def hand_on(sparqls: Sequence[str], wanted: str) -> str:
            taken = union.take(sparqls, wanted)
            return select.output(taken if every else f"MIN({taken})", wanted)

        values: list[SparqlValue] = []
        for a, b in pairs:
            if isinstance(a, CellReading) and isinstance(b, CellReading):
                values.append(HandedReading(self, [a, b], outer, hand_on))
            elif a.unit == b.unit or (a.unit in COUNTS and b.unit in COUNTS):
                values.append(ComputedTerm(hand_on([a.number(), b.number()], "value"), a.unit))
            else:
                raise ProgramCompilationError("SPARQL cannot unite columns of different units.")
        order = select.output(place if every else f"MIN({place})", "place")
        return _Relation(outer, computed(sides[0].scope), (), tuple(values), (order,))

    def _group(self, node: GroupBy) -> _Relation:
        found = self.rows(node.source)
        self._total_order(found)
        keys = [self.expression(key.expression, found) for key in node.keys]
        select = SubSelect(self, found.group)
        outer = GroupPattern(select)
        by = [self._grouped_by(key.group_key()) for key in keys]
        if by:
            select.modifiers.append(f"GROUP BY {' '.join(dict.fromkeys(by))}")

        def hand_on(sparqls: Sequence[str], wanted: str) -> str:
            plain = is_variable(sparqls[0]) and sparqls[0] in by
            if plain:
                select.kept.append(sparqls[0])
                return sparqls[0]
            return select.output(f"MIN({sparqls[0]})", wanted)

        values: list[SparqlValue] = [self._handed(key, hand_on, outer) for key in keys]
        context = _GroupScope(node, select, outer, [])
        for measure in node.measures:
            value = self.expression(measure.expression, found, context)
            first = isinstance(measure.expression, Aggregate) and (
                measure.expression.function is AggregateFunction.FIRST
            )
            if not first:
                value = self._handed(value, lambda sparqls, wanted: select.output(sparqls[0], wanted), outer)
            values.append(value)
        order: tuple[str, ...] = ()
        if node.keys and found.order:
            order = (select.output(f"MIN({_one_number(found.order)})", "first"),)
        scope = Scope((), names_of((*node.keys, *node.measures)), tuple(_ANY for _ in values))
        return _Relation(outer, scope, (), tuple(values), order)

    def _grouped_by(self, key: str) -> str:
        return key if is_variable(key) else f"({key} AS {self.variable('key')})"

    def _limit(self, node: Limit) -> _Relation:
        found = self.rows(node.source)
        if found.sorted_by:
            found.group.add(f"FILTER(BOUND({found.sorted_by[0][0]}))")
        if node.ties:
            return self._ties(node, found)
        return self._settled(found, node)

    def _ties(self, node: Limit, found: _Relation) -> _Relation:
        """The rows that are no worse than the worst of the first ones."""
        if node.offset or len(found.sorted_by) != 1:
            raise ProgramCompilationError("SPARQL can keep ties of a sort by one key, from its first row.")
        other = self._limit(replace(node, ties=False))
        assert isinstance(other.group.blocks[0], SubSelect)
        (key, descending), (worst, _) = found.sorted_by[0], other.sorted_by[0]
        select = SubSelect(self, other.group)
        bound = select.output(f"{'MIN' if descending else 'MAX'}({worst})", "worst")
        found.group.blocks.append(select)
        found.group.add(f"FILTER({key} {'>=' if descending else '<='} {bound})")
        return found

    def _settled(self, found: _Relation, limit: Limit | None = None) -> _Relation:
        """The rows as a sub-select: cells are read anew outside of it."""
        if limit is None and not found.sorted_by:
            return found
        select = SubSelect(self, found.group)
        outer = GroupPattern(select)
        select.kept = [name for base in found.bases for name in base.handed]
        select.kept += [name for name, _ in found.sorted_by]
        select.kept += [name for name in found.order if is_variable(name) and name not in select.kept]
        select.modifiers += self._ordering(found)
        if limit is not None:
            select.modifiers.append(f"LIMIT {limit.count}")
            select.modifiers += [f"OFFSET {limit.offset}"] if limit.offset else []

        def hand_on(sparqls: Sequence[str], wanted: str) -> str:
            if is_variable(sparqls[0]):
                select.kept.append(sparqls[0])
                return sparqls[0]
            return select.output(sparqls[0], wanted)

        values = tuple(self._handed(value, hand_on, outer) for value in found.computed)
        bases = tuple(base.again(outer) for base in found.bases)
        return _Relation(outer, found.scope, bases, values, found.order, found.sorted_by)

    def _neighbours(self, node: Neighbours) -> _Relation:
        inner, found = self.rows(node.source), self.rows(node.source)
        if not inner.plain:
            raise ProgramCompilationError("SPARQL knows the neighbours of rows of a table only.")
        inner.group.add(f"FILTER({self.condition(node.condition, inner, required=True)})")
        select = SubSelect(self, inner.group)
        select.distinct = True
        wanted = select.output(f"({self._row(inner).number()} + {node.offset})", "wanted")
        found.group.blocks.append(select)
        found.group.add(f"FILTER({self._row(found).number()} = {wanted})")
        base = found.bases[0].narrowed(places_of(node, self._relations))
        return replace(found, bases=(base,), plain=False)

    def _project(self, node: Project) -> _Relation:
        found = self.rows(node.source)
        values = [self.expression(output.expression, found) for output in node.columns]
        scope = Scope((), names_of(node.columns), tuple(_ANY for _ in values))
        if not node.distinct:
            return _Relation(found.group, scope, (), tuple(values), found.order, found.sorted_by)
        # The first of equal rows decides on their place: by the keys of the sort.
        keys = [variable for variable, _ in found.sorted_by]
        select = SubSelect(self, found.group)
        outer = GroupPattern(select)
        by = [self._grouped_by(value.group_key()) for value in values]
        select.modifiers.append(f"GROUP BY {' '.join(dict.fromkeys(by))}")

        def hand_on(sparqls: Sequence[str], wanted: str) -> str:
            if is_variable(sparqls[0]) and sparqls[0] in by:
                select.kept.append(sparqls[0])
                return sparqls[0]
            return select.output(f"MIN({sparqls[0]})", wanted)

        handed = tuple(self._handed(value, hand_on, outer) for value in values)
        order: tuple[str, ...] = ()
        if found.order:
            order = (select.output(f"MIN({_one_number(found.order)})", "first"),)
        sorted_by = tuple(
            (select.output(f"{'MAX' if descending else 'MIN'}({variable})", "key"), descending)
            for variable, (_, descending) in zip(keys, found.sorted_by, strict=False)
        )
        return _Relation(outer, scope, (), handed, order, sorted_by)

    def _unpivot(self, node: Unpivot) -> _Relation:
        found = self.rows(node.source)
        self._total_order(found)
        places = [found.scope.resolve(ref) for ref in node.columns]
        sources = {place.source for place in places if isinstance(place, SourceColumn)}
        if len(sources) != 1 or any(not isinstance(place, SourceColumn) for place in places):
            raise ProgramCompilationError("SPARQL can unpivot columns of one table.")
        base = found.bases[sources.pop()]
        columns = [place.column for place in places if isinstance(place, SourceColumn)]
        predicate, name, branch = map(self.variable, ("predicate", node.name, "column number"))
        rows, terms = [], {}
        for number, column in enumerate(columns):
            header = base.name(column)
            span = time_in(header)
            terms[header] = time_datum(span, header) if span else Datum(ValueKind.TEXT, header, text=header)
            assert isinstance(column, int)
            rows.append((base.predicate(column), text_literal(header), str(number)))
        found.group.blocks.insert(0, QueryLines(*values_table((predicate, name, branch), rows)))
        heading = ListedReading(self, found.group, name, terms)
        cell = UnpivotedReading(
            self, base, found.group, predicate, [c for c in columns if isinstance(c, int)]
        )
        scope = Scope(
            found.scope.sources, (node.name, node.value, *found.scope.names), (_ANY, _ANY, *found.scope.types)
        )
        order = (*found.order, branch)
        return _Relation(found.group, scope, found.bases, (heading, cell, *found.computed), order)

    def _unnest(self, node: Unnest) -> _Relation:
        found = self.rows(node.source)
        self._total_order(found)
        value = self.expression(node.column, found)
        if not isinstance(value, CellReading) or isinstance(value, SparqlConstant):
            raise ProgramCompilationError("SPARQL can take apart the lists in cells only.")
        member, place = self.variable(node.name), self.variable("place")
        rows: list[tuple[str, str, str]] = []
        terms: dict[str, Datum] = {}
        for term, datum in value.terms.items():
            for number, item in enumerate(items(text_of(datum))):
                rows.append((text_literal(term), text_literal(item), str(number)))
                terms[item] = Datum(ValueKind.TEXT, item, text=item)
        if len(rows) > MOST_LISTED or any("\0" in term for term in value.terms):
            raise ProgramCompilationError(f"A query cannot list {len(rows)} members of lists.")
        text = value.term()
        value.require()
        found.group.add(*values_table((text, member, place), rows))
        listed = ListedReading(self, found.group, member, terms)
        scope = Scope(found.scope.sources, (node.name, *found.scope.names), (_ANY, *found.scope.types))
        order = (*found.order, place)
        return _Relation(found.group, scope, found.bases, (listed, *found.computed), order)

    def _columns(self, found: _Relation) -> list[SparqlValue]:
        values = list(found.computed)
        for base in found.bases:
            values += [ColumnReading(base, column.index) for column in base.relation.columns]
        return values

    def _handed(
        self, value: SparqlValue, hand_on: Callable[[Sequence[str], str], str], group: GroupPattern
    ) -> SparqlValue:
        if isinstance(value, CellReading):
            return HandedReading(self, [value], group, hand_on)
        sparql = hand_on([value.number()], "value")
        return ComputedTerm(sparql, value.unit, value.scale, truth=value.kind == "truth")

    def bound(self, group: GroupPattern, sparql: str, wanted: str) -> str:
        """A variable with the value of an expression."""
        if is_variable(sparql):
            return sparql
        variable = self.variable(wanted)
        group.add(f"BIND({sparql} AS {variable})")
        return variable

    # Expressions

    def expression(self, node: Expression, found: _Relation, group: _GroupScope | None = None) -> SparqlValue:
        match node:
            case ColumnRef():
                place = found.scope.resolve(node)
                if isinstance(place, int):
                    return found.computed[place]
                base, column = found.bases[place.source], place.column
                if column == "@row":
                    return self._row(found, base)
                return ColumnReading(base, base.relation.label_column() if column == "@label" else column)
            case Constant():
                return SparqlConstant(constant_datum(node))
            case Apply(function, operand, index):
                return part_of(function, self.expression(operand, found, group), index)
            case Arithmetic(operator, left, right):
                return calculation_of(
                    operator, self.expression(left, found, group), self.expression(right, found, group)
                )
            case Convert(operand, unit):
                value = self.expression(operand, found, group)
                return ComputedTerm(number_in(value, unit), unit)
            case Aggregate():
                return self._aggregate(node, found, group)
            case Lookup():
                return self._lookup(node, found, group)
            case _:
                return ComputedTerm(self.condition(node, found, group), truth=True)

    def condition(
        self, node: Expression, found: _Relation, group: _GroupScope | None = None, *, required: bool = False
    ) -> str:
        """A condition; what is missing makes it an error, which no filter passes.

        With `required` the rows without the cells that it compares can be left out beforehand.
        """
        match node:
            case And(conditions):
                return " && ".join(f"({self.condition(part, found, group)})" for part in conditions)
            case Or(conditions):
                return " || ".join(f"({self.condition(part, found, group)})" for part in conditions)
            case Not(inner):
                return f"!({self.condition(inner, found, group)})"
            case Compare(relator, left, right):
                a, b = self.expression(left, found, group), self.expression(right, found, group)
                sparql = comparison_of(relator, a, b)
                if required:
                    a.require()
                    b.require()
                return sparql
            case Membership(operand, choices):
                return self._membership(self.expression(operand, found, group), choices, found, group)
            case IsMissing(operand):
                value = self.expression(operand, found, group)
                sparql = value.number() if value.kind == "number" else _shown(value)
                return f"!BOUND({self.bound(found.group, sparql, 'value')})"
        value = self.expression(node, found, group)
        if value.kind != "truth":
            raise ProgramTypeError("A condition must be a truth value.")
        if isinstance(value, CellReading):
            return value.holds(Relator.EQUAL, Datum(ValueKind.TRUTH, True), lambda datum: datum.value is True)
        return value.number()

    def _membership(
        self,
        value: SparqlValue,
        choices: Sequence[Expression] | Rows,
        found: _Relation,
        group: _GroupScope | None,
    ) -> str:
        if not isinstance(choices, Rows):
            tests = [
                comparison_of(Relator.EQUAL, value, self.expression(choice, found, group))
                for choice in choices
            ]
            return " || ".join(f"({test})" for test in tests) if tests else "false"
        inner = self.rows(choices)
        other = self._columns(inner)[0]
        if isinstance(value, ComputedTerm) != isinstance(other, ComputedTerm):
            raise ProgramCompilationError("SPARQL cannot look for cells among what it computes.")
        key, among = self.variable("key"), self.variable("among")
        select = SubSelect(self, inner.group)
        select.distinct = True
        sparql = other.key()
        other.require()
        inner.group.add(f"FILTER(BOUND({self.bound(inner.group, sparql, 'key')}))")
        select.outputs = {sparql: key, "true": among}
        found.group.add(f"BIND({value.key()} AS {key})")
        found.group.add("OPTIONAL {", *indented(select.lines()), "}")
        return f"IF(BOUND({key}), BOUND({among}), {key})"

    def _row(self, found: _Relation, base: GraphRows | None = None) -> SparqlValue:
        """The place of a row among those that take part."""
        base = base or found.bases[0]
        numbers = [base.relation.place(row)[1] for row in base.relation.select(base.choice).tolist()]
        if base.part:
            raise ProgramCompilationError("SPARQL cannot number the rows of several tables.")
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True:
            shift = 1 - (numbers[0] if numbers else 1)
            sign = "+" if shift > 0 else "-"
            return ComputedTerm(f"({base.place} {sign} {abs(shift)})" if shift else base.place, "NUM")
        if len(numbers) > MOST_LISTED:
            raise ProgramCompilationError(f"A query cannot list {len(numbers)} rows.")
        variable = self.variable("place")
        rows = [(str(number), str(place)) for place, number in enumerate(numbers, 1)]
        base.group.add(*values_table((base.place, variable), rows))
        return ComputedTerm(variable, "NUM")

    def _aggregate(self, node: Aggregate, found: _Relation, group: _GroupScope | None) -> SparqlValue:
        if node.rows is None:
            if group is None:
                raise ProgramTypeError("The aggregate has no rows: it stands in no group.")
            return self._of_group(node, found, group, alone=False)
        inner = self.rows(node.rows)
        select = SubSelect(self, inner.group)
        value = self._of_group(node, inner, None, alone=True)
        wanted = f"{node.function.value} {node.argument.name}" if isinstance(node.argument, ColumnRef) else (
            node.function.value
        )  # fmt: skip
        found.group.blocks.append(select)
        handed = self._handed(value, lambda sparqls, _: select.output(sparqls[0], wanted), found.group)
        return _sampled(handed) if group is not None else handed

    def _of_group(
        self, node: Aggregate, found: _Relation, group: _GroupScope | None, *, alone: bool
    ) -> SparqlValue:
        function = node.function
        if node.argument is None:
            return ComputedTerm("COUNT(*)", "NUM")
        if function is AggregateFunction.FIRST:
            return self._first(node, found, group)
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
        if function is AggregateFunction.MEDIAN:
            raise ProgramCompilationError("SPARQL has no median.")
        number = self._bound_alone(number_of(value), value, found, alone=alone)
        known = f"COUNT({number})"
        total = f"SUM({number})" if alone or value.complete else f"SUM(COALESCE({number}, 0))"
        if function is AggregateFunction.MEAN:
            return ComputedTerm(f"({total} / {known})", value.unit, value.scale)
        # The sum of nothing is missing, as in SQL; SPARQL says 0. Virtuoso knows no aggregates within IF.
        return ComputedTerm(f"({total} + 0 / {known})", value.unit, value.scale)

    def _bound_alone(self, sparql: str, value: SparqlValue, found: _Relation, *, alone: bool) -> str:
        """What is aggregated, with the rows without it left out where nothing else needs them."""
        if alone:
            value.require()
        if value.complete:
            return sparql
        if not alone:
            return self.bound(found.group, sparql, "value")
        sparql = self.bound(found.group, sparql, "value")
        if not isinstance(value, ColumnReading):
            found.group.add(f"FILTER(BOUND({sparql}))")
        return sparql

    def _extreme(
        self, function: AggregateFunction, value: SparqlValue, found: _Relation, *, alone: bool
    ) -> SparqlValue:
        """The smallest or largest value; what is missing would spoil it, so it takes the other extreme."""
        name = function.value.upper()
        sparql = value.order()
        if value.kind != "number":
            assert isinstance(value, CellReading)
            if sparql != value.term():
                raise ProgramCompilationError("SPARQL orders these texts otherwise than people do.")
        sparql = self._bound_alone(sparql, value, found, alone=alone)
        aggregate = f"{name}({sparql})"
        if not alone and not value.complete and isinstance(value, CellReading) and value.terms:
            pick = max if function is AggregateFunction.MIN else min
            other = pick(value.terms, key=lambda term: sort_key(value.terms[term]))
            number = number_in_unit(value.terms[other], value.unit)
            worst = decimal_literal(number) if value.kind == "number" else text_literal(other)
            aggregate = f"IF(COUNT({sparql}) > 0, {name}(COALESCE({sparql}, {worst})), 1 / 0)"
        if value.kind == "number":
            return ComputedTerm(aggregate, value.unit, value.scale)
        assert isinstance(value, CellReading)
        return HandedReading(self, [value], found.group, lambda *_: aggregate)

    def _first(self, node: Aggregate, found: _Relation, group: _GroupScope | None) -> SparqlValue:
        """The value in the first row of a group: the rows are read once more, and that one is taken."""
        if group is None or node.argument is None:
            raise ProgramCompilationError("SPARQL can say the first value of a group only.")
        if not group.firsts:
            first = group.select.output(f"MIN({_one_number(found.order)})", "first")
            again = self.rows(group.node.source)
            group.firsts.append(again)
            group.outer.blocks.append(BracedPattern(again.group))
            group.outer.add(f"FILTER({_one_number(again.order)} = {first})")
        value = self.expression(node.argument, group.firsts[0])
        if not isinstance(value, CellReading):
            raise ProgramCompilationError("SPARQL can say the first cell of a group only.")
        return value

    def _lookup(self, node: Lookup, found: _Relation, group: _GroupScope | None) -> SparqlValue:
        inner = self.rows(node.rows)
        value = self.expression(node.value, inner)
        select = SubSelect(self, inner.group)
        several = value.group_key() if isinstance(value, CellReading) else value.number()
        if not (isinstance(node.rows, Limit) and node.rows.count == 1):
            several = self.bound(inner.group, several, "key")
            # No HAVING: Virtuoso takes it only after GROUP BY.
            count = select.output(f"COUNT(DISTINCT {several})", "different")
            found.group.blocks.append(select)
            found.group.add(f"FILTER({count} <= 1)")
        else:
            found.group.blocks.append(select)
        handed = self._handed(
            value,
            lambda sparqls, wanted: select.output(f"SAMPLE({sparqls[0]})", f"the {wanted}"),
            found.group,
        )
        return _sampled(handed) if group is not None else handed


def _sampled(value: SparqlValue) -> SparqlValue:
    """One value beside groups: SPARQL wants it in an aggregate."""
    if isinstance(value, ComputedTerm):
        return ComputedTerm(f"SAMPLE({value.number()})", value.unit, value.scale, truth=value.kind == "truth")
    if value.kind == "number":
        return ComputedTerm(f"SAMPLE({value.number()})", value.unit, value.scale)
    raise ProgramCompilationError("SPARQL cannot say a text of other rows in a group.")


def _shown(value: SparqlValue) -> str:
    return value.text() if isinstance(value, CellReading) else value.number()


def _one_number(order: Sequence[str]) -> str:
    """The variables that order rows as one number."""
    found = order[0]
    for variable in order[1:]:
        found = f"({found} * 10000000 + {variable})"
    return found
