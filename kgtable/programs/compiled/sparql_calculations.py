"""Calculations and comparisons as SPARQL: numbers of one unit or several, dates, texts."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from kgtable.errors import ProgramCompilationError, ProgramTypeError
from kgtable.programs.algebra import (
    Function,
    Operator,
    Relator,
)
from kgtable.programs.column_math import BareNumber, settle
from kgtable.programs.compiled.sparql_patterns import (
    decimal_literal,
)
from kgtable.programs.compiled.sparql_values import (
    SIGNS,
    TEXT_TESTS,
    CellReading,
    ComputedTerm,
    SparqlConstant,
    SparqlValue,
    comparison,
)
from kgtable.programs.dimensions import (
    NO_UNIT,
    comparable,
    conversion,
    decimal_of,
    describe,
    multiply_units,
    unit_of_sum,
)
from kgtable.programs.scalars import (
    TimeSpan,
    calculate,
    common_scale,
    compare,
    quantity,
)

_MIRRORED = {
    Relator.LESS: Relator.GREATER,
    Relator.LESS_OR_EQUAL: Relator.GREATER_OR_EQUAL,
    Relator.GREATER: Relator.LESS,
    Relator.GREATER_OR_EQUAL: Relator.LESS_OR_EQUAL,
}


def part_of(function: Function, value: SparqlValue, index: int) -> SparqlValue:
    """Apply a function to a value. Raises `ProgramCompilationError` for what SPARQL cannot say."""
    if function in (Function.NEGATE, Function.ABSOLUTE) and value.kind == "number":
        sparql = f"(0 - {value.number()})" if function is Function.NEGATE else f"ABS({value.number()})"
        return ComputedTerm(sparql, value.unit, value.scale)
    if isinstance(value, CellReading):
        return value.mapped(function, index)
    if function is Function.NUMBER and index == 1 and value.kind == "number":
        return value
    raise ProgramCompilationError(f"SPARQL cannot say the {function.value} of what it computes.")


def number_of(value: SparqlValue, beside: SparqlValue | None = None) -> str:
    """A number in its unit; a bare one as the value beside it is printed."""
    if beside is not None and isinstance(value, SparqlConstant) and value.bare and not beside.bare:
        if isinstance(beside, CellReading) and beside.several_scales:
            raise ProgramCompilationError("SPARQL cannot say a bare number beside several scales.")
        return decimal_literal(settle(value.datum, quantity(0, beside.unit, beside.scale)).number)
    if value.kind != "number":
        raise ProgramCompilationError("SPARQL can calculate with columns of nothing but numbers.")
    return value.number()


def number_in(value: SparqlValue, unit: str | None, beside: SparqlValue | None = None) -> str:
    """A number converted to a unit."""
    sparql = number_of(value, beside)
    if value.unit in NO_UNIT or unit in NO_UNIT or value.unit == unit or (beside is not None and value.bare):
        return sparql
    multiplier, addend = conversion(value.unit, unit)
    shift = f" + {decimal_literal(decimal_of(addend))}" if addend else ""
    return f"({sparql}{_times(multiplier)}{shift})" if multiplier != 1 or addend else sparql


def calculation_of(operator: Operator, left: SparqlValue, right: SparqlValue) -> SparqlValue:
    """Two values added, divided, compared in percent …, in one unit.

    Raises `ProgramCompilationError` for what SPARQL cannot say, `ProgramTypeError` for units that do not fit.
    """
    if isinstance(left, SparqlConstant) and isinstance(right, SparqlConstant):
        return _calculated(operator, left, right)
    years = [_is_year(value) for value in (left, right)]
    if any(years) or "text" in (left.kind, right.kind):
        if all(years) and operator is Operator.SUBTRACT:
            parts = [side.mapped(Function.YEAR, 1) for side in (left, right) if isinstance(side, CellReading)]
            return ComputedTerm(f"({parts[0].number()} - {parts[1].number()})", "YR")
        raise ProgramCompilationError("SPARQL cannot say this calculation with dates or texts.")
    if operator is Operator.POWER:
        raise ProgramCompilationError("SPARQL has no powers.")
    if operator in (Operator.MULTIPLY, Operator.DIVIDE):
        power = 1 if operator is Operator.MULTIPLY else -1
        product, factor = multiply_units(left.unit, right.unit, power)
        sign = "*" if power == 1 else "/"
        return ComputedTerm(f"({number_of(left)} {sign} {number_of(right)}{_times(factor)})", product)
    unit = unit_of_sum(left.unit, right.unit)
    scale = common_scale(left.scale, right.scale)
    if left.bare != right.bare:
        other = right if left.bare else left
        unit, scale = other.unit, other.scale
    elif not comparable(left.unit, right.unit):
        raise ProgramTypeError(f"{describe(left.unit)} and {describe(right.unit)} cannot be added.")
    a, b = number_in(left, unit, right), number_in(right, unit, left)
    if operator in (Operator.ADD, Operator.SUBTRACT):
        found = ComputedTerm(f"({a} {'+' if operator is Operator.ADD else '-'} {b})", unit, scale)
        found.bare = left.bare and right.bare
        return found
    if operator is Operator.PERCENT_CHANGE:
        return ComputedTerm(f"(({b} - {a}) / {a} * 100)", "PERCENT")
    if operator is Operator.SHARE:
        return ComputedTerm(f"({a} / {b} * 100)", "PERCENT")
    return ComputedTerm(f"({a} / {b})", "UNITLESS")


def comparison_of(relator: Relator, left: SparqlValue, right: SparqlValue) -> str:
    """A comparison of two values that means the same as in memory.

    Raises `ProgramCompilationError` for what SPARQL cannot say, `UnitMismatchError` for units that do not fit.
    """
    if (
        isinstance(left, SparqlConstant)
        and not isinstance(right, SparqlConstant)
        and relator not in TEXT_TESTS
    ):
        left, right, relator = right, left, _MIRRORED.get(relator, relator)
    if relator not in TEXT_TESTS and left.kind == right.kind == "number":
        a, b = number_of(left, right), number_of(right, left)
        if not (left.bare or right.bare or left.unit in NO_UNIT or right.unit in NO_UNIT):
            multiplier, addend = conversion(left.unit, right.unit)
            if addend:
                a = number_in(left, right.unit)
            elif multiplier != 1:
                # Multiplied by whole numbers on both sides, which is exact.
                a = f"{a} * {multiplier.numerator}" if multiplier.numerator != 1 else a
                b = f"{b} * {multiplier.denominator}" if multiplier.denominator != 1 else b
        return f"{a} {SIGNS[relator]} {b}"
    if isinstance(right, SparqlConstant) and isinstance(left, SparqlConstant):
        return str(compare(relator, left.datum, right.datum)).lower()
    if isinstance(right, SparqlConstant) and isinstance(left, CellReading):
        wanted = right.datum
        if any("\0" in term for term in left.terms):
            raise ProgramCompilationError("Cells that print the same mean different things.")
        return left.holds(relator, wanted, lambda datum: compare(relator, datum, settle(wanted, datum)))
    if isinstance(left, CellReading) and isinstance(right, CellReading):
        if relator in (Relator.EQUAL, Relator.NOT_EQUAL):
            return f"{left.key()} {SIGNS[relator]} {right.key()}"
        if relator in TEXT_TESTS:
            return comparison(relator, left.folded(), right.folded())
        same = left.order(), right.order()
        plain = {left.term(), right.term(), f"LCASE({left.term()})", f"LCASE({right.term()})"}
        if left.kind == right.kind == "text" and set(same) <= plain and _one_form(left, right):
            return f"{same[0]} {SIGNS[relator]} {same[1]}"
    raise ProgramCompilationError("SPARQL cannot compare columns of different kinds.")


def _calculated(operator: Operator, left: SparqlConstant, right: SparqlConstant) -> SparqlValue:
    """Arithmetic of two constants, done beforehand."""
    a, b = left.datum, right.datum
    if operator not in (Operator.MULTIPLY, Operator.DIVIDE, Operator.POWER):
        a, b = settle(a, b), settle(b, a)
    found = calculate(operator, a, b)
    plain = operator not in (Operator.RATIO, Operator.SHARE, Operator.PERCENT_CHANGE)
    return SparqlConstant(BareNumber(*found) if left.bare and right.bare and plain else found)


def _times(factor: Fraction) -> str:
    above = f" * {decimal_literal(Decimal(factor.numerator))}" if factor.numerator != 1 else ""
    return above + (f" / {decimal_literal(Decimal(factor.denominator))}" if factor.denominator != 1 else "")


def _is_year(value: SparqlValue) -> bool:
    return (
        isinstance(value, CellReading)
        and bool(value.terms)
        and all(isinstance(d.value, TimeSpan) and d.value.year is not None for d in value.terms.values())
    )


def _one_form(left: CellReading, right: CellReading) -> bool:
    """Whether the strings of both sides are dates or years of one form, which order as strings do."""
    forms = {re.sub(r"\d", "0", term) for side in (left, right) for term in side.terms}
    spans = all(isinstance(d.value, TimeSpan) for side in (left, right) for d in side.terms.values())
    return spans and len(forms) == 1
