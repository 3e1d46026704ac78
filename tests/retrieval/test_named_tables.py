"""Retrieval and answers from the tables that are named alone, with every method."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kgtable
from kgtable.errors import GraphNotFoundError
from kgtable.knowledge_graph import KnowledgeGraph

QUESTION = "What is the population of Springfield?"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("named")
    tables = folder / "tables"
    tables.mkdir()
    for state, figure in (("illinois", "114,394"), ("oregon", "61,851"), ("ohio", "58,662")):
        text = f'City,Population\nSpringfield,"{figure}"\nSalem,"12,003"\n'
        (tables / f"{state}.csv").write_text(text, encoding="utf-8")
    (tables / "rivers.csv").write_text("River,Length\nTana,361\n", encoding="utf-8")
    with kgtable.build(tables, folder / "graph", embedding="none") as built:
        yield built


@pytest.mark.parametrize("method", ["hybrid", "bm25", "tablerag", "read-schema"])
def test_nothing_comes_from_another_table(graph: KnowledgeGraph, method: str) -> None:
    found = graph.retrieve(QUESTION, 50, method, tables=["oregon"])
    assert {triple.table for triple in found.triples} == {"oregon"}
    assert [table.table for table in found.tables] == ["oregon"]
    assert any(triple.object == "61,851" for triple in found.triples)


@pytest.mark.parametrize("method", ["hybrid", "bm25", "tablerag"])
def test_a_table_is_looked_at_though_it_fits_badly(graph: KnowledgeGraph, method: str) -> None:
    found = graph.retrieve(QUESTION, 50, method, tables=["rivers", "ohio"])
    assert {table.table for table in found.tables} == {"rivers", "ohio"}
    assert found.tables[0].table == "ohio" or method == "bm25"  # which knows no word that all tables have
    assert {triple.table for triple in found.triples} == {"rivers", "ohio"}


def test_answers_differ_by_the_table_that_is_named(graph: KnowledgeGraph) -> None:
    for table, figure in (("oregon", "61,851"), ("ohio", "58,662")):
        answer = graph.ask(QUESTION, model="none", tables=[table])
        assert (answer.text, answer.ambiguous) == (figure, False)
    assert not graph.ask(QUESTION, model="none").verified


def test_an_unknown_table_is_an_error(graph: KnowledgeGraph) -> None:
    with pytest.raises(GraphNotFoundError, match="no table 'texas'"):
        graph.retrieve(QUESTION, tables=["texas"])
