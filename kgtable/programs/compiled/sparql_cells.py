"""Columns of a table in SPARQL: the patterns that read their cells, and conditions on them.

Equality and order of texts are richer in the algebra than in SPARQL. All different cells of a column are known when
compiling, with their values: a plain expression of SPARQL is taken if it agrees on each of them. Where none does, the
program does not map.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from kgtable.errors import ProgramCompilationError
from kgtable.graph.terms import MOST_PLACES, ROW_CLASSES, Namespaces, decimal_text, is_decimal, text_literal
from kgtable.programs.algebra import Relator, TableRows, ValueKind
from kgtable.programs.column_math import BareNumber, settle
from kgtable.programs.dimensions import COUNTS, NO_UNIT, commonest_unit, comparable, conversion, convert, decimal_of
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import (
    Datum,
    TimeSpan,
    compare,
    format_decimal,
    key_of,
    normal,
    quantity,
    sort_key,
    text_of,
)
from kgtable.values.decimals import with_places

MOST_LISTED = 100
"""Maximum number of distinct texts or rows in a condition."""

SIGNS = {
    Relator.EQUAL: "=",
    Relator.NOT_EQUAL: "!=",
    Relator.LESS: "<",
    Relator.LESS_OR_EQUAL: "<=",
    Relator.GREATER: ">",
    Relator.GREATER_OR_EQUAL: ">=",
}
_CALLS = {Relator.CONTAINS: "CONTAINS", Relator.STARTS: "STRSTARTS", Relator.ENDS: "STRENDS"}
_HOLDS: Mapping[Relator, Callable[[str, str], bool]] = {
    Relator.CONTAINS: lambda text, constant: constant in text,
    Relator.STARTS: str.startswith,
    Relator.ENDS: str.endswith,
    Relator.EQUAL: str.__eq__,
    Relator.NOT_EQUAL: str.__ne__,
    Relator.LESS: str.__lt__,
    Relator.LESS_OR_EQUAL: str.__le__,
    Relator.GREATER: str.__gt__,
    Relator.GREATER_OR_EQUAL: str.__ge__,
}
_READINGS: tuple[tuple[str, Callable[[str], str]], ...] = (("{}", str), ("LCASE({})", str.lower))
_NUMBERS = frozenset({ValueKind.QUANTITY, ValueKind.DURATION})
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class PatternPart(Protocol):
    """A part of a pattern that is written when the whole query is known."""

    def lines(self) -> Iterable[str]:
        """The lines of the pattern."""


Pattern: TypeAlias = "list[str | PatternPart | Pattern]"
"""Lines, parts that are written later, and patterns that are indented."""


def pattern_lines(pattern: Pattern) -> Iterator[str]:
    """The lines of a pattern, indented."""
    for part in pattern:
        if isinstance(part, str):
            yield part
        elif isinstance(part, list):
            yield from (f"  {line}" for line in pattern_lines(part))
        else:
            yield from part.lines()


def does_not_map(what: str) -> ProgramCompilationError:
    """The error for a program that SPARQL cannot express directly."""
    return ProgramCompilationError(f"SPARQL cannot say {what}.", hint="Run the program in memory.")


def decimal_literal(number: Decimal) -> str:
    """A number as SPARQL writes it: a decimal, to the 18 places that engines at least keep, or else a double."""
    if int(number.as_tuple().exponent) < -MOST_PLACES:
        number = with_places(number, MOST_PLACES)
    return decimal_text(f"{number:f}") if is_decimal(number) else repr(float(number))


class QueryContext:
    """State that all parts of a query share: names of variables, and IRIs."""

    def __init__(self, names: Namespaces) -> None:
        self.names = names
        self._taken: set[str] = set()

    def variable(self, wanted: str) -> str:
        """A new variable, named after its content."""
        words = re.findall(r"[A-Za-z0-9]+", wanted)[:5] or ["value"]
        name = words[0].lower() + "".join(word.capitalize() for word in words[1:])
        name = f"n{name}" if name[0].isdigit() else name
        number, found = 2, name
        while found.lower() in self._taken:
            number, found = number + 1, f"{name}{number}"
        self._taken.add(found.lower())
        return f"?{found}"

    def iri(self, iri: str) -> str:
        """An IRI, by prefix where it has a plain local name."""
        local = iri.removeprefix(self.names.ex)
        return f"ex:{local}" if local != iri and _LOCAL.fullmatch(local) else f"<{iri}>"


@dataclass
class CellPattern:
    """A cell of a row: optional, unless a condition on it must hold."""

    variable: str
    pattern: list[str]
    required: bool = False

    def lines(self) -> list[str]:
        """The lines of the pattern."""
        if self.required:
            return self.pattern
        if len(self.pattern) == 1:
            return [f"OPTIONAL {{ {self.pattern[0]} }}"]
        return ["OPTIONAL {", *(f"  {line}" for line in self.pattern), "}"]


@dataclass(frozen=True)
class SparqlValue:
    """A number in a unit; or a text, with what each of the texts that it can be means."""

    sparql: str
    unit: str | None = None
    texts: Mapping[str, Datum] | None = None
    units: frozenset[str | None] = frozenset()
    scales: frozenset[str | None] = frozenset()
    """The units and scales in which its numbers are printed."""
    cell: CellPattern | None = field(default=None, compare=False)
    complete: bool = False
    """Whether all rows have it, as far as is known."""
    is_repeated: bool = False
    """Whether it is in several rows and is added once."""

    def number(self, unit: str | None = None) -> str:
        """Its number, converted to a unit."""
        if self.texts is not None:
            raise does_not_map("calculations with a column of texts, or of several units")
        if self.unit in NO_UNIT or unit in NO_UNIT or self.unit == unit:
            return self.sparql
        multiplier, addend = conversion(self.unit, unit)
        above = f" * {decimal_literal(Decimal(multiplier.numerator))}" if multiplier.numerator != 1 else ""
        below = f" / {decimal_literal(Decimal(multiplier.denominator))}" if multiplier.denominator != 1 else ""
        shift = f" + {decimal_literal(decimal_of(addend))}" if addend else ""
        return f"({self.sparql}{above}{below}{shift})"

    def order(self) -> str:
        """What sorts it."""
        return self._read("the order of these texts", sort_key, ordered=True)

    def group_key(self) -> str:
        """What equal values of this column share, and no others."""
        if self.texts is None and len({unit in COUNTS for unit in self.units}) > 1:
            raise does_not_map("which numbers with and without units are equal")
        return self._read("which of these texts are equal", _key)

    def join_key(self) -> str:
        """What equal values of any column share, and no others."""
        if self.texts is not None:
            for sparql, read in _READINGS:
                if all(read(text) == _key(datum) for text, datum in self.texts.items()):
                    return sparql.format(self.sparql)
        raise does_not_map("which of these keys are equal")

    def _read(self, what: str, key: Callable[[Datum], object], *, ordered: bool = False) -> str:
        """The number; or the text or its lower case, whichever is equal, and ordered, as the keys are."""
        if self.texts is None:
            return self.sparql
        for sparql, read in _READINGS:
            pairs = {(key(datum), read(text)) for text, datum in self.texts.items()}
            one_to_one = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
            if one_to_one and (not ordered or _ascending(text for _, text in sorted(pairs))):
                return sparql.format(self.sparql)
        raise does_not_map(what)

    def compared(self, relator: Relator, wanted: Datum) -> str:
        """A comparison with a constant that means the same as in memory."""
        if self.texts is None:
            if wanted.number is None or relator not in SIGNS:
                raise does_not_map("a comparison of numbers with a text")
            if isinstance(wanted, BareNumber):
                if len(self.scales) > 1:
                    raise does_not_map("a bare number beside several scales")
                wanted = settle(wanted, quantity(0, self.unit, next(iter(self.scales), None)))
            number = convert(wanted.number or Decimal(0), wanted.unit, self.unit)
            return f"{self.sparql} {SIGNS[relator]} {decimal_literal(number)}"
        right = {text for text, datum in self.texts.items() if compare(relator, datum, settle(wanted, datum))}
        if relator is Relator.EQUAL and len(right) == 1:
            return f"{self.sparql} = {text_literal(next(iter(right)))}"
        constants = [wanted.value.lexical] if isinstance(wanted.value, TimeSpan) else []
        for constant in dict.fromkeys([*constants, text_of(wanted), normal(text_of(wanted))]):
            for sparql, read in _READINGS:
                if {text for text in self.texts if _HOLDS[relator](read(text), constant)} == right:
                    left, literal = sparql.format(self.sparql), text_literal(constant)
                    sign = SIGNS.get(relator)
                    return f"{left} {sign} {literal}" if sign else f"{_CALLS[relator]}({left}, {literal})"
        if not right:
            return f"{self.sparql} != {self.sparql}"  # an error, not false, where it is missing
        if len(right) > MOST_LISTED:
            raise does_not_map("this comparison of texts")
        return f"{self.sparql} IN ({', '.join(text_literal(text) for text in self.texts if text in right)})"


def _ascending(texts: Iterable[str]) -> bool:
    return all(a < b for a, b in itertools.pairwise(texts))


def _key(datum: Datum) -> str:
    """Equal texts for values that are equal in groups and joins; a number's is its plain decimal."""
    name, *rest = key_of(datum)
    if name == "number" and isinstance(rest[0], Decimal | Fraction | int):
        return format_decimal(decimal_of(Fraction(rest[0])))
    return str(rest[0]) if name == "text" else " ".join(map(str, (name, *rest)))


