"""Values and columns of programs in SQL: which columns a table needs, and how a value is read from them.

A value has *facets*: its number in one unit, its printed text, the text as equality sees it, a key that
equal values share, the ends of a date. A column of DuckDB holds one facet of one column of a table,
perhaps after a function of the algebra, and is made when a step of the program asks for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kgtable.errors import MissingExtraError, ProgramCompilationError
from kgtable.programs.algebra import (
    Function,
    RowChoice,
    ValueKind,
)
from kgtable.programs.column_math import BareNumber, map_values
from kgtable.programs.dimensions import (
    COUNTS,
    commonest_unit,
    comparable,
    decimal_of,
)
from kgtable.programs.relation import ColumnData, Indices, Relation
from kgtable.programs.scalars import (
    SCALES,
    Datum,
    TimeSpan,
    aligned,
    apply,
    format_decimal,
    items,
    key_of,
    normal,
    number_in_unit,
    quantity,
    sort_key,
    text_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

SqlCell: TypeAlias = Decimal | float | int | str | bool | None


_NUMBERS = frozenset({ValueKind.QUANTITY, ValueKind.DURATION})


_TIMES = frozenset({ValueKind.DATE, ValueKind.PERIOD})


_TEXTS = frozenset({ValueKind.TEXT, ValueKind.ENTITY})


MOST_DIGITS = 38


@dataclass(frozen=True)
class SqlTable:
    """A table to be made in DuckDB.

    `columns` are its columns by name; `meanings` says for each what it holds: the header, and how its
    cells are read.
    """

    name: str
    id: str
    columns: Mapping[str, pa.Array]
    meanings: Mapping[str, str]


def quoted(name: str) -> str:
    """A name as a quoted identifier, with the quotes in it doubled."""
    return '"' + name.replace('"', '""') + '"'


class SqlNames:
    """Different names, where SQL sees no difference in case; NUL cannot stand in one."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        plain = "".join(sign if sign.isprintable() else " " for sign in wanted)[:80].strip() or "unnamed"
        name, number = plain, 2
        while name.casefold() in self._taken:
            name, number = f"{plain} ({number})", number + 1
        self._taken.add(name.casefold())
        return name


class SqlTableBuilder:
    """A table of DuckDB while its columns are found out."""

    def __init__(self, relation: Relation, name: str) -> None:
        self.relation, self.name = relation, name
        self._names = SqlNames()
        self._found: dict[object, str] = {}
        self.columns: dict[str, pa.Array] = {}
        self.meanings: dict[str, str] = {}

    def column(self, identity: object, wanted: str, meaning: str, make: Callable[[], pa.Array]) -> str:
        """The name of a column, which is made when first asked for."""
        if identity not in self._found:
            name = self._found[identity] = self._names.take(wanted)
            self.columns[name], self.meanings[name] = make(), meaning
        return self._found[identity]


class SqlValue(ABC):
    """The SQL of a value: of single facets of it, such as its number or its text."""

    unit: str | None = None
    scale: str | None = None
    bare = False

    @property
    @abstractmethod
    def kind(self) -> str:
        """One of number, text, time, truth, mixed."""

    @abstractmethod
    def facet(self, name: str) -> str:
        """The SQL of a facet; raises `ProgramCompilationError` where there is none."""

    @property
    def digits(self) -> int:
        """How many figures its number may have; beyond 38 it is a double."""
        return MOST_DIGITS + 1


