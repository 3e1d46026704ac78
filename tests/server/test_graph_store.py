from __future__ import annotations

import pytest

from tests.server.serving import WRITER, Running

TURTLE = {"content-type": "text/turtle"}
TRIPLE = b"<http://e/s> <http://e/p> 1 ."


@pytest.mark.parametrize("address", ["/store?graph=http%3A%2F%2Fe%2F%C3%BC", "/store/my/own%20graph"])
def test_a_graph_by_its_name_and_by_its_address(address: str, writing: Running) -> None:
    iri = "http://e/ü" if "?" in address else f"{writing.url}store/my/own%20graph"
    assert writing.client.put(address, content=TRIPLE, headers=WRITER | TURTLE).status_code == 201
    assert writing.client.get("/store", params={"graph": iri}).status_code == 200
    assert f"<{iri}>" in writing.client.get("/store", headers={"accept": "application/n-quads"}).text
    assert writing.client.delete(address, headers=WRITER).status_code == 200
    assert writing.client.get(address).status_code == 404


def test_a_new_graph_tells_where_it_is(writing: Running) -> None:
    answer = writing.client.post("/store", content=TRIPLE, headers=WRITER | TURTLE)
    assert answer.status_code == 201
    assert (
        writing.client.get(answer.headers["location"], headers={"accept": "application/n-triples"}).text.count("\n")
        == 1
    )
    writing.client.delete(answer.headers["location"], headers=WRITER)


@pytest.mark.parametrize(
    ("method", "address", "headers", "status"),
    [
        ("GET", "/store?graph=no-iri", {}, 400), ("GET", "/store?graph=http://e/none", {}, 404),
        ("GET", "/store?graph=http://e/a&default", {}, 400), ("GET", "/store/a?default", {}, 400),
        ("GET", "/store?graph=http://e/a&graph=http://e/b", {}, 400),
        ("GET", "/store?graph=file:///etc/passwd", {}, 403), ("PATCH", "/store?default", {}, 405),
        ("PUT", "/store?default", {}, 401), ("PUT", "/store", WRITER, 400), ("DELETE", "/store", WRITER, 400),
        ("PUT", "/store?default", WRITER, 415), ("PUT", "/store?default", WRITER | {"content-type": "text/html"}, 415),
        ("PUT", "/store?default", WRITER | {"content-type": "application/n-quads"}, 415),
        ("PUT", "/store?default", WRITER | {"content-type": "text/turtle; charset=latin-1"}, 415),
        ("PUT", "/store?default", WRITER | TURTLE, 400),
    ],
)  # fmt: skip
def test_requests_that_are_refused(
    method: str, address: str, headers: dict[str, str], status: int, writing: Running
) -> None:
    before = writing.client.get("/store").text
    answer = writing.client.request(method, address, content=b"broken", headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert writing.client.get("/store").text == before


def test_what_is_allowed_is_told(reading: Running) -> None:
    answer = reading.client.options("/store")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "DELETE" in answer.headers["allow"]
    assert reading.client.put("/store?default", content=TRIPLE, headers=WRITER | TURTLE).status_code == 403


def test_a_graph_is_sent_once_to_those_who_have_it(reading: Running) -> None:
    answer = reading.client.get("/store?default")
    tag = {"if-none-match": answer.headers["etag"]}
    assert reading.client.get("/store?default", headers=tag).status_code == 304
    assert reading.client.head("/store?default").headers["content-length"] == answer.headers["content-length"]
