"""The sandboxed process for a model's Python code: inside bubblewrap, with pandas and nothing of the machine.

Imports only `confinement`, pandas, NumPy and the standard library: nothing else is in the sandbox.
The first line on standard input brings the tables, each further one a piece of code; each is answered by
one line.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from typing import Any

from kgtable.systems.tablerag.confinement import MEBIBYTE, filter_system_calls, limit_resources

MEMORY = 2_048 * MEBIBYTE
PROCESSOR_SECONDS = 60
MOST_ROWS = 1_000
MOST_SENT = 100_000
LONGEST_CELL = 500
OPEN_FILES = 64


class _Printed(io.StringIO):
    """Keeps the start of what is printed."""

    def write(self, text: str) -> int:
        if self.tell() < MOST_SENT:
            super().write(text[:MOST_SENT])
        return len(text)


def frames(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """The tables as data frames by their names, the number of the row as index."""
    import numpy as np
    import pandas as pd

    found: dict[str, Any] = {"pd": pd, "np": np}
    for table in tables:
        columns = {}
        for name, kind, values in table["columns"]:
            series: Any = pd.Series(values, index=table["rows"], dtype=object)
            if kind == "number":
                series = pd.to_numeric(series, errors="coerce")
                if len(series) and series.notna().all() and (series % 1 == 0).all() and series.abs().max() < 2**53:
                    series = series.astype("int64")
            elif kind == "date":
                series = pd.to_datetime(series, errors="coerce")
            columns[name] = series
        found[table["alias"]] = pd.DataFrame(columns, index=table["rows"])
    return found


def execute(code: str, state: dict[str, Any]) -> dict[str, Any]:
    """The value of the last line of a piece of code, and what it printed."""
    printed = _Printed()
    try:
        tree = ast.parse(code)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            exec(compile(tree, "<action>", "exec"), state)  # noqa: S102 - that is what the sandbox is for
            value = None
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<action>", "eval"), state)  # noqa: S307
            found = told(value)
    except MemoryError:
        return {"error": "MemoryError: the code needs more memory than there is."}
    except BaseException as error:
        return {"error": f"{type(error).__name__}: {error}"[:600]}
    return {**found, "printed": printed.getvalue()[: LONGEST_CELL * 8]}


def told(value: Any) -> dict[str, Any]:
    """A value as rows of plain cells under names; ``index`` are the rows of a frame or series."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        rows = [list(row) for row in value.head(MOST_ROWS).itertuples(index=False)]
        return _table([str(name) for name in value.columns], rows, len(value), list(value.index[:MOST_ROWS]))
    if isinstance(value, pd.Series):
        index = list(value.index[:MOST_ROWS])
        head = value.head(MOST_ROWS)
        if value.index.dtype.kind in "iu":
            return _table([str(value.name or "value")], [[cell] for cell in head], len(value), index)
        rows = [[label, cell] for label, cell in zip(index, head, strict=True)]
        return _table([str(value.index.name or "index"), str(value.name or "value")], rows, len(value))
    if isinstance(value, dict):
        items = list(value.items())
        return _table(["key", "value"], [list(item) for item in items[:MOST_ROWS]], len(items))
    if (hasattr(value, "tolist") and not hasattr(value, "item")) or type(value).__name__ == "ndarray":
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        listed = list(value)
        rows = [list(x) if isinstance(x, list | tuple) else [x] for x in listed[:MOST_ROWS]]
        width = max(map(len, rows), default=1)
        return _table([f"value {n}" for n in range(width)] if width > 1 else ["value"], rows, len(listed))
    if value is None:
        return {"names": [], "rows": [], "size": 0}
    return _table(["value"], [[value]], 1)


def _table(names: list[str], rows: list[list[Any]], size: int, index: list[Any] | None = None) -> dict[str, Any]:
    sent: list[list[Any]] = []
    length = 0
    for row in rows:
        cells = [_plain(cell) for cell in row]
        length += sum(len(str(cell)) for cell in cells)
        if sent and length > MOST_SENT:
            break
        sent.append(cells)
    numbers = [int(i) for i in index or () if isinstance(i, int) or hasattr(i, "__index__")]
    return {"names": [name[:200] for name in names[:1000]], "rows": sent, "size": size, "index": numbers}


def _plain(value: Any) -> Any:
    import pandas as pd

    if value is None or isinstance(value, str):
        return value if value is None else value[:LONGEST_CELL]
    with contextlib.suppress(TypeError, ValueError):
        if pd.isna(value) is True:
            return None
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    if hasattr(value, "isoformat"):
        text = str(value.isoformat())
        return text.removesuffix("T00:00:00")
    if isinstance(value, int) or type(value).__name__.startswith(("int", "uint")):
        return {"n": str(int(value))[:400]}
    if isinstance(value, float) or type(value).__name__.startswith(("float", "Decimal")):
        return {"n": f"{float(value):.15g}"} if abs(float(value)) < 1e300 else str(value)
    return str(value)[:LONGEST_CELL]


def main() -> None:
    """Read requests from standard input until it ends, and answer each with one line."""
    channel = os.fdopen(os.dup(1), "w", encoding="ascii")
    source = os.fdopen(os.dup(0), "r", encoding="ascii")
    os.close(0)
    os.close(1)
    state = frames(json.loads(source.readline())["tables"])
    told(state["pd"].DataFrame({"a": [1.5, 2.5]}).describe())
    limit_resources(MEMORY, PROCESSOR_SECONDS, files=OPEN_FILES)
    if not filter_system_calls():
        channel.write(json.dumps({"error": "system calls cannot be filtered on this machine"}) + "\n")
        channel.flush()
        return
    channel.write(json.dumps({"ready": True}) + "\n")
    channel.flush()
    for line in source:
        channel.write(json.dumps(execute(str(json.loads(line)["code"]), state)) + "\n")
        channel.flush()
