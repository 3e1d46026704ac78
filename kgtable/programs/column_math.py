"""Column-wise operations: comparisons, arithmetic, ranks and aggregates over many rows at once.

Numbers of one unit are worked on as integers, everything else once for each different value (or pair
of values) by `scalars`, whose results these must equal; all results are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.errors import ProgramTypeError
from kgtable.programs.algebra import AggregateFunction, Operator, Relator, ValueKind
from kgtable.programs.dimensions import (
    COUNTS,
    EXACT,
    NO_UNIT,
    ROUNDED,
    comparable,
    conversion,
    convert,
    multiply_units,
    unit_of_sum,
)
from kgtable.programs.relation import ColumnData, Indices, Integers, Quotients, distinct
from kgtable.programs.scalars import (
    SCALES,
    Datum,
    TimeSpan,
    calculate,
    common_scale,
    compare,
    key_of,
    quantity,
    sort_key,
)
from kgtable.programs.types import check_one_dimension

Mask: TypeAlias = npt.NDArray[np.bool_]
Vector: TypeAlias = "ColumnData | Datum | None"
"""A value for each row, or one for all (None: missing)."""

Starts: TypeAlias = Indices
LARGEST = 2**62


class BareNumber(Datum):
    """A constant that takes unit and scale from what it is compared with or added to."""

    __slots__ = ()


def settle(constant: Datum, beside: Datum) -> Datum:
    """A bare number as the value beside it would be printed; any other value as it is.

    >>> settle(BareNumber(*quantity(50)), quantity(1200000, "CCY_EUR", "M")).value == 50_000_000
    True
    """
    if not isinstance(constant, BareNumber) or isinstance(beside, BareNumber) or constant.number is None:
        return constant
    if beside.kind not in (ValueKind.QUANTITY, ValueKind.DURATION):
        return Datum(*constant)
    value = constant.number.scaleb(SCALES.get(beside.scale or "ONE", 0))
    return Datum(beside.kind, value, beside.unit, beside.scale)


def compare_vectors(relator: Relator, left: Vector, right: Vector, size: int) -> tuple[Mask, Mask]:
    """For each row whether the comparison holds, and whether its negation does (neither where missing)."""
    if left is None or right is None:
        nothing = np.zeros(size, dtype=np.bool_)
        return nothing, nothing.copy()
    if isinstance(left, Datum) and isinstance(right, Datum):
        holds = compare(relator, settle(left, right), settle(right, left))
        return np.full(size, holds), np.full(size, not holds)
    if isinstance(left, Datum):
        assert isinstance(right, ColumnData)
        if relator in _MIRRORED:
            return compare_vectors(_MIRRORED[relator], right, left, size)
        return _by_values(right, lambda value: compare(relator, left, value))
    if isinstance(right, Datum):
        fast = _compare_integers(relator, left, right)
        if fast is not None:
            return fast
        return _by_values(left, lambda value: compare(relator, value, settle(right, value)))
    return _compare_columns(relator, left, right)


_MIRRORED = {
    Relator.EQUAL: Relator.EQUAL,
    Relator.NOT_EQUAL: Relator.NOT_EQUAL,
    Relator.LESS: Relator.GREATER,
    Relator.GREATER: Relator.LESS,
    Relator.LESS_OR_EQUAL: Relator.GREATER_OR_EQUAL,
    Relator.GREATER_OR_EQUAL: Relator.LESS_OR_EQUAL,
}


def _by_values(data: ColumnData, holds: Callable[[Datum], bool]) -> tuple[Mask, Mask]:
    """A condition on single values, tested once for each different one."""
    used = data.used()
    table = np.zeros(max(used, default=-1) + 2, dtype=np.bool_)
    for code in used:
        table[code] = holds(data.values[code])
    known = data.codes >= 0
    found = table[data.codes] & known
    return found, known & ~found


def _compare_integers(relator: Relator, left: ColumnData, right: Datum) -> tuple[Mask, Mask] | None:
    if relator not in _MIRRORED or len(left) < 64:
        return None
    integers = left.integers()
    if integers is None or (isinstance(right, BareNumber) and integers.scale is None and _mixed_scale(left)):
        return None
    right = settle(right, Datum(ValueKind.QUANTITY, Decimal(0), integers.unit, integers.scale))
    if right.number is None or right.kind is not ValueKind.QUANTITY:
        return None
    if not comparable(integers.unit, right.unit):
        return None
    value = Fraction(right.number)
    if right.unit != integers.unit and right.unit not in NO_UNIT and integers.unit not in NO_UNIT:
        multiplier, addend = conversion(right.unit, integers.unit)
        value = value * multiplier + addend
    bound = value / Fraction(10) ** integers.exponent
    if abs(bound) >= LARGEST:
        return None
    whole, exact = bound.numerator // bound.denominator, bound.denominator == 1
    numbers = integers.mantissas
    equal = (numbers == whole) if exact else np.zeros(len(numbers), dtype=np.bool_)
    below = (numbers < whole) if exact else (numbers <= whole)
    table: dict[Relator, Callable[[], Mask]] = {
        Relator.EQUAL: lambda: equal,
        Relator.NOT_EQUAL: lambda: ~equal,
        Relator.LESS: lambda: below,
        Relator.LESS_OR_EQUAL: lambda: below | equal,
        Relator.GREATER: lambda: ~(below | equal),
        Relator.GREATER_OR_EQUAL: lambda: ~below,
    }
    holds = table[relator]() & integers.valid
    return holds, integers.valid & ~holds


def _mixed_scale(data: ColumnData) -> bool:
    used = data.used()
    return len({data.values[code].scale for code in used}) > 1


def _compare_columns(relator: Relator, left: ColumnData, right: ColumnData) -> tuple[Mask, Mask]:
    a, b = left.integers(), right.integers()
    if a is not None and b is not None and relator in _MIRRORED and (pair := _one_exponent(a, b)) is not None:
        first, second = pair
        known = a.valid & b.valid
        functions: dict[Relator, Callable[[], Mask]] = {
            Relator.EQUAL: lambda: first == second,
            Relator.NOT_EQUAL: lambda: first != second,
            Relator.LESS: lambda: first < second,
            Relator.LESS_OR_EQUAL: lambda: first <= second,
            Relator.GREATER: lambda: first > second,
            Relator.GREATER_OR_EQUAL: lambda: first >= second,
        }
        holds = functions[relator]() & known
        return holds, known & ~holds
    known, pairs, inverse = _pairs(left, right)
    table = np.array([compare(relator, x, y) for x, y in pairs] or [False], dtype=np.bool_)
    holds = np.zeros(len(known), dtype=np.bool_)
    holds[known] = table[inverse]
    return holds, known & ~holds


def _one_exponent(a: Integers, b: Integers) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Two columns of one unit as integers of one exponent, where they fit."""
    if a.unit != b.unit and not (a.unit in NO_UNIT or b.unit in NO_UNIT):
        return None
    exponent = min(a.exponent, b.exponent)
    found = []
    for side in (a, b):
        factor = 10 ** (side.exponent - exponent)
        if side.largest() * factor >= LARGEST:
            return None
        found.append(side.mantissas * factor)
    return found[0], found[1]