class TablePattern:
    """An occurrence of a table in the program: its rows, and the cells of them that are asked for.

    `rows` are the places of the rows that are left: their cells decide on kinds and units.
    """

    def __init__(self, context: QueryContext, node: TableRows, relation: Relation) -> None:
        self._context, self.relation = context, relation
        self.rows = relation.select(node.choice)
        if len(relation.tables) > 1:
            raise does_not_map("tables that are parts of one")
        (table,) = relation.tables
        if any(a.bottom >= table.structure.body_start for a in (*table.grid.merged, *table.structure.shared)):
            raise does_not_map("rows whose cells are merged")
        self.row = context.variable(f"{node.alias or ''} row")
        self.place = context.variable(f"{node.alias or ''} number")
        self._graph = f"<{context.names.table_iri(table.id)}>"
        self._head = [f"{self.row} a kgt:Row ; kgt:row {self.place} .", *self._kinds()]
        self._cells: dict[tuple[object, ...], CellPattern] = {}

    def lines(self) -> list[str]:
        """The lines of the pattern. Required parts come first: they narrow the rows down."""
        cells = sorted(self._cells.values(), key=lambda cell: not cell.required)
        inner = [*self._head, *(line for cell in cells for line in cell.lines())]
        return [f"GRAPH {self._graph} {{", *(f"  {line}" for line in inner), "}"]

    def column(self, column: int) -> SparqlValue:
        """The numbers of a column in one unit, or its texts."""
        cells = [(datum, is_node) for _, datum, is_node in self._different(column) if datum is not None]
        unit = commonest_unit(datum.unit for datum, _ in cells)
        units = frozenset(datum.unit for datum, _ in cells)
        if not (
            cells
            and all(is_node and datum.kind in _NUMBERS for datum, is_node in cells)
            and all(name in COUNTS or comparable(name, unit) for name in units)
        ):
            return self._value(column, self._text(column), texts=self._texts(column))
        factors = {}
        for name in units:
            factors[name], addend = (Fraction(1), 0) if {name, unit} & COUNTS else conversion(name, unit)
            if addend:
                raise does_not_map("a column of temperatures in several units")
        scales = frozenset(datum.scale for datum, _ in cells)
        cell = self._number(column, factors if set(factors.values()) != {1} else {})
        return self._value(column, cell, unit=unit, units=units, scales=scales)

    def _value(self, column: int, cell: CellPattern, **of: Any) -> SparqlValue:
        complete = bool((self.relation.data(column).codes[self.rows] >= 0).all())
        repeated = self.relation.columns[column].meaning.grain is not None
        return SparqlValue(cell.variable, cell=cell, complete=complete, is_repeated=repeated, **of)

    def _kinds(self) -> list[str]:
        """The conditions that leave the rows that take part."""
        left = {self.relation.place(row)[1] for row in range(len(self.relation))}
        rest = {self.relation.place(row)[1] for row in self.rows.tolist()} ^ left
        structure = self.relation.tables[0].structure
        lines = []
        for name, kind in ROW_CLASSES.items():
            marked = (getattr(structure, name) & left) - structure.contained
            if marked and marked <= rest:
                rest, left = rest - marked, left - marked
                lines.append(f"FILTER NOT EXISTS {{ {self.row} a kgt:{kind} }}")
        others = sorted(rest.union(self.relation.blank))
        if len(others) > MOST_LISTED:
            raise does_not_map("which rows are members")
        return [*lines, f"FILTER({self.place} NOT IN ({', '.join(map(str, others))}))"] if others else lines

    def _different(self, column: int) -> list[tuple[str, Datum | None, bool]]:
        """The distinct cells of the remaining rows: string in the graph, value, and whether it is a node."""
        data = self.relation.data(column)
        numbers, contents = self.relation.stored(column)
        pairs = zip(numbers[self.rows].tolist(), data.codes[self.rows].tolist(), strict=True)
        cells = [(contents[number], code) for number, code in dict.fromkeys(pairs) if number >= 0]
        if any(cell.upper is not None for cell, _ in cells):
            raise does_not_map("ranges of numbers")
        return [
            (
                cell.text if cell.is_quantity or cell.value is None else cell.value,
                data.values[code] if code >= 0 else None,
                cell.is_quantity,
            )
            for cell, code in cells
        ]

    def _texts(self, column: int) -> dict[str, Datum]:
        texts: dict[str, Datum] = {}
        for text, datum, _ in self._different(column):
            if datum is not None and texts.setdefault(text, datum) != datum and texts[text].number is not None:
                raise does_not_map("cells that print the same and mean different things")
        return texts

    def _text(self, column: int) -> CellPattern:
        """The string of a cell; none if the cell has no value."""
        if (column, "text") in self._cells:
            return self._cells[column, "text"]
        cells = self._different(column)
        nodes = {is_node for _, datum, is_node in cells if datum is not None}
        missing = [text for text, datum, _ in cells if datum is None]
        name, path = self.relation.columns[column].name, self._path(column)
        if nodes == {True}:
            variable = self._context.variable(f"{name} text")
            lines = [f"{path}/kgt:text {variable} ."]
        elif missing or any(cell.is_node or cell.value is not None for cell in self.relation.stored(column)[1]):
            variable, cell = self._context.variable(name), self._context.variable(f"{name} cell")
            lines, string = [f"{path} {cell} ."], f"STR({cell})"
            if True in nodes:
                text = self._context.variable(f"{name} text")
                lines.append(f"OPTIONAL {{ {cell} kgt:text {text} }}")
                string = f"COALESCE({text}, {string})"
            if missing:
                lines.append(f"FILTER(STR({cell}) NOT IN ({', '.join(map(text_literal, missing))}))")
            lines.append(f"BIND({string} AS {variable})")
        else:
            variable = self._context.variable(name)
            lines = [f"{path} {variable} ."]
        return self._cells.setdefault((column, "text"), CellPattern(variable, lines))

    def _number(self, column: int, factors: Mapping[str | None, Fraction]) -> CellPattern:
        """The number of a cell; with factors, in one unit."""
        key = (column, *factors.items())
        if key in self._cells:
            return self._cells[key]
        name, path = self.relation.columns[column].name, self._path(column)
        variable = self._context.variable(name)
        if not factors:
            return self._cells.setdefault(key, CellPattern(variable, [f"{path}/qudt:numericValue {variable} ."]))
        cell, unit, number, factor = (
            self._context.variable(f"{name} {part}") for part in ("cell", "unit", "number", "factor")
        )
        pairs = " ".join(f"(unit:{of or 'UNITLESS'} {decimal_literal(decimal_of(by))})" for of, by in factors.items())
        lines = [
            f"{path} {cell} .",
            f"{cell} qudt:numericValue {number} ; qudt:hasUnit {unit} .",
            f"VALUES ({unit} {factor}) {{ {pairs} }}",
            f"BIND({number} * {factor} AS {variable})",
        ]
        return self._cells.setdefault(key, CellPattern(variable, lines))

    def _path(self, column: int) -> str:
        return f"{self.row} {self._context.iri(self.relation.predicates[self.relation.in_table(column)])}"