class KnownValue(SqlValue):
    """A value that comes from cells or constants: all different ones are known when compiling."""

    def __init__(self, values: Sequence[Datum]) -> None:
        self.values = values

    @cached_property
    def kind(self) -> str:
        kinds = {value.kind for value in self.values}
        if kinds <= _NUMBERS and kinds:
            known = {value.unit for value in self.values if value.unit not in COUNTS}
            first = next(iter(known), None)
            return "number" if all(comparable(first, unit) for unit in known) else "mixed"
        if not kinds or kinds <= _TEXTS:
            return "text"
        if kinds <= _TIMES:
            return "time"
        return "truth" if kinds == {ValueKind.TRUTH} else "mixed"

    @cached_property
    def unit(self) -> str | None:  # type: ignore[override]
        return commonest_unit(value.unit for value in self.values)

    @cached_property
    def scales(self) -> set[str | None]:
        """The scales in which its numbers are printed."""
        return {value.scale for value in self.values if value.number is not None}

    @cached_property
    def scale(self) -> str | None:  # type: ignore[override]
        return next(iter(self.scales)) if len(self.scales) == 1 else None

    @cached_property
    def digits(self) -> int:
        return sum(_width(self._numbers()))

    @cached_property
    def places(self) -> dict[Datum, int]:
        """The place of each value among all, sorted; equal ones share a place."""
        found: dict[Datum, int] = {}
        last: object = None
        for value in sorted(self.values, key=sort_key):
            key = sort_key(value)
            found[value] = len(set(found.values())) if key != last or not found else max(found.values())
            last = key
        return found

    @abstractmethod
    def mapped(self, function: Function, index: int) -> KnownValue:
        """The value after a function of the algebra."""

    @abstractmethod
    def test(self, identity: str, holds: Callable[[Datum], bool]) -> str:
        """The SQL of a condition on each value, worked out beforehand."""

    def read(self, facet: str) -> Callable[[Datum], SqlCell]:
        """How a facet is read off a value."""
        if facet == "value":
            return self._number if self.kind == "number" else lambda datum: datum.value is True
        if facet == "rank":
            places = self.places
            return lambda datum: places[datum]
        if facet in _READERS:
            return _READERS[facet]
        raise ProgramCompilationError(f"SQL cannot say the {facet} of a value.")

    def array(self, facet: str, cells: Sequence[SqlCell]) -> pa.Array:
        """The cells of a facet as a column."""
        pa = arrow()
        if facet in ("value", "loose") and self.kind != "truth":
            known = [cell for cell in cells if isinstance(cell, Decimal)]
            whole, places = _width(known)
            if whole + places > MOST_DIGITS:
                return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
            return pa.array(cells, pa.decimal128(max(whole + places, 1), places))
        if facet == "factor":
            return pa.array(cells, pa.decimal128(14, 0))
        return pa.array(cells, _column_type(facet))

    def _numbers(self) -> list[Decimal]:
        return [number for value in self.values if isinstance(number := self._number(value), Decimal)]

    def _number(self, datum: Datum) -> Decimal | None:
        return number_in_unit(datum, self.unit)


def loose_number(datum: Datum) -> SqlCell:
    pair = aligned(datum, quantity(0))
    return datum.number if datum.number is not None else None if pair is None else _decimal(pair[0])


def _decimal(value: object) -> Decimal | None:
    return value if isinstance(value, Decimal) else None


def _key(datum: Datum) -> str:
    """Equal texts for what is equal in groups and joins."""
    name, *rest = key_of(datum)
    if name == "number" and isinstance(rest[0], Decimal | Fraction | int):
        return f"#{format_decimal(decimal_of(Fraction(rest[0])))}"
    return "|".join(map(str, (name[0], *rest))) if name != "text" else f"'{rest[0]}"  # type: ignore[index]


_READERS: dict[str, Callable[[Datum], SqlCell]] = {
    "text": text_of,
    "norm": lambda datum: normal(text_of(datum)),
    "key": _key,
    "start": lambda datum: datum.value.start if isinstance(datum.value, TimeSpan) else None,
    "end": lambda datum: datum.value.end if isinstance(datum.value, TimeSpan) else None,
    "year": lambda datum: datum.value.year if isinstance(datum.value, TimeSpan) else None,
    "loose": loose_number,
    "factor": lambda datum: Decimal(1).scaleb(SCALES.get(datum.scale or "ONE", 0)),
}


def _column_type(facet: str) -> pa.DataType:
    pa = arrow()
    kinds = {"rank": pa.int64(), "year": pa.int64(), "test": pa.bool_(), "value": pa.bool_()}
    return kinds.get(facet, pa.string())


