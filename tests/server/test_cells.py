from __future__ import annotations

import json
import math
from typing import Any

import pyoxigraph as ox
import pytest

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphNotFoundError
from kgtable.server import table_windows
from kgtable.server.table_windows import cell, term_json
from tests.server.open_graph import silent, texts


def found(graph: KnowledgeGraph, id: str, row: int, column: int) -> dict[str, Any]:
    return cell(graph, {"id": id, "row": row, "column": column}, silent)


def test_every_cell_has_its_text_and_its_place(opened: KnowledgeGraph, hostile_graph: KnowledgeGraph) -> None:
    for graph, id in ((opened, "halden-segments"), (hostile_graph, next(iter(hostile_graph.tables)))):
        for row, line in enumerate(texts(graph, id)[:6]):
            for column, text in enumerate(line):
                one = found(graph, id, row, column)
                assert (one["text"], one["row"], one["column"], one["table"]) == (text, row, column, id)
                assert graph.names.parse_cell_iri(one["iri"]) == (id, row, column)
                json.dumps(one)


def test_the_query_it_shows_finds_its_row(opened: KnowledgeGraph) -> None:
    one = found(opened, "planets", 2, 1)
    rows = opened.store.query(one["query"])
    assert isinstance(rows, ox.QuerySolutions)
    values = {(row["predicate"].value, row["object"].value) for row in rows}
    assert any(predicate == one["predicate"] for predicate, _ in values)


def test_numbers_say_value_unit_and_where_both_are_from(opened: KnowledgeGraph) -> None:
    numbers = [
        one
        for row in range(1, 4)
        for column in range(opened.catalogue.tables["halden-segments"].width)
        if (one := found(opened, "halden-segments", row, column))["unit"]
    ]
    assert numbers
    for one in numbers:
        assert one["unit_iri"].endswith(one["unit"])
        assert one["unit_label"]
        assert math.isfinite(float(one["value"]))
        assert {"predicate", "object"} == set(one["triples"][0])


def test_markup_is_text(hostile_graph: KnowledgeGraph) -> None:
    id = next(iter(hostile_graph.tables))
    one = found(hostile_graph, id, 1, 0)
    assert one["text"] == one["label"] == "<script>alert(1)</script>"
    assert found(hostile_graph, id, 1, 1)["header"] == '<b>"x"\u202e'


@pytest.mark.parametrize(
    "place", [("nowhere", 0, 0), ("planets", 10**6, 0), ("planets", 0, 10**6), ("", 0, 0)]
)
def test_cells_that_are_not_there(place: tuple[str, int, int], opened: KnowledgeGraph) -> None:
    with pytest.raises(GraphNotFoundError, match="no cell"):
        found(opened, *place)


def test_terms_for_the_pages() -> None:
    assert term_json(ox.NamedNode("http://e/ü")) == {"type": "uri", "value": "http://e/ü"}
    assert term_json(ox.BlankNode("b")) == {"type": "bnode", "value": "b"}
    literal = term_json(ox.Literal('<b>"', language="en"))
    assert (literal["value"], literal["language"]) == ('<b>"', "en")
    table_windows.forget_cells()
