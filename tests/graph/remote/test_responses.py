from __future__ import annotations

import json

import httpx
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.errors import KgtableError, RemoteStoreError
from kgtable.graph.remote.dialects import DIALECTS, dialect_named
from kgtable.graph.remote.endpoint import LONGEST_MESSAGE, checked, count_rows, refuse_partial, triples
from kgtable.graph.remote.http import HttpReply

URL = "https://e/sparql"
RESULTS = "application/sparql-results+json"
ROWS = [{"x": {"type": "literal", "value": str(number)}} for number in range(3)]
SELECTED = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": ROWS}}).encode()


def reply(body: bytes = b"", status: int = 200, type: str = RESULTS, **headers: str) -> HttpReply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpReply(status, httpx.Headers({"Content-Type": type, **named}), body)


@given(st.integers(300, 599), st.binary(max_size=40), st.sampled_from(["text/plain", "text/html", RESULTS, ""]))
def test_no_failure_passes_and_every_message_is_one_printable_line(status: int, body: bytes, type: str) -> None:
    with pytest.raises(KgtableError) as caught:
        checked(reply(body * 20, status, type), URL, asked=True)
    assert caught.value.message.startswith(URL)
    assert len(caught.value.message) < LONGEST_MESSAGE + 100
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in str(caught.value))


@given(st.integers(0, len(SELECTED) - 1))
def test_results_that_broke_off_anywhere_are_refused(end: int) -> None:
    with pytest.raises(RemoteStoreError, match="damaged, or broke off"):
        count_rows(reply(SELECTED[:end]), URL)


def test_triples_are_read_whole_or_not_at_all() -> None:
    line = b'<http://e/s> <http://e/p> "\xc3\xbc" .\n'
    assert [triple.object for triple in triples(reply(line, type="text/plain"), URL)] == [ox.Literal("ü")]
    assert len(triples(reply(b"@prefix e: <http://e/> . e:s e:p 1, 2 .", type="text/turtle"), URL)) == 2
    with pytest.raises(RemoteStoreError, match="damaged"):
        triples(reply(line + line[:20], type="application/n-triples"), URL)


@pytest.mark.parametrize(
    ("answer", "rows", "dialect"),
    [
        (reply(status=206), 1, "generic"), (reply(x_sql_state="S1TAT"), 1, "generic"),
        (reply(x_sparql_maxrows="3"), 3, "generic"), (reply(), 10_000, "virtuoso"),
    ],
)  # fmt: skip
def test_a_cut_result_is_an_error(answer: HttpReply, rows: int, dialect: str) -> None:
    with pytest.raises(RemoteStoreError, match=f"only a part of the results, {rows:,} rows"):
        refuse_partial(answer, rows, DIALECTS[dialect], URL)


@pytest.mark.parametrize("name", ["fuseki", "virtuoso", "neptune"])
def test_engines_without_a_default_graph_keep_the_description_under_a_name(name: str) -> None:
    dialect = dialect_named(name)
    assert dialect.dataset(False) == [("default-graph-uri", dialect.default_graph)]


def test_a_head_of_many_variables_is_refused_before_it_is_parsed() -> None:
    def answered(variables: int, rows: int) -> HttpReply:
        head = {"vars": [f"v{number}" for number in range(variables)]}
        return reply(json.dumps({"head": head, "results": {"bindings": [{}] * rows}}).encode())

    assert count_rows(answered(2_000, 100_000), URL) == 100_000
    with pytest.raises(RemoteStoreError, match="damaged"):
        count_rows(answered(100_000, 0), URL)
