"""Every table of a graph as a typed DuckDB table, and queries that people or models write over them.

Numbers are exact decimals in their unit with the scale applied, whole days are dates, everything else is the printed
text. Names are made safe and can be traced back: the table ``kgtable_columns`` says which table and header each
stands for, with which unit, and which kind of measure or other role it has; comments say the same.
"""

from __future__ import annotations

import difflib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgtable.building.catalogue import counted_rows
from kgtable.database import add_table, lock, open_database, quoted
from kgtable.errors import EvaluationError, MissingExtraError, QueryError
from kgtable.ontology.column_stats import informative_meaning
from kgtable.programs.algebra import ValueKind
from kgtable.programs.relation import MemberKind, Relation
from kgtable.programs.scalars import TimeSpan
from kgtable.values.decimals import shortened
from kgtable.values.text import delimited_text, sound_text

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SECONDS = 30.0
"""How long a query may run."""

MEMORY = 10**9
MOST_DIGITS = 38
MOST_ROWS = 100_000
_SAFE = re.compile(r"[^0-9a-z_]+")
_LONGEST_NAME = 60
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SHOW = re.compile(r"\s*show\b", re.IGNORECASE)
_RESERVED = frozenset(
    """all and as asc between by case cast cross desc distinct else end except exists false for from full group having
    in inner intersect into is join lateral left like limit not null offset on or order outer right select table then
    to true union unique using when where with""".split()  # noqa: SIM905
)
_ROW, _KIND = PLACES = "row", "row_kind"
"""The columns that say where a row is and of what kind, in addition to those of the table."""


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column of a DuckDB table: its name there, the grid column and the header it stands for, type and unit.

    `meaning` is the kind of a measure, or another role, where it is sure.
    """

    name: str
    column: int | None
    header: str
    type: str
    unit: str | None = None
    examples: tuple[str, ...] = ()
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class SchemaCard:
    """A table as described to a model or a person (TableRAG, section 3.2): its names, types, units and examples."""

    name: str
    id: str
    title: str
    rows: int
    totals: int
    columns: tuple[SchemaColumn, ...]

    def to_json(self) -> dict[str, Any]:
        """The form of the paper's template, followed by the header and the unit."""
        return {
            "table_name": self.name,
            "table": self.id,
            "title": self.title,
            "rows": self.rows,
            "columns": [
                [column.name, column.type, list(column.examples), column.header, column.unit] for column in self.columns
            ],
        }

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.title or self.id} ({counted_rows(self.rows, self.totals)})"]
        for column in self.columns:
            said = _bracketed(column.meaning, column.unit)
            shown = f": {', '.join(column.examples)}" if column.examples else ""
            lines.append(f"  {column.name} {column.type}{said} = {column.header!r}{shown}")
        return "\n".join(lines)


