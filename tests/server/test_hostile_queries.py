"""Queries that mean harm: nested beyond the engine's stack, services that do not answer, odd characters."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lxml.etree
import pytest

from kgtable.errors import QueryError
from kgtable.graph.sparql_text import MOST_PARTS, DeepTextError, check_depth
from kgtable.graph.store import EmbeddedStore
from kgtable.server.options import ServerLimits, ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.conftest import DATA, QUEUE, SMALL
from tests.server.serving import TOKEN, Running, running, store_with

ODD = "<http://e/odd> <http://e/p> 'a\\u0001b\\u000Bc\\uFFFEd\\te' ."


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        silent = f"http://127.0.0.1:{closed.getsockname()[1]}/sparql"
    source = store_with(tmp_path_factory.mktemp("asked") / "store", DATA + ODD)
    limits = SMALL.__class__(query_seconds=10.0, memory=600 << 20)
    settings = ServerSettings(
        port=0, writable=True, token=TOKEN, limits=limits, queue=QUEUE, services=(silent,), loads=(silent,)
    )
    with running(settings, source) as server:
        yield server


DEEP = {
    "brackets": "ASK { FILTER(" + "(" * 9_000 + "1" + ")" * 9_000 + ") }",
    "groups": "ASK " + "{" * 9_000 + "?s ?p ?o" + "}" * 9_000,
    "functions": "ASK { FILTER(" + "STR(" * 9_000 + "1" + ")" * 9_000 + ") }",
    "optional": "ASK {" + "OPTIONAL { ?s ?p ?o } " * 9_000 + "}",
    "or": "ASK { FILTER(" + "||".join(["?a"] * 20_000) + ") }",
    "sum": "ASK { FILTER(" + "+".join(["1"] * 20_000) + ") }",
    "numbers that subtract": "ASK { FILTER(1" + " -1" * 20_000 + ") }",
}


@pytest.mark.parametrize("kind", DEEP)
def test_what_the_engine_has_no_stack_for_is_a_bad_request(kind: str, asked: Running) -> None:
    answer = asked.client.post("/sparql", data={"query": DEEP[kind]})
    assert answer.status_code == 400, answer.text
    assert answer.json()["type"].endswith("#too-complex")


@pytest.mark.parametrize("kind", [kind for kind in DEEP if "subtract" not in kind])
def test_deep_queries_are_an_error_in_python_too(kind: str, tmp_path: Path) -> None:
    store = EmbeddedStore(store_with(tmp_path / "store").view().path)
    with pytest.raises(QueryError, match=r"levels deep|joined patterns"):
        store.query(DEEP[kind])


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { VALUES ?x {" + " ".join(f"-{n}" for n in range(20_000)) + "} }",
        "SELECT * { VALUES ?x {" + ' "a"^^<http://e/t>' * 20_000 + "} }",
        "SELECT * { VALUES (?x ?y) {" + " (<http://e/a-b/c> 'x + (y')" * 5_000 + "} }",
        "ASK { FILTER(" + " || ".join(f"?a = {n}" for n in range(MOST_PARTS)) + ") }",
        "ASK {} # " + "((((" * 5_000,
    ],
)
def test_long_queries_are_no_deep_ones(query: str) -> None:
    check_depth(query)


def test_depth_is_counted_at_once() -> None:
    check_depth("ASK " + "{}" * 9_000)
    with pytest.raises(DeepTextError):
        check_depth("ASK " + "{" * 300)


def test_a_deep_update_is_a_bad_request(asked: Running) -> None:
    answer = asked.update("DELETE WHERE {} ; INSERT { <a:a> <a:b> 1 } WHERE " + DEEP["brackets"][4:])
    assert answer.status_code == 400
    assert asked.update("INSERT DATA { <a:a> <a:b> 1 }").status_code == 204


@pytest.mark.parametrize("silent", ["", "SILENT"])
def test_a_service_that_cannot_be_reached_is_told(asked: Running, silent: str) -> None:
    (iri,) = asked.state.settings.services
    answer = asked.query(f"SELECT * {{ SERVICE {silent} <{iri}> {{ ?s ?p ?o }} }}")
    assert answer.status_code == (200 if silent else 502)
    if not silent:
        assert answer.json()["type"].endswith("#remote-failed")
    loaded = asked.update(f"LOAD {silent} <{iri}>")
    assert loaded.status_code == (204 if silent else 502)


def test_results_in_xml_are_well_formed(asked: Running) -> None:
    select = "SELECT ?o { <http://e/odd> ?p ?o }"
    found = lxml.etree.fromstring(asked.query(select, "application/sparql-results+xml").content)
    assert "".join(found.itertext()) == "a\ufffdb\ufffdc\ufffdd\te"
    construct = "CONSTRUCT WHERE { <http://e/odd> ?p ?o }"
    found = lxml.etree.fromstring(asked.query(construct, "application/rdf+xml").content)
    assert "a\ufffdb\ufffdc\ufffdd" in "".join(found.itertext())
    rows = asked.query(select).json()["results"]["bindings"]
    assert rows[0]["o"]["value"] == "a\x01b\x0bc\ufffed\te"


def test_columns_come_in_the_order_of_the_query(asked: Running) -> None:
    star = "SELECT * { ?thing <http://example.org/p> ?amount . ?thing ?by ?amount }"
    assert asked.query(star).json()["head"]["vars"] == ["thing", "amount", "by"]
    assert asked.query(star, "text/csv").text.startswith("thing,amount,by\r\n")


def test_questions_with_half_characters_are_refused(exploring: Running) -> None:
    headers = {"content-type": "application/json"}
    for body in ({"question": "a\ud800"}, {"question": "a", "method": "\udfff"}, {"question": "a", "\ud800": 1}):
        answer = exploring.client.post("/api/ask", content=json.dumps(body), headers=headers)
        assert answer.status_code == 400, answer.text
    whole = json.dumps({"question": "How many \ud83d\ude00 planets?"})
    assert exploring.client.post("/api/ask", content=whole, headers=headers).status_code == 200


JOINS = "SELECT count(*) FROM planets p0 " + " ".join(
    f"JOIN planets p{n} ON p{n}.planet = p{n - 1}.planet" for n in range(1, 300)
)
NUMBERS = "SELECT (COUNT(*) AS ?n) { VALUES ?a { 0 1 2 3 4 5 6 7 8 9 } "
NUMBERS += "".join(f"VALUES ?v{n} {{ 0 1 2 3 4 5 6 7 8 9 }} " for n in range(12)) + "}"


def test_costly_requests_end_in_time_and_leave_a_process_to_the_others(graph_folder: Path) -> None:
    settings = ServerSettings(port=0, limits=ServerLimits(query_seconds=2.0))
    costly = [("sql", JOINS), ("chart", NUMBERS)] * 2
    with running(settings, GraphFolder(graph_folder)) as server, ThreadPoolExecutor(len(costly)) as threads:
        assert server.client.get("/api/info").status_code == 200
        answers = [threads.submit(server.client.get, f"/api/{name}", params={"query": query}) for name, query in costly]
        shown = 0
        while not all(answer.done() for answer in answers):
            assert server.client.get("/api/tables/planets").status_code == 200
            shown += sum(not answer.done() for answer in answers) == len(costly)
            time.sleep(0.05)
        assert shown
        assert {answer.result().status_code for answer in answers} == {503}
        assert {answer.result().json()["type"].rpartition("#")[2] for answer in answers} == {"timeout"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_start_nothing_costly(exploring: Running, site: str) -> None:
    query = {"query": "ASK {}"}
    wanted = [("sql", {"query": "SELECT 1"}), ("chart", query), ("retrieve", {"question": "How many rings?"})]
    wanted += [("search", {"q": "Saturn"}), ("explore", {"table": "planets", "how": "count"})]
    for path, parameters in [*((f"/api/{name}", given) for name, given in wanted), ("/sparql", query)]:
        for browser, status in ((site, 403), ("same-origin", 200), ("none", 200)):
            answer = exploring.client.get(path, params=parameters, headers={"sec-fetch-site": browser})
            assert answer.status_code == status, (path, browser)


def test_pages_of_an_allowed_origin_may_query(reading: Running) -> None:
    for origin, status in (("https://app.example", 200), ("https://evil.example", 403)):
        headers = {"origin": origin, "sec-fetch-site": "cross-site"}
        assert reading.client.get("/sparql", params={"query": "ASK {}"}, headers=headers).status_code == status
