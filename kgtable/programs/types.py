"""The checker: what each part of a program is, and which programs have no meaning.

`check` goes through a program with the relations it reads and refuses, before anything is executed:
unknown tables and columns, sums and averages of identifiers, ranks, years and texts, extremes of
identifiers, units that do not convert into each other (also currencies), aggregates without a group,
conditions that are not conditions. Where the meaning hangs on single cells (the units within a column
of mixed ones, once rows are filtered), the executor decides by the same rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rapidfuzz import fuzz, process

from kgtable.errors import ProgramError, ProgramTypeError, UnitMismatchError, UnknownColumnError, UnknownTableError
from kgtable.programs.algebra import (
    PARTS_OF_TIME,
    SPANS_OF_TIME,
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
    Sort,
    TableRows,
    Unnest,
    Unpivot,
    ValueKind,
    children,
)
from kgtable.programs.dimensions import COUNTS, NO_UNIT, comparable, describe, dimension_of, is_known, multiply_units
from kgtable.programs.relation import NAMING, Relation
from kgtable.programs.scalars import SCALES, normal, time_span
from kgtable.tables.model import MeasureKind, Role

MOST_NODES = 2_000
"""How many nodes a program may have."""

DEEPEST = 60
"""How deep a program may nest."""

SURE = 0.7
"""Minimum confidence of a column's meaning for it to reject a program."""

TIMES = frozenset({ValueKind.DATE, ValueKind.PERIOD})
NUMBERS = frozenset({ValueKind.QUANTITY, ValueKind.DURATION})
_ORDERED_BY_TEXT = frozenset({Relator.CONTAINS, Relator.STARTS, Relator.ENDS})


@dataclass(frozen=True, slots=True)
class Type:
    """Type of an expression.

    `kind` is None if it differs from row to row or is not known; `units` are those it may have; `measure` is the
    kind of a column's measure, where that is sure; `bare` marks a constant that takes its unit from what it meets;
    `name` is the header of a column.
    """

    kind: ValueKind | None
    units: frozenset[str | None] = frozenset()
    role: Role = Role.MEASURE
    measure: MeasureKind | None = None
    bare: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class BoundTable:
    """A relation under the name that column references use."""

    name: str
    relation: Relation
    choice: RowChoice


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """Target of a reference: a column (or pseudo column) of a bound table."""

    source: int
    column: int | str


@dataclass(frozen=True, slots=True)
class Scope:
    """Scope of column references: columns of tables, and computed columns that come first."""

    sources: tuple[BoundTable, ...] = ()
    names: tuple[str, ...] = ()
    types: tuple[Type, ...] = ()

    def resolve(self, ref: ColumnRef) -> SourceColumn | int:
        """The table's column, or the index of the computed column.

        Raises `UnknownColumnError`, naming similar columns, if it matches none or several.
        """
        if not ref.table:
            if isinstance(ref.name, int) and not self.sources and 0 <= ref.name < len(self.names):
                return ref.name
            same = [i for i, name in enumerate(self.names) if normal(name) == normal(str(ref.name))]
            if same and isinstance(ref.name, str):
                return same[0]
        sources = [index for index, source in enumerate(self.sources) if not ref.table or _called(source, ref.table)]
        if not sources:
            known = ", ".join(map(repr, self.names or [source.name for source in self.sources]))
            what = f"table {ref.table!r}" if ref.table else f"column {ref.name!r}"
            raise UnknownColumnError(f"There is no {what} here.", hint=f"There are: {known}." if known else "")
        found, failures = [], []
        for index in sources:
            try:
                found.append(SourceColumn(index, self._column(index, ref.name)))
            except UnknownColumnError as error:
                failures.append(error)
        if len(found) == 1 or (found and isinstance(ref.name, str) and ref.name.startswith("@")):
            return found[0]
        if found:
            names = ", ".join(self.sources[place.source].name for place in found)
            raise UnknownColumnError(f"Several tables have a column {ref.name!r}.", hint=f"Say which: {names}.")
        raise failures[0]

    def _column(self, index: int, name: str | int) -> int | str:
        relation = self.sources[index].relation
        if isinstance(name, str) and name.startswith("@"):
            if name != "@row":
                relation.pseudo(name)
            return name
        return relation.resolve(name)

    def type_of(self, ref: ColumnRef) -> Type:
        """The type of the column that a reference names."""
        place = self.resolve(ref)
        if isinstance(place, int):
            return replace(self.types[place], name=self.names[place])
        relation = self.sources[place.source].relation
        if place.column == "@row":
            return Type(ValueKind.QUANTITY, frozenset({"NUM"}), name="@row")
        if isinstance(place.column, str):
            return Type(ValueKind.TEXT, name=place.column)
        column = relation.columns[place.column]
        units = frozenset(column.units) if column.kind in NUMBERS else frozenset[str | None]()
        measure = column.meaning.kind if column.meaning.confidence >= SURE else None
        return Type(column.kind, units, column.role, measure, name=column.name)