_FACETS = {
    "value": "",
    "text": " as printed",
    "norm": " in small letters",
    "key": " as key",
    "start": " from",
    "end": " to",
    "year": " as year",
    "loose": " as number",
    "factor": " scale",
    "rank": " in order",
}


def _width(numbers: Iterable[Decimal]) -> tuple[int, int]:
    """The figures before and after the point that some numbers need."""
    whole, places = 1, 0
    for number in numbers:
        exponent = int(number.as_tuple().exponent)
        whole = max(whole, number.adjusted() + 1 if number else 1)
        places = max(places, -exponent)
    return whole, places


class ColumnValue(KnownValue):
    """A column of a table (or pseudo column), perhaps after functions."""

    def __init__(
        self, base: SqlRows, column: int | str, chain: tuple[tuple[Function, int], ...] = ()
    ) -> None:
        self._base, self._column, self._chain = base, column, chain
        data = base.data(column)
        for function, index in chain:
            data = map_values(data, lambda datum, f=function, i=index: apply(f, datum, i))  # type: ignore[misc]
        self.data = data
        self.used = [code for code in np.unique(data.codes[base.rows]).tolist() if code >= 0]
        super().__init__([data.values[code] for code in self.used])

    @property
    def identity(self) -> tuple[object, ...]:
        """What tells it from other readings of the table."""
        return (self._base.choice if self._column == "@row" else "", self._column, *self._chain)

    @property
    def title(self) -> str:
        name = (
            self._column if isinstance(self._column, str) else self._base.relation.columns[self._column].name
        )
        parts = [f" {function.value}{index if index > 1 else ''}" for function, index in self._chain]
        return f"{name}{''.join(parts)}"

    def mapped(self, function: Function, index: int) -> KnownValue:
        return ColumnValue(self._base, self._column, (*self._chain, (function, index)))

    def facet(self, name: str) -> str:
        # Which rows take part decides on unit and order, so it belongs to what the column is.
        return self._physical(name, (name, self.unit, *self.used), _FACETS[name], self.read(name))

    def test(self, identity: str, holds: Callable[[Datum], bool]) -> str:
        return self._physical("test", ("test", identity, *self.used), f" {identity}", holds)

    def lists(self, facet: str, inner: KnownValue) -> str:
        """The facets of the members of the list in each cell."""
        read = inner.read(facet)
        members = {
            code: [_member_cell(item, inner, read) for item in _members(self.data.values[code])]
            for code in self.used
        }
        rows = [members.get(code) for code in self.data.codes.tolist()]

        def make() -> pa.Array:
            pa = arrow()
            flat = inner.array(facet, [cell for row in rows for cell in row or ()])
            offsets = np.cumsum([0, *(len(row or ()) for row in rows)])
            return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)

        identity = (
            "list",
            facet,
            inner.unit,
            *self.used,
            0,
            *(inner.chain if isinstance(inner, ListMember) else ()),
            *self.identity,
        )
        return self._base.demand(identity, f"{self.title} members{_FACETS.get(facet, facet)}", facet, make)

    def _physical(
        self, facet: str, identity: tuple[object, ...], suffix: str, read: Callable[[Datum], SqlCell]
    ) -> str:
        def make() -> pa.Array:
            codes = self.data.codes
            cells = {code: read(self.data.values[code]) for code in self.used}
            return self.array(facet, [cells.get(code) for code in codes.tolist()])

        return self._base.demand((*identity, *self.identity), f"{self.title}{suffix}", facet, make)