@dataclass(frozen=True)
class SqlRowsFound:
    """The rows of a query, its column names, and whether there were more."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    complete: bool = True

    def columns(self) -> dict[str, tuple[Any, ...]]:
        """The values of each column by its name; if two columns have one name, the last one."""
        return dict(zip(self.names, zip(*self.rows, strict=True), strict=True)) if self.rows else {}

    def to_text(self, format: str) -> str:
        """The rows as ``csv`` or ``tsv`` with a header, or as a JSON array of objects of texts and nulls."""
        rows = [[None if value is None else str(value) for value in row] for row in self.rows]
        if format == "json":
            objects = [dict(zip(self.names, row, strict=True)) for row in rows]
            return json.dumps(objects, ensure_ascii=False) + "\n"
        lines = (["" if value is None else value for value in row] for row in rows)
        return delimited_text([self.names, *lines], "," if format == "csv" else "\t")


class SqlNaming:
    """Names that any SQL takes unquoted, different ones for different texts; a name is never taken twice.

    >>> names = SqlNaming()
    >>> names.take("Revenue ($m)"), names.take("Revenue, $m"), names.take("2019"), names.take("select")
    ('revenue_m', 'revenue_m_2', 't_2019', 'select_')
    """

    def __init__(self, taken: Iterable[str] = (), prefix: str = "t_") -> None:
        self._taken = set(taken)
        self._prefix = prefix

    def take(self, text: str) -> str:
        """A new name for a text."""
        plain = _SAFE.sub("_", sound_text(text).casefold()).strip("_")[:_LONGEST_NAME].strip("_")
        plain = plain or f"{self._prefix}unnamed"
        if plain[0].isdigit():
            plain = self._prefix + plain
        if plain in _RESERVED:
            plain += "_"
        name, number = plain, 2
        while name in self._taken:
            name, number = f"{plain}_{number}", number + 1
        self._taken.add(name)
        return name


class SqlDatabase:
    """The tables of a graph for SQL. A query makes the tables that it names, in a DuckDB of its own in memory.

    Args:
        relations: the tables by id, read when a query names them.
        ids: the ids of all tables.
    """

    def __init__(self, relations: Mapping[str, Relation], ids: Sequence[str]) -> None:
        self._relations = relations
        naming = SqlNaming(("kgtable_columns", "kgtable_tables"))
        self.names = {id: naming.take(id) for id in ids}
        """The DuckDB name of each table by its id."""
        self._cards: dict[str, SchemaCard] = {}

    @cached_property
    def ids(self) -> dict[str, str]:
        """The table's id by its DuckDB name."""
        return {name: id for id, name in self.names.items()}

    def card(self, id: str) -> SchemaCard:
        """The schema of one table. Raises `KeyError` for an unknown id."""
        if id not in self._cards:
            self._cards[id] = _SqlTable(self.names[id], self._relations[id]).card()
        return self._cards[id]

    def typed(self, id: str) -> tuple[SchemaCard, pa.Table]:
        """The schema of one table, and its rows as columns of those types. Raises `KeyError` for an unknown id."""
        table = _SqlTable(self.names[id], self._relations[id])
        return table.card(), table.data()

    def catalogue(self, ids: Sequence[str]) -> dict[str, pa.Table]:
        """The tables ``kgtable_tables`` and ``kgtable_columns`` that explain the names of these tables."""
        return _catalogue([self.card(id) for id in ids])

    def query(
        self,
        text: str,
        *,
        seconds: float = SECONDS,
        most: int = MOST_ROWS,
        on_step: Callable[[str], object] = lambda step: None,
    ) -> SqlRowsFound:
        """The rows of one SELECT, with no access to files, the network or settings.

        `seconds` bounds the execution. DuckDB cannot be interrupted while it parses or plans: `on_step` is called
        before the steps ``parse``, ``load`` and ``run``, so that a caller can end the process.

        Raises `MissingExtraError` without DuckDB, `QueryError` for anything but a single SELECT that can be run,
        `EvaluationError` if it takes too long.
        """
        try:
            import duckdb
        except ImportError as error:
            raise MissingExtraError("DuckDB", "sql") from error
        on_step("parse")
        try:
            text.encode("utf-8")
            statements = duckdb.extract_statements(text)
        except UnicodeEncodeError as error:
            raise QueryError("The query holds lone surrogates: it is not valid Unicode text.") from error
        except duckdb.Error as error:
            raise QueryError(f"The query cannot be parsed: {_one_line(error)}", hint=self._near(error)) from error
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryError("One SELECT is run at a time.", hint="Nothing can be written through SQL.")
        said = set(re.findall(r"\w+", text.casefold()))
        named = [id for id, name in self.names.items() if name in said]
        if not named and _SHOW.match(text):
            raise QueryError(
                "Only tables that a query names are loaded, so SHOW would list none.",
                hint="Select from kgtable_tables, or use kgtable sql --schema.",
            )
        on_step("load")
        with open_database(MEMORY) as connection:
            self._fill(connection, named, everything=bool({"kgtable_columns", "kgtable_tables"} & said))
            on_step("run")
            timer = threading.Timer(seconds, connection.interrupt)
            timer.start()
            try:
                cursor = connection.execute(statements[0])
                names = tuple(str(column[0]) for column in cursor.description or ())
                rows = cursor.fetchmany(most + 1)
            except duckdb.InterruptException as error:
                raise EvaluationError(f"The query took more than {seconds:g} seconds.") from error
            except duckdb.Error as error:
                raise QueryError(f"The query cannot be run: {_one_line(error)}", hint=self._near(error)) from error
            finally:
                timer.cancel()
        return SqlRowsFound(names, tuple(map(tuple, rows[:most])), len(rows) <= most)

    def _near(self, error: BaseException) -> str:
        """The tables whose names are like the one that does not exist."""
        missing = _NO_TABLE.search(str(error))
        if missing is None:
            return ""
        near = difflib.get_close_matches(missing[1], [*self.names.values(), "kgtable_tables", "kgtable_columns"], 2)
        return f"Did you mean {' or '.join(near)}?" if near else "kgtable_tables lists the tables there are."

    def _fill(self, connection: duckdb.DuckDBPyConnection, ids: Sequence[str], *, everything: bool) -> None:
        tables = [_SqlTable(self.names[id], self._relations[id]) for id in ids]
        for table in tables:
            add_table(connection, table.name, table.data())
            for statement in table.comments():
                connection.execute(statement)
        if everything:
            for name, data in self.catalogue(list(self.names)).items():
                add_table(connection, name, data)
        lock(connection)


