"""What a remote store makes of good answers, bad ones and none."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator

import pyoxigraph as ox
import pytest

from kgtable.errors import ConfigError, KgtableError, QueryError, RemoteStoreError
from kgtable.graph.remote.dialects import DESCRIPTION, StoreEndpoint
from kgtable.graph.remote.endpoint import RemoteStore
from kgtable.graph.remote.http import HttpPolicy
from tests.graph.misbehaving import Answer, Misbehaving

ROWS = [{"x": {"type": "literal", "value": str(number)}} for number in range(3)]
JSON = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": ROWS}}).encode()
TRIPLE = b'<http://e/s> <http://e/p> "o" .\n'
ASKED = "SELECT ?x { ?x ?y ?z }"
NO_CREDENTIALS: dict[str, str] = {}


@pytest.fixture
def server() -> Iterator[Misbehaving]:
    with Misbehaving().running() as server:
        yield server


def store(
    server: Misbehaving, dialect: str = "generic", environment: dict[str, str] = NO_CREDENTIALS
) -> RemoteStore:
    endpoint = StoreEndpoint(server.url, dialect, store=server.url + "?x=1")
    policy = HttpPolicy(timeout=5.0, retries=2, sleep=lambda seconds: waits.append(seconds))
    waits.clear()
    return RemoteStore(endpoint, {"e": "http://e/"}, policy=policy, environment=environment)


waits: list[float] = []


def rows(server: Misbehaving, *answers: Answer, dialect: str = "generic") -> int:
    server.answers = list(answers)
    found = store(server, dialect).query(ASKED)
    assert isinstance(found, ox.QuerySolutions)
    return sum(1 for _ in found)


def test_solutions_booleans_and_triples(server: Misbehaving) -> None:
    assert rows(server, Answer(body=JSON)) == 3
    packed = Answer(body=gzip.compress(JSON), headers={"Content-Encoding": "gzip"})
    assert rows(server, packed) == 3
    server.answers = [Answer(body=b'{"head": {}, "boolean": false}')]
    found = store(server).query("ASK { ?s ?p ?o }")
    assert isinstance(found, ox.QueryBoolean)
    assert not found
    for type in ("application/n-triples", "text/plain", "text/turtle"):
        server.answers = [Answer(body=TRIPLE, type=type)]
        triples = store(server).query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
        assert isinstance(triples, ox.QueryTriples)
        assert [triple.object for triple in triples] == [ox.Literal("o")]


def test_the_query_is_a_form_with_its_dataset(server: Misbehaving) -> None:
    server.answers = [Answer(body=JSON)]
    store(server, "fuseki").query("SELECT ?x { ?x e:p ?y }", bindings={"y": "ä"})
    store(server, "fuseki").query("SELECT ?x FROM <http://g> { ?x e:p ?y }")
    store(server, "virtuoso").query(ASKED, union_default_graph=False)
    first, second, third = (asked.fields for asked in server.asked)
    assert first[0] == ("query", 'PREFIX e: <http://e/> SELECT ?x { VALUES (?y) {("ä")} ?x e:p ?y }')
    assert ("default-graph-uri", "urn:x-arq:UnionGraph") in first
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
    "an anytime timeout": (
        Answer(body=JSON, headers={"X-SQL-State": "S1TAT"}),
        "only a part.*ResultSetMaxRows",
    ),
    "a row limit": (Answer(body=JSON, headers={"X-SPARQL-MaxRows": "3"}), "only a part"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_not_a_whole_answer_is_an_error(kind: str, server: Misbehaving) -> None:
    answer, message = WRONG[kind]
    with pytest.raises(RemoteStoreError, match=message) as caught:
        rows(server, answer)
    assert "html" not in str(caught.value) or kind == "a page"
    assert len(server.asked) == 1


def test_a_row_limit_that_was_not_reached_is_fine(server: Misbehaving) -> None:
    assert rows(server, Answer(body=JSON, headers={"X-SPARQL-MaxRows": "10000"})) == 3


def test_virtuoso_cuts_at_ten_thousand_rows_without_a_word(server: Misbehaving) -> None:
    many = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": ROWS[:1] * 10_000}}).encode()
    assert rows(server, Answer(body=many)) == 10_000
    with pytest.raises(RemoteStoreError, match="10,000 rows"):
        rows(server, Answer(body=many), dialect="virtuoso")


def test_a_refused_query_says_why_in_the_words_of_the_engine(server: Misbehaving) -> None:
    with pytest.raises(QueryError, match="refused the query: Parse error") as caught:
        rows(server, Answer(400, "text/plain", b"Parse error \x1b[31m" + b"x" * 5_000))
    assert len(str(caught.value)) < 500
    assert "\x1b" not in str(caught.value)


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


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/sparql"
    with pytest.raises(RemoteStoreError, match="cannot be reached"):
        RemoteStore(StoreEndpoint(url), environment={}).query(ASKED)


def test_credentials_go_only_where_they_are_meant_to(server: Misbehaving) -> None:
    server.answers = [Answer(body=JSON)]
    store(server, environment={"KGTABLE_SPARQL_TOKEN": "s3cret"}).query(ASKED)
    store(server, environment={"KGTABLE_SPARQL_TOKEN": "s3cret", "KGTABLE_SPARQL_USER": "me"}).query(ASKED)
    store(server).query(ASKED)
    sent = [asked.headers.get("authorization") for asked in server.asked]
    assert sent == ["Bearer s3cret", None, "Basic bWU6czNjcmV0", None]
    assert [asked.method for asked in server.asked] == ["POST", "HEAD", "POST", "POST"]
    away = RemoteStore(
        StoreEndpoint("https://sparql.example.org/q"), environment={"KGTABLE_SPARQL_TOKEN": "s3cret"}
    )
    with pytest.raises(ConfigError, match=r"KGTABLE_SPARQL_ORIGIN=https://sparql\.example\.org") as caught:
        away.query(ASKED)
    assert "s3cret" not in str(caught.value)


def test_whole_graphs_by_the_graph_store_protocol(server: Misbehaving) -> None:
    server.answers = [Answer(type="application/n-triples", body=TRIPLE)]
    remote = store(server)
    assert len(list(remote.graph("http://g/ä b"))) == 1
    remote.put_graph(None, TRIPLE)
    remote.delete_graph("http://g")
    store(server, "virtuoso").put_graph(None, TRIPLE)
    assert [(asked.method, asked.path) for asked in server.asked] == [
        ("GET", "/sparql?x=1&graph=http%3A%2F%2Fg%2F%C3%A4%20b"),
        ("PUT", "/sparql?x=1&default"),
        ("DELETE", "/sparql?x=1&graph=http%3A%2F%2Fg"),
        ("PUT", "/sparql?x=1&graph=urn%3Akgtable%3Adescription"),
    ]
    assert server.asked[1].body == TRIPLE
    server.answers = [Answer(404)]
    assert list(remote.graph("http://gone")) == []
    remote.delete_graph("http://gone")
    with pytest.raises(KgtableError, match="status 404"):
        remote.put_graph("http://g", TRIPLE)
    with pytest.raises(RemoteStoreError, match="--store"):
        RemoteStore(StoreEndpoint(server.url), environment={}).put_graph("http://g", TRIPLE)
