"""DuckDB in memory: nothing is spilled to disk, and once its tables are in it, it reads nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
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


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """Let the process grow by so many bytes at most in the block.

    One text of a query may be larger than DuckDB's own limit, and its allocator keeps the addresses of what it once
    had: the next request in this process would find none left.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
    except OSError:  # if there is no such file, the limit of the process holds
        yield
        return
    limit = used + most if soft < 0 else min(soft, used + most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
