"""``kgt:similarity`` in SPARQL: from Python, and from the endpoint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kgtable
from kgtable.building.description import examples
from kgtable.errors import QueryError
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.index.sample_graph import write_tables
from tests.server.serving import running

NEAREST = """SELECT ?name (kgt:similarity(?name, "country") AS ?near) WHERE {
  { SELECT DISTINCT ?name { GRAPH ?table { ?column csvw:titles ?name } } }
} ORDER BY DESC(?near) LIMIT 3"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("similarity")
    with kgtable.build(write_tables(folder / "tables"), folder / "kg") as kg:
        yield kg


def test_it_is_the_cosine_of_the_graphs_embedding(graph: kgtable.KnowledgeGraph) -> None:
    for text, words in (("Gold", "medals of gold"), ("words that no table has", "gold"), ("", "gold")):
        query = "SELECT ?a ?b (kgt:similarity(?a, ?b) AS ?s) {}"
        vectors = graph.index.embed([text.lower(), words])
        assert vectors is not None
        similarity = graph.sparql(query, bindings={"a": text, "b": words})["s"][0]
        assert float(similarity) == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-3)
    assert graph.sparql("SELECT (kgt:similarity(kgt:Row, 'gold') AS ?s) {}")["s"].isna().all()


def test_columns_by_meaning(graph: kgtable.KnowledgeGraph) -> None:
    assert graph.sparql(NEAREST)["name"][0] == "Nation"


def test_a_graph_without_vectors_says_so(tmp_path: object, graph: kgtable.KnowledgeGraph) -> None:
    lexical = kgtable.build(graph.path.parent / "tables", f"{tmp_path}/kg", embedding="none")
    with lexical, pytest.raises(QueryError, match="needs vectors"):
        lexical.sparql(NEAREST)


def test_the_endpoint_knows_it_and_says_so(graph: kgtable.KnowledgeGraph) -> None:
    with running(ServerSettings(port=0), GraphFolder(graph.path)) as server:
        found = server.query(NEAREST, "text/csv")
        assert found.status_code == 200, found.text
        assert found.text.splitlines()[1].startswith("Nation,")
        described = server.client.get("/sparql", headers={"accept": "application/n-triples"}).text
        assert "sparql-service-description#extensionFunction> <https://w3id.org/kgtable#similarity>" in described
        offered = {example["title"] for example in server.client.get("/api/dataset").json()["examples"]}
        assert {example.title for example in examples("similarity")} <= offered
        for example in examples("similarity"):
            assert server.query(example.query, "text/csv").status_code == 200, example.title
