"""Calculations and comparisons as DuckDB SQL: numbers of one unit or several, dates, texts."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

from kgtable.errors import (
    ProgramCompilationError,
    ProgramTypeError,
)
from kgtable.programs.algebra import (
    Function,
    Operator,
    Relator,
)
from kgtable.programs.column_math import settle
from kgtable.programs.compiled.sql_values import (
    MOST_DIGITS,
    BoundConstant,
    ComputedValue,
    KnownValue,
    SqlCell,
    SqlValue,
    loose_number,
)
from kgtable.programs.dimensions import (
    NO_UNIT,
    comparable,
    conversion,
    describe,
    factors_of,
    multiply_units,
    unit_of,
    unit_of_sum,
)
from kgtable.programs.scalars import (
    Datum,
    TimeSpan,
    aligned,
    common_scale,
    compare,
    normal,
    quantity,
    text_of,
    time_datum,
)

_SIGNS = {
    Relator.EQUAL: "=",
    Relator.NOT_EQUAL: "<>",
    Relator.LESS: "<",
    Relator.LESS_OR_EQUAL: "<=",
    Relator.GREATER: ">",
    Relator.GREATER_OR_EQUAL: ">=",
}

_TEXT_TESTS = {Relator.CONTAINS: "contains", Relator.STARTS: "starts_with", Relator.ENDS: "suffix"}


class SqlCalculations:
    """Writes what is computed of values; constants become bound parameters."""

    @abstractmethod
    def parameter(self, cell: SqlCell) -> str:
        """A bound parameter."""

    def _apply(self, function: Function, value: SqlValue, index: int) -> SqlValue:
        if function in (Function.NEGATE, Function.ABSOLUTE) and value.kind == "number":
            sql = (
                f"(-{value.facet('value')})"
                if function is Function.NEGATE
                else f"abs({value.facet('value')})"
            )
            return ComputedValue(sql, value.unit, value.scale, digits=value.digits)
        if isinstance(value, KnownValue):
            return value.mapped(function, index)
        if function is Function.NUMBER and index == 1 and value.kind == "number":
            return value
        raise ProgramCompilationError(f"SQL cannot say the {function.value} of what it computes.")

    def _number(self, value: SqlValue, beside: SqlValue | None = None) -> str:
        """A number in its unit; a bare one as the value beside it is printed."""
        if value.kind != "number":
            raise ProgramCompilationError("SQL can calculate with columns of nothing but numbers.")
        if beside is not None and isinstance(value, BoundConstant) and value.bare and not beside.bare:
            if isinstance(beside, KnownValue) and len(beside.scales) > 1:
                return f"({value.facet('value')} * {beside.facet('factor')})"
            settled = settle(value.datum, quantity(0, beside.unit, beside.scale))
            assert settled.number is not None
            return self.parameter(settled.number)
        return value.facet("value")

    def _in(self, value: SqlValue, unit: str | None, beside: SqlValue | None = None) -> str:
        """A number converted to a unit."""
        sql = self._number(value, beside)
        if value.unit in NO_UNIT or unit in NO_UNIT or value.unit == unit or (beside and value.bare):
            return sql
        multiplier, addend = conversion(value.unit, unit)
        if multiplier == 1 and not addend:
            return sql
        scaled = (
            f"CAST({sql} AS DOUBLE) * {multiplier.numerator}.0::DOUBLE / {multiplier.denominator}.0::DOUBLE"
        )
        shift = f" + {float(addend)!r}::DOUBLE" if addend else ""
        return f"({scaled}{shift})"

    def _arithmetic(self, operator: Operator, left: SqlValue, right: SqlValue) -> SqlValue:
        if "time" in (left.kind, right.kind):
            return self._between(operator, left, right)
        together = operator in (
            Operator.ADD, Operator.SUBTRACT, Operator.RATIO, Operator.SHARE, Operator.PERCENT_CHANGE
        )  # fmt: skip
        if together:
            unit = unit_of_sum(left.unit, right.unit)
            scale = common_scale(left.scale, right.scale)
            if left.bare != right.bare:
                other = right if left.bare else left
                unit, scale = other.unit, other.scale
            if not comparable(left.unit, right.unit) and not (left.bare or right.bare):
                raise ProgramTypeError(f"{describe(left.unit)} and {describe(right.unit)} cannot be added.")
            a, b = self._in(left, unit, right), self._in(right, unit, left)
            if operator in (Operator.ADD, Operator.SUBTRACT):
                digits = max(left.digits, right.digits) + 1
                if digits > MOST_DIGITS:
                    a, b = f"CAST({a} AS DOUBLE)", f"CAST({b} AS DOUBLE)"
                sql = f"({a} {'+' if operator is Operator.ADD else '-'} {b})"
                bare = left.bare and right.bare
                found = ComputedValue(sql, unit, scale, digits=digits)
                found.bare = bare
                return found
            if operator is Operator.PERCENT_CHANGE:
                change = f"(CAST({b} AS DOUBLE) - CAST({a} AS DOUBLE))"
                return ComputedValue(f"({_quotient(change, a)} * 100)", "PERCENT")
            share = operator is Operator.SHARE
            times = " * 100" if share else ""
            return ComputedValue(f"({_quotient(a, b)}{times})", "PERCENT" if share else "UNITLESS")
        a, b = self._number(left), self._number(right)
        if operator is Operator.POWER:
            sql = f"pow(CAST({a} AS DOUBLE), CAST({b} AS DOUBLE))"
            return ComputedValue(sql, _power_unit(left, right))
        power = 1 if operator is Operator.MULTIPLY else -1
        unit, factor = multiply_units(left.unit, right.unit, power)
        sql = f"(CAST({a} AS DOUBLE) * CAST({b} AS DOUBLE))" if power == 1 else _quotient(a, b)
        return ComputedValue(f"({sql}{_times(factor)})" if factor != 1 else sql, unit)

    def _between(self, operator: Operator, left: SqlValue, right: SqlValue) -> SqlValue:
        """The difference of years or dates."""
        if operator is not Operator.SUBTRACT or left.kind != right.kind:
            raise ProgramCompilationError("SQL cannot say this calculation with dates.")
        assert isinstance(left, KnownValue)
        assert isinstance(right, KnownValue)
        spans = [value.value for side in (left, right) for value in side.values]
        if all(isinstance(span, TimeSpan) and span.year is not None for span in spans):
            return ComputedValue(f"({left.facet('year')} - {right.facet('year')})", "YR", digits=5)
        if all(
            isinstance(span, TimeSpan) and len(span.start) == 10 and span.start[0].isdigit() for span in spans
        ):
            days = [f"CAST({side.facet('start')} AS DATE)" for side in (left, right)]
            return ComputedValue(f"({days[0]} - {days[1]})", "DAY", digits=9)
        raise ProgramCompilationError("SQL cannot say the difference of times of several forms.")

    def _compare(self, relator: Relator, left: SqlValue, right: SqlValue) -> str:
        if relator in _TEXT_TESTS:
            return f"{_TEXT_TESTS[relator]}({left.facet('norm')}, {right.facet('norm')})"
        if isinstance(left, BoundConstant) and not isinstance(right, BoundConstant):
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            relator = Relator(mirrored.get(relator.value, relator.value))
            left, right = right, left
        kinds = {left.kind, right.kind}
        if kinds == {"number"}:
            return self._compare_numbers(relator, left, right)
        if kinds == {"truth"}:
            return f"{left.facet('value')} {_SIGNS[relator]} {right.facet('value')}"
        if isinstance(right, BoundConstant) and isinstance(left, KnownValue):
            return self._compare_constant(relator, left, right)
        if kinds == {"time"}:
            return _compare_times(relator, left, right)
        if relator in (Relator.EQUAL, Relator.NOT_EQUAL):
            return f"{left.facet('key')} {_SIGNS[relator]} {right.facet('key')}"
        known = [side for side in (left, right) if isinstance(side, KnownValue)]
        texts = kinds == {"text"} and len(known) == 2
        if texts and not any(loose_number(value) is not None for side in known for value in side.values):
            return f"{left.facet('norm')} {_SIGNS[relator]} {right.facet('norm')}"
        raise ProgramCompilationError("SQL cannot compare columns of different kinds.")

    def _compare_numbers(self, relator: Relator, left: SqlValue, right: SqlValue) -> str:
        """Two numbers; of different units, both sides are multiplied by whole numbers, which is exact."""
        sign = _SIGNS[relator]
        a, b = self._number(left, right), self._number(right, left)
        if (
            left.bare
            or right.bare
            or left.unit == right.unit
            or left.unit in NO_UNIT
            or right.unit in NO_UNIT
        ):
            return f"{a} {sign} {b}"
        multiplier, addend = conversion(left.unit, right.unit)
        if addend:
            return f"{self._in(left, right.unit)} {sign} CAST({b} AS DOUBLE)"
        if multiplier == 1:
            return f"{a} {sign} {b}"
        wide = max(left.digits, right.digits) + len(str(max(multiplier.as_integer_ratio())))
        if wide > MOST_DIGITS:
            a, b = f"CAST({a} AS DOUBLE)", f"CAST({b} AS DOUBLE)"
        return f"{a} * {multiplier.numerator} {sign} {b} * {multiplier.denominator}"

    def _compare_constant(self, relator: Relator, left: KnownValue, right: BoundConstant) -> str:
        """A comparison of cells with a constant: in SQL where that gives the same for all of them."""
        wanted = normal(text_of(right.datum))

        def holds(datum: Datum) -> bool:
            return compare(relator, datum, settle(right.datum, datum))

        if left.kind == "text" and relator in (Relator.EQUAL, Relator.NOT_EQUAL):
            equal = relator is Relator.EQUAL
            if all((normal(text_of(value)) == wanted) is (holds(value) is equal) for value in left.values):
                return f"{left.facet('norm')} {_SIGNS[relator]} {right.facet('norm')}"
        time = aligned(left.values[0], right.datum) if left.kind == "time" and left.values else None
        if time is not None and isinstance(time[1], TimeSpan):
            return _compare_times(relator, left, BoundConstant(self.parameter, time_datum(time[1])))
        return left.test(f"{_SIGNS[relator]} {text_of(right.datum)[:40]}", holds)


def _quotient(a: str, b: str) -> str:
    zero = "error('division by zero')"
    return f"(CAST({a} AS DOUBLE) / CASE WHEN {b} = 0 THEN {zero} ELSE CAST({b} AS DOUBLE) END)"


def _power_unit(base: SqlValue, exponent: SqlValue) -> str | None:
    """The unit of a power; that of a quantity must be known when compiling."""
    factors = factors_of(base.unit)
    if not factors:
        return base.unit
    number = exponent.datum.number if isinstance(exponent, BoundConstant) else None
    if number is None or number != number.to_integral_value():
        raise ProgramCompilationError("SQL can raise a quantity to a whole constant only.")
    return unit_of({name: power * int(number) for name, power in factors})


def _times(factor: Fraction) -> str:
    return f" * {factor.numerator}.0::DOUBLE / {factor.denominator}.0::DOUBLE"


def _compare_times(relator: Relator, left: SqlValue, right: SqlValue) -> str:
    a, b, c, d = left.facet("start"), left.facet("end"), right.facet("start"), right.facet("end")
    within = f"(({c} <= {a} AND {b} <= {d}) OR ({a} <= {c} AND {d} <= {b}))"
    return {
        Relator.EQUAL: within,
        Relator.NOT_EQUAL: f"NOT {within}",
        Relator.LESS: f"({a} < {c} AND {b} < {d})",
        Relator.LESS_OR_EQUAL: f"({b} <= {d})",
        Relator.GREATER: f"({c} < {a} AND {d} < {b})",
        Relator.GREATER_OR_EQUAL: f"({a} >= {c})",
    }[relator]
