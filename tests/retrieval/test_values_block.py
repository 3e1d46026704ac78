from __future__ import annotations

import pytest

from kgtable.errors import QueryError
from kgtable.graph.sparql_text import with_values


def test_rows_are_written_as_sparql_writes_terms() -> None:
    query = "SELECT * { VALUES (?n ?s) { } ?s ?p ?o }"
    rows = [("0", "<http://example.org/a>"), ("1", "<http://example.org/b>")]
    wanted = "SELECT * { VALUES (?n ?s) { (0 <http://example.org/a>) (1 <http://example.org/b>) } ?s ?p ?o }"
    assert with_values(query, rows) == wanted


def test_a_query_without_a_block() -> None:
    with pytest.raises(QueryError, match="no empty block"):
        with_values("SELECT * { ?s ?p ?o }", [])