def _pairs(left: ColumnData, right: ColumnData) -> tuple[Mask, list[tuple[Datum, Datum]], npt.NDArray[np.int64]]:
    """Where both are known, the different pairs of values there, and which pair each such row has."""
    known = (left.codes >= 0) & (right.codes >= 0)
    width = int(right.codes.max(initial=0)) + 1
    combined = left.codes[known].astype(np.int64) * width + right.codes[known]
    uniques, inverse = np.unique(combined, return_inverse=True)
    pairs = [(left.values[code // width], right.values[code % width]) for code in uniques.tolist()]
    return known, pairs, inverse


def calculate_vectors(operator: Operator, left: Vector, right: Vector) -> Vector:
    """Arithmetic row by row; missing where an operand is."""
    if left is None or right is None:
        return None
    if isinstance(left, Datum) and isinstance(right, Datum):
        return _calculate(operator, left, right)
    if isinstance(right, Datum):
        assert isinstance(left, ColumnData)
        if operator in (Operator.MULTIPLY, Operator.DIVIDE):
            constant = ColumnData(np.zeros(len(left), dtype=np.int32), [Datum(*right)])
            scaled = _calculate_integers(operator, left, constant)
            if scaled is not None:
                return scaled
        return map_values(left, lambda value: _calculate(operator, value, right))
    if isinstance(left, Datum):
        return map_values(right, lambda value: _calculate(operator, left, value))
    fast = _calculate_integers(operator, left, right)
    if fast is not None:
        return fast
    known, pairs, inverse = _pairs(left, right)
    seen: dict[Datum, int] = {}
    table = [seen.setdefault(_calculate(operator, x, y), len(seen)) for x, y in pairs]
    codes = np.full(len(known), -1, dtype=np.int32)
    codes[known] = np.array(table or [0], dtype=np.int32)[inverse]
    return ColumnData(codes, list(seen))


def _calculate(operator: Operator, left: Datum, right: Datum) -> Datum:
    bare = isinstance(left, BareNumber) and isinstance(right, BareNumber)
    if operator not in (Operator.MULTIPLY, Operator.DIVIDE, Operator.POWER):
        left, right = settle(left, right), settle(right, left)
    found = calculate(operator, Datum(*left), Datum(*right))
    plain = operator not in (Operator.RATIO, Operator.SHARE, Operator.PERCENT_CHANGE)
    return BareNumber(*found) if bare and plain else found


def _calculate_integers(operator: Operator, left: ColumnData, right: ColumnData) -> ColumnData | None:
    if len(left) < 64 or operator not in _FAST:
        return None
    a, b = left.integers(), right.integers()
    if a is None or b is None:
        return None
    if operator is Operator.DIVIDE:
        return _divide_integers(a, b)
    valid = a.valid & b.valid
    scale = common_scale(a.scale, b.scale)
    if operator is Operator.MULTIPLY:
        unit, factor = multiply_units(a.unit, b.unit)
        if factor != 1 or a.largest() * b.largest() >= LARGEST:
            return None
        scale = a.scale if b.unit in COUNTS or not b.scale else None
        return from_integers(Integers(a.mantissas * b.mantissas, a.exponent + b.exponent, valid, unit, scale))
    pair = _one_exponent(a, b)
    if pair is None or max(int(np.abs(side).max(initial=0)) for side in pair) * 2 >= LARGEST:
        return None
    chosen = unit_of_sum(a.unit, b.unit)
    result = pair[0] + pair[1] if operator is Operator.ADD else pair[0] - pair[1]
    return from_integers(Integers(result, min(a.exponent, b.exponent), valid, chosen, scale))


_FAST = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE})


def _divide_integers(a: Integers, b: Integers) -> ColumnData | None:
    """Quotients of two columns; None where `calculate` must see to units or to a division by zero."""
    unit, factor = multiply_units(a.unit, b.unit, -1)
    valid = a.valid & b.valid
    if factor != 1 or (b.mantissas[valid] == 0).any():
        return None
    scale = a.scale if b.unit in COUNTS and not b.scale else None
    below = np.where(valid, b.mantissas, 1)
    quotients = Quotients(a.mantissas, below, a.exponent - b.exponent, unit, scale)
    return ColumnData(np.where(valid, np.arange(len(valid)), -1).astype(np.int32), quotients)


def from_integers(integers: Integers) -> ColumnData:
    """A column of numbers; its values are made when they are looked at."""
    uniques, inverse = np.unique(integers.mantissas, return_inverse=True)
    codes = np.where(integers.valid, inverse, -1).astype(np.int32)
    return ColumnData(codes, _Numbers(uniques, integers.exponent, integers.unit, integers.scale), integers)


class _Numbers(Sequence[Datum]):
    """Numbers as integers of one exponent, each made a value when it is looked at."""

    def __init__(self, mantissas: npt.NDArray[np.int64], exponent: int, unit: str | None, scale: str | None) -> None:
        self._mantissas, self._exponent = mantissas, exponent
        self._unit, self._scale = unit, scale

    def __len__(self) -> int:
        return len(self._mantissas)

    def __getitem__(self, index: int) -> Datum:  # type: ignore[override]
        value = Decimal(int(self._mantissas[index])).scaleb(self._exponent)
        return Datum(ValueKind.QUANTITY, value, self._unit, self._scale)


def map_values(data: ColumnData, function: Callable[[Datum], Datum | None]) -> ColumnData:
    """A function of each value, called once for each different one; None makes it missing."""
    used = data.used()
    table = np.full(max(used, default=-1) + 2, -1, dtype=np.int32)
    seen: dict[Datum, int] = {}
    for code in used:
        found = function(data.values[code])
        if found is not None:
            table[code] = seen.setdefault(found, len(seen))
    return ColumnData(table[data.codes], list(seen))


def keys(data: ColumnData) -> Indices:
    """For each row a number that is the same for equal values, in order of first use; -1 for missing."""
    integers = data.integers()
    if integers is not None and integers.unit in COUNTS and len(data) > 4096:
        _, inverse = np.unique(integers.mantissas, return_inverse=True)
        return np.where(integers.valid, inverse, -1).astype(np.int64)
    seen: dict[object, int] = {}
    used = data.used()
    table = np.full(max(used, default=-1) + 2, -1, dtype=np.int64)
    for code in used:
        table[code] = seen.setdefault(key_of(data.values[code]), len(seen))
    return table[data.codes]


def shared_keys(left: ColumnData, right: ColumnData) -> tuple[Indices, Indices]:
    """The `keys` of two columns in common; missing values are equal to nothing (-1)."""
    seen: dict[object, int] = {}
    found = []
    for data in (left, right):
        used = data.used()
        table = np.full(max(used, default=-1) + 2, -1, dtype=np.int64)
        for code in used:
            table[code] = seen.setdefault(key_of(data.values[code]), len(seen))
        found.append(table[data.codes])
    return found[0], found[1]


def combine_keys(columns: Sequence[Indices], size: int) -> tuple[Indices, Indices]:
    """For each row the number of its combination of keys, in order of first appearance, and for each
    combination its first row."""
    total = np.zeros(size, dtype=np.int64)
    for column in columns:
        width = int(column.max(initial=-1)) + 2
        if int(total.max(initial=0)) * width >= LARGEST:
            total = np.unique(total, return_inverse=True)[1].astype(np.int64)
        total = total * width + column + 1
    _, first, codes = np.unique(total, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return number[codes], first[order].astype(np.int64)


def ranks(data: ColumnData) -> npt.NDArray[np.int64]:
    """For each row a number that sorts its value; -1 where it is missing or of another kind than most.

    Raises `UnitMismatchError` where the values have units that do not compare.
    """
    integers = data.integers()
    if integers is not None and len(data) >= 64:
        lowest = int(integers.mantissas.min(initial=0))
        return np.where(integers.valid, integers.mantissas - lowest, -1)
    used, counts = np.unique(data.codes[data.codes >= 0], return_counts=True)
    values = {code: data.values[code] for code in used.tolist()}
    check_one_dimension({value.unit for value in values.values() if value.number is not None}, "The column", "order")
    # A number without unit is one of the column's unit, as where two such numbers are compared.
    unit = next((value.unit for value in values.values() if value.unit not in COUNTS), None)
    sort_keys = {
        code: sort_key(value._replace(unit=unit) if value.number is not None and value.unit in NO_UNIT else value)
        for code, value in values.items()
    }
    classes: dict[int, int] = {}
    for code, count in zip(used.tolist(), counts.tolist(), strict=True):
        classes[sort_keys[code][0]] = classes.get(sort_keys[code][0], 0) + count
    main = max(classes, key=lambda kind: classes[kind], default=0)
    if main != 2:
        sort_keys = {code: key for code, key in sort_keys.items() if key[0] == main}
    table = np.full(int(used.max(initial=-1)) + 2, -1, dtype=np.int64)
    rank, last = -1, None
    for code in sorted(sort_keys, key=lambda code: sort_keys[code]):
        rank += sort_keys[code] != last
        last = sort_keys[code]
        table[code] = rank
    return table[data.codes]


def aggregate(
    function: AggregateFunction, data: ColumnData, order: Indices, starts: Starts, name: str = ""
) -> list[Datum | None]:
    """A function of the values of each group; group i has the rows ``order[starts[i]:starts[i + 1]]``.

    Raises `ProgramTypeError` and `UnitMismatchError` for values it has no meaning for.
    """
    fast = _sums(function, data, order, starts)
    if fast is not None:
        return fast
    groups = [order[start:end] for start, end in pairwise(starts.tolist())]
    if function is AggregateFunction.COUNT:
        return [quantity(int((data.codes[rows] >= 0).sum()), "NUM") for rows in groups]
    if function is AggregateFunction.COUNT_DISTINCT:
        found = keys(data)
        return [quantity(len(distinct(found[rows][found[rows] >= 0])), "NUM") for rows in groups]
    if function is AggregateFunction.FIRST:
        return [data[int(rows[0])] if len(rows) else None for rows in groups]
    if function in (AggregateFunction.MIN, AggregateFunction.MAX):
        ranked = ranks(data)
        return [_extreme(function, data, ranked, rows) for rows in groups]
    return [_total(function, data.take(rows), name) for rows in groups]


def _sums(function: AggregateFunction, data: ColumnData, order: Indices, starts: Starts) -> list[Datum | None] | None:
    """Counts, sums and means of many groups at once, where the numbers fit; no group may be empty."""
    if len(starts) < 32 or function not in _REDUCED or (np.diff(starts) == 0).any():
        return None
    if function is AggregateFunction.COUNT:
        counted = np.add.reduceat((data.codes[order] >= 0).astype(np.int64), starts[:-1])
        return [quantity(count, "NUM") for count in counted.tolist()]
    integers = data.integers()
    if integers is None or integers.largest() * max(len(order), 1) >= LARGEST:
        return None
    valid = integers.valid[order]
    sums = np.add.reduceat(np.where(valid, integers.mantissas[order], 0), starts[:-1])
    counts = np.add.reduceat(valid.astype(np.int64), starts[:-1])
    found: list[Datum | None] = []
    for total, count in zip(sums.tolist(), counts.tolist(), strict=True):
        value = quantity(Decimal(total).scaleb(integers.exponent), integers.unit, integers.scale)
        mean = function is AggregateFunction.MEAN
        found.append(None if not count else _mean(value, count) if mean else value)
    return found


_REDUCED = frozenset({AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.MEAN})


def extreme_rows(function: AggregateFunction, data: ColumnData, rows: Indices) -> Indices:
    """The rows that hold the largest or smallest value."""
    ranked = ranks(data)[rows]
    known = rows[ranked >= 0]
    ranked = ranked[ranked >= 0]
    if not len(known):
        return known
    best = int(ranked.min() if function is AggregateFunction.MIN else ranked.max())
    found: Indices = known[ranked == best]
    return found


def _extreme(
    function: AggregateFunction, data: ColumnData, ranked: npt.NDArray[np.int64], rows: Indices
) -> Datum | None:
    found = ranked[rows]
    known = rows[found >= 0]
    found = found[found >= 0]
    if not len(known):
        return None
    place = int(found.argmin() if function is AggregateFunction.MIN else found.argmax())
    best = data[int(known[place])]
    return None if best is None else best._replace(text="") if best.number is not None else best


def _total(function: AggregateFunction, data: ColumnData, name: str) -> Datum | None:
    """Sum, mean or median of a column's quantities; missing (as in SQL) where there are none."""
    if isinstance(data.values, Quotients) and function is not AggregateFunction.MEDIAN:
        return _total_of_quotients(function, data.codes, data.values)
    integers = data.integers()
    if integers is not None:
        count = int(integers.valid.sum())
        if not count:
            return None
        numbers = integers.mantissas[integers.valid]
        if function is AggregateFunction.MEDIAN:
            middle = np.partition(numbers, [(count - 1) // 2, count // 2])[[(count - 1) // 2, count // 2]]
            twice = Decimal(sum(map(int, middle.tolist()))).scaleb(integers.exponent)
            half = EXACT.divide(twice, Decimal(2))
            return quantity(half, integers.unit, integers.scale)
        if integers.largest() * count < LARGEST:  # noqa: SIM108
            total = int(numbers.sum())
        else:
            total = sum(map(int, numbers.tolist()))
        found = quantity(Decimal(total).scaleb(integers.exponent, EXACT), integers.unit, integers.scale)
        return found if function is AggregateFunction.SUM else _mean(found, count)
    return _total_of_values(function, data, name)


_PLACES = 80
"""Decimal places to which quotients are added up; the sum is then rounded as any quotient is."""


def _total_of_quotients(
    function: AggregateFunction, codes: npt.NDArray[np.int32], quotients: Quotients
) -> Datum | None:
    """Sum or mean of quotients: those of one divisor are added before they are divided."""
    rows = codes[codes >= 0]
    if not len(rows):
        return None
    below = quotients.below[rows]
    order = np.argsort(below, kind="stable")
    above, below = quotients.above[rows][order], below[order]
    starts = np.flatnonzero(np.concatenate(([True], below[1:] != below[:-1])))
    if int(np.abs(above).max()) * len(above) < LARGEST:
        sums = np.add.reduceat(above, starts).tolist()
    else:
        sums = [sum(part.tolist()) for part in np.split(above, starts[1:])]
    unit = 10**_PLACES
    total = sum(top * unit // bottom for top, bottom in zip(sums, below[starts].tolist(), strict=True))
    number = ROUNDED.normalize(EXACT.scaleb(Decimal(total), quotients.shift - _PLACES))
    found = quantity(number, quotients.unit, quotients.scale)
    return found if function is AggregateFunction.SUM else _mean(found, len(rows))


def _total_of_values(function: AggregateFunction, data: ColumnData, name: str) -> Datum | None:
    codes, counts = np.unique(data.codes[data.codes >= 0], return_counts=True)
    values = [(data.values[code], count) for code, count in zip(codes.tolist(), counts.tolist(), strict=True)]
    numbers = [(value, count) for value, count in values if value.number is not None]
    word = {AggregateFunction.SUM: "sum", AggregateFunction.MEAN: "average"}.get(function, "median")
    subject = f"The column {name!r}" if name else "The values"
    if values and not numbers:
        raise ProgramTypeError(f"{subject} {_holds(values[0][0])}; there is no {word} of them.")
    if not numbers:
        return None
    check_one_dimension({value.unit for value, _ in numbers}, subject, word)
    units: dict[str | None, int] = {}
    for value, count in numbers:
        units[value.unit] = units.get(value.unit, 0) + count
    unit = max(units, key=lambda found: (found not in NO_UNIT, units[found], found or ""))
    scales = {value.scale for value, _ in numbers}
    scale = scales.pop() if len(scales) == 1 else None
    kind = ValueKind.DURATION if all(v.kind is ValueKind.DURATION for v, _ in numbers) else ValueKind.QUANTITY
    exact = [(convert(value.number, value.unit, unit), count) for value, count in numbers if value.number is not None]
    if function is AggregateFunction.MEDIAN:
        return _median(exact, Datum(kind, Decimal(0), unit, scale))
    total = Decimal(0)
    for number, count in exact:
        total = EXACT.add(total, EXACT.multiply(number, Decimal(count)))
    found = quantity(total, unit, scale)._replace(kind=kind)
    return found if function is AggregateFunction.SUM else _mean(found, sum(count for _, count in exact))


def _mean(total: Datum, count: int) -> Datum:
    return calculate(Operator.DIVIDE, total, quantity(count))._replace(
        kind=total.kind, unit=total.unit, scale=total.scale
    )


def _median(numbers: list[tuple[Decimal, int]], like: Datum) -> Datum:
    numbers = sorted(numbers)
    count = sum(times for _, times in numbers)
    seen, middle = 0, []
    for wanted in sorted({(count - 1) // 2, count // 2}):
        seen = 0
        for number, times in numbers:
            seen += times
            if wanted < seen:
                middle.append(number)
                break
    if len(middle) == 1:
        return like._replace(value=middle[0])
    return _mean(like._replace(value=EXACT.add(*middle)), 2)


def _holds(value: Datum) -> str:
    if isinstance(value.value, TimeSpan):
        return "holds dates"
    return "holds identifiers" if value.kind is ValueKind.ENTITY else "holds no numbers"
