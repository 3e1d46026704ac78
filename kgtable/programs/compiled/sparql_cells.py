"""Cells and values in SPARQL: the patterns that read them, and what they mean.

Equality and order of texts are richer in the algebra than in SPARQL. All different strings of a column are known when
compiling, with their values; a plain expression of SPARQL is taken if it agrees on each of them, else the strings are
listed with their values.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from kgtable.graph.terms import ROW_CLASSES, text_literal
from kgtable.programs.algebra import Relator, TableRows, ValueKind
from kgtable.programs.column_math import BareNumber, settle
from kgtable.programs.compiled.sparql_patterns import (
    MOST_LISTED,
    GraphPattern,
    GroupPattern,
    OptionalPattern,
    QueryContext,
    decimal_literal,
    does_not_map,
    listed_meanings,
)
from kgtable.programs.dimensions import COUNTS, NO_UNIT, commonest_unit, comparable, conversion, decimal_of
from kgtable.programs.relation import Indices, Relation
from kgtable.programs.scalars import (
    Datum,
    TimeSpan,
    compare,
    format_decimal,
    key_of,
    normal,
    number_in_unit,
    quantity,
    sort_key,
    text_of,
)

_SHORT_LIST = 60
_NUMBERS = frozenset({ValueKind.QUANTITY, ValueKind.DURATION})
_SIGNS = {
    Relator.EQUAL: "=",
    Relator.NOT_EQUAL: "!=",
    Relator.LESS: "<",
    Relator.LESS_OR_EQUAL: "<=",
    Relator.GREATER: ">",
    Relator.GREATER_OR_EQUAL: ">=",
}
_MIRRORED = {
    Relator.LESS: Relator.GREATER,
    Relator.LESS_OR_EQUAL: Relator.GREATER_OR_EQUAL,
    Relator.GREATER: Relator.LESS,
    Relator.GREATER_OR_EQUAL: Relator.LESS_OR_EQUAL,
}
_TEXT_TESTS = {Relator.CONTAINS: "CONTAINS", Relator.STARTS: "STRSTARTS", Relator.ENDS: "STRENDS"}
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
_TEXT_READINGS: tuple[tuple[str, Callable[[str], str]], ...] = (("{0}", lambda text: text), ("LCASE({0})", str.lower))


class SparqlValue(ABC):
    """The SPARQL of a value: of its number, its text, or a key that equal values share."""

    unit: str | None = None
    scale: str | None = None
    bare = False

    @property
    @abstractmethod
    def kind(self) -> str:
        """``number``, ``truth``, or ``text`` for anything whose cells are texts or times."""

    def number(self) -> str:
        """The SPARQL of its number in its unit."""
        raise does_not_map("calculations with a column that does not hold numbers alone")

    def group_key(self) -> str:
        """The SPARQL of what equal values of this column share, and no others."""
        return self.number()

    def order(self) -> str:
        """What sorts it."""
        return self.number()

    def require(self) -> None:  # noqa: B027 - a value that is always there needs nothing
        """Leave out the rows without it."""

    @property
    def complete(self) -> bool:
        """Whether all rows have it, as far as is known."""
        return False


class ComputedTerm(SparqlValue):
    """A number that SPARQL computes."""

    kind = "number"

    def __init__(self, sparql: str, unit: str | None = None, scale: str | None = None) -> None:
        self._sparql, self.unit, self.scale = sparql, unit, scale

    def number(self) -> str:
        return self._sparql


class CellReading(SparqlValue):
    """A value read from cells: every string that a cell can be, and what it means, are known.

    `terms` gives for each string the value; `term` is the SPARQL of the string.
    """

    terms: Mapping[str, Datum]

    @abstractmethod
    def term(self) -> str:
        """The SPARQL of the cell's string."""

    @abstractmethod
    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        """The variable that a list of the strings with their meanings gives."""

    @cached_property
    def kind(self) -> str:
        kinds = {datum.kind for datum in self.terms.values()}
        if kinds and kinds <= _NUMBERS:
            known = [datum.unit for datum in self.terms.values() if datum.unit not in COUNTS]
            if all(comparable(known[0], unit) for unit in known):
                return "number"
        return "truth" if kinds == {ValueKind.TRUTH} else "text"

    @cached_property
    def unit(self) -> str | None:  # type: ignore[override]
        return commonest_unit(datum.unit for datum in self.terms.values())

    @cached_property
    def scale(self) -> str | None:  # type: ignore[override]
        scales = {datum.scale for datum in self.terms.values() if datum.number is not None}
        return next(iter(scales)) if len(scales) == 1 else None

    def number(self) -> str:
        if self.kind != "number":
            return super().number()
        numbers = {term: number_in_unit(datum, self.unit) for term, datum in self.terms.items()}
        return self.listing({text: decimal_literal(number) for text, number in numbers.items()}, "number")

    def text(self) -> str:
        term = self.term()
        if all(normal(text_of(datum)) == normal(_printed(text)) for text, datum in self.terms.items()):
            return term
        found = {text: text_literal(text_of(datum)) for text, datum in self.terms.items()}
        return self.listing(found, "text")

    def key(self) -> str:
        return self._reading({term: _key(datum) for term, datum in self.terms.items()}, "key")

    def group_key(self) -> str:
        keys = {term: _key(datum) for term, datum in self.terms.items()}
        for sparql, read in _TEXT_READINGS:
            pairs = {(read(term), key) for term, key in keys.items()}
            if len(pairs) == len({key for _, key in pairs}) == len({reading for reading, _ in pairs}):
                return sparql.format(self.term())
        return self.key()

    def order(self) -> str:
        if self.kind == "number":
            return self.number()
        places = _places(self.terms)
        for sparql, read in _TEXT_READINGS:
            ordered = sorted(self.terms, key=read)
            ranks = [places[term] for term in ordered]
            same = all((read(a) == read(b)) == (places[a] == places[b]) for a, b in itertools.pairwise(ordered))
            if ranks == sorted(ranks) and same:
                return sparql.format(self.term())
        return self.listing({term: str(place) for term, place in places.items()}, "order")

    def holds(self, relator: Relator, wanted: Datum, test: Callable[[Datum], bool]) -> str:
        """The SPARQL of a condition with a constant: the simplest that agrees on every cell."""
        right = [term for term, datum in self.terms.items() if test(datum)]
        term = self.term()
        if relator is Relator.EQUAL and len(right) == 1:
            return f"{term} = {text_literal(right[0])}"
        constants = [text_of(wanted), normal(text_of(wanted))]
        if isinstance(wanted.value, TimeSpan):
            constants = [wanted.value.lexical, *constants]
        chosen = set(right)
        for constant in dict.fromkeys(constants):
            beginning = (f"SUBSTR({{}}, 1, {len(constant)})", lambda text: text[: len(constant)])  # noqa: B023
            for sparql, read in (*_TEXT_READINGS, beginning):
                if {text for text in self.terms if _HOLDS[relator](read(text), constant)} == chosen:
                    return _compared(relator, sparql.format(term), text_literal(constant))
        if len(right) <= _SHORT_LIST:
            return f"{term} IN ({', '.join(map(text_literal, right))})" if right else f"{term} != {term}"
        wrong = [text for text in self.terms if text not in chosen]
        if len(wrong) <= _SHORT_LIST:
            return f"{term} NOT IN ({', '.join(map(text_literal, wrong))})"
        return f"{self.listing({text: str(text in chosen).lower() for text in self.terms}, 'holds')} = true"

    def _reading(self, found: Mapping[str, str], wanted: str) -> str:
        for sparql, read in _TEXT_READINGS:
            if all(read(term) == text for term, text in found.items()):
                return sparql.format(self.term())
        return self.listing({term: text_literal(text) for term, text in found.items()}, wanted)


