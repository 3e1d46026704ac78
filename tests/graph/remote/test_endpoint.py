"""A remote store: queries and updates sent, good responses, bad ones and none."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import pyoxigraph as ox
import pytest

from kgtable.errors import ConfigError, KgtableError, QueryError, RemoteStoreError
from kgtable.graph.remote.dialects import DESCRIPTION, StoreEndpoint
from kgtable.graph.remote.endpoint import RemoteStore, prepare
from kgtable.graph.remote.http import HttpPolicy
from kgtable.graph.sparql_text import Bindable
from tests.graph.remote.misbehaving import Answer, Misbehaving

ROWS = [{"x": {"type": "literal", "value": str(number)}} for number in range(3)]
JSON = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": ROWS}}).encode()
TRIPLE = b'<http://e/s> <http://e/p> "o" .\n'
ASKED = "SELECT ?x { ?x ?y ?z }"
NO_CREDENTIALS: dict[str, str] = {}


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving().running() as server:
        yield server


def remote_store(
    server: Misbehaving, dialect: str = "generic", environment: dict[str, str] = NO_CREDENTIALS
) -> RemoteStore:
    endpoint = StoreEndpoint(server.url, dialect, store=server.url + "?x=1")
    policy = HttpPolicy(timeout=5.0, retries=2, sleep=lambda seconds: waits.append(seconds))
    waits.clear()
    return RemoteStore(endpoint, {"e": "http://e/"}, policy=policy, environment=environment)


waits: list[float] = []


def rows(server: Misbehaving, *answers: Answer, dialect: str = "generic") -> int:
    server.answers = list(answers)
    found = remote_store(server, dialect).query(ASKED)
    assert isinstance(found, ox.QuerySolutions)
    return sum(1 for _ in found)


def test_solutions_booleans_and_triples(server: Misbehaving) -> None:
    assert rows(server, Answer(body=JSON)) == 3
    packed = Answer(body=gzip.compress(JSON), headers={"Content-Encoding": "gzip"})
    assert rows(server, packed) == 3
    server.answers = [Answer(body=b'{"head": {}, "boolean": false}')]
    found = remote_store(server).query("ASK { ?s ?p ?o }")
    assert isinstance(found, ox.QueryBoolean)
    assert not found
    for type in ("application/n-triples", "text/plain", "text/turtle"):
        server.answers = [Answer(body=TRIPLE, type=type)]
        triples = remote_store(server).query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
        assert isinstance(triples, ox.QueryTriples)
        assert [triple.object for triple in triples] == [ox.Literal("o")]


def test_the_query_is_a_form_with_its_dataset(server: Misbehaving) -> None:
    server.answers = [Answer(body=JSON)]
    remote_store(server, "oxigraph").query("SELECT ?x { ?x e:p ?y }", bindings={"y": "ä"})
    remote_store(server, "oxigraph").query("SELECT ?x FROM <http://g> { ?x e:p ?y }")
    remote_store(server, "virtuoso").query(ASKED, union_default_graph=False)
    first, second, third = (asked.fields for asked in server.asked)
    assert first[0] == ("query", 'PREFIX e: <http://e/> SELECT ?x { VALUES (?y) {("ä")} ?x e:p ?y }')
    assert ("union-default-graph", "true") in first
    assert [name for name, _ in second] == ["query"]
    assert third == [("query", ASKED), ("default-graph-uri", DESCRIPTION)]


WRONG = {
    "a page": (Answer(type="text/html", body=b"<html>Hello"), "text/html instead of SPARQL results"),
    "a page that claims to be JSON": (Answer(body=b"<html>Hello"), "damaged"),
    "broken JSON": (Answer(body=JSON[:-2]), "damaged"),
    "other JSON": (Answer(type="application/json", body=b'{"status": "ok"}'), "damaged"),
    "fewer bytes than announced": (Answer(body=JSON, announced=len(JSON) + 9), "broke off"),
    "broken gzip": (Answer(body=b"no gzip", headers={"Content-Encoding": "gzip"}), "broke off or is damaged"),
    "cut gzip": (Answer(body=gzip.compress(JSON)[:-9], headers={"Content-Encoding": "gzip"}), "broke off"),
    "no token": (Answer(401, body=b"who?"), "refused access .status 401.: who.*KGTABLE_SPARQL_TOKEN"),
    "wrong token": (Answer(403), "refused access"),
    "a wrong path": (Answer(404, "text/html", b"<html>secret page"), r"status 404\. Check the path"),
    "a redirect": (Answer(302, headers={"Location": "http://other/"}), "redirects to http://other/"),
    "a fault": (Answer(500, body=b'{"exception": "out of\\nmemory"}'), "status 500: out of memory"),
    "partial content": (Answer(206, body=JSON), "only a part of the results, 3 rows"),
    "an anytime timeout": (Answer(body=JSON, headers={"X-SQL-State": "S1TAT"}), "only a part.*ResultSetMaxRows"),
    "a row limit": (Answer(body=JSON, headers={"X-SPARQL-MaxRows": "3"}), "only a part"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_not_a_whole_answer_is_an_error(kind: str, server: Misbehaving) -> None:
    answer, message = WRONG[kind]
    with pytest.raises(RemoteStoreError, match=message) as caught:
        rows(server, answer)
    assert "html" not in str(caught.value) or kind == "a page"
    assert len(server.asked) == 1


def test_virtuoso_cuts_at_ten_thousand_rows_without_a_word(server: Misbehaving) -> None:
    many = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": ROWS[:1] * 10_000}}).encode()
    assert rows(server, Answer(body=many)) == 10_000
    with pytest.raises(RemoteStoreError, match="10,000 rows"):
        rows(server, Answer(body=many), dialect="virtuoso")


def test_busy_endpoints_are_asked_again_when_they_say(server: Misbehaving) -> None:
    busy = [Answer(503, headers={"Retry-After": "7"}), Answer(429)]
    assert rows(server, *busy, Answer(body=JSON)) == 3
    assert waits == [7.0, 1.0]
    with pytest.raises(RemoteStoreError, match="status 503"):
        rows(server, Answer(503, headers={"Retry-After": "900"}))
    assert waits == [60.0, 60.0]


def test_connections_that_break_off_are_made_again(server: Misbehaving) -> None:
    assert rows(server, Answer(announced=None), Answer(body=JSON)) == 3
    with pytest.raises(RemoteStoreError, match="broke off the connection"):
        rows(server, Answer(announced=None))
    assert len(server.asked) == 2 + 3


def test_no_answer_in_time(server: Misbehaving) -> None:
    server.answers = [Answer(body=JSON, pause=30.0)]
    slow = RemoteStore(StoreEndpoint(server.url), policy=HttpPolicy(timeout=0.2), environment={})
    with pytest.raises(RemoteStoreError, match=r"within 0\.2 seconds"):
        slow.query(ASKED)


def test_credentials_go_only_where_they_are_meant_to(server: Misbehaving) -> None:
    server.answers = [Answer(body=JSON)]
    remote_store(server, environment={"KGTABLE_SPARQL_TOKEN": "s3cret"}).query(ASKED)
    remote_store(server, environment={"KGTABLE_SPARQL_TOKEN": "s3cret", "KGTABLE_SPARQL_USER": "me"}).query(ASKED)
    remote_store(server).query(ASKED)
    sent = [asked.headers.get("authorization") for asked in server.asked]
    assert sent == ["Bearer s3cret", None, "Basic bWU6czNjcmV0", None]
    assert [asked.method for asked in server.asked] == ["POST", "HEAD", "POST", "POST"]
    away = RemoteStore(StoreEndpoint("https://sparql.example.org/q"), environment={"KGTABLE_SPARQL_TOKEN": "s3cret"})
    with pytest.raises(ConfigError, match=r"KGTABLE_SPARQL_ORIGIN=https://sparql\.example\.org") as caught:
        away.query(ASKED)
    assert "s3cret" not in str(caught.value)


def test_whole_graphs_by_the_graph_store_protocol(server: Misbehaving) -> None:
    server.answers = [Answer(type="application/n-triples", body=TRIPLE)]
    remote = remote_store(server)
    assert len(list(remote.graph("http://g/ä b"))) == 1
    remote.put_graph(None, TRIPLE)
    remote.delete_graph("http://g")
    remote_store(server, "virtuoso").put_graph(None, TRIPLE)
    assert [(asked.method, asked.path) for asked in server.asked] == [
        ("GET", "/sparql?x=1&graph=http%3A%2F%2Fg%2F%C3%A4%20b"), ("PUT", "/sparql?x=1&default"),
        ("DELETE", "/sparql?x=1&graph=http%3A%2F%2Fg"), ("PUT", "/sparql?x=1&graph=urn%3Akgtable%3Adescription"),
    ]  # fmt: skip
    assert server.asked[1].body == TRIPLE
    server.answers = [Answer(404)]
    assert list(remote.graph("http://gone")) == []
    remote.delete_graph("http://gone")
    with pytest.raises(KgtableError, match="status 404"):
        remote.put_graph("http://g", TRIPLE)
    with pytest.raises(RemoteStoreError, match="--store"):
        RemoteStore(StoreEndpoint(server.url), environment={}).put_graph("http://g", TRIPLE)


DATA = """
<http://e/a> <http://e/name> "one" ; <http://e/size> 1 .
<http://e/b> <http://e/name> "two" ; <http://e/size> 2 .
<http://e/c> <http://e/name> "two" ; <http://e/size> 3 .
"""
PREFIXES = {"e": "http://e/", "unused": "http://unused/"}


DURATION = ox.Literal("PT1H4M20S", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#dayTimeDuration"))
SAID = ox.Literal('"PT1S"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>')
"""A text that reads like a duration."""


def test_virtuoso_keeps_durations_under_a_datatype_that_it_does_not_know(server: Misbehaving) -> None:
    subject, predicate = ox.NamedNode("http://e/s"), ox.NamedNode("http://e/p")
    triples = [ox.Triple(subject, predicate, term) for term in (DURATION, SAID)]
    content = b"".join(f"{triple} .\n".encode() for triple in triples)
    server.answers = [Answer(204)]
    store = remote_store(server, "virtuoso")
    store.put_graph("http://e/g", content)
    sent = server.asked[-1].body
    assert b'"PT1H4M20S"^^<urn:kgtable:dayTimeDuration>' in sent
    assert sent.replace(b"urn:kgtable:dayTimeDuration", b"http://www.w3.org/2001/XMLSchema#dayTimeDuration") == content
    server.answers = [Answer(body=sent, type="application/n-triples")]
    assert list(store.graph("http://e/g")) == triples
    row = {
        "d": {"type": "typed-literal", "datatype": "urn:kgtable:dayTimeDuration", "value": "PT1H4M20S"},
        "s": {"type": "literal", "value": '"datatype":"urn:kgtable:dayTimeDuration"'},
    }
    body = json.dumps({"head": {"vars": ["d", "s"]}, "results": {"bindings": [row]}}).encode()
    server.answers = [Answer(body=body)]
    found = store.query("SELECT ?d ?s { ?x ?d ?s }")
    assert isinstance(found, ox.QuerySolutions)
    assert [tuple(solution) for solution in found] == [
        (DURATION, ox.Literal('"datatype":"urn:kgtable:dayTimeDuration"'))
    ]


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
    "text", ['" } DROP ALL #', "\\", "\\u0022 } #", "\\\\u0022", "a\nb\r\t'", "\x00\x7f", "\\U0000005C", "𝒳 ü"]
)
def test_hostile_texts_stay_texts(text: str) -> None:
    query = "SELECT ?out WHERE { BIND(?text AS ?out) }"
    sent = prepare(query, {"text": text}, {}).text
    found = ox.Store().query(sent)
    assert isinstance(found, ox.QuerySolutions)
    assert [row["out"] for row in found] == [ox.Literal(text)]
    assert "\\u0022" not in sent.replace("\\\\\\u00750022", "")


@pytest.mark.parametrize("value", [ox.BlankNode("b"), object()])
def test_values_that_cannot_be_sent(value: Bindable) -> None:
    with pytest.raises(QueryError, match="cannot be bound"):
        prepare("ASK { ?s ?p ?o }", {"o": value}, {})
    with pytest.raises(QueryError, match="name of a variable"):
        prepare("ASK { ?s ?p ?o }", {"o) { } #": 1}, {})