def _called(source: BoundTable, name: str) -> bool:
    return name == source.name or name in {table.id for table in source.relation.tables}


def check(program: Program, relations: Mapping[str, Relation]) -> Type | Scope:
    """Check a program; returns the type of its value, or the columns of its rows.

    Args:
        program: the program.
        relations: the relations by table id.

    Raises `ProgramError` leaves, with the place in the program as `path`: `UnknownTableError`,
    `UnknownColumnError`, `ProgramTypeError`, `UnitMismatchError`.
    """
    check_size(program.root)
    checker = _Checker(relations)
    if isinstance(program.root, Rows):
        return checker.rows(program.root, "root")
    return checker.expression(program.root, Scope(), "root", False)


def check_size(root: Node) -> None:
    """Raise `ProgramTypeError` if a program has too many nodes or nests too deep."""
    pending = [(root, 1)]
    count = 0
    while pending:
        node, depth = pending.pop()
        count += 1
        if count > MOST_NODES or depth > DEEPEST:
            raise ProgramTypeError(f"The program is beyond {MOST_NODES} nodes or {DEEPEST} levels.")
        pending.extend((child, depth + 1) for child in children(node))


def bind(node: TableRows, relations: Mapping[str, Relation]) -> BoundTable:
    """The relation that a node reads. Raises `UnknownTableError` for an id that is not given."""
    if not node.tables:
        raise UnknownTableError("No table is named.")
    for id in node.tables:
        if id not in relations:
            known = list(relations)
            near = [match[0] for match in process.extract(id, known, scorer=fuzz.WRatio, limit=3) if match[1] > 50]
            listed = ", ".join(map(repr, near or known[:8]))
            hint = f"{'Near are' if near else 'There are'}: {listed}." if known else ""
            raise UnknownTableError(f"There is no table {id!r}.", hint=hint)
    parts = [relations[id] for id in node.tables]
    relation = parts[0] if len(parts) == 1 else Relation.concatenate(parts)
    return BoundTable(node.name, relation, node.choice)