def _printed(term: str) -> str:
    """The string of a cell, without what tells cells of equal prints apart."""
    return term.partition("\0")[0]


def _key(datum: Datum) -> str:
    """Equal texts for what is equal in groups and joins; a number's is its plain decimal."""
    name, *rest = key_of(datum)
    if name == "number" and isinstance(rest[0], Decimal | Fraction | int):
        return format_decimal(decimal_of(Fraction(rest[0])))
    return str(rest[0]) if name == "text" else " ".join(map(str, (name, *rest)))


def _places(terms: Mapping[str, Datum]) -> dict[str, int]:
    """The place of each string by the order of its value; equal ones share a place."""
    found: dict[str, int] = {}
    place, last = -1, None
    for term in sorted(terms, key=lambda term: sort_key(terms[term])):
        key = sort_key(terms[term])
        place, last = place + (key != last), key
        found[term] = place
    return found


class SparqlConstant(CellReading):
    def __init__(self, datum: Datum) -> None:
        self.datum = datum
        self.terms = {text_of(datum): datum}
        self.bare = isinstance(datum, BareNumber)

    def term(self) -> str:
        return text_literal(text_of(self.datum))

    def number(self) -> str:
        return decimal_literal(self.datum.number) if self.datum.number is not None else super().number()

    def text(self) -> str:
        return self.term()

    def key(self) -> str:
        return text_literal(_key(self.datum))

    def order(self) -> str:
        return self.term()

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return next(iter(found.values()))


