from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgtable.errors import QueryError
from kgtable.graph.remote.endpoint import prepare
from kgtable.graph.sparql_text import Bindable

DATA = """
<http://e/a> <http://e/name> "one" ; <http://e/size> 1 .
<http://e/b> <http://e/name> "two" ; <http://e/size> 2 .
<http://e/c> <http://e/name> "two" ; <http://e/size> 3 .
"""
PREFIXES = {"e": "http://e/", "unused": "http://unused/"}


@pytest.fixture(scope="module")
def store() -> ox.Store:
    store = ox.Store()
    store.load(DATA, ox.RdfFormat.TURTLE)
    return store


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?name ?s { ?s e:name ?name } ORDER BY ?s",
        "SELECT ?name ?s WHERE { ?s e:name ?x FILTER(?x = ?name) } ORDER BY ?s",
        "SELECT ?name (COUNT(*) AS ?n) WHERE { ?s e:name ?name } GROUP BY ?name",
        "SELECT ?name (EXISTS { ?s e:name 'one' } AS ?is) ?s WHERE { ?s e:name ?name } ORDER BY ?s",
        "SELECT ?name ?s WHERE { { SELECT ?s ?name WHERE { ?s e:name ?name } } } ORDER BY ?s",
        "SELECT ?name ?s WHERE { SELECT ?s ?name WHERE { ?s e:name ?name } } ORDER BY ?s",
        "SELECT ?name ?s { ?s e:size ?size OPTIONAL { ?s e:name ?name . BIND(1 AS ?has) } } ORDER BY ?s ?has",
        "SELECT ?name ?s { # { a comment\n ?s e:name ?name ; e:size ?z FILTER('}' != \"{\") }",
        "PREFIX e: <http://e/> SELECT ?name ?s { ?s e:name ?name } ORDER BY ?s",
        "SELECT ?name ?s { ?s e:name ?name . VALUES ?z { 1 2 } ?s e:size ?z }",
        "SELECT ?name ?s { ?s e:name ?name } VALUES ?s { e:b e:a }",
    ],
)
def test_a_bound_value_does_what_a_substitution_does(query: str, store: ox.Store) -> None:
    value = ox.Literal("two")
    expected = store.query(query, prefixes=PREFIXES, substitutions={ox.Variable("name"): value})
    sent = prepare(query, {"name": value}, PREFIXES)
    found = store.query(sent.text)
    assert isinstance(expected, ox.QuerySolutions)
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    rows = [[str(row[name]) for name in names] for row in found]
    assert rows == [[str(row[name]) for name in names] for row in expected]
    assert rows


@pytest.mark.parametrize(
    "query",
    [
        "CONSTRUCT { ?s e:is ?name } WHERE { ?s e:name ?name }",
        "CONSTRUCT WHERE { ?s e:name ?name }",
        "DESCRIBE ?s WHERE { ?s e:name ?name }",
    ],
)
def test_values_in_queries_for_triples(query: str, store: ox.Store) -> None:
    sent = prepare(query, {"name": "one"}, PREFIXES)
    assert sent.gives_triples
    assert {str(triple.subject) for triple in store.query(sent.text)} == {"<http://e/a>"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    ['" } DROP ALL #', "\\", "\\u0022 } #", "\\\\u0022", "a\nb\r\t'", "\x00\x7f", "\\U0000005C", "𝒳 ü"],
)
def test_hostile_texts_stay_texts(text: str) -> None:
    query = "SELECT ?out WHERE { BIND(?text AS ?out) }"
    sent = prepare(query, {"text": text}, {}).text
    found = ox.Store().query(sent)
    assert isinstance(found, ox.QuerySolutions)
    assert [row["out"] for row in found] == [ox.Literal(text)]
    assert "\\u0022" not in sent.replace("\\\\\\u00750022", "")


def test_only_prefixes_that_are_used_and_not_declared_are_added() -> None:
    assert prepare("ASK { ?s e:name 'unused:x' }", {}, PREFIXES).text.startswith("PREFIX e: <http://e/> ASK")
    assert prepare("PREFIX e: <http://other/> ASK { ?s e:p 1 }", {}, PREFIXES).text.count("PREFIX") == 1


@pytest.mark.parametrize("value", [ox.BlankNode("b"), object()])
def test_values_that_cannot_be_sent(value: Bindable) -> None:
    with pytest.raises(QueryError, match="cannot be bound"):
        prepare("ASK { ?s ?p ?o }", {"o": value}, {})
    with pytest.raises(QueryError, match="name of a variable"):
        prepare("ASK { ?s ?p ?o }", {"o) { } #": 1}, {})


def test_form_and_dataset() -> None:
    assert prepare("select * from <http://g> { ?s ?p ?o }", {}, {}).names_dataset
    assert not prepare("select ?from { ?from ?p 'FROM' }", {}, {}).names_dataset
    for text in ("DROP ALL", "INSERT DATA { <a:a> <a:a> 1 }", "", "SELEKT"):
        with pytest.raises(QueryError, match="no SELECT"):
            prepare(text, {}, {})
