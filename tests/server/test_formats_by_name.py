"""Formats by name in the address, entity tags of each format, and the token as a password."""

from __future__ import annotations

import base64
from urllib.parse import urlencode

import duckdb
import pandas as pd
import pytest

from tests.server.serving import TOKEN, Running

QUERY = "SELECT ?s ?o { ?s <http://example.org/p> ?o } ORDER BY ?o"
CONSTRUCT = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"


@pytest.mark.parametrize("parameter", ["format", "output"])
@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("csv", "text/csv"), ("TSV", "text/tab-separated-values"), ("json", "application/sparql-results+json"),
        ("xml", "application/sparql-results+xml"),
        ("application/sparql-results+json", "application/sparql-results+json"), ("html", "text/html"),
    ],
)  # fmt: skip
def test_the_address_names_the_format_of_results(reading: Running, parameter: str, name: str, media_type: str) -> None:
    for accept in ("", "text/turtle", "application/json"):
        answer = reading.query(QUERY, accept, **{parameter: name})
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, media_type)
    form = reading.client.post("/sparql", data={"query": QUERY, parameter: name})
    assert form.headers["content-type"].partition(";")[0] == media_type
    direct = reading.client.post(
        "/sparql", params={parameter: name}, content=QUERY, headers={"content-type": "application/sparql-query"}
    )
    assert direct.headers["content-type"].partition(";")[0] == media_type


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("turtle", "text/turtle"), ("ntriples", "application/n-triples"), ("json-ld", "application/ld+json"),
        ("json", "application/ld+json"), ("xml", "application/rdf+xml"),
    ],
)  # fmt: skip
def test_the_address_names_the_format_of_graphs(reading: Running, name: str, media_type: str) -> None:
    for answer in (
        reading.query(CONSTRUCT, "text/csv", format=name),
        reading.client.get("/store", params={"default": "", "output": name}),
    ):
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, media_type)
    assert reading.client.get("/store", params={"format": "nq"}).text.count("\n") == 3


def test_a_name_that_is_no_format_is_refused(reading: Running) -> None:
    for answer in (
        reading.query(QUERY, format="docx"), reading.query(QUERY, format="turtle"),
        reading.query(CONSTRUCT, format="csv"), reading.client.get("/store", params={"default": "", "format": "csv"}),
    ):  # fmt: skip
        assert answer.status_code == 406
        assert answer.json()["available"]
    assert reading.query(QUERY, format="").status_code == 200


def test_pandas_and_duckdb_read_a_query_as_a_file(reading: Running) -> None:
    address = f"{reading.sparql}?{urlencode({'query': QUERY, 'format': 'csv'})}"
    frame = pd.read_csv(address)
    assert list(frame["o"]) == [1, 2, 3]
    rows = duckdb.sql("SELECT sum(o) AS total FROM frame").fetchall()
    assert int(rows[0][0]) == 6


def test_each_format_and_encoding_has_its_own_tag(reading: Running) -> None:
    def tag(query: str, form: str, encoding: str = "identity", known: str = "") -> tuple[int, str, str]:
        headers = {"accept-encoding": encoding, "if-none-match": known}
        answer = reading.client.get("/sparql", params={"query": query, "format": form}, headers=headers)
        return answer.status_code, answer.headers.get("etag", ""), answer.text

    for query in (QUERY, f"{QUERY} # not yet kept"):
        tags = [tag(query, form, encoding)[1] for form in ("csv", "json") for encoding in ("identity", "gzip")]
        assert len(set(tags)) == 4
        for known in tags[1:]:
            assert tag(query, "csv", known=known)[0] == 200
        assert tag(query, "csv", known=tags[0]) == (304, tags[0], "")
    fresh = f"{QUERY} # only asked for once"
    assert tag(fresh, "csv", known=tags[0])[0] == 304
    answer = reading.client.get("/sparql", params={"query": QUERY}, headers={"accept": "text/csv"})
    assert answer.headers["etag"] == tags[0] or "gzip" in answer.headers["etag"]


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/sparql?query=SELECT", 400), ("/sparql?query=SELECT+(NOW()+AS+%3Fx)+%7B%7D", 200),
        ("/sparql?query=ASK+%7B%7D&format=turtle", 406), ("/sparql?default-graph-uri=x&query=ASK+%7B%7D", 400),
        ("/store?graph=http://example.org/none", 404), ("/store?default&format=docx", 406),
    ],
)  # fmt: skip
def test_a_tag_makes_nothing_valid(reading: Running, address: str, status: int) -> None:
    known = reading.query(QUERY).headers["etag"]
    for tag in ("*", known):
        answer = reading.client.get(address, headers={"if-none-match": tag})
        assert answer.status_code == status
        assert "etag" not in answer.headers


def test_a_missing_table_is_not_unchanged(exploring: Running) -> None:
    tag = {"if-none-match": "*"}
    assert exploring.client.get("/api/tables/none", headers=tag).status_code == 404
    assert exploring.client.get("/api/tables", headers=tag).status_code == 304


def basic(password: str, user: str = "anyone") -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def test_the_token_is_a_password(writing: Running) -> None:
    def put(headers: dict[str, str]) -> int:
        address = "/store?graph=http://example.org/basic"
        content = {"content-type": "text/turtle", **headers}
        return writing.client.put(address, content="<x:a> <x:b> 1 .", headers=content).status_code

    assert put(basic(TOKEN)) in (201, 204)
    assert put(basic(TOKEN, "")) == 204
    for wrong in (basic("wrong"), {"authorization": "Basic ?"}, {"authorization": f"Basic {TOKEN}"}):
        assert put(wrong) == 401
    for elsewhere in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        assert put({**basic(TOKEN), **elsewhere}) == 401
        assert put({"authorization": f"Bearer {TOKEN}", **elsewhere}) == 204
    assert put({**basic(TOKEN), "origin": writing.url.rstrip("/"), "sec-fetch-site": "same-origin"}) == 204


def test_programs_are_told_of_basic_and_browsers_are_not_asked(writing: Running) -> None:
    program = writing.client.delete("/store?default")
    assert program.headers["www-authenticate"].startswith("Basic ")  # Jena reads the first scheme only
    assert "Bearer" in program.headers["www-authenticate"]
    browser = writing.client.delete("/store?default", headers={"sec-fetch-site": "same-origin"})
    assert browser.headers["www-authenticate"] == 'Bearer realm="kgtable"'