class HandedReading(CellReading):
    """Cells that a sub-select hands on: their string stays, so that all readings of it do."""

    def __init__(
        self, context: QueryContext, inner: CellReading, group: GroupPattern, hand_on: Callable[[str, str], str]
    ) -> None:
        self._context, self._inner, self._group, self._hand_on = context, inner, group, hand_on
        self.terms = inner.terms

    def term(self) -> str:
        return self._hand_on(self._inner.term(), "text")

    def number(self) -> str:
        return self._hand_on(self._inner.number(), "value")

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._context.listing(self._group, self.term(), found, wanted)


class ColumnReading(CellReading):
    """A column of a table, or its labels or group headings."""

    def __init__(self, base: GraphRows, column: int | str) -> None:
        self._base, self._column = base, column
        self.terms = base.terms(column)
        self.is_repeated = isinstance(column, int) and base.relation.columns[column].meaning.grain is not None

    def term(self) -> str:
        return self._base.term(self._column)

    def number(self) -> str:
        if self.kind != "number" or isinstance(self._column, str) or not self._base.all_nodes(self._column):
            return super().number()
        if any(datum.kind is ValueKind.DURATION for datum in self.terms.values()):
            return super().number()
        units = {datum.unit for datum in self.terms.values()}
        factors = {unit: Fraction(1) for unit in units}
        for unit in units:
            if unit not in COUNTS and self.unit not in COUNTS:
                multiplier, addend = conversion(unit, self.unit)
                if addend:
                    return super().number()
                factors[unit] = multiplier
        return self._base.value(self._column, factors if set(factors.values()) != {1} else {})

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._base.listing(self.term(), found, f"{self._base.name(self._column)} {wanted}")

    def require(self) -> None:
        self._base.require(self._column)

    @property
    def complete(self) -> bool:
        data = self._base.relation
        column = data.data(self._column) if isinstance(self._column, int) else data.pseudo(self._column)
        return bool((column.codes[self._base.rows] >= 0).all())


