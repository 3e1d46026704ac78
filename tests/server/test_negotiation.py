"""Accept headers as clients really send them."""

from __future__ import annotations

import pytest

from kgtable.server.negotiation import GRAPH, TABULAR, accepts_gzip, choose

JSON = "application/sparql-results+json"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", JSON), ("*/*", JSON), ("*", JSON), ("application/json", JSON), ("text/csv", "text/csv"),
        ("text/csv;q=0.1, application/sparql-results+xml;q=0.2", "application/sparql-results+xml"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"),
        ("application/sparql-results+json,text/javascript,application/json", JSON),
        ("application/*;q=0.5, text/*;q=0.9", "text/csv"),
        ("*/*;q=0.1, application/sparql-results+json;q=0", "application/sparql-results+xml"),
        ("text/tab-separated-values; charset=utf-8", "text/tab-separated-values"),
        ("nonsense, text/csv;q=2", "text/csv"),
    ],
)  # fmt: skip
def test_tabular(accept: str, expected: str) -> None:
    offer = choose(accept, TABULAR)
    assert offer is not None
    assert offer.media_type == expected


@pytest.mark.parametrize("accept", ["image/png", "text/csv;q=0", "application/pdf, image/*"])
def test_unacceptable(accept: str) -> None:
    assert choose(accept, TABULAR) is None


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", "text/turtle"), ("application/json", "application/ld+json"), ("text/plain", "application/n-triples"),
        ("application/rdf+xml, text/turtle;q=0.9", "application/rdf+xml"),
        ("application/sparql-results+json, application/n-quads;q=0.3", "application/n-quads"),
    ],
)  # fmt: skip
def test_graph(accept: str, expected: str) -> None:
    offer = choose(accept, GRAPH)
    assert offer is not None
    assert offer.media_type == expected


def test_gzip() -> None:
    assert accepts_gzip("gzip, deflate, br, zstd")
    assert accepts_gzip("*")
    assert not accepts_gzip("*;q=0")
    assert not accepts_gzip("br")
