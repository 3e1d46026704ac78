from __future__ import annotations

from itertools import pairwise

import pyoxigraph as ox
import pytest

from kgtable.api import KnowledgeGraph
from kgtable.errors import GraphError, GraphNotFoundError
from kgtable.graph.table_decoder import TableStatements
from kgtable.graph.terms import KGT, XSD
from kgtable.server.table_windows import group_path
from tests.graph.support import NAMES
from tests.server.open_graph import texts


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
