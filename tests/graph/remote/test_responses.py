from __future__ import annotations

import json

import httpx
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import KgtableError, QueryError, RemoteStoreError, UsageError
from kgtable.graph.remote.dialects import DIALECTS, dialect_named
from kgtable.graph.remote.endpoint import (
    LONGEST_MESSAGE,
    checked,
    count_rows,
    parsed,
    refuse_partial,
    triples,
)
from kgtable.graph.remote.http import HttpReply

URL = "https://e/sparql"
RESULTS = "application/sparql-results+json"
ROWS = [{"x": {"type": "literal", "value": str(number)}} for number in range(3)]
SELECTED = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": ROWS}}).encode()


def reply(body: bytes = b"", status: int = 200, type: str = RESULTS, **headers: str) -> HttpReply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpReply(status, httpx.Headers({"Content-Type": type, **named}), body)


@given(
    st.integers(300, 599), st.binary(max_size=40), st.sampled_from(["text/plain", "text/html", RESULTS, ""])
)
def test_no_failure_passes_and_every_message_is_one_printable_line(
    status: int, body: bytes, type: str
) -> None:
    with pytest.raises(KgtableError) as caught:
        checked(reply(body * 20, status, type), URL, asked=True)
    assert caught.value.message.startswith(URL)
    assert len(caught.value.message) < LONGEST_MESSAGE + 100
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in str(caught.value))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"message": "no\\nmemory"}', ": no memory"),
        (b'{"title": "t", "detail": {"line": 3}}', ": {'line': 3}"),
        (b'{"message"', "."),
        (b'{"a":' * 200_000, "."),
        (b"<html>secret", "."),
        (b"plain \x1b[31m words", ": plain [31m words"),
        (b"\xff\xfe", ": \ufffd\ufffd"),
    ],
)
def test_the_words_of_the_engine(body: bytes, said: str) -> None:
    with pytest.raises(RemoteStoreError) as caught:
        checked(reply(body, 500, "text/plain"), URL)
    assert caught.value.message == f"{URL} answered with status 500{said}"


def test_blame_lies_with_the_query_only_when_one_was_asked() -> None:
    checked(reply(status=204), URL)
    with pytest.raises(QueryError, match="refused the query"):
        checked(reply(status=400), URL, asked=True)
    with pytest.raises(RemoteStoreError, match="status 400"):
        checked(reply(status=400), URL)


def test_rows_are_counted_and_can_be_read() -> None:
    assert count_rows(reply(SELECTED, type=f"{RESULTS}; charset=utf-8"), URL) == 3
    assert count_rows(reply(b'{"head": {}, "boolean": false}'), URL) == 1
    found = parsed(SELECTED)
    assert isinstance(found, ox.QuerySolutions)
    assert [row["x"].value for row in found] == ["0", "1", "2"]


@given(st.integers(0, len(SELECTED) - 1))
def test_results_that_broke_off_anywhere_are_refused(end: int) -> None:
    with pytest.raises(RemoteStoreError, match="damaged, or broke off"):
        count_rows(reply(SELECTED[:end]), URL)


def test_a_text_that_the_parser_does_not_take_is_refused() -> None:
    text = b"x" * (17 << 20)
    with pytest.raises(RemoteStoreError, match="damaged, or broke off"):
        count_rows(reply(SELECTED.replace(b'"0"', b'"' + text + b'"')), URL)
    with pytest.raises(RemoteStoreError, match="damaged, or broke off"):
        triples(reply(b'<urn:a> <urn:b> "' + text + b'" .', type="application/n-triples"), URL)


def test_results_of_another_kind_are_refused() -> None:
    with pytest.raises(RemoteStoreError, match="text/html instead of SPARQL results"):
        count_rows(reply(SELECTED, type="text/html"), URL)
    for type in (RESULTS, "text/html", "application/xhtml+html"):
        with pytest.raises(RemoteStoreError, match="instead of N-Triples"):
            triples(reply(b"", type=type), URL)


def test_triples_are_read_whole_or_not_at_all() -> None:
    line = b'<http://e/s> <http://e/p> "\xc3\xbc" .\n'
    assert [triple.object for triple in triples(reply(line, type="text/plain"), URL)] == [ox.Literal("ü")]
    assert len(triples(reply(b"@prefix e: <http://e/> . e:s e:p 1, 2 .", type="text/turtle"), URL)) == 2
    with pytest.raises(RemoteStoreError, match="damaged"):
        triples(reply(line + line[:20], type="application/n-triples"), URL)


@pytest.mark.parametrize(
    ("answer", "rows", "dialect"),
    [
        (reply(status=206), 1, "generic"),
        (reply(x_sql_state="S1TAT"), 1, "generic"),
        (reply(x_sparql_maxrows="3"), 3, "generic"),
        (reply(), 10_000, "virtuoso"),
    ],
)
def test_a_cut_result_is_an_error(answer: HttpReply, rows: int, dialect: str) -> None:
    with pytest.raises(RemoteStoreError, match=f"only a part of the results, {rows:,} rows"):
        refuse_partial(answer, rows, DIALECTS[dialect], URL)


def test_a_whole_result_is_none() -> None:
    refuse_partial(reply(), 10_000, DIALECTS["generic"], URL)
    refuse_partial(reply(), 9_999, DIALECTS["virtuoso"], URL)
    refuse_partial(reply(x_sparql_maxrows="20000"), 10_000, DIALECTS["virtuoso"], URL)
    refuse_partial(reply(x_sparql_maxrows="many"), 5, DIALECTS["generic"], URL)


def test_every_dialect_is_found_by_its_name() -> None:
    assert {name: dialect_named(name.upper()).name for name in DIALECTS} == {name: name for name in DIALECTS}
    with pytest.raises(UsageError, match="generic, kgtable"):
        dialect_named("blazegraph")


def test_how_the_union_is_asked_for() -> None:
    assert dialect_named("oxigraph").dataset(True) == [("union-default-graph", "true")]
    assert dialect_named("oxigraph").dataset(False) == []
    assert dialect_named("fuseki").dataset(True) == [], "default-graph-uri would leave nothing for GRAPH"
    assert dialect_named("generic").dataset(True) == []


@pytest.mark.parametrize("name", ["fuseki", "virtuoso", "neptune"])
def test_engines_without_a_default_graph_keep_the_description_under_a_name(name: str) -> None:
    dialect = dialect_named(name)
    assert dialect.dataset(False) == [("default-graph-uri", dialect.default_graph)]
