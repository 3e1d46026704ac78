"""Column-wise operations: comparisons, arithmetic, ranks and aggregates over many rows at once.

Work on values is done once for each different value (or pair of values) by `scalars`; all results are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.errors import ProgramTypeError
from kgtable.programs.algebra import AggregateFunction, Operator, Relator, ValueKind
from kgtable.programs.dimensions import COUNTS, NO_UNIT, convert
from kgtable.programs.relation import ColumnData, Indices, distinct
from kgtable.programs.scalars import (
    SCALES,
    Datum,
    TimeSpan,
    calculate,
    compare,
    is_wording,
    key_of,
    normal,
    quantity,
    sort_key,
    text_of,
)
from kgtable.programs.types import check_one_dimension
from kgtable.values.decimals import EXACT, scaled

Mask: TypeAlias = npt.NDArray[np.bool_]
Vector: TypeAlias = "ColumnData | Datum | None"
"""A value for each row, or one for all (None: missing)."""

Starts: TypeAlias = Indices
LARGEST = 2**62


class BareNumber(Datum):
    """A constant that takes unit and scale from the value it is compared with or added to."""

    __slots__ = ()


def settle(constant: Datum, beside: Datum) -> Datum:
    """A bare number as the value next to it would be printed; any other value as it is.

    >>> settle(BareNumber(*quantity(50)), quantity(1200000, "CCY_EUR", "M")).value == 50_000_000
    True
    """
    if not isinstance(constant, BareNumber) or isinstance(beside, BareNumber) or constant.number is None:
        return constant
    if beside.kind not in (ValueKind.QUANTITY, ValueKind.DURATION):
        return Datum(*constant)
    value = scaled(constant.number, SCALES.get(beside.scale or "ONE", 0))
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
        if relator is Relator.EQUAL and is_wording(right) and MANY * size >= len(left.values):
            return _by_wording(left, right)
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


def _by_wording(data: ColumnData, wanted: Datum) -> tuple[Mask, Mask]:
    """Where a column has a text, whose form of each value is found once for all questions."""
    said = normal(text_of(wanted))
    pairs = zip(data.kept(_normal_texts), data.values, strict=True)
    equal = [compare(Relator.EQUAL, value, wanted) if text is None else text == said for text, value in pairs]
    known = data.codes >= 0
    found = np.array([*equal, False], dtype=np.bool_)[data.codes] & known
    return found, known & ~found


def _normal_texts(values: Sequence[Datum]) -> list[str | None]:
    return [normal(value.value) if isinstance(value.value, str) else None for value in values]


def _by_values(data: ColumnData, holds: Callable[[Datum], bool]) -> tuple[Mask, Mask]:
    """A condition on single values, tested once for each different one."""
    used = data.used()
    table = np.zeros(max(used, default=-1) + 2, dtype=np.bool_)
    for code in used:
        table[code] = holds(data.values[code])
    known = data.codes >= 0
    found = table[data.codes] & known
    return found, known & ~found


def _compare_columns(relator: Relator, left: ColumnData, right: ColumnData) -> tuple[Mask, Mask]:
    known, pairs, inverse = _pairs(left, right)
    table = np.array([compare(relator, x, y) for x, y in pairs] or [False], dtype=np.bool_)
    holds = np.zeros(len(known), dtype=np.bool_)
    holds[known] = table[inverse]
    return holds, known & ~holds


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
        return map_values(left, lambda value: _calculate(operator, value, right))
    if isinstance(left, Datum):
        return map_values(right, lambda value: _calculate(operator, left, value))
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
    """For each row a number that is the same for equal values, in the order of the values; -1 for missing."""
    return data.kept(_key_numbers)[data.codes] if MANY * len(data) >= len(data.values) else _keys(data, {})


MANY = 16
"""Maximum ratio of values to rows of a column at which facts about all its values are worth computing."""


def _key_numbers(values: Sequence[Datum]) -> Indices:
    """For each value a number that is the same for equal ones, and -1 for none at the end."""
    seen: dict[object, int] = {}
    return np.array([*(seen.setdefault(key_of(value), len(seen)) for value in values), -1], dtype=np.int64)


def shared_keys(left: ColumnData, right: ColumnData) -> tuple[Indices, Indices]:
    """The `keys` of two columns in common; missing values are equal to nothing (-1)."""
    seen: dict[object, int] = {}
    return _keys(left, seen), _keys(right, seen)


def _keys(data: ColumnData, seen: dict[object, int]) -> Indices:
    used = data.used()
    table = np.full(max(used, default=-1) + 2, -1, dtype=np.int64)
    for code in used:
        table[code] = seen.setdefault(key_of(data.values[code]), len(seen))
    return table[data.codes]


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

    Raises `UnitMismatchError` if the values have units that do not compare.
    """
    alike = data.kept(_ranks_of_one_unit)
    if alike is not None:
        return alike[data.codes]
    used, counts = np.unique(data.codes[data.codes >= 0], return_counts=True)
    values = {code: data.values[code] for code in used.tolist()}
    units = {value.unit for value in values.values() if value.number is not None}
    check_one_dimension(units, "The column", "order")
    # A number without unit is one of the column's unit, as where two such numbers are compared.
    unit = next((value.unit for value in values.values() if value.unit not in COUNTS), None)
    sort_keys: dict[int, tuple[int, Any, object]] = {
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


def _ranks_of_one_unit(values: Sequence[Datum]) -> npt.NDArray[np.int64] | None:
    """The rank of each of a column's values, with that of a missing one at the end; None unless all are numbers of one
    unit."""
    numbers = [value.number for value in values]
    if len({value.unit for value in values}) != 1 or any(number is None for number in numbers):
        return None
    known = sorted({number for number in numbers if number is not None})
    rank = {number: place for place, number in enumerate(known)}
    return np.array([*(rank[number] for number in numbers if number is not None), -1], dtype=np.int64)


def aggregate(
    function: AggregateFunction, data: ColumnData, order: Indices, starts: Starts, name: str = ""
) -> list[Datum | None]:
    """A function of the values of each group; group i has the rows ``order[starts[i]:starts[i + 1]]``.

    Raises `ProgramTypeError` and `UnitMismatchError` for values it has no meaning for.
    """
    if function in _COUNTS:
        return [quantity(count, "NUM") for count in _counts(function, data, order, starts).tolist()]
    groups = [order[start:end] for start, end in pairwise(starts.tolist())]
    if function is AggregateFunction.FIRST:
        return [data[int(rows[0])] if len(rows) else None for rows in groups]
    if function in (AggregateFunction.MIN, AggregateFunction.MAX):
        ranked = ranks(data)
        return [_extreme(function, data, ranked, rows) for rows in groups]
    return [_total(function, data.take(rows), name) for rows in groups]


_COUNTS = (AggregateFunction.COUNT, AggregateFunction.COUNT_DISTINCT)


def _counts(function: AggregateFunction, data: ColumnData, order: Indices, starts: Starts) -> Indices:
    """How many values, or different ones, each group has."""
    group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    found = (data.codes if function is AggregateFunction.COUNT else keys(data))[order].astype(np.int64)
    group, found = group[found >= 0], found[found >= 0]
    if function is AggregateFunction.COUNT_DISTINCT:
        width = int(found.max(initial=0)) + 1
        group = distinct(group * width + found) // width
    return np.bincount(group, minlength=len(starts) - 1)


def counted(counts: Indices) -> ColumnData:
    """A column of counts."""
    found, codes = np.unique(counts, return_inverse=True)
    return ColumnData(codes.astype(np.int32), [quantity(count, "NUM") for count in found.tolist()])


def aggregate_groups(
    function: AggregateFunction, data: ColumnData, order: Indices, starts: Starts, name: str = ""
) -> ColumnData:
    """The result of `aggregate` as a column; for groups of one row each, as those of an identifier, value by value."""
    if function in _COUNTS:
        return counted(_counts(function, data, order, starts))
    if len(starts) - 1 != len(order):
        return ColumnData.of(aggregate(function, data, order, starts, name))
    alone = data.take(order)
    if function in (AggregateFunction.MIN, AggregateFunction.MAX):
        alone = ColumnData(np.where(ranks(alone) >= 0, alone.codes, np.int32(-1)), alone.values)
    row, bounds = np.zeros(1, dtype=np.int64), np.array([0, 1], dtype=np.int64)
    return map_values(alone, lambda value: aggregate(function, ColumnData.of([value]), row, bounds, name)[0])


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


class _Scaled(NamedTuple):
    """The values of a column of one unit as whole numbers of 10 to a power; `known` says which are numbers."""

    numbers: npt.NDArray[np.int64]
    known: Mask
    power: int
    largest: int
    like: Datum


def _scaled_values(values: Sequence[Datum]) -> _Scaled | None:
    """The values as whole numbers, so that sums over many rows are exact and quick; None if they do not fit."""
    numbers = [value.number for value in values]
    kinds = {(value.kind, value.unit, value.scale) for value in values if value.number is not None}
    if len(kinds) != 1:
        return None
    power = min(int(number.as_tuple().exponent) for number in numbers if number is not None)
    if not -9 <= power <= 0 or max(number.adjusted() for number in numbers if number is not None) - power > 17:
        return None
    whole = np.array([0 if number is None else int(scaled(number, -power)) for number in numbers], dtype=np.int64)
    known = np.array([number is not None for number in numbers], dtype=np.bool_)
    kind, unit, scale = kinds.pop()
    return _Scaled(whole, known, power, int(np.abs(whole).max()), Datum(kind, Decimal(0), unit, scale))


def _quick_sum(data: ColumnData) -> tuple[Datum, int] | None:
    """The exact sum of a column and the number of its values; None if it is to be made value by value."""
    scaled_values = data.kept(_scaled_values)
    if scaled_values is None:
        return None
    codes = data.codes[data.codes >= 0]
    codes = codes[scaled_values.known[codes]]
    if not len(codes) or scaled_values.largest * len(codes) >= 2**62:
        return None
    total = scaled(Decimal(int(scaled_values.numbers[codes].sum())), scaled_values.power)
    return scaled_values.like._replace(value=total), len(codes)


def _total(function: AggregateFunction, data: ColumnData, name: str) -> Datum | None:
    """Sum, mean or median of a column's quantities; missing (as in SQL) if there are none."""
    if function is not AggregateFunction.MEDIAN and (quick := _quick_sum(data)) is not None:
        return quick[0] if function is AggregateFunction.SUM else _mean(*quick)
    codes, counts = np.unique(data.codes[data.codes >= 0], return_counts=True)
    values = zip((data.values[code] for code in codes.tolist()), counts.tolist(), strict=True)
    numbers = [(value, count) for value, count in values if value.number is not None]
    word = {AggregateFunction.SUM: "sum", AggregateFunction.MEAN: "average"}.get(function, "median")
    subject = f"The column {name!r}" if name else "The values"
    if len(codes) and not numbers:
        raise ProgramTypeError(f"{subject} {_holds(data.values[codes[0]])}; there is no {word} of them.")
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
    exact = ((convert(value.number, value.unit, unit), count) for value, count in numbers if value.number is not None)
    if function is AggregateFunction.MEDIAN:
        return _median(list(exact), Datum(kind, Decimal(0), unit, scale))
    total = Decimal(0)
    for number, count in exact:
        total = EXACT.add(total, number if count == 1 else EXACT.multiply(number, Decimal(count)))
    found = quantity(total, unit, scale)._replace(kind=kind)
    return found if function is AggregateFunction.SUM else _mean(found, sum(count for _, count in numbers))


def _mean(total: Datum, count: int) -> Datum:
    return calculate(Operator.DIVIDE, total, quantity(count))._replace(
        kind=total.kind, unit=total.unit, scale=total.scale
    )


def _median(numbers: list[tuple[Decimal, int]], like: Datum) -> Datum:
    numbers = sorted(numbers, key=itemgetter(0))
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
