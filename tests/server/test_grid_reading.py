from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import kgtable
from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphError, GraphNotFoundError
from kgtable.graph.terms import KGT
from kgtable.server import table_windows
from kgtable.server.table_windows import group_rows, layout_of, row_of, sound_table
from tests.server.open_graph import texts


def test_the_layout_is_that_of_the_table(opened: KnowledgeGraph) -> None:
    for id in opened.tables:
        table, layout = opened.tables[id].table, layout_of(opened, id)
        assert len(layout.titles) == table.grid.width
        assert [layout.titles[column.index] for column in table.columns] == [
            column.name for column in table.columns
        ]
        assert layout.number("bodyStart") == table.structure.body_start
        assert layout.texts.get("paragraph", ()) == table.context.paragraphs
        assert layout.number("nothing", 7) == 7
        assert layout.first(KGT + "nothing") == ""


def test_rows_are_read_one_by_one_as_they_were(opened: KnowledgeGraph, hostile_graph: KnowledgeGraph) -> None:
    for graph in (opened, hostile_graph):
        for id in graph.tables:
            layout = layout_of(graph, id)
            for index, row in enumerate(texts(graph, id)[:12]):
                cells, types, statements = row_of(graph, id, layout, index)
                assert [cells.get(column, "") for column in range(len(row))] == row
                assert types
                assert KGT + "row" in statements


def test_a_row_that_is_not_there_says_nothing(opened: KnowledgeGraph) -> None:
    assert row_of(opened, "planets", layout_of(opened, "planets"), 10**6) == ({}, frozenset(), {})
    assert layout_of(opened, "nowhere").titles == ()


def test_the_groups_of_a_row_the_innermost_first(opened: KnowledgeGraph) -> None:
    structure = opened.tables["norrvik-income-statement"].table.structure
    assert structure.parents
    for index, parent in structure.parents.items():
        found = group_rows(opened, "norrvik-income-statement", index)
        assert found[0] == parent
        assert all(structure.parents.get(one) == other for one, other in pairwise(found))
    assert group_rows(opened, "planets", 1) == ()


def test_what_is_remembered_can_be_let_go(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\nx,1\n", encoding="utf-8")
    layout_of(kgtable.build(tmp_path / "t.csv", tmp_path / "kg", embedding="none"), "t")
    assert layout_of.cache_info().currsize > 0
    table_windows.forget_grids()
    assert layout_of.cache_info().currsize == group_rows.cache_info().currsize == 0


@pytest.mark.parametrize("error", [KeyError("x"), IndexError(), ValueError(), AttributeError()])
def test_damaged_statements_name_the_table(error: Exception) -> None:
    with pytest.raises(GraphError, match="'<t>' are incomplete or damaged"), sound_table("<t>"):
        raise error
    with pytest.raises(GraphNotFoundError, match="itself"), sound_table("t"):
        raise GraphNotFoundError("itself")