class ListMember(KnownValue):
    """A member of the list in a cell, perhaps after functions."""

    def __init__(
        self, step: SqlStep, source: ColumnValue, chain: tuple[tuple[Function, int], ...] = ()
    ) -> None:
        self._step, self._source, self.chain = step, source, chain
        found: dict[Datum, None] = {}
        for value in source.values:
            for item in _members(value):
                for function, index in chain:
                    item = apply(function, item, index) if item is not None else None  # type: ignore[assignment]
                if item is not None:
                    found[item] = None
        super().__init__(list(found))

    def mapped(self, function: Function, index: int) -> KnownValue:
        return ListMember(self._step, self._source, (*self.chain, (function, index)))

    def facet(self, name: str) -> str:
        return self._step.output(f"unnest({self._source.lists(name, self)})", f"member {name}")

    def test(self, identity: str, holds: Callable[[Datum], bool]) -> str:
        raise ProgramCompilationError("SQL cannot say this comparison with the members of a list.")


def _members(value: Datum) -> list[Datum]:
    return [Datum(ValueKind.TEXT, item, text=item) for item in items(text_of(value))]


def _member_cell(item: Datum, inner: KnownValue, read: Callable[[Datum], SqlCell]) -> SqlCell:
    """A facet of a member of a list after the functions applied to it."""
    found: Datum | None = item
    for function, index in inner.chain if isinstance(inner, ListMember) else ():
        found = None if found is None else apply(function, found, index)
    return None if found is None else read(found)


class BoundConstant(KnownValue):
    """A constant."""

    def __init__(self, bind: Callable[[SqlCell], str], datum: Datum) -> None:
        super().__init__([datum])
        self._bind, self.datum = bind, datum
        self.bare = isinstance(datum, BareNumber)

    def mapped(self, function: Function, index: int) -> KnownValue:
        found = apply(function, self.datum, index)
        if found is None:
            raise ProgramCompilationError(f"The constant has no {function.value}.")
        return BoundConstant(self._bind, BareNumber(*found) if self.bare else found)

    def facet(self, name: str) -> str:
        cell = self.read(name)(self.datum)
        return "NULL" if cell is None else self._bind(cell)

    def test(self, identity: str, holds: Callable[[Datum], bool]) -> str:
        return str(holds(self.datum)).upper()


class HandedValue(KnownValue):
    """A known value that a step hands on: the first of a group, a branch of a union, a lookup."""

    def __init__(
        self,
        inner: Sequence[KnownValue],
        hand_on: Callable[[Sequence[str], str], str],
        values: Sequence[Datum],
    ) -> None:
        super().__init__(values)
        self._inner, self._hand_on = inner, hand_on

    def mapped(self, function: Function, index: int) -> KnownValue:
        return handed_values([value.mapped(function, index) for value in self._inner], self._hand_on)

    def facet(self, name: str) -> str:
        for inner in self._inner:
            if name == "value" and self.kind == "number" and inner.values and inner.unit != self.unit:
                raise ProgramCompilationError("SQL cannot say numbers of several units in one column.")
            if name == "rank" and len(self._inner) > 1:
                raise ProgramCompilationError("SQL cannot say the order of values of several columns.")
        return self._hand_on([inner.facet(name) for inner in self._inner], name)

    def test(self, identity: str, holds: Callable[[Datum], bool]) -> str:
        return self._hand_on([inner.test(identity, holds) for inner in self._inner], identity)


def handed_values(inner: Sequence[KnownValue], hand_on: Callable[[Sequence[str], str], str]) -> HandedValue:
    values = dict.fromkeys(value for part in inner for value in part.values)
    return HandedValue(inner, hand_on, list(values))


class ComputedValue(SqlValue):
    """A number or truth value that SQL computes."""

    def __init__(
        self,
        sql: str,
        unit: str | None = None,
        scale: str | None = None,
        *,
        truth: bool = False,
        digits: int = MOST_DIGITS + 1,
        hand_on: Callable[[str, str], str] | None = None,
    ) -> None:
        self._sql, self.unit, self.scale, self._is_truth = sql, unit, scale, truth
        self._digits, self._hand_on = digits, hand_on

    @property
    def kind(self) -> str:
        return "truth" if self._is_truth else "number"

    @property
    def digits(self) -> int:
        return self._digits

    def facet(self, name: str) -> str:
        if name in ("value", "loose"):
            return self._sql
        if name == "key" and not self._is_truth and self.unit in COUNTS:
            text = f"CAST(round(CAST({self._sql} AS DECIMAL(38, 12)), 12) AS VARCHAR)"
            return f"('#' || regexp_replace({text}, '\\.?0+$', ''))"
        if name == "key":
            return f"CAST({self._sql} AS VARCHAR)"
        if name == "factor":
            return str(10 ** SCALES.get(self.scale or "ONE", 0))
        raise ProgramCompilationError("SQL cannot say the text of a number that it computes.")

    def handed(self, hand_on: Callable[[Sequence[str], str], str]) -> ComputedValue:
        """The value as a step hands it on."""
        sql = hand_on([self._sql], "value")
        return ComputedValue(sql, self.unit, self.scale, truth=self._is_truth, digits=self._digits)


