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

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from kgtable.errors import ProgramCompilationError, ProgramTypeError
from kgtable.graph.terms import FIXED_PREFIXES, Namespaces, decimal_text, text_literal
from kgtable.ontology.annotate import AnnotatedTable, annotate
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
    Neighbours,
    Not,
    Operator,
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
from kgtable.programs.column_math import BareNumber, settle
from kgtable.programs.dimensions import (
    COUNTS,
    EXACT,
    NO_UNIT,
    comparable,
    conversion,
    convert,
    decimal_of,
    describe,
    multiply_units,
)
from kgtable.programs.executor import constant_datum, places_of
from kgtable.programs.realize import realize
from kgtable.programs.relation import Indices, Relation
from kgtable.programs.scalars import (
    Datum,
    TimeSpan,
    apply,
    calculate,
    compare,
    format_decimal,
    items,
    key_of,
    normal,
    quantity,
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
from kgtable.tables.column_profile import CellKind, type_cell

MOST_LISTED = 3_000
"""How many different cells of a column a query may list with what they mean."""

_SHORT_LIST = 60
_ANY = Type(None)
_NUMBERS = frozenset({ValueKind.QUANTITY, ValueKind.DURATION})
_SIGNS = {
    Relator.EQUAL: "=",
    Relator.NOT_EQUAL: "!=",
    Relator.LESS: "<",
    Relator.LESS_OR_EQUAL: "<=",
    Relator.GREATER: ">",
    Relator.GREATER_OR_EQUAL: ">=",
}
_TEXT_TESTS = {Relator.CONTAINS: "CONTAINS", Relator.STARTS: "STRSTARTS", Relator.ENDS: "STRENDS"}
_MIRRORED = {
    Relator.LESS: Relator.GREATER,
    Relator.LESS_OR_EQUAL: Relator.GREATER_OR_EQUAL,
    Relator.GREATER: Relator.LESS,
    Relator.GREATER_OR_EQUAL: Relator.LESS_OR_EQUAL,
}
_PREFIXED = re.compile(r"<([^<>]*)>")
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
    return _Compiler(relations, names or Namespaces(), annotated or {}).query(program)


# Text of the query


class _Block:
    """A part of a group pattern that is written when the whole query is known."""

    def lines(self) -> list[str]:
        raise NotImplementedError


class _Lines(_Block):
    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def lines(self) -> list[str]:
        return self._lines


class _Group(_Block):
    """Blocks one after the other."""

    def __init__(self, *blocks: _Block) -> None:
        self.blocks = list(blocks)

    def add(self, *lines: str) -> None:
        self.blocks.append(_Lines(*lines))

    def lines(self) -> list[str]:
        return [line for block in self.blocks for line in block.lines()]

    def braced(self) -> list[str]:
        return ["{", *_indented(self.lines()), "}"]


class _Select(_Block):
    """A sub-select whose output variables are found out while the rest is compiled."""

    def __init__(self, compiler: _Compiler, inner: _Group) -> None:
        self._compiler, self.inner = compiler, inner
        self.outputs: dict[str, str] = {}
        self.kept: list[str] = []
        self.modifiers: list[str] = []
        self.distinct = False

    def output(self, sparql: str, wanted: str) -> str:
        """The variable that an expression over the inner pattern is given as."""
        if sparql not in self.outputs:
            self.outputs[sparql] = self._compiler.variable(wanted)
        return self.outputs[sparql]

    def lines(self) -> list[str]:
        columns = [
            *dict.fromkeys(self.kept),
            *(f"({sparql} AS {name})" for sparql, name in self.outputs.items()),
        ]
        head = f"SELECT {'DISTINCT ' if self.distinct else ''}{' '.join(columns)} WHERE {{"
        wrapped = [head] if len(head) < 100 else ["SELECT", *_indented(columns), "WHERE {"]
        return ["{", *_indented([*wrapped, *_indented(self.inner.lines()), "}", *self.modifiers]), "}"]


class _Optional(_Block):
    """A cell of a row: optional, unless a condition on it must hold."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        self.required = False
        self.inner: list[_Optional] = []

    def lines(self) -> list[str]:
        # What hangs on the cell stands inside, where the cell is bound: an unbound one would fit anything.
        found = [*self._lines, *(line for block in self.inner for line in block.lines())]
        if self.required:
            return found
        if len(found) == 1:
            return [f"OPTIONAL {{ {found[0]} }}"]
        return ["OPTIONAL {", *_indented(found), "}"]


class _InGraph(_Block):
    """What is read of one table: rows, and cells of them."""

    def __init__(self, graph: Sequence[str], head: Sequence[str]) -> None:
        self._before, self._graph = graph[:-1], graph[-1]
        self.head = list(head)
        self.cells: list[_Optional] = []

    def lines(self) -> list[str]:
        # What is required comes first: it narrows the rows down.
        cells = sorted(self.cells, key=lambda cell: not cell.required)
        inner = [*self.head, *(line for cell in cells for line in cell.lines())]
        if not inner:
            return []
        return [*self._before, f"GRAPH {self._graph} {{", *_indented(inner), "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


# Values


class _Value:
    unit: str | None = None
    scale: str | None = None
    bare = False

    @property
    def kind(self) -> str:
        """One of number, text (anything whose cells are texts or times), truth."""
        raise NotImplementedError

    def number(self) -> str:
        """The SPARQL of its number in its unit."""
        raise ProgramCompilationError("SPARQL can calculate with columns of nothing but numbers.")

    def text(self) -> str:
        """The SPARQL of its printed text."""
        raise ProgramCompilationError("SPARQL cannot say the text of a number that it computes.")

    def key(self) -> str:
        """The SPARQL of a string that equal values share."""
        raise ProgramCompilationError("SPARQL cannot say a key of what it computes.")

    def group_key(self) -> str:
        """The SPARQL of what equal values of this column share, and no others."""
        return self.key()

    def order(self) -> str:
        """What sorts it."""
        return self.number()

    def require(self) -> None:
        """Leave out the rows without it."""

    @property
    def complete(self) -> bool:
        """Whether all rows have it, as far as is known."""
        return False


class _Known(_Value):
    """A value read from cells: every string that a cell can be, and what it means, are known.

    `terms` gives for each string the value; `term` is the SPARQL of the string.
    """

    terms: Mapping[str, Datum]

    def term(self) -> str:
        raise NotImplementedError

    def mapped(self, function: Function, index: int) -> _Value:
        """The value after a function of the algebra."""
        found = {term: apply(function, datum, index) for term, datum in self.terms.items()}
        return _Read(
            self, {term: datum for term, datum in found.items() if datum is not None}, function.value
        )

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        """The variable that a list of the strings with their meanings gives."""
        raise NotImplementedError

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        kinds = {datum.kind for datum in self.terms.values()}
        if kinds and kinds <= _NUMBERS:
            known = [datum.unit for datum in self.terms.values() if datum.unit not in COUNTS]
            if all(comparable(known[0], unit) for unit in known):
                return "number"
        return "truth" if kinds == {ValueKind.TRUTH} else "text"

    @cached_property
    def unit(self) -> str | None:  # type: ignore[override]
        counts: dict[str | None, int] = {}
        for datum in self.terms.values():
            counts[datum.unit] = counts.get(datum.unit, 0) + 1
        return max(counts, key=lambda unit: (unit not in NO_UNIT, counts[unit], unit or ""), default=None)

    @cached_property
    def scale(self) -> str | None:  # type: ignore[override]
        scales = {datum.scale for datum in self.terms.values() if datum.number is not None}
        return next(iter(scales)) if len(scales) == 1 else None

    @property
    def several_scales(self) -> bool:
        """Whether its numbers are printed in different scales."""
        return len({datum.scale for datum in self.terms.values() if datum.number is not None}) > 1

    def number(self) -> str:
        if self.kind != "number":
            return super().number()
        numbers = {term: _in_unit(datum, self.unit) for term, datum in self.terms.items()}
        term = self.term()
        for sparql, read in _NUMBER_READINGS:
            if all(read(text) == number for text, number in numbers.items()):
                return sparql.format(term)
        return self.listing({text: _decimal(number) for text, number in numbers.items()}, "number")

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

    def folded(self) -> str:
        """The text as equality sees it."""
        return self._reading({term: normal(text_of(datum)) for term, datum in self.terms.items()}, "folded")

    def order(self) -> str:
        if self.kind == "number":
            return self.number()
        places = _places(self.terms)
        for sparql, read in _TEXT_READINGS:
            ordered = sorted(self.terms, key=read)
            ranks = [places[term] for term in ordered]
            same = all(
                (read(a) == read(b)) == (places[a] == places[b]) for a, b in itertools.pairwise(ordered)
            )
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
            for sparql, read in (*_TEXT_READINGS, (f"SUBSTR({{}}, 1, {len(constant)})", _cut(len(constant)))):
                if {text for text in self.terms if _holds(relator, read(text), constant)} == chosen:
                    return _test(relator, sparql.format(term), text_literal(constant))
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


def _identity(text: str) -> str:
    return text


def _cut(length: int) -> Callable[[str], str]:
    return lambda text: text[:length]


def _plain_decimal(text: str) -> Decimal | None:
    return Decimal(text) if re.fullmatch(r"-?\d+(?:\.\d+)?", text) else None


def _first_four(text: str) -> Decimal | None:
    return _plain_decimal(text[:4]) if re.fullmatch(r"\d{4}.*", text) else None


def _clock(text: str) -> Decimal | None:
    return int(text[:-3]) * 60 + Decimal(text[-2:]) if re.fullmatch(r"\d+:\d\d", text) else None


def _folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).lower()


_TEXT_READINGS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("{0}", _identity),
    ("LCASE({0})", str.lower),
    ('LCASE(REPLACE({0}, "\\\\s+", " "))', _folded),
    (
        """LCASE(REPLACE(REPLACE({0}, "[‘’]", "'"), "[–—−]", "-"))""",
        lambda text: re.sub("[–—−]", "-", re.sub("[‘’]", "'", text)).lower(),
    ),
)
_NUMBER_READINGS: tuple[tuple[str, Callable[[str], Decimal | None]], ...] = (
    ("xsd:decimal({0})", _plain_decimal),
    ("xsd:decimal(SUBSTR({0}, 1, 4))", _first_four),
    ("STRLEN({0})", lambda text: Decimal(len(text))),
    ('(xsd:decimal(STRBEFORE({0}, ":")) * 60 + xsd:decimal(STRAFTER({0}, ":")))', _clock),
)


def _holds(relator: Relator, text: str, constant: str) -> bool:
    match relator:
        case Relator.CONTAINS:
            return constant in text
        case Relator.STARTS:
            return text.startswith(constant)
        case Relator.ENDS:
            return text.endswith(constant)
        case Relator.EQUAL:
            return text == constant
        case Relator.NOT_EQUAL:
            return text != constant
        case Relator.LESS:
            return text < constant
        case Relator.LESS_OR_EQUAL:
            return text <= constant
        case Relator.GREATER:
            return text > constant
    return text >= constant


def _test(relator: Relator, left: str, right: str) -> str:
    if relator in _TEXT_TESTS:
        return f"{_TEXT_TESTS[relator]}({left}, {right})"
    return f"{left} {_SIGNS[relator]} {right}"


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


def _in_unit(datum: Datum, unit: str | None) -> Decimal | None:
    if datum.number is None or datum.unit in COUNTS or unit in COUNTS:
        return datum.number
    return convert(datum.number, datum.unit, unit)


def _decimal(number: Decimal | None) -> str:
    """An `xsd:decimal` as SPARQL writes it, to the 18 places that engines at least keep."""
    exact = number or Decimal(0)
    if int(exact.as_tuple().exponent) < -18:
        exact = EXACT.quantize(exact, Decimal("1e-18"))
    return decimal_text(f"{exact:f}")


class _Leaf(_Known):
    """A column of a table, or its labels or group headings."""

    def __init__(self, base: _Base, column: int | str) -> None:
        self._base, self._column = base, column
        self.terms = base.terms(column)

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


class _Read(_Known):
    """A part of a cell that a function takes."""

    def __init__(self, source: _Known, terms: Mapping[str, Datum], name: str) -> None:
        self._source, self.terms, self._name = source, terms, name
        self._partial = len(terms) < len(source.terms)

    def term(self) -> str:
        if not self._partial:
            return self._source.term()
        # Cells without this part have no value.
        return self.listing({term: text_literal(term) for term in self.terms}, self._name)

    def number(self) -> str:
        if isinstance(self._source, _Leaf) and self._source.kind == "number" and self.kind == "number":
            same = all(self.terms.get(term) == datum for term, datum in self._source.terms.items())
            if same:
                return self._source.number()
        return super().number()

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        if len(found) > MOST_LISTED:
            raise ProgramCompilationError(f"A query cannot list what {len(found)} cells mean.")
        return self._source.listing(found, wanted)

    def require(self) -> None:
        self._source.require()


class _Literal(_Known):
    def __init__(self, datum: Datum) -> None:
        self.datum = datum
        self.terms = {text_of(datum): datum}
        self.bare = isinstance(datum, BareNumber)

    def term(self) -> str:
        return text_literal(text_of(self.datum))

    def number(self) -> str:
        return _decimal(self.datum.number) if self.datum.number is not None else super().number()

    def text(self) -> str:
        return self.term()

    def key(self) -> str:
        return text_literal(_key(self.datum))

    def order(self) -> str:
        return self.term()

    def mapped(self, function: Function, index: int) -> _Value:
        found = apply(function, self.datum, index)
        if found is None:
            raise ProgramCompilationError(f"The constant has no {function.value}.")
        return _Literal(BareNumber(*found) if self.bare else found)

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return next(iter(found.values()))


class _Passed(_Known):
    """Cells that a sub-select hands on: their string stays, so that all readings of it do."""

    def __init__(
        self, compiler: _Compiler, inner: Sequence[_Known], group: _Group,
        hand_on: Callable[[Sequence[str], str], str],
    ) -> None:  # fmt: skip
        self._compiler, self._inner, self._group, self._hand_on = compiler, inner, group, hand_on
        self.terms = {}
        for part in inner:
            for term, datum in part.terms.items():
                if self.terms.setdefault(term, datum) != datum:
                    raise ProgramCompilationError(f"Cells that print {term!r} mean different things.")

    def term(self) -> str:
        return self._hand_on([part.term() for part in self._inner], "text")

    def number(self) -> str:
        units = {part.unit for part in self._inner if part.terms}
        if all(part.kind == "number" for part in self._inner if part.terms) and units <= {self.unit}:
            return self._hand_on([part.number() for part in self._inner], "value")
        return super().number()

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._compiler.listing(self._group, self.term(), found, wanted)


class _Computed(_Value):
    """A number or truth value that SPARQL computes."""

    def __init__(
        self, sparql: str, unit: str | None = None, scale: str | None = None, *, truth: bool = False
    ):
        self._sparql, self.unit, self.scale, self._is_truth = sparql, unit, scale, truth

    @property
    def kind(self) -> str:
        return "truth" if self._is_truth else "number"

    def number(self) -> str:
        return self._sparql

    def key(self) -> str:
        return self._sparql


class _Base:
    """An occurrence of a table in the program: its rows, and the cells of them that are asked for."""

    def __init__(self, compiler: _Compiler, node: TableRows, relation: Relation) -> None:
        self._compiler, self.relation, self.choice = compiler, relation, node.choice
        self.rows = relation.select(node.choice)
        self._annotated = [compiler.annotated(table) for table in relation.tables]
        if any(table.grid.merged for table in relation.tables):
            raise ProgramCompilationError("SPARQL cannot say rows whose cells are merged.")
        names = compiler.names
        self.row = compiler.variable("row" if not node.alias else f"{node.alias} row")
        self.place = compiler.variable("number" if not node.alias else f"{node.alias} number")
        self.part = ""
        graphs = [f"<{names.table_iri(table.id)}>" for table in relation.tables]
        self._graph = [graphs[0]]
        if len(graphs) > 1:
            table = compiler.variable("table")
            self.part = compiler.variable("part")
            pairs = " ".join(f"({graph} {part})" for part, graph in enumerate(graphs))
            self._graph = [f"VALUES ({table} {self.part}) {{ {pairs} }}", table]
            if len({annotated.predicates for annotated in self._annotated}) > 1:
                raise ProgramCompilationError("SPARQL cannot say tables whose predicates differ.")
        self.block = _InGraph(self._graph, [f"{self.row} a kgt:Row ; kgt:row {self.place} .", *self._kinds()])
        self.group = _Group(self.block)
        self._cells: dict[object, tuple[str, _Optional]] = {}

    def _kinds(self) -> list[str]:
        """The conditions that leave the rows that take part."""
        taken = {self.relation.place(row) for row in self.rows.tolist()}
        classes = {"kgt:Group": "groups", "kgt:TotalRow": "totals", "kgt:FootnoteRow": "footnotes"}
        left = {(table.id, row) for table in self.relation.tables for row, _ in table.body()}
        lines = []
        for name, field in classes.items():
            marked = {
                (table.id, row) for table in self.relation.tables for row in getattr(table.structure, field)
            } & left
            if marked and not marked & taken:
                left -= marked
                lines.append(f"FILTER NOT EXISTS {{ {self.row} a {name} }}")
        rest = sorted(row for _, row in left - taken)
        if rest and (self.part or len(rest) > MOST_LISTED):
            raise ProgramCompilationError("SPARQL cannot say which rows are members.")
        if rest and len(rest) > len(taken):
            numbers = ", ".join(str(row) for _, row in sorted(taken))
            return [f"FILTER({self.place} IN ({numbers}))"] if taken else ["FILTER(false)"]
        if rest:
            lines.append(f"FILTER({self.place} NOT IN ({', '.join(map(str, rest))}))")
        return lines

    def narrowed(self, rows: Indices) -> _Base:
        """The same occurrence where only some rows are left: their cells decide on kinds and units."""
        found = copy(self)
        found.rows = rows
        return found

    def again(self, group: _Group) -> _Base:
        """The same rows after a sub-select that hands them on: cells are read anew, outside of it."""
        found = copy(self)
        found.block = _InGraph(self._graph[-1:], [])
        found.group, found._cells = group, {}
        group.blocks.append(found.block)
        return found

    @property
    def handed(self) -> list[str]:
        """The variables that a sub-select must hand on."""
        return [self.row, self.place, *([self.part, self._graph[-1]] if self.part else [])]

    @property
    def order(self) -> list[str]:
        return [self.part, self.place] if self.part else [self.place]

    def name(self, column: int | str) -> str:
        return column if isinstance(column, str) else self.relation.columns[column].name

    def cells(self, column: int | str) -> list[tuple[str, Datum | None, CellKind]]:
        """For each row that takes part: the string of the cell in the graph, its value, its kind."""
        found = []
        by_row = self._compiler.texts(self.relation)
        data = self.relation.data(column) if isinstance(column, int) else self.relation.pseudo(column)
        for row in self.rows.tolist():
            if isinstance(column, str):
                datum = data[row]
                found.append((datum.text if datum else "", datum, CellKind.TEXT))
                continue
            cells, annotated = by_row[row]
            text = cells[column] if column < len(cells) else ""
            value = type_cell(text, annotated.styles[column]) if text else None
            if value is None:
                continue
            kind, string = value.kind, text
            if kind not in (CellKind.NUMBER, CellKind.TEXT, CellKind.MISSING):
                typed = value.lexical is not None and value.datatype is not None
                kind, string = (kind, str(value.lexical)) if typed else (CellKind.TEXT, text)
            found.append((string, data[row], kind))
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
        return all(kind is CellKind.NUMBER for _, datum, kind in self.cells(column) if datum is not None)

    def term(self, column: int | str) -> str:
        """The variable of the string of a cell."""
        if (column, "t") in self._cells:
            return self._cells[column, "t"][0]
        if column == "@table":
            raise ProgramCompilationError("SPARQL cannot say the table of a row.")
        if isinstance(column, str):
            variable = self._compiler.variable(column.removeprefix("@"))
            return self.cell((column, "t"), variable, self._heading(column, variable))
        kinds = {kind for _, datum, kind in self.cells(column) if datum is not None}
        blank = {kind for _, datum, kind in self.cells(column) if datum is None}
        predicate = self.predicate(column)
        if kinds == {CellKind.NUMBER}:
            variable = self._compiler.variable(f"{self.name(column)} text")
            return self.cell((column, "t"), variable, [f"{self.row} {predicate}/kgt:text {variable} ."])
        variable = self._compiler.variable(self.name(column))
        if kinds <= {CellKind.TEXT} and not blank:
            return self.cell((column, "t"), variable, [f"{self.row} {predicate} {variable} ."])
        cell = self._compiler.variable(f"{self.name(column)} cell")
        lines = [f"{self.row} {predicate} {cell} ."]
        string = f"STR({cell})"
        if CellKind.NUMBER in kinds:
            text = self._compiler.variable(f"{self.name(column)} text")
            lines.append(f"OPTIONAL {{ {cell} kgt:text {text} }}")
            string = f"COALESCE({text}, STR({cell}))"
        if blank:
            lines.append(f"FILTER(isIRI({cell}) || DATATYPE({cell}) != kgt:missing)")
        lines.append(f"BIND({string} AS {variable})")
        return self.cell((column, "t"), variable, lines)

    def _heading(self, column: str, variable: str) -> list[str]:
        if column == "@group":
            path = f"{self.row} kgt:group/rdfs:label {variable} ."
            return [path]
        raise ProgramCompilationError(f"SPARQL cannot say {column}.")

    def value(self, column: int, factors: Mapping[str | None, Fraction]) -> str:
        """The variable of a cell's number; with factors, in one unit."""
        key = (column, "v", tuple(factors.items()))
        if key in self._cells:
            return self._cells[key][0]
        predicate = self.predicate(column)
        variable = self._compiler.variable(self.name(column))
        if any(kind == "range" for kind in self._ranges(column)):
            path = f"{predicate}/(qudt:numericValue|kgt:lowerBound)"
        else:
            path = f"{predicate}/qudt:numericValue"
        if not factors:
            return self.cell(key, variable, [f"{self.row} {path} {variable} ."])
        cell = self._compiler.variable(f"{self.name(column)} cell")
        unit = self._compiler.variable(f"{self.name(column)} unit")
        number = self._compiler.variable(f"{self.name(column)} number")
        factor = self._compiler.variable(f"{self.name(column)} factor")
        pairs = " ".join(f"(unit:{name or 'UNITLESS'} {_factor(value)})" for name, value in factors.items())
        lines = [
            f"{self.row} {predicate} {cell} .",
            f"{cell} {path.partition('/')[2]} {number} ; qudt:hasUnit {unit} .",
            f"VALUES ({unit} {factor}) {{ {pairs} }}",
            f"BIND({number} * {factor} AS {variable})",
        ]
        return self.cell(key, variable, lines)

    def _ranges(self, column: int) -> set[str]:
        found = set()
        for row in self.rows.tolist():
            cells, annotated = self._compiler.texts(self.relation)[row]
            text = cells[column] if column < len(cells) else ""
            number = type_cell(text, annotated.styles[column]).number if text else None
            if number is not None and number.upper is not None:
                found.add("range")
        return found

    def listing(self, term: str, found: Mapping[str, str], wanted: str) -> str:
        """The variable that a list of strings with their meanings gives."""
        key = (term, tuple(found.items()))
        if key not in self._cells:
            variable = self._compiler.variable(wanted)
            block = _Optional(_values(term, variable, found))
            next(cell for known, cell in self._cells.values() if known == term).inner.append(block)
            self._cells[key] = variable, block
        return self._cells[key][0]

    def require(self, column: int | str) -> None:
        for key, (_, block) in self._cells.items():
            if (
                isinstance(key, tuple)
                and key[0] == column
                and self.block is not None
                and block in self.block.cells
            ):
                block.required = True

    def cell(self, key: object, variable: str, lines: Sequence[str]) -> str:
        """The variable that holds something of a cell."""
        if key not in self._cells:
            block = _Optional(lines)
            self.block.cells.append(block)
            self._cells[key] = variable, block
        return self._cells[key][0]

    def predicate(self, column: int) -> str:
        names = self._compiler.names
        return self._compiler.iri(names.predicate_iri(self._annotated[0].predicates[column]))


def _factor(value: Fraction) -> str:
    """A multiplier as a decimal."""
    return _decimal(decimal_of(value))


def _values(term: str, variable: str, found: Mapping[str, str]) -> list[str]:
    """A list of strings with their meanings."""
    if len(found) > MOST_LISTED:
        raise ProgramCompilationError(f"A query cannot list what {len(found)} cells mean.")
    if any("\0" in text for text in found):
        raise ProgramCompilationError("Cells that print the same mean different things.")
    return _table((term, variable), [(text_literal(text), meaning) for text, meaning in found.items()])


def _table(variables: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A VALUES block, its rows side by side as far as they fit."""
    lines = [""]
    for row in rows:
        text = f"({' '.join(row)})"
        if lines[-1] and len(lines[-1]) + len(text) > 90:
            lines.append("")
        lines[-1] = f"{lines[-1]} {text}".strip()
    head = f"VALUES ({' '.join(variables)}) {{"
    return [f"{head} {lines[0]} }}"] if len(lines) == 1 else [head, *_indented(lines), "}"]


class _Braced(_Block):
    def __init__(self, inner: _Block) -> None:
        self._inner = inner

    def lines(self) -> list[str]:
        return ["{", *_indented(self._inner.lines()), "}"]


class _Union(_Block):
    """Two relations one after the other, with equal variables for what is asked of both."""

    def __init__(self, compiler: _Compiler, sides: Sequence[_Relation]) -> None:
        self._compiler, self._sides = compiler, sides
        self.side, self.place = compiler.variable("side"), compiler.variable("place")
        self._taken: dict[tuple[str, ...], str] = {}

    def take(self, sparqls: Sequence[str], wanted: str) -> str:
        """The variable that holds an expression over the left side, or one over the right side."""
        key = tuple(sparqls)
        if key not in self._taken:
            self._taken[key] = self._compiler.variable(wanted)
        return self._taken[key]

    def lines(self) -> list[str]:
        found: list[str] = []
        for number, side in enumerate(self._sides):
            order = _one_number(side.order)
            columns = [f"({number} AS {self.side})", f"({order} AS {self.place})"]
            columns += [f"({sparqls[number]} AS {name})" for sparqls, name in self._taken.items()]
            inner = [f"SELECT {' '.join(columns)} WHERE {{", *_indented(side.group.lines()), "}"]
            found += ["UNION"] * bool(number) + ["{", *_indented(inner), "}"]
        return found


@dataclass
class _Relation:
    """A compiled relation: its pattern, what its columns are, and the variables that order its rows."""

    group: _Group
    scope: Scope
    bases: tuple[_Base, ...]
    computed: tuple[_Value, ...]
    order: tuple[str, ...]
    sorted_by: tuple[tuple[str, bool], ...] = ()
    """The variables of a sort right below, and whether the largest come first."""
    plain: bool = False
    """Whether it is the rows of a table, all of them."""


@dataclass(frozen=True)
class _InGroup:
    """The groups around an aggregate: the relation that is grouped, and, once asked for, its first rows."""

    node: GroupBy
    select: _Select
    outer: _Group
    firsts: list[_Relation]


class _Compiler:
    def __init__(
        self, relations: Mapping[str, Relation], names: Namespaces, annotated: Mapping[str, AnnotatedTable]
    ) -> None:
        self._relations, self.names = relations, names
        self._annotated = dict(annotated)
        self._taken: set[str] = set()
        self._texts: dict[int, list[tuple[tuple[str, ...], AnnotatedTable]]] = {}

    def query(self, program: Program) -> SparqlQuery:
        if isinstance(program.root, Rows):
            found = self.rows(program.root)
            names = tuple(name for name, _ in columns_of(found.scope))
            values = self._columns(found)
        else:
            found = _Relation(_Group(), Scope(), (), (), ())
            names, values = ("value",), [self.expression(program.root, found)]
        shown = [value.number() if value.kind == "number" else _shown(value) for value in values]
        variables = [
            sparql if _is_variable(sparql) and shown.count(sparql) == 1 else self.variable(name)
            for sparql, name in zip(shown, names, strict=True)
        ]
        columns = [
            sparql if sparql == variable else f"({sparql} AS {variable})"
            for sparql, variable in zip(shown, variables, strict=True)
        ]
        order = self._ordering(found)
        only = found.group.blocks[0] if len(found.group.blocks) == 1 else None
        unsorted = isinstance(only, _Select) and not found.sorted_by
        if unsorted and isinstance(only, _Select) and set(columns) <= {*only.outputs.values(), *only.kept}:
            by_name = {name: sparql for sparql, name in only.outputs.items()}
            columns = [f"({by_name[name]} AS {name})" if name in by_name else name for name in columns]
            terms = [by_name.get(term, term) for term in " ".join(order).split()]
            modifiers = [*only.modifiers, *([" ".join(terms)] if terms else [])]
            limited = any(line.startswith(("LIMIT", "ORDER")) for line in only.modifiers)
            if not limited:
                where = only.inner.lines()
                return self._finished(program, columns, where, modifiers, names, variables, values)
        where = found.group.lines()
        return self._finished(program, columns, where, order, names, variables, values)

    def _finished(
        self, program: Program, columns: Sequence[str], where: Sequence[str], modifiers: Sequence[str],
        names: tuple[str, ...], variables: Sequence[str], values: Sequence[_Value],
    ) -> SparqlQuery:  # fmt: skip
        body = "\n".join([f"SELECT {' '.join(columns)} WHERE {{", *_indented(where), "}", *modifiers])
        known = {**FIXED_PREFIXES, "ex": self.names.ex, "data": self.names.data}
        used = [name for name in known if re.search(rf"(?<![\w<]){name}:", body)]
        words = textwrap.wrap(" ".join(realize(program).split()), 100)
        head = [f"# {line}" for line in words] + [f"PREFIX {name}: <{known[name]}>" for name in used]
        units = tuple(value.unit if value.kind == "number" else None for value in values)
        text = "\n".join([*head, body]) + "\n"
        return SparqlQuery(text, names, tuple(name.removeprefix("?") for name in variables), units)

    def variable(self, wanted: str) -> str:
        """A new variable, named after what it holds."""
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

    def annotated(self, table: Any) -> AnnotatedTable:
        """How a table was encoded."""
        if table.id not in self._annotated:
            self._annotated[table.id] = annotate(table)
        return self._annotated[table.id]

    def texts(self, relation: Relation) -> list[tuple[tuple[str, ...], AnnotatedTable]]:
        """For each row of a relation its cells as they stand in the table."""
        if id(relation) not in self._texts:
            self._texts[id(relation)] = [
                (cells, self.annotated(table)) for table in relation.tables for _, cells in table.body()
            ]
        return self._texts[id(relation)]

    def listing(self, group: _Group, term: str, found: Mapping[str, str], wanted: str) -> str:
        """The variable that a list of strings with their meanings gives, in a group."""
        if not _is_variable(term):
            bound = self.variable("text")
            group.add(f"BIND({term} AS {bound})")
            term = bound
        variable, printed = self.variable(wanted), self.variable("printed")
        group.blocks.append(_Optional([*_values(printed, variable, found), f"FILTER({printed} = {term})"]))
        return variable

    # Relations

    def rows(self, node: Rows) -> _Relation:
        match node:
            case TableRows():
                bound = bind(node, self._relations)
                base = _Base(self, node, bound.relation)
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
                    terms.append((self._bound(found.group, value.order(), "key"), key.descending))
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
            terms += [f"(!BOUND({variable}))", f"{'DESC' if descending else 'ASC'}({variable})"]
        terms += [name for name in found.order if _is_variable(name)]
        return [f"ORDER BY {' '.join(terms)}"] if terms else []

    def _join(self, node: Join) -> _Relation:
        if node.similarity:
            raise ProgramCompilationError("SPARQL cannot join by similarity.")
        left, right = self.rows(node.left), self.rows(node.right)
        self._total_order(left)
        self._total_order(right)
        for pair in node.on:
            a, b = self.expression(pair.left, left), self.expression(pair.right, right)
            if isinstance(a, _Computed) != isinstance(b, _Computed):
                raise ProgramCompilationError("SPARQL cannot join cells with what it computes.")
            key = self.variable("key")
            for side, value in ((left, a), (right, b)):
                sparql = value.key()
                value.require()
                side.group.add(f"BIND({sparql} AS {key})", f"FILTER(BOUND({key}))")
        group = _Group(_Braced(left.group), _Braced(right.group))
        scope = joined(left.scope, right.scope)
        return _Relation(
            group, scope, left.bases + right.bases, left.computed + right.computed, left.order + right.order
        )

    def _combine(self, node: SetOperation) -> _Relation:
        sides = [self._settled(self.rows(node.left)), self._settled(self.rows(node.right))]
        pairs = list(zip(*map(self._columns, sides), strict=True))
        union = _Union(self, sides)
        select = _Select(self, _Group(union))
        outer = _Group(select)
        place = f"({union.side} * 1000000000 + {union.place})"
        every = node.operator is SetOperator.UNION_ALL
        if any(isinstance(a, _Computed) != isinstance(b, _Computed) for a, b in pairs):
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

        values: list[_Value] = []
        for a, b in pairs:
            if isinstance(a, _Known) and isinstance(b, _Known):
                values.append(_Passed(self, [a, b], outer, hand_on))
            elif a.unit == b.unit or (a.unit in COUNTS and b.unit in COUNTS):
                values.append(_Computed(hand_on([a.number(), b.number()], "value"), a.unit))
            else:
                raise ProgramCompilationError("SPARQL cannot unite columns of different units.")
        order = select.output(place if every else f"MIN({place})", "place")
        return _Relation(outer, computed(sides[0].scope), (), tuple(values), (order,))

    def _group(self, node: GroupBy) -> _Relation:
        found = self.rows(node.source)
        self._total_order(found)
        keys = [self.expression(key.expression, found) for key in node.keys]
        select = _Select(self, found.group)
        outer = _Group(select)
        by = [self._grouped_by(key.group_key()) for key in keys]
        if by:
            select.modifiers.append(f"GROUP BY {' '.join(dict.fromkeys(by))}")

        def hand_on(sparqls: Sequence[str], wanted: str) -> str:
            plain = _is_variable(sparqls[0]) and sparqls[0] in by
            if plain:
                select.kept.append(sparqls[0])
                return sparqls[0]
            return select.output(f"MIN({sparqls[0]})", wanted)

        values: list[_Value] = [self._handed(key, hand_on, outer) for key in keys]
        context = _InGroup(node, select, outer, [])
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
        return key if _is_variable(key) else f"({key} AS {self.variable('key')})"

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
        assert isinstance(other.group.blocks[0], _Select)
        (key, descending), (worst, _) = found.sorted_by[0], other.sorted_by[0]
        select = _Select(self, other.group)
        bound = select.output(f"{'MIN' if descending else 'MAX'}({worst})", "worst")
        found.group.blocks.append(select)
        found.group.add(f"FILTER({key} {'>=' if descending else '<='} {bound})")
        return found

    def _settled(self, found: _Relation, limit: Limit | None = None) -> _Relation:
        """The rows as a sub-select: cells are read anew outside of it."""
        if limit is None and not found.sorted_by:
            return found
        select = _Select(self, found.group)
        outer = _Group(select)
        select.kept = [name for base in found.bases for name in base.handed]
        select.kept += [name for name, _ in found.sorted_by]
        select.kept += [name for name in found.order if _is_variable(name) and name not in select.kept]
        select.modifiers += self._ordering(found)
        if limit is not None:
            select.modifiers.append(f"LIMIT {limit.count}")
            select.modifiers += [f"OFFSET {limit.offset}"] if limit.offset else []

        def hand_on(sparqls: Sequence[str], wanted: str) -> str:
            if _is_variable(sparqls[0]):
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
        select = _Select(self, inner.group)
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
        select = _Select(self, found.group)
        outer = _Group(select)
        by = [self._grouped_by(value.group_key()) for value in values]
        select.modifiers.append(f"GROUP BY {' '.join(dict.fromkeys(by))}")

        def hand_on(sparqls: Sequence[str], wanted: str) -> str:
            if _is_variable(sparqls[0]) and sparqls[0] in by:
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
        found.group.blocks.insert(0, _Lines(*_table((predicate, name, branch), rows)))
        heading = _Listed(self, found.group, name, terms)
        cell = _Unpivoted(self, base, found.group, predicate, [c for c in columns if isinstance(c, int)])
        scope = Scope(
            found.scope.sources, (node.name, node.value, *found.scope.names), (_ANY, _ANY, *found.scope.types)
        )
        order = (*found.order, branch)
        return _Relation(found.group, scope, found.bases, (heading, cell, *found.computed), order)

    def _unnest(self, node: Unnest) -> _Relation:
        found = self.rows(node.source)
        self._total_order(found)
        value = self.expression(node.column, found)
        if not isinstance(value, _Known) or isinstance(value, _Literal):
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
        found.group.add(*_table((text, member, place), rows))
        listed = _Listed(self, found.group, member, terms)
        scope = Scope(found.scope.sources, (node.name, *found.scope.names), (_ANY, *found.scope.types))
        order = (*found.order, place)
        return _Relation(found.group, scope, found.bases, (listed, *found.computed), order)

    def _columns(self, found: _Relation) -> list[_Value]:
        values = list(found.computed)
        for base in found.bases:
            values += [_Leaf(base, column.index) for column in base.relation.columns]
        return values

    def _handed(self, value: _Value, hand_on: Callable[[Sequence[str], str], str], group: _Group) -> _Value:
        if isinstance(value, _Known):
            return _Passed(self, [value], group, hand_on)
        sparql = hand_on([value.number()], "value")
        return _Computed(sparql, value.unit, value.scale, truth=value.kind == "truth")

    def _bound(self, group: _Group, sparql: str, wanted: str) -> str:
        """A variable with the value of an expression."""
        if _is_variable(sparql):
            return sparql
        variable = self.variable(wanted)
        group.add(f"BIND({sparql} AS {variable})")
        return variable

    # Expressions

    def expression(self, node: Expression, found: _Relation, group: _InGroup | None = None) -> _Value:
        match node:
            case ColumnRef():
                place = found.scope.resolve(node)
                if isinstance(place, int):
                    return found.computed[place]
                base, column = found.bases[place.source], place.column
                if column == "@row":
                    return self._row(found, base)
                return _Leaf(base, base.relation.label_column() if column == "@label" else column)
            case Constant():
                return _Literal(constant_datum(node))
            case Apply(function, operand, index):
                return self._apply(function, self.expression(operand, found, group), index)
            case Arithmetic(operator, left, right):
                return self._arithmetic(
                    operator, self.expression(left, found, group), self.expression(right, found, group)
                )
            case Convert(operand, unit):
                value = self.expression(operand, found, group)
                return _Computed(self._in(value, unit), unit)
            case Aggregate():
                return self._aggregate(node, found, group)
            case Lookup():
                return self._lookup(node, found, group)
            case _:
                return _Computed(self.condition(node, found, group), truth=True)

    def condition(
        self, node: Expression, found: _Relation, group: _InGroup | None = None, *, required: bool = False
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
                sparql = self._compare(relator, a, b)
                if required:
                    a.require()
                    b.require()
                return sparql
            case Membership(operand, choices):
                return self._membership(self.expression(operand, found, group), choices, found, group)
            case IsMissing(operand):
                value = self.expression(operand, found, group)
                sparql = value.number() if value.kind == "number" else _shown(value)
                return f"!BOUND({self._bound(found.group, sparql, 'value')})"
        value = self.expression(node, found, group)
        if value.kind != "truth":
            raise ProgramTypeError("A condition must be a truth value.")
        if isinstance(value, _Known):
            return value.holds(Relator.EQUAL, Datum(ValueKind.TRUTH, True), lambda datum: datum.value is True)
        return value.number()

    def _membership(
        self, value: _Value, choices: Sequence[Expression] | Rows, found: _Relation, group: _InGroup | None
    ) -> str:
        if not isinstance(choices, Rows):
            tests = [
                self._compare(Relator.EQUAL, value, self.expression(choice, found, group))
                for choice in choices
            ]
            return " || ".join(f"({test})" for test in tests) if tests else "false"
        inner = self.rows(choices)
        other = self._columns(inner)[0]
        if isinstance(value, _Computed) != isinstance(other, _Computed):
            raise ProgramCompilationError("SPARQL cannot look for cells among what it computes.")
        key, among = self.variable("key"), self.variable("among")
        select = _Select(self, inner.group)
        select.distinct = True
        sparql = other.key()
        other.require()
        inner.group.add(f"FILTER(BOUND({self._bound(inner.group, sparql, 'key')}))")
        select.outputs = {sparql: key, "true": among}
        found.group.add(f"BIND({value.key()} AS {key})")
        found.group.add("OPTIONAL {", *_indented(select.lines()), "}")
        return f"IF(BOUND({key}), BOUND({among}), {key})"

    def _row(self, found: _Relation, base: _Base | None = None) -> _Value:
        """The place of a row among those that take part."""
        base = base or found.bases[0]
        numbers = [base.relation.place(row)[1] for row in base.relation.select(base.choice).tolist()]
        if base.part:
            raise ProgramCompilationError("SPARQL cannot number the rows of several tables.")
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else True:
            shift = 1 - (numbers[0] if numbers else 1)
            sign = "+" if shift > 0 else "-"
            return _Computed(f"({base.place} {sign} {abs(shift)})" if shift else base.place, "NUM")
        if len(numbers) > MOST_LISTED:
            raise ProgramCompilationError(f"A query cannot list {len(numbers)} rows.")
        variable = self.variable("place")
        rows = [(str(number), str(place)) for place, number in enumerate(numbers, 1)]
        base.group.add(*_table((base.place, variable), rows))
        return _Computed(variable, "NUM")

    def _apply(self, function: Function, value: _Value, index: int) -> _Value:
        if function in (Function.NEGATE, Function.ABSOLUTE) and value.kind == "number":
            sparql = f"(0 - {value.number()})" if function is Function.NEGATE else f"ABS({value.number()})"
            return _Computed(sparql, value.unit, value.scale)
        if isinstance(value, _Known):
            return value.mapped(function, index)
        if function is Function.NUMBER and index == 1 and value.kind == "number":
            return value
        raise ProgramCompilationError(f"SPARQL cannot say the {function.value} of what it computes.")

    def _number(self, value: _Value, beside: _Value | None = None) -> str:
        """A number in its unit; a bare one as the value beside it is printed."""
        if beside is not None and isinstance(value, _Literal) and value.bare and not beside.bare:
            if isinstance(beside, _Known) and beside.several_scales:
                raise ProgramCompilationError("SPARQL cannot say a bare number beside several scales.")
            return _decimal(settle(value.datum, quantity(0, beside.unit, beside.scale)).number)
        if value.kind != "number":
            raise ProgramCompilationError("SPARQL can calculate with columns of nothing but numbers.")
        return value.number()

    def _in(self, value: _Value, unit: str | None, beside: _Value | None = None) -> str:
        """A number converted to a unit."""
        sparql = self._number(value, beside)
        if (
            value.unit in NO_UNIT
            or unit in NO_UNIT
            or value.unit == unit
            or (beside is not None and value.bare)
        ):
            return sparql
        multiplier, addend = conversion(value.unit, unit)
        shift = f" + {_decimal(decimal_of(addend))}" if addend else ""
        return f"({sparql}{_times(multiplier)}{shift})" if multiplier != 1 or addend else sparql

    def _arithmetic(self, operator: Operator, left: _Value, right: _Value) -> _Value:
        if isinstance(left, _Literal) and isinstance(right, _Literal):
            return _calculated(operator, left, right)
        years = [_is_year(value) for value in (left, right)]
        if any(years) or "text" in (left.kind, right.kind):
            if all(years) and operator is Operator.SUBTRACT:
                parts = [side.mapped(Function.YEAR, 1) for side in (left, right) if isinstance(side, _Known)]
                return _Computed(f"({parts[0].number()} - {parts[1].number()})", "YR")
            raise ProgramCompilationError("SPARQL cannot say this calculation with dates or texts.")
        if operator is Operator.POWER:
            raise ProgramCompilationError("SPARQL has no powers.")
        if operator in (Operator.MULTIPLY, Operator.DIVIDE):
            power = 1 if operator is Operator.MULTIPLY else -1
            product, factor = multiply_units(left.unit, right.unit, power)
            sign = "*" if power == 1 else "/"
            return _Computed(f"({self._number(left)} {sign} {self._number(right)}{_times(factor)})", product)
        unit = left.unit if left.unit not in COUNTS else right.unit if right.unit not in COUNTS else left.unit
        scale = left.scale if left.scale == right.scale else None
        if left.bare != right.bare:
            other = right if left.bare else left
            unit, scale = other.unit, other.scale
        elif not comparable(left.unit, right.unit):
            raise ProgramTypeError(f"{describe(left.unit)} and {describe(right.unit)} cannot be added.")
        a, b = self._in(left, unit, right), self._in(right, unit, left)
        if operator in (Operator.ADD, Operator.SUBTRACT):
            found = _Computed(f"({a} {'+' if operator is Operator.ADD else '-'} {b})", unit, scale)
            found.bare = left.bare and right.bare
            return found
        if operator is Operator.PERCENT_CHANGE:
            return _Computed(f"(({b} - {a}) / {a} * 100)", "PERCENT")
        if operator is Operator.SHARE:
            return _Computed(f"({a} / {b} * 100)", "PERCENT")
        return _Computed(f"({a} / {b})", "UNITLESS")

    def _compare(self, relator: Relator, left: _Value, right: _Value) -> str:
        if isinstance(left, _Literal) and not isinstance(right, _Literal) and relator not in _TEXT_TESTS:
            left, right, relator = right, left, _MIRRORED.get(relator, relator)
        if relator not in _TEXT_TESTS and left.kind == right.kind == "number":
            a, b = self._number(left, right), self._number(right, left)
            if not (left.bare or right.bare or left.unit in NO_UNIT or right.unit in NO_UNIT):
                multiplier, addend = conversion(left.unit, right.unit)
                if addend:
                    a = self._in(left, right.unit)
                elif multiplier != 1:
                    # Multiplied by whole numbers on both sides, which is exact.
                    a = f"{a} * {multiplier.numerator}" if multiplier.numerator != 1 else a
                    b = f"{b} * {multiplier.denominator}" if multiplier.denominator != 1 else b
            return f"{a} {_SIGNS[relator]} {b}"
        if isinstance(right, _Literal) and isinstance(left, _Literal):
            return str(compare(relator, left.datum, right.datum)).lower()
        if isinstance(right, _Literal) and isinstance(left, _Known):
            wanted = right.datum
            if any("\0" in term for term in left.terms):
                raise ProgramCompilationError("Cells that print the same mean different things.")
            return left.holds(relator, wanted, lambda datum: compare(relator, datum, settle(wanted, datum)))
        if isinstance(left, _Known) and isinstance(right, _Known):
            if relator in (Relator.EQUAL, Relator.NOT_EQUAL):
                return f"{left.key()} {_SIGNS[relator]} {right.key()}"
            if relator in _TEXT_TESTS:
                return _test(relator, left.folded(), right.folded())
            same = left.order(), right.order()
            plain = {left.term(), right.term(), f"LCASE({left.term()})", f"LCASE({right.term()})"}
            if left.kind == right.kind == "text" and set(same) <= plain and _one_form(left, right):
                return f"{same[0]} {_SIGNS[relator]} {same[1]}"
        raise ProgramCompilationError("SPARQL cannot compare columns of different kinds.")

    def _aggregate(self, node: Aggregate, found: _Relation, group: _InGroup | None) -> _Value:
        if node.rows is None:
            if group is None:
                raise ProgramTypeError("The aggregate has no rows: it stands in no group.")
            return self._of_group(node, found, group, alone=False)
        inner = self.rows(node.rows)
        select = _Select(self, inner.group)
        value = self._of_group(node, inner, None, alone=True)
        wanted = f"{node.function.value} {node.argument.name}" if isinstance(node.argument, ColumnRef) else (
            node.function.value
        )  # fmt: skip
        found.group.blocks.append(select)
        handed = self._handed(value, lambda sparqls, _: select.output(sparqls[0], wanted), found.group)
        return _sampled(handed) if group is not None else handed

    def _of_group(self, node: Aggregate, found: _Relation, group: _InGroup | None, *, alone: bool) -> _Value:
        function = node.function
        if node.argument is None:
            return _Computed("COUNT(*)", "NUM")
        if function is AggregateFunction.FIRST:
            return self._first(node, found, group)
        value = self.expression(node.argument, found)
        if function is AggregateFunction.COUNT_DISTINCT:
            return _Computed(f"COUNT(DISTINCT {value.group_key()})", "NUM")
        if function is AggregateFunction.COUNT:
            sparql = value.number() if value.kind == "number" else _shown(value)
            return _Computed(f"COUNT({sparql})", "NUM")
        if function in (AggregateFunction.MIN, AggregateFunction.MAX):
            return self._extreme(function, value, found, alone=alone)
        if function is AggregateFunction.MEDIAN:
            raise ProgramCompilationError("SPARQL has no median.")
        number = self._bound_alone(self._number(value), value, found, alone=alone)
        known = f"COUNT({number})"
        total = f"SUM({number})" if alone or value.complete else f"SUM(COALESCE({number}, 0))"
        if function is AggregateFunction.MEAN:
            return _Computed(f"({total} / {known})", value.unit, value.scale)
        # The sum of nothing is missing, as in SQL; SPARQL says 0.
        return _Computed(f"IF({known} > 0, {total}, 1 / 0)", value.unit, value.scale)

    def _bound_alone(self, sparql: str, value: _Value, found: _Relation, *, alone: bool) -> str:
        """What is aggregated, with the rows without it left out where nothing else needs them."""
        if not alone or value.complete:
            return sparql
        value.require()
        sparql = self._bound(found.group, sparql, "value")
        if not isinstance(value, _Leaf):
            found.group.add(f"FILTER(BOUND({sparql}))")
        return sparql

    def _extreme(
        self, function: AggregateFunction, value: _Value, found: _Relation, *, alone: bool
    ) -> _Value:
        """The smallest or largest value; what is missing would spoil it, so it takes the other extreme."""
        name = function.value.upper()
        sparql = value.order()
        if value.kind != "number":
            assert isinstance(value, _Known)
            if sparql != value.term():
                raise ProgramCompilationError("SPARQL orders these texts otherwise than people do.")
        sparql = self._bound_alone(sparql, value, found, alone=alone)
        aggregate = f"{name}({sparql})"
        if not alone and not value.complete and isinstance(value, _Known) and value.terms:
            pick = max if function is AggregateFunction.MIN else min
            other = pick(value.terms, key=lambda term: sort_key(value.terms[term]))
            number = _in_unit(value.terms[other], value.unit)
            worst = _decimal(number) if value.kind == "number" else text_literal(other)
            aggregate = f"IF(COUNT({sparql}) > 0, {name}(COALESCE({sparql}, {worst})), 1 / 0)"
        if value.kind == "number":
            return _Computed(aggregate, value.unit, value.scale)
        assert isinstance(value, _Known)
        return _Passed(self, [value], found.group, lambda *_: aggregate)

    def _first(self, node: Aggregate, found: _Relation, group: _InGroup | None) -> _Value:
        """The value in the first row of a group: the rows are read once more, and that one is taken."""
        if group is None or node.argument is None:
            raise ProgramCompilationError("SPARQL can say the first value of a group only.")
        if not group.firsts:
            first = group.select.output(f"MIN({_one_number(found.order)})", "first")
            again = self.rows(group.node.source)
            group.firsts.append(again)
            group.outer.blocks.append(_Braced(again.group))
            group.outer.add(f"FILTER({_one_number(again.order)} = {first})")
        value = self.expression(node.argument, group.firsts[0])
        if not isinstance(value, _Known):
            raise ProgramCompilationError("SPARQL can say the first cell of a group only.")
        return value

    def _lookup(self, node: Lookup, found: _Relation, group: _InGroup | None) -> _Value:
        inner = self.rows(node.rows)
        value = self.expression(node.value, inner)
        select = _Select(self, inner.group)
        several = value.group_key() if isinstance(value, _Known) else value.number()
        if not (isinstance(node.rows, Limit) and node.rows.count == 1):
            select.modifiers.append(f"HAVING(COUNT(DISTINCT {several}) <= 1)")
        found.group.blocks.append(select)
        handed = self._handed(
            value,
            lambda sparqls, wanted: select.output(f"SAMPLE({sparqls[0]})", f"the {wanted}"),
            found.group,
        )
        return _sampled(handed) if group is not None else handed


class _Listed(_Known):
    """A value whose string is a variable of its own: a member of a list, the header of a column."""

    def __init__(self, compiler: _Compiler, group: _Group, variable: str, terms: Mapping[str, Datum]) -> None:
        self._compiler, self._in_group, self._variable, self.terms = compiler, group, variable, terms

    def term(self) -> str:
        return self._variable

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._compiler.listing(self._in_group, self._variable, found, wanted)


class _Unpivoted(_Known):
    """A cell of one of several columns."""

    def __init__(
        self, compiler: _Compiler, base: _Base, group: _Group, predicate: str, columns: Sequence[int]
    ) -> None:
        self._compiler, self._base, self._in_group = compiler, base, group
        self._predicate, self._columns = predicate, columns
        self.terms = {}
        for column in columns:
            for term, datum in base.terms(column).items():
                if self.terms.setdefault(term, datum) != datum:
                    self.terms[f"{term}\0{column}"] = datum

    def term(self) -> str:
        variable = self._compiler.variable("cell text")
        cell, text = self._compiler.variable("cell"), self._compiler.variable("text")
        lines = [
            f"{self._base.row} {self._predicate} {cell} .",
            f"OPTIONAL {{ {cell} kgt:text {text} }}",
            f"FILTER(isIRI({cell}) || DATATYPE({cell}) != kgt:missing)",
            f"BIND(COALESCE({text}, STR({cell})) AS {variable})",
        ]
        return self._base.cell((self._predicate, "t"), variable, lines)

    def number(self) -> str:
        numbers = all(self._base.all_nodes(column) for column in self._columns)
        units = {datum.unit for datum in self.terms.values()}
        if self.kind != "number" or not numbers or len(units - {self.unit}) > 0:
            return super().number()
        variable = self._compiler.variable("value")
        line = f"{self._base.row} {self._predicate}/qudt:numericValue {variable} ."
        cell = self._compiler.variable("cell")
        line = f"{self._base.row} {self._predicate} {cell} . {cell} qudt:numericValue {variable} ."
        return self._base.cell((self._predicate, "v"), variable, [line])

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._base.listing(self.term(), found, wanted)

    def require(self) -> None:
        self._base.require(self._predicate)


def _calculated(operator: Operator, left: _Literal, right: _Literal) -> _Value:
    """Arithmetic of two constants, done beforehand."""
    a, b = left.datum, right.datum
    if operator not in (Operator.MULTIPLY, Operator.DIVIDE, Operator.POWER):
        a, b = settle(a, b), settle(b, a)
    found = calculate(operator, a, b)
    plain = operator not in (Operator.RATIO, Operator.SHARE, Operator.PERCENT_CHANGE)
    return _Literal(BareNumber(*found) if left.bare and right.bare and plain else found)


def _sampled(value: _Value) -> _Value:
    """One value beside groups: SPARQL wants it in an aggregate."""
    if isinstance(value, _Computed):
        return _Computed(f"SAMPLE({value.number()})", value.unit, value.scale, truth=value.kind == "truth")
    if value.kind == "number":
        return _Computed(f"SAMPLE({value.number()})", value.unit, value.scale)
    raise ProgramCompilationError("SPARQL cannot say a text of other rows in a group.")


def _shown(value: _Value) -> str:
    return value.text() if isinstance(value, _Known) else value.number()


def _is_variable(sparql: str) -> bool:
    return re.fullmatch(r"\?\w+", sparql) is not None


def _one_number(order: Sequence[str]) -> str:
    """The variables that order rows as one number."""
    found = order[0]
    for variable in order[1:]:
        found = f"({found} * 10000000 + {variable})"
    return found


def _times(factor: Fraction) -> str:
    above = f" * {_decimal(Decimal(factor.numerator))}" if factor.numerator != 1 else ""
    return above + (f" / {_decimal(Decimal(factor.denominator))}" if factor.denominator != 1 else "")


def _is_year(value: _Value) -> bool:
    return (
        isinstance(value, _Known)
        and bool(value.terms)
        and all(isinstance(d.value, TimeSpan) and d.value.year is not None for d in value.terms.values())
    )


def _one_form(left: _Known, right: _Known) -> bool:
    """Whether the strings of both sides are dates or years of one form, which order as strings do."""
    forms = {re.sub(r"\d", "0", term) for side in (left, right) for term in side.terms}
    spans = all(isinstance(d.value, TimeSpan) for side in (left, right) for d in side.terms.values())
    return spans and len(forms) == 1
