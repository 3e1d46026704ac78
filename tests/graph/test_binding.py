from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyoxigraph as ox
import pytest
import rdflib

from kgtable.errors import QueryError
from kgtable.graph.sparql_text import Bindable, to_term

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a "b" } UNION {', '"a \\"b\\" } UNION {"'),
        (True, f'"true"^^<{XSD}boolean>'),
        (7, f'"7"^^<{XSD}integer>'),
        (0.5, f'"0.5"^^<{XSD}double>'),
        (Decimal("1E+3"), f'"1000"^^<{XSD}decimal>'),
        (date(2024, 2, 29), f'"2024-02-29"^^<{XSD}date>'),
        (datetime(2024, 2, 29, 1, tzinfo=UTC), f'"2024-02-29T01:00:00+00:00"^^<{XSD}dateTime>'),
        (rdflib.URIRef("http://example.org/a"), "<http://example.org/a>"),
        (rdflib.Literal("a", lang="de"), '"a"@de'),
        (rdflib.Literal(3), f'"3"^^<{XSD}integer>'),
        (rdflib.Literal("plain"), '"plain"'),
        (ox.NamedNode("http://example.org/a"), "<http://example.org/a>"),
    ],
    ids=str,
)
def test_python_values_become_terms(value: Bindable, text: str) -> None:
    assert str(to_term(value)) == text


def test_a_value_without_a_term_is_named() -> None:
    with pytest.raises(QueryError, match="A list cannot be bound"):
        to_term(["x"])  # type: ignore[arg-type]
