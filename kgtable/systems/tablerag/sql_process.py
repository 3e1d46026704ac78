"""The sandboxed process for a model's SQL: DuckDB in memory, without files, network or settings.

Run as ``python -m kgtable.systems.tablerag.sql_process``. The first line on standard input brings the
tables, each further one a statement; each is answered by one line.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from kgtable.database import add_table, lock, open_database
from kgtable.systems.tablerag.confinement import (
    MEBIBYTE,
    die_with_parent,
    filter_system_calls,
    limit_resources,
)

DATABASE_MEMORY = 512 * MEBIBYTE
PROCESS_MEMORY = 3_072 * MEBIBYTE
PROCESSOR_SECONDS = 120
MOST_ROWS = 1_000
MOST_SENT = 100_000
"""Characters of the rows that are sent back."""

LONGEST_CELL = 500
MOST_TRACED = 20_000
_MAKES = re.compile(
    r"\A\s*create\s+(?:or\s+replace\s+)?(?:temp\w*\s+)?(?:table|view)\s+(?:\"[^\"]*\"|\w+)\s+as\s+",
    re.IGNORECASE,
)
_AGGREGATES = ("count", "sum", "avg", "min", "max", "median", "first", "last", "any_value", "mode", "list")


def load(tables: list[dict[str, str]]) -> Any:
    """A connection with the tables, then locked: no files, no extensions, no settings."""
    import duckdb
    import pyarrow as pa

    connection = open_database(DATABASE_MEMORY)
    for table in tables:
        with pa.ipc.open_stream(base64.b64decode(table["arrow"])) as reader:
            add_table(connection, table["alias"], reader.read_all())
    lock(connection)
    # What is read from files at the first use is read now: later it cannot be.
    connection.execute("SELECT json_serialize_sql('SELECT 1'), current_date, DECIMAL '1.5', 'a'").fetchall()
    with_error = "no error"
    try:
        connection.execute("SELECT nothing")
    except duckdb.Error as error:
        with_error = str(error)
    assert with_error != "no error"
    return connection


def execute(connection: Any, statement: str) -> dict[str, Any]:
    """The first rows of a statement's result, and what it read."""
    import duckdb

    read = reads_of(connection, statement)
    try:
        connection.execute(statement)
        names = [str(column[0]) for column in connection.description or ()]
        rows = connection.fetchmany(MOST_ROWS + 1) if names else []
    except duckdb.Error as error:
        return {"error": (str(error).strip() or type(error).__name__)[:600]}
    except MemoryError:
        return {"error": "Out of Memory Error: the statement needs more memory than there is."}
    sent: list[list[Any]] = []
    size = 0
    for row in rows[:MOST_ROWS]:
        cells = [_plain(value) for value in row]
        size += sum(len(str(cell)) for cell in cells)
        if sent and size > MOST_SENT:
            break
        sent.append(cells)
    return {"names": [n[:200] for n in names[:1000]], "rows": sent, "size": len(rows), "read": read}


def reads_of(connection: Any, statement: str) -> dict[str, Any]:
    """The tables and columns that a SELECT names, and of one over a single table the rows that fit.

    ``{}`` for anything but one SELECT. ``columns`` are names in lower case, with ``*`` for all.
    """
    try:
        asked = _MAKES.sub("", statement)
        (text,) = connection.execute("SELECT json_serialize_sql($1)", [asked]).fetchone()
        tree = json.loads(text)
        if tree.get("error") or len(tree.get("statements", ())) != 1:
            return {}
        nodes = list(_nodes(tree))
        tables = [str(node.get("table_name", "")) for node in nodes if node.get("type") == "BASE_TABLE"]
        columns = {str(node["column_names"][-1]).lower() for node in nodes if node.get("class") == "COLUMN_REF"}
        if any(node.get("class") == "STAR" for node in nodes):
            columns.add("*")
        calls = {str(node.get("function_name", "")).lower() for node in nodes}
        counts = any(call.startswith("count") for call in calls)
        rows = _rows_read(connection, tree, calls)
        return {"tables": tables, "columns": sorted(columns), "rows": rows, "counts": counts}
    except Exception:
        return {}


def _rows_read(connection: Any, tree: dict[str, Any], calls: set[str]) -> list[int] | None:
    """The rows of the one table of a plain SELECT that its condition leaves; None where that is not plain."""
    node = tree["statements"][0]["node"]
    if node.get("type") != "SELECT_NODE" or node["from_table"].get("type") != "BASE_TABLE":
        return None
    aggregates = any(call.startswith(_AGGREGATES) for call in calls) or node.get("group_expressions")
    reference = {
        "class": "COLUMN_REF",
        "type": "COLUMN_REF",
        "alias": "",
        "query_location": 0,
        "column_names": ["row_number"],
    }
    plain = {
        **node,
        "select_list": [reference],
        "group_expressions": [],
        "group_sets": [],
        "having": None,
        "qualify": None,
        "modifiers": [] if aggregates else [m for m in node["modifiers"] if "DISTINCT" not in str(m["type"])],
    }
    text = json.dumps({**tree, "statements": [{**tree["statements"][0], "node": plain}]})
    connection.execute("SELECT * FROM json_execute_serialized_sql($1)", [text])
    rows = connection.fetchmany(MOST_TRACED)
    return [int(row[0]) for row in rows if isinstance(row[0], int)]


def _nodes(tree: Any) -> Iterator[Mapping[str, Any]]:
    pending = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | Decimal):
        return {"n": f"{value:.15g}" if isinstance(value, float) else str(value)[:400]}
    if isinstance(value, datetime) and (value.hour, value.minute, value.second) == (0, 0, 0):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return str(value)[:LONGEST_CELL]


def _say(reply: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read requests from standard input until it ends, and answer each with one line."""
    die_with_parent()
    connection = load(json.loads(sys.stdin.readline())["tables"])
    limit_resources(PROCESS_MEMORY, PROCESSOR_SECONDS)
    filter_system_calls()
    _say({"ready": True})
    for line in sys.stdin:
        found = execute(connection, str(json.loads(line)["statement"]))
        _say(found)


if __name__ == "__main__":
    main()
