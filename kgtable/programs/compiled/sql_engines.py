"""The typed tables of a graph in an SQL engine of the user's choice, through SQLAlchemy.

TableRAG (Huawei, section 3.2) keeps its tables in MySQL; here any engine that SQLAlchemy reaches by a URL may hold
them. Names are those of `SqlDatabase`, which ``kgtable_tables`` and ``kgtable_columns`` lead back; numbers are exact
decimals. SQLite has none: there whole numbers are integers, others reals whose 15 figures read back as they were, and
longer ones texts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kgtable.errors import EvaluationError, MissingExtraError, QueryError
from kgtable.programs.compiled.sql_tables import MOST_ROWS, SECONDS, SqlDatabase, SqlRowsFound

if TYPE_CHECKING:
    import sqlalchemy as sa

CATALOGUE = ("kgtable_tables", "kgtable_columns")
BATCH = 1_000
"""Rows inserted at a time."""

_SELECT = re.compile(
    r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:\(\s*)*(?:select|with|values)\b", re.IGNORECASE | re.DOTALL
)
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_EXACT_FIGURES = 15
"""Figures of a decimal that a double gives back."""
_LARGEST = 2**63 - 1


class EngineTables:
    """The tables of a graph in one engine.

    Args:
        database: the tables and their names.
        url: the engine's address as SQLAlchemy has it, such as ``sqlite:///tables.db``.

    Raises `MissingExtraError` without SQLAlchemy, `QueryError` for an address that is none, or whose driver is not
    installed.
    """

    def __init__(self, database: SqlDatabase, url: str) -> None:
        try:
            import sqlalchemy
        except ImportError as error:
            raise MissingExtraError("SQLAlchemy", "sql") from error
        self._sa = sqlalchemy
        self._database = database
        try:
            self._engine = sqlalchemy.create_engine(url)
        except ImportError as error:
            raise QueryError(
                f"The engine's driver is not installed: {error}.", hint="Install it with pip."
            ) from error
        except (sqlalchemy.exc.SQLAlchemyError, ValueError) as error:
            raise QueryError(
                "This is no address of an SQL engine.",
                hint="Give one as sqlite:///tables.db or postgresql://…",
            ) from error

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def load(self, ids: Sequence[str] | None = None) -> int:
        """Write the tables with these ids, or all, and the catalogue; how many tables it wrote.

        Tables that an earlier call wrote are replaced, in one transaction where the engine has them for tables. Raises
        `QueryError` where the engine has a table of that name that kgtable did not write.
        """
        sa = self._sa
        wanted = list(self._database.names if ids is None else ids)
        with self._reached() as connection, connection.begin():
            there = set(sa.inspect(connection).get_table_names())
            ours = self._written(connection) if CATALOGUE[0] in there else set()
            names = {self._database.names[id] for id in wanted}
            strange = sorted((names | set(CATALOGUE)) & there - ours - set(CATALOGUE if ours else ()))
            if strange:
                raise QueryError(
                    f"The engine has a table {strange[0]!r} that kgtable did not write.",
                    hint="Give the address of an empty database.",
                )
            kept = {
                id: self._database.names[id]
                for id in self._database.names
                if self._database.names[id] in ours
            }
            for id in wanted:
                card, data = self._database.typed(id)
                types = {column.name: column.type for column in card.columns}
                self._write(connection, card.name, types, data)
                kept[id] = card.name
            for name, data in self._database.catalogue(sorted(kept)).items():
                self._write(connection, name, {}, data)
            for name in sorted(ours - set(kept.values())):  # of tables that have left the graph
                sa.Table(name, sa.MetaData()).drop(connection, checkfirst=True)
        return len(wanted)

    def query(self, text: str, *, seconds: float = SECONDS, most: int = MOST_ROWS) -> SqlRowsFound:
        """The rows of one SELECT in the engine's own SQL; the tables that it names are written first.

        What it would change is rolled back. Raises `QueryError` for what is no single SELECT or cannot be run,
        `EvaluationError` where it takes too long.
        """
        if _SELECT.match(text) is None:
            raise QueryError("One SELECT is run at a time.", hint="Nothing can be written through SQL.")
        said = set(re.findall(r"\w+", text.casefold()))
        self.load([id for id, name in self._database.names.items() if name in said])
        with self._reached() as connection:
            ended = threading.Event()
            timer = threading.Timer(seconds, _interrupt, (connection, ended))
            timer.start()
            try:
                found = connection.exec_driver_sql(text)
                rows = [tuple(row) for row in found.fetchmany(most + 1)]
                names = tuple(str(name) for name in found.keys())  # noqa: SIM118 -- a result, no mapping
            except (self._sa.exc.SQLAlchemyError, ValueError) as error:
                if ended.is_set():
                    raise EvaluationError(f"The query took more than {seconds:g} seconds.") from error
                raise QueryError(f"The query cannot be run: {_told(error)}") from error
            finally:
                timer.cancel()
                connection.rollback()
        return SqlRowsFound(names, tuple(rows[:most]), len(rows) <= most)

    @contextmanager
    def _reached(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.connect() as connection:
                yield connection
        except self._sa.exc.SQLAlchemyError as error:
            raise QueryError(f"The SQL engine cannot be used: {_told(error)}") from error

    def _written(self, connection: sa.Connection) -> set[str]:
        """The tables that the catalogue in the engine names, and the catalogue's own."""
        sa = self._sa
        table = sa.Table(CATALOGUE[0], sa.MetaData(), sa.Column("table_name", sa.String))
        found = connection.execute(sa.select(table.c.table_name))
        return {str(row[0]) for row in found}

    def _write(self, connection: sa.Connection, name: str, types: Mapping[str, str], data: Any) -> None:
        sa = self._sa
        columns = {field.name: data.column(field.name).to_pylist() for field in data.schema}
        made = {}
        for column, values in columns.items():
            kind = types.get(column) or (
                "BIGINT" if str(data.schema.field(column).type) in ("int32", "int64") else "VARCHAR"
            )
            made[column], columns[column] = self._typed(kind, values)
        table = sa.Table(name, sa.MetaData(), *(sa.Column(column, type) for column, type in made.items()))
        table.drop(connection, checkfirst=True)
        table.create(connection)
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for start in range(0, len(rows), BATCH):
            connection.execute(table.insert(), rows[start : start + BATCH])

    def _typed(self, kind: str, values: list[Any]) -> tuple[sa.types.TypeEngine[Any], list[Any]]:
        """The engine's type for a column of DuckDB's, and the values as it takes them."""
        sa = self._sa
        decimal = _DECIMAL.fullmatch(kind)
        if decimal is None:
            known = {
                "INTEGER": sa.Integer(),
                "BIGINT": sa.BigInteger(),
                "DOUBLE": sa.Double(),
                "DATE": sa.Date(),
            }
            return known.get(kind, sa.Text()), values
        if self._engine.dialect.name != "sqlite":
            return sa.Numeric(int(decimal[1]), int(decimal[2])), values
        numbers = [value for value in values if value is not None]
        if all(number == number.to_integral_value() and abs(number) <= _LARGEST for number in numbers):
            return sa.BigInteger(), [None if value is None else int(value) for value in values]
        if all(len(number.normalize().as_tuple().digits) <= _EXACT_FIGURES for number in numbers):
            return sa.Double(), [None if value is None else float(value) for value in values]
        return sa.Text(), [None if value is None else _plain(value) for value in values]


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _interrupt(connection: sa.Connection, ended: threading.Event) -> None:
    """End the statement that a connection runs, where its driver can (``interrupt`` of SQLite's, ``cancel``)."""
    ended.set()
    driver = connection.connection.driver_connection
    for name in ("interrupt", "cancel"):
        end = getattr(driver, name, None)
        if callable(end):
            end()
            return


def _told(error: Exception) -> str:
    """The first line of an engine's error, without the statement and the address."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0][:300]
