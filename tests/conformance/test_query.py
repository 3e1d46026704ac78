"""W3C's SPARQL 1.1 query tests through the endpoint, in every result format, beside the engine itself."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pyoxigraph as ox
import pytest

from tests.conformance.comparison import said, said_in_csv, said_in_file
from tests.conformance.endpoint import load, writable_endpoint
from tests.conformance.evaluation import QUERY_FOLDERS, EvaluationTest, evaluated_in, names
from tests.conformance.record import Record
from tests.server.serving import Running

SUITE = "SPARQL 1.1 Query"
TABULAR = {
    "application/sparql-results+json": ox.QueryResultsFormat.JSON,
    "application/sparql-results+xml": ox.QueryResultsFormat.XML,
    "text/tab-separated-values": ox.QueryResultsFormat.TSV,
}
GRAPH = {
    "text/turtle": ox.RdfFormat.TURTLE, "application/n-triples": ox.RdfFormat.N_TRIPLES,
    "application/ld+json": ox.RdfFormat.JSON_LD, "application/rdf+xml": ox.RdfFormat.RDF_XML,
}  # fmt: skip


@pytest.fixture(scope="module")
def tests() -> Iterator[dict[tuple[str, str], EvaluationTest]]:
    with evaluated_in(QUERY_FOLDERS) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with writable_endpoint(tmp_path_factory.mktemp("query")) as running:
        yield running


def ask(server: Running, query: str, accept: str) -> httpx.Response:
    headers = {"content-type": "application/sparql-query", "accept": accept}
    return server.client.post("/sparql", content=query.encode(), headers=headers)


def answered(server: Running, query: str, accept: str) -> list[str]:
    """What the endpoint says in this format."""
    answer = ask(server, query, accept)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] == accept
    if accept in TABULAR:
        return said(ox.parse_query_results(answer.content, TABULAR[accept]))
    return said([quad.triple for quad in ox.parse(answer.content, GRAPH[accept])])


def evaluated(test: EvaluationTest, query: str) -> list[str]:
    """What the engine says by itself."""
    store = ox.Store()
    store.extend(test.before.dataset())
    return said(store.query(query))


def check_evaluation(server: Running, test: EvaluationTest) -> bool:
    """Whether the endpoint says what the suite expects; whatever it says, the engine must say the same."""
    query = f"BASE <{test.base}>\n{test.text.read_text(encoding='utf-8')}"
    load(server, test.before.dataset())
    assert test.result is not None
    expected = said_in_file(test.result, test.base)
    graph = test.result.suffix == ".ttl"
    own = evaluated(test, query)
    for accept in () if _random(query) else GRAPH if graph else TABULAR:
        assert answered(server, query, accept) == own, accept
    if test.result.suffix == ".csv":
        return said_in_csv(ask(server, query, "text/csv").text) == expected
    return own == expected


def refusal(query: str) -> str:
    """Why the engine does not take a query, empty if it does."""
    try:
        ox.Store().query(query, base_iri="http://example.org/")
    except (SyntaxError, RuntimeError) as error:
        return " ".join(str(error).split())
    return ""


def _random(query: str) -> bool:
    return any(name in query.lower() for name in ("rand()", "uuid()", "now()"))


@pytest.mark.parametrize(("folder", "name"), [(folder, name) for folder in QUERY_FOLDERS for name in names(folder)])
def test_query(
    server: Running, tests: dict[tuple[str, str], EvaluationTest], folder: str, name: str, conformance: Record
) -> None:
    test = tests[folder, name]
    with conformance.result(SUITE, f"{folder}/{name}", test.title) as note:
        if "Syntax" not in test.kind:
            if not check_evaluation(server, test):
                note("the engine answers otherwise")
            return
        text = test.text.read_text(encoding="utf-8")
        refused = refusal(text)
        assert ask(server, text, "*/*").status_code == (400 if refused else 200)
        if bool(refused) == test.kind.startswith("Positive"):
            note(f"the engine says otherwise: {refused}" if refused else "the engine takes it")
