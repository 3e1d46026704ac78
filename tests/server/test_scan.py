"""The scanner must never overlook a keyword that the engine would see."""

from __future__ import annotations

import pytest

from kgtable.graph.sparql_text import AmbiguousTextError, tokens
from kgtable.server.execution import file_iris, is_volatile, names_dataset, remote_iris

HIDDEN = [
    "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }",
    "SELECT * { ?s ?p 1SERVICE <http://x/> {} }",
    "SELECT * { ?s ?p 1.5e3SERVICE <http://x/> {} }",
    "SELECT * { ?s ?p trueSERVICE <http://x/> {} }",
    "SELECT * { SERVICESILENT<http://x/> {} }",
    "PREFIX ex: <http://x/> SELECT * { SERVICEex:foo {} }",
    "SELECT * { ?s ?p 'a\\'' . SERVICE ?x { ?s ?p ?o } }",
    'SELECT * { ?s ?p """ " """ . service <http://x/> {} }',
    "SELECT * { # comment ' \n SERVICE <http://x/> {} }",
    "SELECT * { <http://x/#frag> ?p ?o . SERVICE <http://x/> {} }",
    "PREFIX e: <http://e/> SELECT * { e:a\\'b ?p ?o . SERVICE <http://x/> {} }",
    "SELECT * { FILTER(?a<?b#>\n) SERVICE <http://x/> {} }",
]


@pytest.mark.parametrize("query", HIDDEN)
def test_every_service_is_found(query: str) -> None:
    assert remote_iris(query)


def test_a_string_that_could_hide_a_service_is_refused() -> None:
    with pytest.raises(AmbiguousTextError):
        remote_iris("SELECT * { FILTER(?a<'x>') SERVICE <http://x/> {} FILTER(?z = '') }")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?service { ?service ?p 'SERVICE <http://x/>' } # SERVICE <http://x/>",
        'SELECT * { <http://service/> <http://x#service> "load" }',
        "PREFIX ex: <http://e/> SELECT * { ?s ex:serviceCharge ?o . ?s ex:load ?l }",
        "SELECT * { ?s ?p 'x'@en-service }",
    ],
)
def test_harmless_mentions_are_left_alone(query: str) -> None:
    assert remote_iris(query) == ()


def test_loads_are_found_with_their_source() -> None:
    assert remote_iris("LOAD SILENT <http://x/d.ttl> INTO GRAPH <http://g>;LOAD<file:///etc/passwd>") == (
        "http://x/d.ttl",
        "file:///etc/passwd",
    )


def test_dataset_clauses() -> None:
    assert names_dataset("ASK FROM NAMED <http://g> {}")
    assert not names_dataset("ASK { ?s ?p 'from' } # FROM")


def test_volatile_functions_and_file_iris() -> None:
    assert is_volatile("SELECT (NOW () AS ?t) {}")
    assert not is_volatile("SELECT ?now {}")
    assert file_iris("SELECT * FROM < file:///etc/passwd> {}")


def test_tokens_cover_the_text_and_end() -> None:
    text = "SELECT ?a { ?a <http://p> 'unclosed"
    assert "".join(token.text for token in tokens(text)) == text.replace(" ", "")
