"""What a rule found in a table."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from kgtable.answering.offline.view import TableView
from kgtable.tables.model import Position


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer with the cells it rests on, all of one table.

    `calculation` is written with cell ids. `support` says how surely the question's words name these
    cells; it is compared between tables. `rule` says in words what was done. `used` are the words of
    the question that the rule itself took account of, such as a threshold's, `negated` tells that it
    did so of a negation, `doubts` are its own.
    """

    text: str
    cells: tuple[Position, ...]
    support: float
    rule: str
    calculation: str | None = None
    used: frozenset[str] = frozenset()
    negated: bool = False
    doubts: tuple[str, ...] = ()


def cell_id(view: TableView, row: int, column: int) -> str:
    """The short id under which a calculation names a cell."""
    return view.evidence.cell_id(view.id, row, column)


def cell_ids(view: TableView, cells: tuple[Position, ...]) -> str:
    """The ids of several cells, as arguments."""
    return ", ".join(cell_id(view, *place) for place in cells)


def printed(view: TableView, number: Decimal, cells: tuple[Position, ...]) -> str:
    """A computed number in the scale in which the cells are printed.

    Quotients are cut to ten decimals, which the check of the answer allows for.
    """
    powers = {cell.power for place in cells if (cell := view.evidence.cell(view.id, *place)) is not None}
    power = powers.pop() if len(powers) == 1 else 0
    scaled = number.scaleb(-power)
    rounded = scaled.quantize(Decimal("1e-10")) if abs(scaled) < Decimal("1e16") else scaled
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