class _Checker:
    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self._relations = relations

    # Relations

    def rows(self, node: Rows, path: str) -> Scope:
        """The columns of a relation."""
        try:
            return self._rows(node, path)
        except ProgramError as error:
            error.path = error.path or path
            raise

    def _rows(self, node: Rows, path: str) -> Scope:
        match node:
            case TableRows():
                return Scope((bind(node, self._relations),))
            case Filter(source, condition):
                scope = self.rows(source, f"{path}.source")
                self.condition(condition, scope, f"{path}.condition")
                return scope
            case Neighbours(source, condition, _):
                scope = self.rows(source, f"{path}.source")
                self.condition(condition, scope, f"{path}.condition")
                return scope
            case Join():
                return self._join(node, path)
            case SetOperation(_, left, right):
                first, second = self.rows(left, f"{path}.left"), self.rows(right, f"{path}.right")
                if len(columns_of(first)) != len(columns_of(second)):
                    raise ProgramTypeError(
                        f"The left side has {len(columns_of(first))} columns, the right side {len(columns_of(second))}."
                    )
                return computed(first)
            case GroupBy(source, keys, measures):
                scope = self.rows(source, f"{path}.source")
                types = self._named(keys, scope, f"{path}.keys", False)
                types += self._named(measures, scope, f"{path}.measures", True)
                return Scope((), names_of((*keys, *measures)), types)
            case Sort(source, keys):
                scope = self.rows(source, f"{path}.source")
                if not keys:
                    raise ProgramTypeError("A sort needs a key.")
                for index, key in enumerate(keys):
                    place = f"{path}.keys[{index}]"
                    self._ranked(self.expression(key.expression, scope, place, False), "ranked by", place)
                return scope
            case Limit(source, count, offset, ties):
                if count < 1 or offset < 0:
                    raise ProgramTypeError("A limit keeps one row or more, after an offset of zero or more.")
                if ties and not isinstance(source, Sort):
                    raise ProgramTypeError("A limit with ties needs a sort right below it.")
                return self.rows(source, f"{path}.source")
            case Project(source, columns, _):
                scope = self.rows(source, f"{path}.source")
                if not columns:
                    raise ProgramTypeError("A projection needs a column.")
                return Scope((), names_of(columns), self._named(columns, scope, f"{path}.columns", False))
            case Unpivot(source, refs, name, value):
                scope = self.rows(source, f"{path}.source")
                found = [
                    self.expression(ref, scope, f"{path}.columns[{index}]", False) for index, ref in enumerate(refs)
                ]
                if not found:
                    raise ProgramTypeError("Nothing to unpivot: no columns are named.")
                if any(not isinstance(scope.resolve(ref), SourceColumn) for ref in refs):
                    raise ProgramTypeError("Only columns of a table can be unpivoted.")
                kinds = {part.kind for part in found}
                units = frozenset[str | None]().union(*(part.units for part in found))
                cell = Type(found[0].kind if len(kinds) == 1 else None, units, found[0].role)
                heading = Type(None)
                return Scope(scope.sources, (name, value, *scope.names), (heading, cell, *scope.types))
            case Unnest(source, column, name):
                scope = self.rows(source, f"{path}.source")
                self.expression(column, scope, f"{path}.column", False)
                return Scope(scope.sources, (name, *scope.names), (Type(ValueKind.TEXT), *scope.types))
        raise ProgramTypeError(f"{type(node).__name__} is not a relation.")

    def _join(self, node: Join, path: str) -> Scope:
        left, right = self.rows(node.left, f"{path}.left"), self.rows(node.right, f"{path}.right")
        if not node.on:
            raise ProgramTypeError("A join needs a pair of keys.")
        if not 0 <= node.similarity <= 100:
            raise ProgramTypeError("The similarity of a join lies between 0 and 100.")
        for index, pair in enumerate(node.on):
            first = self.expression(pair.left, left, f"{path}.on[{index}].left", False)
            second = self.expression(pair.right, right, f"{path}.on[{index}].right", False)
            self._comparable(first, second, f"{path}.on[{index}]")
        return joined(left, right)

    def _named(self, outputs: tuple[Named, ...], scope: Scope, path: str, grouped: bool) -> tuple[Type, ...]:
        return tuple(
            self.expression(output.expression, scope, f"{path}[{index}]", grouped)
            for index, output in enumerate(outputs)
        )

    # Expressions

    def condition(self, node: Expression, scope: Scope, path: str) -> None:
        """Check an expression that must be a truth value."""
        found = self.expression(node, scope, path, False)
        if found.kind not in (ValueKind.TRUTH, None):
            raise ProgramTypeError("The condition is a value, not a condition.", path=path)

    def expression(self, node: Expression, scope: Scope, path: str, grouped: bool) -> Type:
        """The type of an expression; `grouped` where aggregates of a group are allowed."""
        try:
            return self._expression(node, scope, path, grouped)
        except ProgramError as error:
            error.path = error.path or path
            raise

    def _expression(self, node: Expression, scope: Scope, path: str, grouped: bool) -> Type:
        match node:
            case ColumnRef():
                return scope.type_of(node)
            case Constant():
                return self._constant(node)
            case Arithmetic(operator, left, right):
                first = self.expression(left, scope, f"{path}.left", grouped)
                second = self.expression(right, scope, f"{path}.right", grouped)
                return self._arithmetic(operator, first, second)
            case Apply(function, operand, index):
                if not 1 <= index <= 1000:
                    raise ProgramTypeError("The index of a part counts from 1.")
                return self._apply(function, self.expression(operand, scope, f"{path}.operand", grouped))
            case Convert(operand, unit):
                return self._convert(self.expression(operand, scope, f"{path}.operand", grouped), unit)
            case Compare(relator, left, right):
                first = self.expression(left, scope, f"{path}.left", grouped)
                second = self.expression(right, scope, f"{path}.right", grouped)
                if relator not in _ORDERED_BY_TEXT:
                    self._comparable(first, second, path)
                return Type(ValueKind.TRUTH)
            case Membership(operand, choices):
                first = self.expression(operand, scope, f"{path}.operand", grouped)
                if isinstance(choices, Rows):
                    inner = self.rows(choices, f"{path}.choices")
                    second = columns_of(inner)[0][1] if columns_of(inner) else Type(None)
                    self._comparable(first, second, path)
                else:
                    for index, choice in enumerate(choices):
                        second = self.expression(choice, scope, f"{path}.choices[{index}]", grouped)
                        self._comparable(first, second, f"{path}.choices[{index}]")
                return Type(ValueKind.TRUTH)
            case And(conditions) | Or(conditions):
                if not conditions:
                    raise ProgramTypeError("There is no condition to combine.")
                for index, part in enumerate(conditions):
                    self.condition(part, scope, f"{path}.conditions[{index}]")
                return Type(ValueKind.TRUTH)
            case Not(inner_condition):
                self.condition(inner_condition, scope, f"{path}.condition")
                return Type(ValueKind.TRUTH)
            case IsMissing(operand):
                self.expression(operand, scope, f"{path}.operand", grouped)
                return Type(ValueKind.TRUTH)
            case Lookup(rows, value):
                return self.expression(value, self.rows(rows, f"{path}.rows"), f"{path}.value", False)
            case Aggregate():
                return self._aggregate(node, scope, path, grouped)
        raise ProgramTypeError(f"{type(node).__name__} is not an expression.")

    def _constant(self, node: Constant) -> Type:
        if node.unit is not None and not is_known(node.unit):
            raise ProgramTypeError(f"There is no unit {node.unit!r}.", hint="Name it by its QUDT local name.")
        if node.scale is not None and node.scale not in SCALES:
            raise ProgramTypeError(f"There is no scale {node.scale!r}.", hint=f"Use one of {', '.join(SCALES)}.")
        if node.kind in TIMES and time_span(str(node.value)) is None:
            raise ProgramTypeError(f"{node.value!r} is not a date or period.")
        units = frozenset({node.unit}) if node.kind in NUMBERS else frozenset[str | None]()
        if node.kind is ValueKind.DURATION:
            units = frozenset({"SEC"})
        return Type(node.kind, units, bare=node.bare)

    def _aggregate(self, node: Aggregate, scope: Scope, path: str, grouped: bool) -> Type:
        if node.rows is None and not grouped:
            raise ProgramTypeError("The aggregate has no rows: it is not in a group.")
        inner = scope if node.rows is None else self.rows(node.rows, f"{path}.rows")
        function = node.function
        if node.argument is None:
            if function is not AggregateFunction.COUNT:
                raise ProgramTypeError(f"The {function.value} of what? It needs an argument.")
            return Type(ValueKind.QUANTITY, frozenset({"NUM"}))
        found = self.expression(node.argument, inner, f"{path}.argument", False)
        if function in (AggregateFunction.COUNT, AggregateFunction.COUNT_DISTINCT):
            return Type(ValueKind.QUANTITY, frozenset({"NUM"}))
        if function is AggregateFunction.FIRST:
            return found
        if function in (AggregateFunction.MIN, AggregateFunction.MAX):
            self._ranked(found, "compared by size in", path)
            return found
        return self._added(found, function, whole=isinstance(node.rows, TableRows))

    def _added(self, found: Type, function: AggregateFunction, *, whole: bool) -> Type:
        word = {AggregateFunction.SUM: "sum", AggregateFunction.MEAN: "average"}.get(function, "median")
        name = f" {found.name!r}" if found.name else ""
        if found.role in NAMING or found.kind is ValueKind.ENTITY:
            what = "ranks or numbers rows" if found.role is Role.ORDINAL else "holds identifiers"
            raise ProgramTypeError(f"The column{name} {what}; {_a(word)} of it has no meaning.")
        if function is AggregateFunction.SUM and found.measure is MeasureKind.RATE:
            raise ProgramTypeError(
                f"The column{name} holds rates, which do not add up.",
                hint="Take their average, or the function 'number' to add them on purpose.",
            )
        if found.kind in TIMES:
            raise ProgramTypeError(f"The column{name} holds dates; {_a(word)} of dates has no meaning.")
        if found.kind in (ValueKind.TEXT, ValueKind.TRUTH):
            raise ProgramTypeError(f"The column{name} holds no numbers to take the {word} of.")
        if whole:  # a filter may leave only some of the units
            check_one_dimension(found.units, f"The column{name}", word)
        return replace(found, bare=False)

    def _ranked(self, found: Type, what: str, path: str) -> None:
        name = f" {found.name!r}" if found.name else ""
        if found.role is Role.IDENTIFIER:
            raise ProgramTypeError(
                f"The column{name} holds identifiers; nothing is {what} them.",
                path=path,
                hint="The function 'number' takes them as numbers on purpose.",
            )

    def _apply(self, function: Function, operand: Type) -> Type:
        if function in (Function.NEGATE, Function.ABSOLUTE):
            if operand.kind not in NUMBERS and operand.kind is not None:
                raise ProgramTypeError(f"{function.value} needs a number{_named_column(operand)}.")
            return operand
        if function is Function.NUMBER:
            return Type(ValueKind.QUANTITY, operand.units or frozenset({None}), name=operand.name)
        if function in (Function.LENGTH, Function.ITEMS):
            return Type(ValueKind.QUANTITY, frozenset({"NUM"}))
        if function in PARTS_OF_TIME:
            return Type(ValueKind.QUANTITY, frozenset({None}))
        if function in SPANS_OF_TIME:
            return Type(ValueKind.PERIOD)
        if function in (Function.TEXT, Function.WEEKDAY_NAME):
            return Type(ValueKind.TEXT)
        return Type(None)

    def _convert(self, operand: Type, unit: str) -> Type:
        if not is_known(unit):
            raise ProgramTypeError(f"There is no unit {unit!r}.", hint="Name it by its QUDT local name.")
        if operand.kind not in NUMBERS and operand.kind is not None:
            raise ProgramTypeError(f"Only a quantity can be converted{_named_column(operand)}.")
        wrong = [found for found in operand.units if not comparable(found, unit)]
        if operand.units and len(wrong) == len(operand.units):
            raise UnitMismatchError(f"{describe(wrong[0])} cannot be converted to {describe(unit)}.")
        return Type(ValueKind.QUANTITY, frozenset({unit}))

    def _comparable(self, left: Type, right: Type, path: str) -> None:
        """Refuse quantities none of whose units compare, and truth values next to numbers or dates."""
        if left.bare or right.bare:
            return
        measured = left.kind in NUMBERS and right.kind in NUMBERS and left.units and right.units
        if measured and not any(comparable(a, b) for a in left.units for b in right.units):
            first, second = _some(left.units), _some(right.units)
            raise UnitMismatchError(f"{first} and {second} cannot be compared.", path=path)
        pair = {left.kind, right.kind}
        numeric_or_time = NUMBERS | TIMES
        if ValueKind.TRUTH in pair and pair & numeric_or_time:
            raise ProgramTypeError("A truth value cannot be compared with a number or a date.", path=path)
        for date, other in ((left, right), (right, left)):
            if date.kind is ValueKind.DATE and other.kind in NUMBERS and _some_dimension(other.units):
                raise ProgramTypeError("A date cannot be compared with a quantity.", path=path)

    def _arithmetic(self, operator: Operator, left: Type, right: Type) -> Type:
        for side in (left, right):
            if side.role in NAMING or side.kind is ValueKind.ENTITY:
                raise ProgramTypeError(
                    f"Identifiers and ranks are not quantities{_named_column(side)}.",
                    hint="The function 'number' takes them as numbers on purpose.",
                )
            if side.kind in (ValueKind.TEXT, ValueKind.TRUTH):
                raise ProgramTypeError(f"Arithmetic needs numbers{_named_column(side)}.")
        times = [side.kind in TIMES for side in (left, right)]
        if any(times):
            return self._time_arithmetic(operator, left, right)
        if left.kind is None or right.kind is None:
            return Type(None)
        pairs = {(a, b) for a in left.units or {None} for b in right.units or {None}}
        if operator in (Operator.MULTIPLY, Operator.DIVIDE):
            power = 1 if operator is Operator.MULTIPLY else -1
            return Type(
                ValueKind.QUANTITY,
                frozenset(multiply_units(a, b, power)[0] for a, b in pairs),
                bare=left.bare and right.bare,
            )
        if operator is Operator.POWER:
            if not all(unit in COUNTS for unit in right.units):
                raise ProgramTypeError("The exponent of a power is a plain number.")
            return Type(ValueKind.QUANTITY, frozenset({None}), bare=left.bare and right.bare)
        if not left.bare and not right.bare and not any(comparable(a, b) for a, b in pairs):
            first, second = _some(left.units), _some(right.units)
            verb = {Operator.ADD: "added", Operator.SUBTRACT: "subtracted"}.get(operator, "divided to a ratio")
            raise UnitMismatchError(f"{first} and {second} cannot be {verb}.")
        if operator in (Operator.SHARE, Operator.PERCENT_CHANGE):
            return Type(ValueKind.QUANTITY, frozenset({"PERCENT"}))
        if operator is Operator.RATIO:
            return Type(ValueKind.QUANTITY, frozenset({"UNITLESS"}))
        units = left.units | right.units
        known = frozenset(unit for unit in units if unit not in COUNTS)
        kind = ValueKind.DURATION if ValueKind.DURATION in (left.kind, right.kind) else ValueKind.QUANTITY
        return Type(kind, known or units, bare=left.bare and right.bare)

    def _time_arithmetic(self, operator: Operator, left: Type, right: Type) -> Type:
        if left.kind in TIMES and right.kind in TIMES and operator is Operator.SUBTRACT:
            return Type(ValueKind.QUANTITY, frozenset({"DAY", "YR", "SEC"}))
        number = right if left.kind in TIMES else left
        allowed = (Operator.ADD, Operator.SUBTRACT) if left.kind in TIMES else (Operator.ADD,)
        if operator in allowed and (number.kind in NUMBERS or number.kind is None):
            return Type(left.kind if left.kind in TIMES else right.kind)
        if operator in allowed and number.kind in TIMES:
            raise ProgramTypeError("Dates cannot be added.")
        raise ProgramTypeError(
            "Of dates there is only their difference, and a date moved by a time.",
            hint="The function 'number' takes a year as a plain number.",
        )