class SqlStep:
    """A common table expression whose output columns are found out while the rest is compiled."""

    def __init__(self, name: str, render: Callable[[SqlStep], str]) -> None:
        self.name, self._render = name, render
        self.outputs: dict[str, str] = {}
        self._names = SqlNames()

    def output(self, sql: str, wanted: str) -> str:
        """The quoted name of an output column that gives an expression over the step's source."""
        if sql not in self.outputs:
            self.outputs[sql] = quoted(f"{self.name}: {self._names.take(wanted)}")
        return self.outputs[sql]

    def listed(self) -> str:
        """The output columns, for a SELECT."""
        return "".join(f",\n    {sql} AS {name}" for sql, name in self.outputs.items())

    def render(self) -> str:
        """The SELECT of the step."""
        return self._render(self)


class SqlRows:
    """An occurrence of a table in the program: its columns carry a prefix of their own."""

    def __init__(self, builder: SqlTableBuilder, choice: RowChoice, prefix: str) -> None:
        self.relation, self.choice, self.prefix, self._builder = builder.relation, choice, prefix, builder
        self.rows = builder.relation.select(choice)
        self.selected: dict[str, str] = {}

    def data(self, column: int | str) -> ColumnData:
        if isinstance(column, int):
            return self.relation.data(column)
        if column == "@row":
            codes = np.full(len(self.relation), -1, dtype=np.int32)
            rows = self.relation.select(self.choice)
            codes[rows] = np.arange(len(rows))
            return ColumnData(codes, [quantity(place + 1, "NUM") for place in range(len(rows))])
        return self.relation.pseudo(column)

    def demand(self, identity: object, wanted: str, facet: str, make: Callable[[], pa.Array]) -> str:
        """The quoted name, in this occurrence, of a column of the table."""
        key = (self.choice, identity)
        name = self._builder.column(key, wanted, f"{wanted} ({facet})", make)
        return self.selected.setdefault(name, quoted(f"{self.prefix}.{name}"))

    def narrowed(self, rows: Indices) -> SqlRows:
        """The same occurrence where only some rows are left: their cells decide on kinds and units."""
        found = copy(self)
        found.rows = rows if len(rows) else self.rows
        return found

    def render(self, _: SqlStep) -> str:
        taking = self._builder.column(
            ("takes part", self.choice),
            f"is of {self.choice.value}",
            "whether the row takes part",
            self._mask,
        )
        columns = ",\n    ".join(f"{quoted(name)} AS {alias}" for name, alias in self.selected.items())
        return f"SELECT\n    {columns}\n  FROM {quoted(self._builder.name)}\n  WHERE {quoted(taking)}"

    def _mask(self) -> pa.Array:
        pa = arrow()
        mask = np.zeros(len(self.relation), dtype=np.bool_)
        mask[self.relation.select(self.choice)] = True
        return pa.array(mask)


def handed(value: SqlValue, hand_on: Callable[[Sequence[str], str], str]) -> SqlValue:
    if isinstance(value, KnownValue):
        return handed_values([value], hand_on)
    assert isinstance(value, ComputedValue)
    return value.handed(hand_on)


def arrow() -> Any:
    """The module ``pyarrow``. Raises `MissingExtraError` where it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("SQL", "sql") from error
    return pyarrow
