"""DuckDB in memory: nothing is spilled to disk, and once its tables are in it, it reads nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_LOCKS = (
    "enable_external_access = false",
    "autoinstall_known_extensions = false",
    "autoload_known_extensions = false",
    "allow_community_extensions = false",
    "python_enable_replacements = false",
    "enable_progress_bar = false",
    "lock_configuration = true",
)


def open_database(memory: int) -> duckdb.DuckDBPyConnection:
    """A new database that uses at most so many bytes."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {"memory_limit": f"{memory}B", "threads": 1}
    config |= {"temp_directory": "", "max_temp_directory_size": "0KiB"}
    return duckdb.connect(":memory:", config=config)


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def add_table(database: duckdb.DuckDBPyConnection, name: str, rows: pa.Table) -> None:
    """Copy a table into a database."""
    database.register("incoming", rows)
    database.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM incoming")  # noqa: S608
    database.unregister("incoming")


def lock(database: duckdb.DuckDBPyConnection) -> None:
    """Forbid files, extensions and changes of settings in a database."""
    for setting in _LOCKS:
        database.execute(f"SET {setting}")
