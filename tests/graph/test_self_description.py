from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgtable.building.description import SH, ExampleQuery, examples, parse_example, self_description
from kgtable.graph.terms import Namespaces
from kgtable.graph.writers import LineWriter

NAMES = Namespaces("https://data.example/ü/")


@pytest.fixture(scope="module")
def store() -> ox.Store:
    store = ox.Store()
    text = "".join(LineWriter(with_graphs=False).graph(None, self_description(NAMES)))
    store.load(text, ox.RdfFormat.N_TRIPLES)
    return store


def rows(store: ox.Store, query: str) -> list[list[str]]:
    found = store.query(query, prefixes={"sh": SH, "rdfs": "http://www.w3.org/2000/01/rdf-schema#"})
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    return [[row[name].value for name in names] for row in found]


def test_query_editors_find_the_prefixes(store: ox.Store) -> None:
    asked = "SELECT ?prefix ?namespace { [] sh:declare [ sh:prefix ?prefix ; sh:namespace ?namespace ] }"
    assert dict(rows(store, asked)) == dict(NAMES.prefixes)


def test_query_editors_find_the_examples_which_run_with_these_prefixes(store: ox.Store) -> None:
    asked = """SELECT ?comment ?query {
        ?example a sh:SPARQLExecutable ; rdfs:comment ?comment ; sh:prefixes ?dataset ; ?form ?query .
        FILTER(?form IN (sh:select, sh:ask, sh:construct, sh:describe)) }"""
    found = rows(store, asked)
    assert sorted(query for _, query in found) == sorted(example.query for example in examples())
    for comment, query in found:
        assert comment
        assert not query.startswith("#")
        store.query(query, prefixes=dict(NAMES.prefixes))


def test_it_is_the_same_each_time() -> None:
    assert list(self_description(NAMES)) == list(self_description(NAMES))
    names = [example.name for example in examples()]
    assert len(set(names)) == len(names) > 5


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("# Title.\n# More\n#  words.\nASK {}\n", ExampleQuery("n", "Title.", "More words.", "ASK {}")),
        ("SELECT * { ?s ?p '#' }", ExampleQuery("n", "n", "", "SELECT * { ?s ?p '#' }")),
        ("# Only a title", ExampleQuery("n", "Only a title", "", "")),
        ("", ExampleQuery("n", "n", "", "")),
        ("\r\n# A\r\nASK {}\r\n# inside\r\n", ExampleQuery("n", "A", "", "ASK {}\n# inside")),
    ],
)
def test_examples_are_comments_then_a_query(text: str, example: ExampleQuery) -> None:
    assert parse_example("n", text) == example


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("PREFIX a: <http://select/>\nASK { }", "ask"),
        ("  construct { ?s ?p ?o } WHERE { }", "construct"),
        ("DESCRIBE <http://e/SELECT>", "describe"),
        ("select ?ask { }", "select"),
    ],
)
def test_the_form_of_an_example(query: str, form: str) -> None:
    assert ExampleQuery("n", "t", "", query).form == form