def arrow() -> Any:
    """The module ``pyarrow``. Raises `MissingExtraError` if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("SQL", "sql") from error
    return pyarrow


def _bracketed(*parts: str | None) -> str:
    known = ", ".join(filter(None, parts))
    return f" [{known}]" if known else ""


class _SqlTable:
    """One table as columns of DuckDB."""

    def __init__(self, name: str, relation: Relation) -> None:
        self.name, self._relation = name, relation
        kinds = relation.kinds
        self._rows = [row for row in range(len(relation)) if MemberKind(int(kinds[row])) < MemberKind.HEADING]

    @cached_property
    def _columns(self) -> list[tuple[SchemaColumn, pa.Array]]:
        pa = arrow()
        naming = SqlNaming(prefix="c_")
        kinds = [MemberKind(int(self._relation.kinds[row])).name.lower() for row in self._rows]
        places = [self._relation.place(row)[1] for row in self._rows]
        found = [
            (SchemaColumn(naming.take(_ROW), None, "the row of the grid", "INTEGER"), pa.array(places, pa.int32())),
            (
                SchemaColumn(naming.take(_KIND), None, "member, total, part of another row, or aggregate", "VARCHAR"),
                pa.array(kinds, pa.string()),
            ),
        ]
        groups = self._relation.pseudo("@group")
        headings = [None if (group := groups[row]) is None else str(group.value) for row in self._rows]
        if any(headings):
            column = SchemaColumn(naming.take("group_heading"), None, "the heading above the row", "VARCHAR")
            found.append((column, pa.array(headings, pa.string())))
        for index, read in enumerate(self._relation.columns):
            name = naming.take(read.header or read.name or f"column {index + 1}")
            found += self._column(index, read.header or read.name, name, naming.take)
        return found

    def _column(
        self, index: int, header: str, name: str, take: Callable[[str], str]
    ) -> list[tuple[SchemaColumn, pa.Array]]:
        pa = arrow()
        kind, found_meaning = self._relation.typing(index)
        meaning = informative_meaning(found_meaning)
        data = self._relation.data(index)
        values = [data[row] for row in self._rows]
        texts = [" ".join(self._relation.text(row, index).split()) for row in self._rows]
        examples = tuple(dict.fromkeys(text[:40] for text in texts if text))[:3]
        if kind in (ValueKind.QUANTITY, ValueKind.DURATION):
            numbers = [None if value is None else value.number for value in values]
            units = [None if value is None or value.number is None else value.unit for value in values]
            array, type = _numbers(numbers)
            different = {unit for unit in units if unit}
            unit = (
                next(iter(different))
                if len(different) == 1
                and None not in {unit for unit, number in zip(units, numbers, strict=True) if number is not None}
                else None
            )
            found = [(SchemaColumn(name, index, header, type, unit, examples, meaning), array)]
            if different and unit is None:
                named = SchemaColumn(take(f"{name} unit"), index, f"unit of {header}", "VARCHAR")
                found.append((named, pa.array(units, pa.string())))
            if any(text and number is None for text, number in zip(texts, numbers, strict=True)):
                printed = SchemaColumn(take(f"{name} text"), index, f"{header} as printed", "VARCHAR")
                found.append((printed, pa.array([text or None for text in texts], pa.string())))
            return found
        spans = [value.value if value is not None else None for value in values]
        days = [span.lexical for span in spans if isinstance(span, TimeSpan) and _DAY.fullmatch(span.lexical)]
        if kind is ValueKind.DATE and days and len(days) == sum(bool(text) for text in texts):
            dates = [span.lexical if isinstance(span, TimeSpan) else None for span in spans]
            column = SchemaColumn(name, index, header, "DATE", None, examples, meaning)
            return [(column, pa.array(dates, pa.string()).cast(pa.date32()))]
        column = SchemaColumn(name, index, header, "VARCHAR", None, examples, meaning)
        return [(column, pa.array([sound_text(text) or None for text in texts], pa.string()))]

    def card(self) -> SchemaCard:
        columns = tuple(column for column, _ in self._columns)
        kinds = Counter(MemberKind(int(self._relation.kinds[row])) for row in self._rows)
        counts = kinds[MemberKind.MEMBER], kinds[MemberKind.TOTAL]
        return SchemaCard(self.name, self._relation.id, self._relation.title, *counts, columns)

    def data(self) -> pa.Table:
        pa = arrow()
        return pa.table({column.name: array for column, array in self._columns})

    def comments(self) -> Iterable[str]:
        card = self.card()
        yield f"COMMENT ON TABLE {quoted(self.name)} IS {literal(f'{card.id}: {card.title}')}"
        for column in card.columns:
            said = _bracketed(column.meaning, column.unit)
            yield f"COMMENT ON COLUMN {quoted(self.name)}.{quoted(column.name)} IS {literal(column.header + said)}"


def _numbers(numbers: Sequence[Decimal | None]) -> tuple[pa.Array, str]:
    """The numbers as exact decimals, as doubles where these would need more than 38 figures."""
    pa = arrow()
    known = [shortened(number) for number in numbers if number is not None]
    places = max((max(-int(number.as_tuple().exponent), 0) for number in known), default=0)
    whole = max((number.adjusted() + 1 for number in known), default=1)
    width = max(max(whole, 1) + places, 1)
    if width > MOST_DIGITS:
        return pa.array([None if n is None else float(n) for n in numbers], pa.float64()), "DOUBLE"
    width = min(max(width, 18), MOST_DIGITS)
    return pa.array(numbers, pa.decimal128(width, places)), f"DECIMAL({width},{places})"


def _catalogue(cards: Sequence[SchemaCard]) -> dict[str, pa.Table]:
    pa = arrow()
    columns = [(card, column) for card in cards for column in card.columns]
    return {
        "kgtable_tables": pa.table(
            {
                "table_name": pa.array([card.name for card in cards], pa.string()),
                "id": pa.array([sound_text(card.id) for card in cards], pa.string()),
                "title": pa.array([sound_text(card.title) for card in cards], pa.string()),
                "rows": pa.array([card.rows for card in cards], pa.int64()),
            }
        ),
        "kgtable_columns": pa.table(
            {
                "table_name": pa.array([card.name for card, _ in columns], pa.string()),
                "column_name": pa.array([column.name for _, column in columns], pa.string()),
                "column_index": pa.array([column.column for _, column in columns], pa.int32()),
                "header": pa.array([sound_text(column.header) for _, column in columns], pa.string()),
                "type": pa.array([column.type for _, column in columns], pa.string()),
                "unit": pa.array([column.unit for _, column in columns], pa.string()),
                "meaning": pa.array([column.meaning or None for _, column in columns], pa.string()),
            }
        ),
    }


def literal(text: str) -> str:
    """A text as SQL takes it."""
    return "'" + sound_text(text).replace("'", "''").replace("\0", "") + "'"


_SQL_PLACE = re.compile(r"\n+LINE (\d+): (.*)\n( *)\^", re.DOTALL)
_NO_TABLE = re.compile(r"Table with name (\S+) does not exist")


def _one_line(error: BaseException) -> str:
    """DuckDB's error with its place in the query, marked, in one line."""
    text = str(error).strip()
    place = _SQL_PLACE.search(text)
    told = text[: place.start() if place else None].partition("\nDid you mean")[0].replace("\n", " ")
    told = re.sub(r"^\w+ Error: ", "", told).rstrip(".!")[:300]
    if place is None:
        return f"{told}."
    column = max(len(place[3]) - len(f"LINE {place[1]}: "), 0)
    return f'line {place[1]}, column {column + 1}, at "{place[2][column : column + 30].strip()}": {told}.'
