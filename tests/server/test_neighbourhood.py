from __future__ import annotations

import json

import pytest

from kgtable.errors import GraphNotFoundError, UsageError
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views.neighbourhood import neighbours, place, resource, search
from tests.server.open_graph import silent


def test_statements_that_start_from_a_row_and_lead_to_it(opened: KnowledgeGraph) -> None:
    iri = opened.names.row_iri("planets", 1)
    found = resource(opened, {"iri": iri}, silent)
    assert (found["iri"], found["table"], found["row"], found["column"]) == (iri, "planets", 1, None)
    assert found["label"]
    assert {statement["predicate"] for statement in found["outgoing"]} > {opened.names.predicate_iri("hasPlanet")}
    assert not found["more"]


def test_what_is_not_in_the_graph_is_not_found(opened: KnowledgeGraph) -> None:
    with pytest.raises(GraphNotFoundError, match="does not contain http:"):
        resource(opened, {"iri": "http://other.example/a#b"}, silent)


def test_a_picture_is_whole_and_within_its_limit(opened: KnowledgeGraph) -> None:
    for iri in (
        opened.names.row_iri("planets", 1),
        opened.names.predicate_iri("hasPlanet"),
        opened.names.table_iri("planets"),
    ):
        for limit in (1, 40):
            found = neighbours(opened, {"iri": iri, "limit": limit}, silent)
            ids = [node["id"] for node in found["nodes"]]
            assert len(ids) == len(set(ids))
            assert ids[0] == iri
            edges = [(edge["source"], edge["predicate"], edge["target"]) for edge in found["edges"]]
            assert len(edges) == len(set(edges)) <= 4 * limit
            assert {end for source, _, target in edges for end in (source, target)} <= set(ids)
            json.dumps(found)


def test_nodes_are_found_by_any_part_of_their_label(opened: KnowledgeGraph, hostile_graph: KnowledgeGraph) -> None:
    hits = search(opened, {"q": "  SATURN ", "limit": 5}, silent)["hits"]
    assert hits[0]["kind"] == "subject"
    assert len(search(opened, {"q": "a", "limit": 3}, silent)["hits"]) == 3
    assert search(opened, {"q": " ", "limit": 5}, silent) == {"hits": []}
    for words in ("<script>", '"quoted"', "\u202eabc"):
        assert search(hostile_graph, {"q": words, "limit": 5}, silent)["hits"], words
    assert search(hostile_graph, {"q": '") } #', "limit": 5}, silent) == {"hits": []}


@pytest.mark.parametrize("iri", ["", "relative", "http://x/ y", "http://x/<script>", "//x", "a b:c", "http://x/\ud800"])
def test_what_is_no_iri_is_refused(iri: str, opened: KnowledgeGraph) -> None:
    for operation in (resource, neighbours):
        with pytest.raises(UsageError, match="not an absolute IRI"):
            operation(opened, {"iri": iri, "limit": 5}, silent)


@pytest.mark.parametrize(("part", "row", "column"), [("/cell/3/1", 3, 1), ("/row/2", 2, None), ("", None, None)])
def test_the_place_of_an_iri(part: str, row: int | None, column: int | None, opened: KnowledgeGraph) -> None:
    found = place(opened, opened.names.table_iri("a/b <i>") + part)
    assert found == {"table": "a/b <i>", "row": row, "column": column}


@pytest.mark.parametrize("part", ["/row/²", f"/row/{'9' * 5000}", "/row/x", "/cell/1", f"/cell/{'9' * 5000}/1", "/x"])
def test_iris_that_look_like_places(part: str, opened: KnowledgeGraph) -> None:
    iri = opened.names.table_iri("planets") + part
    assert place(opened, iri) == {"table": None, "row": None, "column": None}
    with pytest.raises(GraphNotFoundError):
        resource(opened, {"iri": iri}, silent)