class GraphRows:
    """An occurrence of a table in the program: its rows, and the cells of them that are asked for."""

    def __init__(self, context: QueryContext, node: TableRows, relation: Relation) -> None:
        self._context, self.relation, self.choice = context, relation, node.choice
        self.rows = relation.select(node.choice)
        if len(relation.tables) > 1:
            raise does_not_map("tables that are parts of one")
        (table,) = relation.tables
        if any(a.bottom >= table.structure.body_start for a in (*table.grid.merged, *table.structure.shared)):
            raise does_not_map("rows whose cells are merged")
        self.row = context.variable("row" if not node.alias else f"{node.alias} row")
        self.place = context.variable("number" if not node.alias else f"{node.alias} number")
        self._graph = f"<{context.names.table_iri(table.id)}>"
        head = [f"{self.row} a kgt:Row ; kgt:row {self.place} .", *self._kinds()]
        self.block = GraphPattern(self._graph, head)
        self.group = GroupPattern(self.block)
        self._cells: dict[tuple[object, ...], tuple[str, OptionalPattern]] = {}

    def _kinds(self) -> list[str]:
        """The conditions that leave the rows that take part."""
        blank = set(self.relation.blank)
        if len(self.rows) == len(self.relation) and not blank:
            return []
        taken = {self.relation.place(row)[1] for row in self.rows.tolist()}
        left = {self.relation.place(row)[1] for row in range(len(self.relation))}
        structure = self.relation.tables[0].structure
        lines = []
        for field, name in ROW_CLASSES.items():
            marked = (getattr(structure, field) & left) - structure.contained
            if marked and not marked & taken:
                left -= marked
                lines.append(f"FILTER NOT EXISTS {{ {self.row} a kgt:{name} }}")
        rest = sorted((left | blank) - taken)
        if len(rest) > MOST_LISTED:
            raise does_not_map("which rows are members")
        if rest and len(rest) > len(taken):
            numbers = ", ".join(map(str, sorted(taken)))
            return [f"FILTER({self.place} IN ({numbers}))"] if taken else ["FILTER(false)"]
        if rest:
            lines.append(f"FILTER({self.place} NOT IN ({', '.join(map(str, rest))}))")
        return lines

    def narrowed(self, rows: Indices) -> GraphRows:
        """The same occurrence where only some rows are left: their cells decide on kinds and units."""
        found = copy(self)
        found.rows = rows if len(rows) else self.rows
        return found

    def again(self, group: GroupPattern) -> GraphRows:
        """The same rows after a sub-select that hands them on: cells are read anew, outside of it."""
        found = copy(self)
        found.block = GraphPattern(self._graph, [])
        found.group, found._cells = group, {}
        group.blocks.append(found.block)
        return found

    def name(self, column: int | str) -> str:
        return column if isinstance(column, str) else self.relation.columns[column].name

    def cells(self, column: int | str) -> list[tuple[str, Datum | None, bool]]:
        """Of the rows that take part each different cell: its string in the graph, its value, whether it is a node."""
        data = self.relation.data(column) if isinstance(column, int) else self.relation.pseudo(column)
        codes = data.codes[self.rows].tolist()
        if isinstance(column, str):
            values = [data.values[code] if code >= 0 else None for code in dict.fromkeys(codes)]
            return [(datum.text if datum else "", datum, False) for datum in values]
        numbers, contents = self.relation.stored(column)
        found = []
        for number, code in dict.fromkeys(zip(numbers[self.rows].tolist(), codes, strict=True)):
            if number < 0:
                continue
            cell = contents[number]
            if cell.upper is not None:
                raise does_not_map("ranges of numbers")
            string = cell.text if cell.is_quantity or cell.value is None else cell.value
            found.append((string, data.values[code] if code >= 0 else None, cell.is_quantity))
        return found

    def terms(self, column: int | str) -> dict[str, Datum]:
        terms: dict[str, Datum] = {}
        for text, datum, _ in self.cells(column):
            if datum is not None and terms.setdefault(text, datum) != datum:
                first = terms[text]
                if first.number is None or datum.number is None:
                    terms[text] = first
                else:
                    # Told apart by the number's node; a key that no string of a cell can be.
                    terms[f"{text}\0{datum.unit}\0{datum.value}"] = datum
        return terms

    def all_nodes(self, column: int) -> bool:
        """Whether all values are nodes with a number."""
        return all(is_node for _, datum, is_node in self.cells(column) if datum is not None)

    def term(self, column: int | str) -> str:
        """The variable of the string of a cell."""
        if (column, "t") in self._cells:
            return self._cells[column, "t"][0]
        if isinstance(column, str):
            if column != "@group":
                raise does_not_map(column)
            variable = self._context.variable("group")
            return self.cell((column, "t"), variable, [f"{self.row} kgt:group/rdfs:label {variable} ."])
        cells = self.cells(column)
        nodes = {is_node for _, datum, is_node in cells if datum is not None}
        missing = [text for text, datum, _ in cells if datum is None]
        predicate = self.predicate(column)
        if nodes == {True}:
            variable = self._context.variable(f"{self.name(column)} text")
            return self.cell((column, "t"), variable, [f"{self.row} {predicate}/kgt:text {variable} ."])
        variable = self._context.variable(self.name(column))
        if not missing and not any(cell.is_node or cell.value is not None for cell in self.relation.stored(column)[1]):
            return self.cell((column, "t"), variable, [f"{self.row} {predicate} {variable} ."])
        cell = self._context.variable(f"{self.name(column)} cell")
        lines = [f"{self.row} {predicate} {cell} ."]
        string = f"STR({cell})"
        if True in nodes:
            text = self._context.variable(f"{self.name(column)} text")
            lines.append(f"OPTIONAL {{ {cell} kgt:text {text} }}")
            string = f"COALESCE({text}, STR({cell}))"
        if missing:
            lines.append(f"FILTER(STR({cell}) NOT IN ({', '.join(map(text_literal, missing))}))")
        lines.append(f"BIND({string} AS {variable})")
        return self.cell((column, "t"), variable, lines)

    def value(self, column: int, factors: Mapping[str | None, Fraction]) -> str:
        """The variable of a cell's number; with factors, in one unit."""
        key = (column, "v", tuple(factors.items()))
        if key in self._cells:
            return self._cells[key][0]
        predicate = self.predicate(column)
        variable = self._context.variable(self.name(column))
        if not factors:
            return self.cell(key, variable, [f"{self.row} {predicate}/qudt:numericValue {variable} ."])
        cell = self._context.variable(f"{self.name(column)} cell")
        unit = self._context.variable(f"{self.name(column)} unit")
        number = self._context.variable(f"{self.name(column)} number")
        factor = self._context.variable(f"{self.name(column)} factor")
        pairs = " ".join(
            f"(unit:{name or 'UNITLESS'} {decimal_literal(decimal_of(value))})" for name, value in factors.items()
        )
        lines = [
            f"{self.row} {predicate} {cell} .",
            f"{cell} qudt:numericValue {number} ; qudt:hasUnit {unit} .",
            f"VALUES ({unit} {factor}) {{ {pairs} }}",
            f"BIND({number} * {factor} AS {variable})",
        ]
        return self.cell(key, variable, lines)

    def listing(self, term: str, found: Mapping[str, str], wanted: str) -> str:
        """The variable that a list of strings with their meanings gives."""
        key = (term, tuple(found.items()))
        if key not in self._cells:
            variable = self._context.variable(wanted)
            block = OptionalPattern(listed_meanings(term, variable, found))
            next(cell for known, cell in self._cells.values() if known == term).inner.append(block)
            self._cells[key] = variable, block
        return self._cells[key][0]

    def require(self, column: int | str) -> None:
        for key, (_, block) in self._cells.items():
            if key[0] == column and block in self.block.cells:
                block.required = True

    def cell(self, key: tuple[object, ...], variable: str, lines: Sequence[str]) -> str:
        """The variable that holds something of a cell."""
        if key not in self._cells:
            block = OptionalPattern(lines)
            self.block.cells.append(block)
            self._cells[key] = variable, block
        return self._cells[key][0]

    def predicate(self, column: int) -> str:
        return self._context.iri(self.relation.predicates[self.relation.in_table(column)])


