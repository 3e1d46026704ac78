"""Many programs over the same tables: shared parts are executed once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from kgtable.errors import KgtableError
from kgtable.programs.algebra import Node, Program, Rows, ValueKind
from kgtable.programs.executor import Executor
from kgtable.programs.frames import Frame, Sight
from kgtable.programs.relation import ColumnData, Relation
from kgtable.programs.scalars import Datum, format_decimal, text_of
from kgtable.programs.types import check
from kgtable.values.decimals import scaled, with_places
from kgtable.values.text import without_marks
from kgtable.values.units import SCALE_POWERS, scale_name

MOST_ROWS_TOLD = 300
"""Rows of a result read when programs are compared."""


@dataclass(frozen=True, slots=True)
class Denotation:
    """Result of a program without the cells it read: rows of values, and how many rows there are."""

    rows: tuple[tuple[Datum | None, ...], ...]
    size: int
    is_value: bool
    ordered: bool

    @property
    def empty(self) -> bool:
        """Whether nothing but missing values came out."""
        return all(value is None for row in self.rows for value in row)


class Session(Executor):
    """Executes programs and remembers the relations inside them."""

    def __init__(self, relations: Mapping[str, Relation]) -> None:
        super().__init__(relations)
        self._all = relations
        self._frames: dict[Rows, Frame | KgtableError] = {}

    def rows(self, node: Rows) -> Frame:
        """The rows of a relation, executed at the first time."""
        found = self._frames.get(node)
        if found is None:
            try:
                found = super().rows(node)
            except KgtableError as error:
                found = error
            self._frames[node] = found
        if isinstance(found, KgtableError):
            raise found
        return found

    def denotation(self, program: Program) -> Denotation:
        """Check a program and execute it. Raises the errors of `run`."""
        check(program, self._all)
        root: Node = program.root
        if isinstance(root, Rows):
            frame = self.rows(root)
            columns = frame.columns()
            shown = min(frame.size, MOST_ROWS_TOLD)
            rows = tuple(tuple(column[row] for column in columns) for row in range(shown))
            return Denotation(rows, frame.size, False, frame.ordered)
        value = self.expression(root, None, Sight())
        assert not isinstance(value, ColumnData)
        plain = None if value is None else Datum(*value)
        return Denotation(((plain,),), 1, True, False)


_NOTE_OF_A_NUMBER = re.compile(r"(?<=\d)(?<!\b10)(?:[⁰¹²³⁴-⁹ᵃ-ᶠ]{1,2}|[*†‡§]{1,3})$")


def value_text(value: Datum) -> str:
    """A value as people read it: with scale word and percent sign, durations as a clock shows them.

    >>> from decimal import Decimal
    >>> from kgtable.programs.scalars import quantity
    >>> value_text(quantity(Decimal("3860000"), "CCY_EUR", "T")), value_text(quantity(Decimal("14.5161290"), "PERCENT"))
    ('3860 thousand', '14.516129%')
    >>> value_text(quantity(610, text="610¹")), value_text(quantity(10**6, text="10⁶"))
    ('610', '10⁶')
    """
    number = value.number
    if value.text or number is None:
        text = without_marks(text_of(value))
        return text if number is None else _NOTE_OF_A_NUMBER.sub("", text)
    if value.kind is ValueKind.DURATION or value.unit == "SEC":
        return _clock(number)
    word = scale_name(value.scale, value.unit)
    shown = scaled(number, -SCALE_POWERS.get(value.scale or "", 0))
    if int(shown.as_tuple().exponent) < -6:
        shown = with_places(shown, 6)
    plain = format_decimal(shown)
    percent = value.unit == "PERCENT" and value.scale != "C"
    return f"{plain}{'%' if percent else ''}{' ' + word if word else ''}"


def _clock(seconds: Decimal) -> str:
    whole = abs(int(seconds))
    fraction = format_decimal(abs(seconds) - whole)[1:]
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    sign = "-" if seconds < 0 else ""
    if not hours and not minutes:
        return f"{sign}{left}{fraction} s"
    body = f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
    return f"{sign}{body}{fraction}"
