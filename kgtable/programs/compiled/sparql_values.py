"""Values of programs in SPARQL: constants, computed numbers, and readings of the strings of cells.

Equality of texts, parts of cells and the order of texts are richer in the algebra than in SPARQL. All
different strings of a column are known when compiling, with what they mean; the simplest expression of
SPARQL that agrees on every one of them is taken, else the strings are listed with their meanings.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

from kgtable.errors import ProgramCompilationError
from kgtable.graph.terms import text_literal
from kgtable.programs.algebra import (
    Function,
    Relator,
    ValueKind,
)
from kgtable.programs.column_math import BareNumber
from kgtable.programs.compiled.sparql_patterns import MOST_LISTED, GroupPattern, QueryContext, decimal_literal
from kgtable.programs.dimensions import (
    COUNTS,
    commonest_unit,
    comparable,
    decimal_of,
)
from kgtable.programs.scalars import (
    Datum,
    TimeSpan,
    apply,
    format_decimal,
    key_of,
    normal,
    number_in_unit,
    sort_key,
    text_of,
)

_SHORT_LIST = 60


_NUMBERS = frozenset({ValueKind.QUANTITY, ValueKind.DURATION})


SIGNS = {
    Relator.EQUAL: "=",
    Relator.NOT_EQUAL: "!=",
    Relator.LESS: "<",
    Relator.LESS_OR_EQUAL: "<=",
    Relator.GREATER: ">",
    Relator.GREATER_OR_EQUAL: ">=",
}


TEXT_TESTS = {Relator.CONTAINS: "CONTAINS", Relator.STARTS: "STRSTARTS", Relator.ENDS: "STRENDS"}


class SparqlValue(ABC):
    """The SPARQL of a value: of its number, its text, or a key that equal values share."""

    unit: str | None = None
    scale: str | None = None
    bare = False

    @property
    @abstractmethod
    def kind(self) -> str:
        """One of number, text (anything whose cells are texts or times), truth."""

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

    def require(self) -> None:  # noqa: B027 - a value that is always there needs nothing
        """Leave out the rows without it."""

    @property
    def complete(self) -> bool:
        """Whether all rows have it, as far as is known."""
        return False


class CellReading(SparqlValue):
    """A value read from cells: every string that a cell can be, and what it means, are known.

    `terms` gives for each string the value; `term` is the SPARQL of the string.
    """

    terms: Mapping[str, Datum]

    @abstractmethod
    def term(self) -> str:
        """The SPARQL of the cell's string."""

    def mapped(self, function: Function, index: int) -> SparqlValue:
        """The value after a function of the algebra."""
        found = {term: apply(function, datum, index) for term, datum in self.terms.items()}
        return PartReading(
            self, {term: datum for term, datum in found.items() if datum is not None}, function.value
        )

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

    @property
    def several_scales(self) -> bool:
        """Whether its numbers are printed in different scales."""
        return len({datum.scale for datum in self.terms.values() if datum.number is not None}) > 1

    def number(self) -> str:
        if self.kind != "number":
            return super().number()
        numbers = {term: number_in_unit(datum, self.unit) for term, datum in self.terms.items()}
        term = self.term()
        for sparql, read in _NUMBER_READINGS:
            if all(read(text) == number for text, number in numbers.items()):
                return sparql.format(term)
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
                    return comparison(relator, sparql.format(term), text_literal(constant))
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


def comparison(relator: Relator, left: str, right: str) -> str:
    if relator in TEXT_TESTS:
        return f"{TEXT_TESTS[relator]}({left}, {right})"
    return f"{left} {SIGNS[relator]} {right}"


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


class PartReading(CellReading):
    """A part of a cell that a function takes."""

    def __init__(self, source: CellReading, terms: Mapping[str, Datum], name: str) -> None:
        self._source, self.terms, self._name = source, terms, name
        self._partial = len(terms) < len(source.terms)

    def term(self) -> str:
        if not self._partial:
            return self._source.term()
        # Cells without this part have no value.
        return self.listing({term: text_literal(term) for term in self.terms}, self._name)

    def number(self) -> str:
        if self._source.kind == "number" and self.kind == "number":
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

    def mapped(self, function: Function, index: int) -> SparqlValue:
        found = apply(function, self.datum, index)
        if found is None:
            raise ProgramCompilationError(f"The constant has no {function.value}.")
        return SparqlConstant(BareNumber(*found) if self.bare else found)

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return next(iter(found.values()))


class HandedReading(CellReading):
    """Cells that a sub-select hands on: their string stays, so that all readings of it do."""

    def __init__(
        self, context: QueryContext, inner: Sequence[CellReading], group: GroupPattern,
        hand_on: Callable[[Sequence[str], str], str],
    ) -> None:  # fmt: skip
        self._context, self._inner, self._group, self._hand_on = context, inner, group, hand_on
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
        return self._context.listing(self._group, self.term(), found, wanted)


class ComputedTerm(SparqlValue):
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


class ListedReading(CellReading):
    """A value whose string is a variable of its own: a member of a list, the header of a column."""

    def __init__(
        self, context: QueryContext, group: GroupPattern, variable: str, terms: Mapping[str, Datum]
    ) -> None:
        self._context, self._in_group, self._variable, self.terms = context, group, variable, terms

    def term(self) -> str:
        return self._variable

    def listing(self, found: Mapping[str, str], wanted: str) -> str:
        return self._context.listing(self._in_group, self._variable, found, wanted)
