"""Rows of values put into the empty VALUES block of a query."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kgtable.errors import QueryError

_EMPTY = re.compile(r"(VALUES \((?:\?\w+ ?)+\) \{) \}")


def with_values(query: str, rows: Iterable[Iterable[str]]) -> str:
    """The query with the rows in its block ``VALUES (?a ?b) { }``, whose terms are written as in SPARQL.

    Raises `QueryError` where there is no such block.

    >>> with_values("VALUES (?s ?n) { }", [("<http://example.org/a>", "1")])
    'VALUES (?s ?n) { (<http://example.org/a> 1) }'
    """
    empty = _EMPTY.search(query)
    if empty is None:
        raise QueryError("The query has no empty block VALUES (?…) { }.")
    block = " ".join(f"({' '.join(row)})" for row in rows)
    return f"{query[: empty.start()]}{empty[1]} {block} }}{query[empty.end() :]}"
