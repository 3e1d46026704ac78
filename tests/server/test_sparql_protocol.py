"""What clients see at ``/sparql`` beyond W3C's tests: formats, statuses, caching, limits."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.server.serving import WRITER, Running

ALL = "SELECT ?o { ?s <http://example.org/p> ?o } ORDER BY ?o"


def values(content: bytes) -> list[str]:
    return [row["o"]["value"] for row in json.loads(content)["results"]["bindings"]]


def test_default_graph_is_the_union(reading: Running) -> None:
    assert values(reading.query(ALL).content) == ["1", "2", "3"]


def test_from_and_protocol_datasets_narrow_the_union(reading: Running) -> None:
    own = "SELECT ?o FROM <http://example.org/g1> { ?s <http://example.org/p> ?o }"
    assert values(reading.query(own).content) == ["2"]
    answer = reading.query(own, **{"default-graph-uri": "http://example.org/g2"})
    assert values(answer.content) == ["3"]


def test_own_default_graph(writing: Running) -> None:
    assert values(writing.query(ALL).content) == ["1"]


@pytest.mark.parametrize(
    ("accept", "start"),
    [
        ("application/sparql-results+json", b'{"head"'), ("application/sparql-results+xml", b"<?xml"),
        ("text/csv", b"o\r\n1"), ("text/tab-separated-values", b"?o\n1"), ("text/html", b"<!doctype html>"),
    ],
)  # fmt: skip
def test_tabular_formats(reading: Running, accept: str, start: bytes) -> None:
    answer = reading.query(ALL, accept)
    assert answer.headers["content-type"].partition(";")[0] == accept
    assert answer.content.startswith(start)


@pytest.mark.parametrize(
    "accept",
    [
        "text/turtle", "application/n-triples", "application/n-quads", "application/trig", "application/ld+json",
        "application/rdf+xml", "text/html",
    ],
)  # fmt: skip
def test_graph_formats(reading: Running, accept: str) -> None:
    answer = reading.query("CONSTRUCT WHERE { ?s ?p ?o }", accept)
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == accept
    assert b"example.org/a" in answer.content


def test_syntax_error_has_its_position(reading: Running) -> None:
    answer = reading.query("SELECT * {\n ?s ?p nope:x }")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["line"] == 2
    assert "the prefix nope: is not declared" in problem["detail"]


def test_prefixes_need_no_declaration(reading: Running) -> None:
    assert reading.query("ASK { ?s a qudt:QuantityValue }").json()["boolean"] is False


@pytest.mark.parametrize(
    ("method", "path", "headers", "content", "status"),
    [
        ("GET", "/sparql?query=ASK%7B%7D", {"accept": "image/png"}, None, 406),
        ("GET", "/sparql?default-graph-uri=x:y", {}, None, 400),
        ("GET", "/sparql?query=ASK%7B%7D&default-graph-uri=relative", {}, None, 400),
        ("GET", "/sparql?query=ASK%7B%7D&default-graph-uri=file:///etc/passwd", {}, None, 403),
        ("GET", "/sparql?query=%FF", {}, None, 400),
        ("GET", "/sparql?update=CLEAR+ALL", {}, None, 400),
        ("GET", "/sparql?query=SELECT*%7BSERVICE%3Chttp://x/%3E%7B%7D%7D", {}, None, 403),
        ("GET", "/sparql?query=SELECT*FROM%3Cfile:///etc/passwd%3E%7B%7D", {}, None, 403),
        ("DELETE", "/sparql", {}, None, 405),
        ("POST", "/sparql", {"content-type": "text/plain"}, b"ASK {}", 415),
        ("POST", "/sparql", {"content-type": "application/sparql-query"}, b"ASK { } # \xff", 400),
        ("POST", "/sparql?query=ASK%7B%7D", {"content-type": "application/sparql-query"}, b"ASK {}", 400),
        ("POST", "/sparql", {"content-type": "application/sparql-query"}, b"#" * 70_000, 413),
        (
            "POST", "/sparql", {"content-type": "application/sparql-query", "content-encoding": "gzip"},
            gzip.compress(b"ASK {}", mtime=0), 415,
        ),
        ("POST", "/sparql", {"content-type": "application/sparql-update"}, b"CLEAR ALL", 403),
        ("PUT", "/store?default", {"content-type": "text/turtle"}, b"", 403),
        ("GET", "/store?graph=http://nowhere.example/", {}, None, 404),
        ("GET", "/store?graph=relative", {}, None, 400),
        ("GET", "/nothing/here", {}, None, 404),
        ("GET", "/sparql?query=ASK%7B%7D", {"host": "rebound.example"}, None, 421),
    ],
)  # fmt: skip
def test_refusals(
    reading: Running, method: str, path: str, headers: dict[str, str], content: bytes | None, status: int
) -> None:
    answer = reading.client.request(method, path, headers=headers, content=content)
    assert answer.status_code == status, answer.text
    assert answer.json()["status"] == status
    assert answer.json()["detail"]


def test_head_and_options(reading: Running) -> None:
    full = reading.query("ASK {}")
    head = reading.client.head("/sparql", params={"query": "ASK {}"})
    assert head.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == str(len(full.content))
    options = reading.client.request("OPTIONS", "/sparql")
    assert options.status_code == 204
    assert "POST" in options.headers["allow"]


def test_gzip(reading: Running) -> None:
    query = "SELECT ?x { VALUES ?x { " + "<http://example.org/long> " * 200 + "} }"
    answer = reading.client.get("/sparql", params={"query": query}, headers={"accept-encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.json()["results"]["bindings"]) == 200
    plain = reading.client.get("/sparql", params={"query": query}, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.json() == answer.json()


def test_entity_tag_and_volatile_queries(reading: Running) -> None:
    first = reading.query(ALL)
    tag = first.headers["etag"]
    again = reading.client.get("/sparql", params={"query": ALL}, headers={"if-none-match": tag})
    assert again.status_code == 304
    assert "etag" not in reading.query("SELECT (RAND() AS ?x) {}").headers
    values = {reading.query("SELECT (RAND() AS ?x) {}").text for _ in range(3)}
    assert len(values) == 3


def test_entity_tag_changes_with_a_write(writing: Running) -> None:
    before = writing.query(ALL).headers["etag"]
    assert writing.update("INSERT DATA { <x:x> <x:y> 1 }").status_code == 204
    after = writing.client.get("/sparql", params={"query": ALL}, headers={"if-none-match": before})
    assert after.status_code == 200
    assert after.headers["etag"] != before


def test_cors_only_for_allowed_origins(reading: Running) -> None:
    def ask(origin: str) -> dict[str, str]:
        parameters = {"query": "ASK {}"}
        return dict(reading.client.get("/sparql", params=parameters, headers={"origin": origin}).headers)

    assert ask("https://app.example")["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in ask("https://evil.example")
    preflight = reading.client.request(
        "OPTIONS", "/sparql", headers={"origin": "https://app.example", "access-control-request-method": "POST"}
    )
    assert preflight.status_code == 204
    assert "POST" in preflight.headers["access-control-allow-methods"]


def test_security_headers(reading: Running) -> None:
    headers = reading.query("ASK {}", "text/html").headers
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_result_pages_escape_everything(reading: Running) -> None:
    hostile = '<script>alert(1)</script>\\"><img onerror=x>'
    page = reading.query(f'SELECT ?x {{ VALUES ?x {{ "{hostile}" <http://x/javascript:1> }} }}', "text/html")
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    assert "<img" not in page.text


@pytest.mark.parametrize("token", [None, "wrong", "a token for test"])
def test_writes_need_the_token(writing: Running, token: str | None) -> None:
    headers = {"content-type": "application/sparql-update"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    answer = writing.client.post("/sparql", content="CLEAR ALL", headers=headers)
    assert answer.status_code == 401
    assert "Bearer" in answer.headers["www-authenticate"]


def test_load_is_refused(writing: Running) -> None:
    answer = writing.update("LOAD <http://example.org/data.ttl>")
    assert answer.status_code == 403


def test_bad_data_changes_nothing(writing: Running) -> None:
    before = writing.client.get("/store?default").content
    headers = {**WRITER, "content-type": "text/turtle"}
    answer = writing.client.put("/store?default", content="<a:a> <b:b> ", headers=headers)
    assert answer.status_code == 400
    assert answer.json()["line"] == 1
    assert writing.client.get("/store?default").content == before


def test_whole_store_is_read_and_posted_as_quads(writing: Running) -> None:
    headers = {**WRITER, "content-type": "application/trig"}
    answer = writing.client.post("/store", content="<g:new> { <a:a> <b:b> 1 }", headers=headers)
    assert answer.status_code == 204
    dump = writing.client.get("/store", headers={"accept": "application/n-quads"})
    assert b'<a:a> <b:b> "1"^^<http://www.w3.org/2001/XMLSchema#integer> <g:new> .' in dump.content
    assert writing.client.delete("/store?graph=g:new", headers=WRITER).status_code == 200
    gone = writing.client.get("/store?graph=g:new")
    assert gone.status_code == 404, gone.text


def test_updates_that_cannot_be_carried_out_say_why(writing: Running) -> None:
    assert writing.update("DROP GRAPH <http://no.example/g>").status_code == 404
    assert writing.update("CREATE GRAPH <http://new.example/g>").status_code == 204
    assert writing.update("CREATE GRAPH <http://new.example/g>").status_code == 409
    assert writing.update("CREATE SILENT GRAPH <http://new.example/g>").status_code == 204
    unknown = "INSERT { <a:a> <a:b> ?x } WHERE { BIND(<http://f.example/f>(1) AS ?x) }"
    assert writing.update(unknown).status_code == 400
    assert writing.query("SELECT (<http://f.example/f>(1) AS ?x) {}").status_code == 400
