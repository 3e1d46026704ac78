"""Fields as a SELECT over the typed tables of `sql_tables`, for people who go on in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from kgtable.database import quoted
from kgtable.errors import ProgramCompilationError
from kgtable.programs.algebra import Constant, Relator, RowChoice, ValueKind
from kgtable.programs.compiled.sql_tables import SchemaCard, SchemaColumn, SqlDatabase, literal
from kgtable.programs.fields import VALUE, Bucket, FieldColumn, FieldCondition, Fields, How
from kgtable.programs.relation import Relation

_CALLS = {
    How.SUM: "sum({})", How.MEAN: "avg({})", How.MEDIAN: "median({})", How.MIN: "min({})", How.MAX: "max({})",
    How.COUNT: "count({})", How.DISTINCT: "count(DISTINCT {})", How.VALUE: "{}",
}  # fmt: skip
_BUCKETS = {
    Bucket.YEAR: "year({})", Bucket.QUARTER: "year({0}) || '-Q' || quarter({0})", Bucket.MONTH: "strftime({}, '%Y-%m')",
    Bucket.SEASON: "month({})", Bucket.WEEKDAY: "dayname({})",
}  # fmt: skip
_PATTERNS = {Relator.CONTAINS: "%{}%", Relator.STARTS: "{}%", Relator.ENDS: "%{}"}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def sql_of(asked: Fields, database: SqlDatabase, relations: Mapping[str, Relation]) -> str:
    """One SELECT that gives what the fields give.

    Raises `ProgramCompilationError` where SQL over the typed tables cannot say it: several parts of one table, totals,
    ties, keys that are only alike, columns of several units, days that a column prints as text.
    """
    return _Select(asked, database, relations).text()


class _Select:
    def __init__(self, asked: Fields, database: SqlDatabase, relations: Mapping[str, Relation]) -> None:
        joined = [asked.join.table] if asked.join else []
        if len(asked.tables) > 1 or asked.choice is not RowChoice.MEMBERS or asked.ties:
            raise ProgramCompilationError("Parts of a table, totals and ties have no counterpart there.")
        if asked.join and asked.join.similarity:
            raise ProgramCompilationError("Keys that are only alike have no counterpart there.")
        self._asked, self._relations = asked, relations
        self._cards: dict[str, SchemaCard] = {id: database.card(id) for id in (asked.tables[0], *joined)}

    def text(self) -> str:
        asked = self._asked
        where = " AND ".join(map(self._condition, asked.where))
        kept = where and f" FILTER (WHERE {where})"
        if asked.how is How.SHARE:
            total = "count(*)" if asked.measure is None else f"sum({self._column(asked.measure, measured=True)})"
            part = f"sum({total}) OVER ()" if asked.by else total
            told = f"100 * {total}{'' if asked.by else kept} / {part}"
            where = where if asked.by else ""
        elif asked.how is not How.LIST:
            measured = asked.how not in (How.COUNT, How.DISTINCT, How.VALUE)
            of = "*" if asked.measure is None else self._column(asked.measure, measured=measured)
            told = _CALLS[asked.how].format(of)
        kinds = [f"{card.name}.row_kind = 'member'" for card in self._cards.values()]
        if asked.how is How.LIST:
            shown = ", ".join(map(self._column, asked.ask)) or "*"
            lines = [f"SELECT {'DISTINCT ' if asked.distinct else ''}{shown}"]
        else:
            names = [*((key, self._column(key)) for key in asked.by), (VALUE, told)]
            chosen = [pair for pair in names if not asked.ask or pair[0] in asked.ask]
            titles = dict(zip((*asked.by, VALUE), asked.names, strict=True))
            lines = [f"SELECT {', '.join(f'{text} AS {quoted(titles[key])}' for key, text in chosen)}"]
        lines += [self._source(), f"WHERE {' AND '.join(filter(None, (*kinds, where)))}"]
        if asked.by:
            lines.append(f"GROUP BY {', '.join(dict.fromkeys(map(self._key, asked.by)))}")
        if asked.having:
            lines.append(f"HAVING {told} {asked.having.relator} {_number(asked.having.value)}")
        if asked.order:
            by = told if asked.order.by == VALUE else self._sorted(asked.order.by)
            lines.append(f"ORDER BY {by}{' DESC' if asked.order.descending else ''} NULLS LAST")
        if asked.first is not None:
            lines.append(f"LIMIT {asked.first}" + (f" OFFSET {asked.skip}" if asked.skip else ""))
        return "\n".join(lines)

    def _source(self) -> str:
        first, *more = (card.name for card in self._cards.values())
        join = self._asked.join
        if join is None:
            return f"FROM {first}"
        return f"FROM {first} JOIN {more[0]} ON {self._column(join.left)} = {self._column(join.right)}"

    def _key(self, key: FieldColumn) -> str:
        weekday = f", {self._sorted(key)}" if key.bucket is Bucket.WEEKDAY else ""
        return self._column(key) + weekday

    def _sorted(self, column: FieldColumn) -> str:
        plain = self._column(FieldColumn(column.name, column.table))
        return f"isodow({plain})" if column.bucket is Bucket.WEEKDAY else self._column(column)

    def _read(self, column: FieldColumn) -> SchemaColumn:
        id = column.table if column.table in self._cards else self._asked.tables[0]
        place = self._relations[id].resolve(column.name)
        return next(one for one in self._cards[id].columns if one.column == place)

    def _column(self, column: FieldColumn, *, measured: bool = False) -> str:
        read = self._read(column)
        id = column.table if column.table in self._cards else self._asked.tables[0]
        if measured and (read.type == "VARCHAR" or self._mixed(id, read)):
            raise ProgramCompilationError(f"{read.header!r} has several units, or is text there.")
        if column.bucket is not None and read.type != "DATE":
            raise ProgramCompilationError(f"{read.header!r} is not a column of days there.")
        name = f"{self._cards[id].name}.{quoted(read.name)}" if len(self._cards) > 1 else quoted(read.name)
        return name if column.bucket is None else _BUCKETS[column.bucket].format(name)

    def _mixed(self, id: str, read: SchemaColumn) -> bool:
        beside = [one.header for one in self._cards[id].columns if one.column == read.column]
        return f"unit of {read.header}" in beside

    def _condition(self, condition: FieldCondition) -> str:
        name, values = self._column(condition.column), condition.values
        if not values:
            return f"{name} IS {'NOT ' if condition.negated else ''}NULL"
        relator, read = condition.relator, self._read(condition.column)
        parts = [self._compared(name, relator, value, read, condition.column.bucket) for value in values]
        found = (" AND " if relator is Relator.NOT_EQUAL else " OR ").join(parts)
        found = f"({found})" if len(parts) > 1 else found
        return f"NOT ({found})" if condition.negated else found

    def _compared(self, name: str, relator: Relator, value: Constant, read: SchemaColumn, bucket: Bucket | None) -> str:
        if relator in _PATTERNS:
            if not isinstance(value.value, str) or re.search(r"[%_\\]", value.value):
                raise ProgramCompilationError("Its pattern has no counterpart there.")
            return f"{name} ILIKE {literal(_PATTERNS[relator].format(value.value))}"
        sign = "<>" if relator is Relator.NOT_EQUAL else relator.value
        if isinstance(value.value, Decimal):
            if value.unit not in (None, read.unit) or value.scale not in (None, "ONE") or read.type == "VARCHAR":
                raise ProgramCompilationError("A number in another unit has no counterpart there.")
            return f"{name} {sign} {_number(value)}"
        text = str(value.value)
        if bucket is None and read.type == "DATE":
            if value.kind is not ValueKind.DATE or not _DAY.fullmatch(text):
                raise ProgramCompilationError("A period has no counterpart there.")
            return f"{name} {sign} DATE {literal(text)}"
        if sign not in ("=", "<>") or value.kind in (ValueKind.DATE, ValueKind.PERIOD):
            raise ProgramCompilationError("An order of texts has no counterpart there.")
        return f"lower({name}) {sign} {literal(text.lower())}"


def _number(value: Constant) -> str:
    if not isinstance(value.value, Decimal):
        raise ProgramCompilationError("A text has no counterpart there.")
    return format(value.value, "f")
