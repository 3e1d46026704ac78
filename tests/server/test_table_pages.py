from __future__ import annotations

import pytest

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphNotFoundError
from kgtable.server.table_windows import AROUND, LONGEST_TEXT, csv, table
from tests.server.open_graph import silent, texts, window


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