def check_one_dimension(units: frozenset[str | None] | set[str | None], subject: str, word: str) -> None:
    """Raise `UnitMismatchError` if units of an aggregate do not convert into each other."""
    known = sorted(unit for unit in units if unit not in NO_UNIT and unit is not None)
    dimensions = {dimension_of(unit) for unit in known}
    if len(dimensions) > 1:
        names = [describe(unit) for unit in known]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        money = all(any(base.startswith("currency") for base, _ in found) for found in dimensions)
        why = "amounts in different currencies have no" if money else "they have no common"
        raise UnitMismatchError(f"{subject} has values in {listed}; {why} {word}.")


def names_of(outputs: tuple[Named, ...]) -> tuple[str, ...]:
    """The names of output columns: given, else the header referred to, else ``column 1``, …, from 1."""
    found = []
    for index, output in enumerate(outputs, 1):
        inner = output.expression
        own = str(inner.name) if isinstance(inner, ColumnRef) and isinstance(inner.name, str) else ""
        found.append(output.name or own or f"column {index}")
    return tuple(found)


def columns_of(scope: Scope) -> list[tuple[str, Type]]:
    """All columns of a relation: computed ones, then those of its tables."""
    found = list(zip(scope.names, scope.types, strict=True))
    for source in scope.sources:
        refs = [ColumnRef(column.index, source.name) for column in source.relation.columns]
        names = [column.name for column in source.relation.columns]
        found.extend(zip(names, map(scope.type_of, refs), strict=True))
    return found


def computed(scope: Scope) -> Scope:
    """A scope whose columns are all computed ones."""
    columns = columns_of(scope)
    return Scope((), tuple(name for name, _ in columns), tuple(found for _, found in columns))


def joined(left: Scope, right: Scope) -> Scope:
    """The columns of two relations side by side. Raises `ProgramTypeError` for tables of one name."""
    names = [source.name for source in (*left.sources, *right.sources)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProgramTypeError(f"Two tables are called {twice!r}.", hint="Give one of them an alias.")
    return Scope(left.sources + right.sources, left.names + right.names, left.types + right.types)


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _some(units: frozenset[str | None]) -> str:
    return describe(min(units, key=lambda unit: unit or ""))


def _some_dimension(units: frozenset[str | None]) -> bool:
    return bool(units) and all(dimension_of(unit) for unit in units)


def _named_column(found: Type) -> str:
    return f", and the column {found.name!r} holds none" if found.name else ""