def number_of(value: SparqlValue, beside: SparqlValue | None = None) -> str:
    """A number in its unit; a bare one in the scale in which the value beside it is printed."""
    if beside is not None and isinstance(value, SparqlConstant) and value.bare and not beside.bare:
        if isinstance(beside, CellReading) and len({datum.scale for datum in beside.terms.values()}) > 1:
            raise does_not_map("a bare number beside several scales")
        return decimal_literal(settle(value.datum, quantity(0, beside.unit, beside.scale)).number)
    return value.number()


def number_in(value: SparqlValue, unit: str | None) -> str:
    """A number converted to a unit."""
    sparql = number_of(value)
    if value.unit in NO_UNIT or unit in NO_UNIT or value.unit == unit:
        return sparql
    multiplier, addend = conversion(value.unit, unit)
    shift = f" + {decimal_literal(decimal_of(addend))}" if addend else ""
    return f"({sparql}{_times(multiplier)}{shift})" if multiplier != 1 or addend else sparql


def comparison_of(relator: Relator, left: SparqlValue, right: SparqlValue) -> str:
    """A comparison of two values that means the same as in memory.

    Raises `ProgramCompilationError` for what SPARQL cannot say, `UnitMismatchError` for units that do not fit.
    """
    if isinstance(left, SparqlConstant) and not isinstance(right, SparqlConstant) and relator not in _TEXT_TESTS:
        left, right, relator = right, left, _MIRRORED.get(relator, relator)
    if relator not in _TEXT_TESTS and left.kind == right.kind == "number":
        a, b = number_of(left, right), number_of(right, left)
        if not (left.bare or right.bare or left.unit in NO_UNIT or right.unit in NO_UNIT):
            multiplier, addend = conversion(left.unit, right.unit)
            if addend:
                a = number_in(left, right.unit)
            elif multiplier != 1:
                # Multiplied by whole numbers on both sides, which is exact.
                a = f"{a} * {multiplier.numerator}" if multiplier.numerator != 1 else a
                b = f"{b} * {multiplier.denominator}" if multiplier.denominator != 1 else b
        return f"{a} {_SIGNS[relator]} {b}"
    if isinstance(right, SparqlConstant) and isinstance(left, SparqlConstant):
        return str(compare(relator, left.datum, right.datum)).lower()
    if isinstance(right, SparqlConstant) and isinstance(left, CellReading):
        wanted = right.datum
        if any("\0" in term for term in left.terms):
            raise does_not_map("cells that print the same and mean different things")
        return left.holds(relator, wanted, lambda datum: compare(relator, datum, settle(wanted, datum)))
    equal = relator in (Relator.EQUAL, Relator.NOT_EQUAL)
    if equal and isinstance(left, CellReading) and isinstance(right, CellReading):
        return f"{left.key()} {_SIGNS[relator]} {right.key()}"
    raise does_not_map("a comparison of these columns")


def _times(factor: Fraction) -> str:
    above = f" * {decimal_literal(Decimal(factor.numerator))}" if factor.numerator != 1 else ""
    return above + (f" / {decimal_literal(Decimal(factor.denominator))}" if factor.denominator != 1 else "")


def _compared(relator: Relator, left: str, right: str) -> str:
    if relator in _TEXT_TESTS:
        return f"{_TEXT_TESTS[relator]}({left}, {right})"
    return f"{left} {_SIGNS[relator]} {right}"
