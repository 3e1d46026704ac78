"""Short ways to write programs as JSON data in tests."""

from __future__ import annotations

from typing import Any

Data = dict[str, Any]


def table(id: str, **fields: Any) -> Data:
    return {"op": "table", "table": id, **fields}


def column(name: str | int, **fields: Any) -> Data:
    return {"column": name, **fields}


def compare(op: str, left: Any, right: Any) -> Data:
    return {"op": op, "left": column(left) if isinstance(left, str) else left, "right": right}


def where(source: Any, *conditions: Data) -> Data:
    rows = table(source) if isinstance(source, str) else source
    for condition in conditions:
        rows = {"op": "filter", "source": rows, "condition": condition}
    return rows


def of(function: str, argument: Any, rows: Any) -> Data:
    """An aggregate; `argument` is a header, an expression or None."""
    found: Data = {"op": function, "rows": table(rows) if isinstance(rows, str) else rows}
    if argument is not None:
        found["argument"] = column(argument) if isinstance(argument, str) else argument
    return found


def lookup(name: str, rows: Data) -> Data:
    return {"op": "lookup", "rows": rows, "value": column(name)}


def calc(op: str, left: Any, right: Any) -> Data:
    return {"op": op, "left": left, "right": right}


def project(source: Data, *names: Any, distinct: bool = False) -> Data:
    columns = [column(name) if isinstance(name, str) else name for name in names]
    return {"op": "project", "source": source, "columns": columns, "distinct": distinct}


def sort(source: Any, key: Any, descending: bool = True) -> Data:
    expression = column(key) if isinstance(key, str) else key
    rows = table(source) if isinstance(source, str) else source
    return {"op": "sort", "source": rows, "keys": [{"expression": expression, "descending": descending}]}


def limit(source: Data, count: int = 1, **fields: Any) -> Data:
    return {"op": "limit", "source": source, "count": count, **fields}


def group(source: Any, keys: list[str], **measures: Data) -> Data:
    rows = table(source) if isinstance(source, str) else source
    named = [{"expression": expression, "name": name} for name, expression in measures.items()]
    return {"op": "group", "source": rows, "keys": [column(key) for key in keys], "measures": named}
