from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import pyoxigraph as ox
import pytest

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphError, GraphNotFoundError
from kgtable.graph.table_decoder import TableStatements
from kgtable.graph.terms import KGT, XSD
from kgtable.server import table_windows
from kgtable.server.table_windows import (
    AROUND,
    LONGEST_TEXT,
    cell,
    csv,
    group_path,
    table,
    term_json,
)
from tests.graph.support import NAMES
from tests.server.open_graph import silent, texts, window


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


def test_the_frame_is_that_of_the_table(opened: KnowledgeGraph) -> None:
    for id in opened.tables:
        table, frame = opened.tables[id].table, opened.reader.frame(id)
        assert frame.table.columns == table.columns
        assert frame.table.context == table.context
        assert frame.table.structure.body_start == table.structure.body_start
        assert len(frame.predicates) == table.grid.width


def test_rows_are_read_one_by_one_as_they_were(opened: KnowledgeGraph, hostile_graph: KnowledgeGraph) -> None:
    for graph in (opened, hostile_graph):
        for id in graph.tables:
            wanted = dict(enumerate(texts(graph, id)[:12]))
            rows = graph.reader.rows(id, wanted)
            assert list(rows) == list(wanted)
            for index, row in rows.items():
                assert [*row.cells, *[""] * (len(wanted[index]) - len(row.cells))] == wanted[index]
                assert row.kinds


def test_a_row_that_is_not_there(opened: KnowledgeGraph) -> None:
    assert opened.reader.row("planets", 10**6) is None
    assert opened.reader.rows("planets", [-1, 10**6]) == {}
    with pytest.raises(GraphNotFoundError):
        opened.reader.row("nowhere", 0)


def test_the_groups_of_a_row_the_outermost_first(opened: KnowledgeGraph) -> None:
    id = "norrvik-income-statement"
    structure, frame = opened.tables[id].table.structure, opened.reader.frame(id)
    assert structure.parents
    for index, parent in structure.parents.items():
        row = opened.reader.row(id, index)
        assert row is not None
        found = group_path(frame, row)
        assert found[-1] == parent
        assert all(structure.parents.get(one) == other for other, one in pairwise(found))


@pytest.mark.parametrize("value", ["x", "7"])
def test_damaged_statements_name_the_table(value: str) -> None:
    integer = ox.NamedNode(f"{XSD}integer")
    width = ox.Literal(value, datatype=integer)
    damaged = ox.Triple(ox.NamedNode(NAMES.table_iri("t")), ox.NamedNode(f"{KGT}width"), width)
    with pytest.raises(GraphError, match="'t' are incomplete or damaged"):
        TableStatements("t", NAMES, [damaged]).frame()
    with pytest.raises(GraphNotFoundError, match="'t'"):
        TableStatements("t", NAMES, [])


def test_a_window_over_all_holds_every_cell(opened: KnowledgeGraph, hostile_graph: KnowledgeGraph) -> None:
    for graph in (opened, hostile_graph):
        for id in graph.tables:
            found = table(graph, window(id), silent)
            expected = [[cell[:LONGEST_TEXT] for cell in row] for row in texts(graph, id)]
            assert [row["cells"] for row in found["rows"]] == expected
            assert [row["index"] for row in found["rows"]] == list(range(found["rows_total"]))
            assert [column["index"] for column in found["columns"]] == list(range(found["width"]))


def test_rows_around_a_citation_come_with_those_above_the_body(opened: KnowledgeGraph) -> None:
    found = table(opened, window("planets", around=(5,)), silent)
    start = found["body_start"]
    expected = {*range(start), *range(5 - AROUND, 5 + AROUND + 1)}
    assert [row["index"] for row in found["rows"]] == sorted(expected & set(range(found["rows_total"])))
    assert found["rows"][0]["kind"] == "header"


def test_windows_beyond_the_table_are_empty_but_for_its_header(opened: KnowledgeGraph) -> None:
    found = table(opened, window("planets", row=10**9, column=10**6), silent)
    assert [row["index"] for row in found["rows"]] == list(range(found["body_start"]))
    assert found["columns"] == []


def test_groups_nest_their_rows(opened: KnowledgeGraph) -> None:
    found = table(opened, window("norrvik-income-statement"), silent)
    kinds = {row["kind"] for row in found["rows"]}
    assert {"group", "header", "body"} <= kinds
    assert max(row["depth"] for row in found["rows"]) > 0


def test_csv_is_the_table_as_it_was_read(opened: KnowledgeGraph) -> None:
    assert csv(opened, {"id": "planets"}, silent).decode() == opened.tables["planets"].to_csv()


@pytest.mark.parametrize("id", ["", "nowhere", "../planets", '"<script>', "planets/row/1"])
def test_tables_that_are_not_there(id: str, opened: KnowledgeGraph) -> None:
    for operation in (table, csv):
        with pytest.raises(GraphNotFoundError):
            operation(opened, window(id), silent)
