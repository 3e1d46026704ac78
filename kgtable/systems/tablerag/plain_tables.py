"""Tables as plain columns of numbers, dates and texts, for Python."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from kgtable.programs.algebra import RowChoice, ValueKind
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import Datum, TimeSpan, quantity, text_of, time_in
from kgtable.systems.tablerag.vocabulary import cut, distinct_names
from kgtable.tables.model import Role

ROW = "row_number"
MOST_CELLS_LISTED = 20_000
MOST_COLUMNS_TOLD = 60


@dataclass(frozen=True)
class PlainTable:
    """A table's member rows for another language.

    `names` are its columns' names, each once; `kinds` are ``number``, ``date``, ``truth`` or ``text``;
    `rows` the grid rows, `values` a list for each column.
    """

    id: str
    alias: str
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: tuple[int, ...]
    values: tuple[list[Any], ...]
    relation: Relation

    @classmethod
    def of(cls, relation: Relation, alias: str) -> PlainTable:
        """The member rows of a relation: totals and notes are left out."""
        places = relation.select(RowChoice.MEMBERS)
        rows = tuple(relation.place(int(place))[1] for place in places)
        names = distinct_names((cut(column.name) for column in relation.columns), [ROW])
        kinds: list[str] = []
        values: list[list[Any]] = []
        for index, column in enumerate(relation.columns):
            data = relation.data(index)
            found = [data[int(place)] for place in places]
            kind = _kind(found, column.role)
            kinds.append(kind)
            values.append([_plain(datum, kind) for datum in found])
        return cls(relation.id, alias, tuple(names), tuple(kinds), rows, tuple(values), relation)

    def to_json(self) -> dict[str, Any]:
        """As JSON values: numbers as floating point, dates as texts."""
        columns = [
            [name, kind, [_json(value) for value in values]]
            for name, kind, values in zip(self.names, self.kinds, self.values, strict=True)
        ]
        return {"alias": self.alias, "rows": list(self.rows), "columns": columns}

    def told(self) -> str:
        """The table described for a model: its name, and names and types of its columns."""
        told = zip(self.names, self.kinds, strict=True)
        listed = [f"{json.dumps(name, ensure_ascii=False)} {kind}" for name, kind in islice(told, MOST_COLUMNS_TOLD)]
        more = len(self.names) - len(listed)
        return f"{self.alias}({', '.join(listed)}{f', and {more:,} more' if more else ''})"

    def cells(
        self, columns: Sequence[int], rows: Sequence[int] | None = None
    ) -> tuple[list[tuple[str, int, int]], int]:
        """Grid positions of filled cells in some columns and rows (None: all), and how many there are."""
        wanted = None if rows is None else set(rows)
        found: list[tuple[str, int, int]] = []
        count = 0
        for place, row in enumerate(self.rows):
            if wanted is None or row in wanted:
                for column in columns:
                    if self.values[column][place] is not None:
                        count += 1
                        if len(found) < MOST_CELLS_LISTED:
                            found.append((self.id, row, column))
        return found, count


def result_datum(value: Any) -> Datum | None:
    """A value that Python gave: ``{"n": "1.5"}`` is a number, else a text or a truth value."""
    if value is None:
        return None
    if isinstance(value, dict):
        number = Decimal(str(value.get("n", "0")))
        return quantity(number if number.is_finite() else Decimal(0))
    if isinstance(value, bool):
        return Datum(ValueKind.TRUTH, value)
    text = str(value)
    span = time_in(text) if text[:1].isdigit() else None
    kind = ValueKind.TEXT if span is None else ValueKind.DATE
    return Datum(kind, text if span is None else span, text=text)


def _kind(values: Sequence[Datum | None], role: Role) -> str:
    known = [value for value in values if value is not None]
    if not known or role is Role.IDENTIFIER:
        return "text"
    if all(_number(value) is not None for value in known):
        return "number"
    if all(isinstance(value.value, bool) for value in known):
        return "truth"
    return "date" if all(_date(value) is not None for value in known) else "text"


def _plain(value: Datum | None, kind: str) -> Any:
    if value is None:
        return None
    if kind == "number":
        return _number(value)
    if kind == "truth":
        return bool(value.value)
    return _date(value) if kind == "date" else text_of(value)


def _number(value: Datum) -> Decimal | None:
    """The number of a quantity, or of a year."""
    if isinstance(value.value, TimeSpan):
        return None if value.value.year is None else Decimal(value.value.year)
    return value.number


def _date(value: Datum) -> datetime.date | None:
    """The day of a date; None for longer spans."""
    if not isinstance(value.value, TimeSpan) or value.kind is not ValueKind.DATE:
        return None
    try:
        return datetime.date.fromisoformat(value.value.lexical)
    except ValueError:
        return None


def _json(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, datetime.date) else value
