"""Decimal arithmetic in contexts of the package: no result depends on the caller's `decimal.getcontext()`."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from functools import wraps
from typing import ParamSpec, TypeVar


def _context(digits: int) -> Context:
    traps = [InvalidOperation, DivisionByZero, Overflow]
    return Context(digits, ROUND_HALF_EVEN, -999_999, 999_999, capitals=1, clamp=0, flags=[], traps=traps)


EXACT = _context(1_200)
"""Sums and products: exact for all numbers within `kgtable.programs.dimensions.LARGEST_EXPONENT`."""

ROUNDED = _context(60)
"""Quotients that have no end."""

_LONGEST = _context(100_000)


def scaled(value: Decimal, power: int) -> Decimal:
    """`value` times ten to `power`, exactly, however many digits it has.

    >>> scaled(Decimal("1.25"), 3)
    Decimal('1.25E+3')
    """
    return value.scaleb(power, _LONGEST)


def shortened(value: Decimal) -> Decimal:
    """The number without zeros at its end.

    >>> shortened(Decimal("1.2500")), shortened(Decimal(1200))
    (Decimal('1.25'), Decimal('1.2E+3'))
    """
    return value.normalize(_LONGEST)


def with_places(value: Decimal, places: int) -> Decimal:
    """The number with this many decimals, half to even.

    >>> with_places(Decimal("1.255"), 2), with_places(Decimal("1E+3"), 0)
    (Decimal('1.26'), Decimal('1000'))
    """
    return value.quantize(scaled(Decimal(1), -places), ROUND_HALF_EVEN, _LONGEST)


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def in_own_context(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let the operators of decimals in a function of the API work with 28 digits, half to even, whoever calls it."""

    @wraps(function)
    def wrapped(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with localcontext(_context(28)):
            return function(*args, **kwargs)

    return wrapped
