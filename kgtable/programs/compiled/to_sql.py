"""Fields as a SELECT over the typed tables of `sql_tables`, for people who continue in SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from kgtable.database import quoted
from kgtable.errors import ProgramCompilationError
from kgtable.programs.algebra import Constant, Relator, RowChoice, ValueKind
from kgtable.programs.compiled.sql_tables import SchemaColumn, SqlDatabase, literal
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
    """One SELECT with the same result as the fields.

    Raises `ProgramCompilationError` if SQL over the typed tables cannot say it: several parts of one table, totals,
    ties, keys that are only alike, columns of several units, days that a column prints as text.
    """
    if len(asked.tables) > 1 or asked.choice is not RowChoice.MEMBERS or asked.ties:
        raise ProgramCompilationError("Parts of a table, totals and ties have no counterpart in SQL.")
    if (asked.join and asked.join.similarity) or (asked.having and not asked.having.value.bare):
        raise ProgramCompilationError("Keys that are only alike and other units have no counterpart in SQL.")
    return _Select(asked, database, relations).text()


class _Select:
    def __init__(self, asked: Fields, database: SqlDatabase, relations: Mapping[str, Relation]) -> None:
        self._asked, self._relations = asked, relations
        ids = (asked.tables[0], *([asked.join.table] if asked.join else []))
        self._cards = {id: database.card(id) for id in ids}

    def text(self) -> str:
        asked = self._asked
        where = " AND ".join(map(self._condition, asked.where))
        told = self._told(where)
        if asked.how is How.SHARE and not asked.by:
            where = ""
        titles = dict(zip((*asked.by, VALUE), asked.names, strict=True))
        shown = [f"{self._column(key)} AS {quoted(titles[key])}" for key in asked.by if key in (asked.ask or asked.by)]
        if asked.how is How.LIST:
            shown = [self._column(column) for column in asked.ask] or ["*"]
        elif not asked.ask or VALUE in asked.ask:
            shown.append(f"{told} AS {quoted(titles[VALUE])}")
        first, *others = (card.name for card in self._cards.values())
        on = asked.join and f"{self._column(asked.join.left)} = {self._column(asked.join.right)}"
        kept = [*(f"{name}.row_kind = 'member'" for name in (first, *others)), *filter(None, [where])]
        lines = [
            f"SELECT {'DISTINCT ' if asked.distinct else ''}{', '.join(shown)}",
            f"FROM {first}" + (f" JOIN {others[0]} ON {on}" if on else ""),
            f"WHERE {' AND '.join(kept)}",
        ]
        if asked.by:
            keys = [text for key in asked.by for text in (self._column(key), self._sorted(key))]
            lines.append(f"GROUP BY {', '.join(dict.fromkeys(keys))}")
        if asked.having:
            lines.append(f"HAVING {told} {asked.having.relator} {asked.having.value.value}")
        if asked.order:
            by = told if asked.order.by == VALUE else self._sorted(asked.order.by)
            lines.append(f"ORDER BY {by}{' DESC' if asked.order.descending else ''} NULLS LAST")
        if asked.first is not None:
            lines.append(f"LIMIT {asked.first}" + (f" OFFSET {asked.skip}" if asked.skip else ""))
        return "\n".join(lines)

    def _told(self, where: str) -> str:
        """The value of each group, or of all rows."""
        how, measure = self._asked.how, self._asked.measure
        adds = how not in (How.COUNT, How.DISTINCT, How.VALUE)
        of = "*" if measure is None else self._column(measure, measured=adds)
        if how is not How.SHARE:
            return _CALLS.get(how, "").format(of)
        total = "count(*)" if measure is None else f"sum({of})"
        if self._asked.by:
            return f"100 * {total} / sum({total}) OVER ()"
        return f"100 * {total}{where and f' FILTER (WHERE {where})'} / {total}"

    def _sorted(self, column: FieldColumn) -> str:
        if column.bucket is Bucket.WEEKDAY:
            return f"isodow({self._column(FieldColumn(column.name, column.table))})"
        return self._column(column)

    def _read(self, column: FieldColumn) -> list[SchemaColumn]:
        """The column of SQL, and those that print its units and texts."""
        id = column.table or self._asked.tables[0]
        place = self._relations[id].resolve(column.name)
        return [one for one in self._cards[id].columns if one.column == place]

    def _column(self, column: FieldColumn, *, measured: bool = False) -> str:
        read, *beside = self._read(column)
        if measured and (read.type == "VARCHAR" or any(one.header == f"unit of {read.header}" for one in beside)):
            raise ProgramCompilationError(f"{read.header!r} has several units, or is text in SQL.")
        relation = self._relations[column.table or self._asked.tables[0]]
        if measured and read.column is not None and relation.columns[read.column].meaning.grain is not None:
            raise ProgramCompilationError(f"{read.header!r} is added once for each value of another column.")
        if column.bucket is not None and read.type != "DATE":
            raise ProgramCompilationError(f"{read.header!r} is not a column of days in SQL.")
        name = quoted(read.name)
        if len(self._cards) > 1:
            name = f"{self._cards[column.table or self._asked.tables[0]].name}.{name}"
        return name if column.bucket is None else _BUCKETS[column.bucket].format(name)

    def _condition(self, condition: FieldCondition) -> str:
        name, values, relator = self._column(condition.column), condition.values, condition.relator
        parts = [self._compared(name, relator, value, condition.column) for value in values] or [f"{name} IS NULL"]
        found = (" AND " if relator is Relator.NOT_EQUAL else " OR ").join(parts)
        return f"{'NOT ' if condition.negated else ''}({found})"

    def _compared(self, name: str, relator: Relator, value: Constant, column: FieldColumn) -> str:
        read, text = self._read(column)[0], str(value.value)
        sign = "<>" if relator is Relator.NOT_EQUAL else relator.value
        if isinstance(value.value, Decimal):
            if value.unit in (None, read.unit) and value.scale in (None, "ONE") and read.type != "VARCHAR":
                return f"{name} {sign} {value.value:f}"
        elif relator in _PATTERNS and not re.search(r"[%_\\]", text):
            return f"{name} ILIKE {literal(_PATTERNS[relator].format(text))}"
        elif column.bucket is None and read.type == "DATE":
            if value.kind is ValueKind.DATE and _DAY.fullmatch(text):
                return f"{name} {sign} DATE {literal(text)}"
        elif sign in ("=", "<>") and value.kind not in (ValueKind.DATE, ValueKind.PERIOD):
            return f"lower({name}) {sign} {literal(text.lower())}"
        raise ProgramCompilationError(f"The condition on {read.header!r} has no counterpart in SQL.")
