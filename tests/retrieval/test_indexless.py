from __future__ import annotations

import pytest

from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import CellAddress, Namespaces
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.hybrid import IndexlessRetriever, likeliest
from kgtable.retrieval.question_terms import plain_labels


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("How long is the Old Bay Bridge?", ("old bay bridge", "long", "old", "bay", "bridge")),
        ('What was "Total revenue" in 2019?', ("total revenue", "revenue", "2019")),
        ("how many?", ()),
        ("", ()),
    ],
)
def test_labels_without_an_index(question: str, labels: tuple[str, ...]) -> None:
    assert plain_labels(question) == labels


def test_the_answer_is_found_without_an_index(store: EmbeddedStore, names: Namespaces) -> None:
    found = IndexlessRetriever(store, names).retrieve("How many gold medals did Kenya win?", 4)
    assert found.triples[0].table == "medals"
    assert {(t.row, t.column) for t in found.triples} >= {(2, 1), (2, 2)}
    assert found.trace["contains"]["kenya"] == 4
    assert found.timings_ms["contains"] > 0
    assert [table.table for table in found.tables] == ["medals"]


@pytest.mark.parametrize("question", ["xyzzy", "", "how many?"])
def test_nothing_is_found_where_no_label_leads(
    store: EmbeddedStore, names: Namespaces, question: str
) -> None:
    found = IndexlessRetriever(store, names).retrieve(question, 4)
    assert (found.triples, found.tables) == ((), ())


def test_a_model_may_name_the_labels(store: EmbeddedStore, names: Namespaces) -> None:
    llm = ScriptedLLM([{"labels": ["bay bridge"]}, {"tables": []}])
    found = IndexlessRetriever(store, names).with_model(llm).retrieve("How long is that one?", 4)
    assert found.triples[0].table == "bridges"


def test_tables_with_rare_labels_come_first() -> None:
    found = {
        "common": {CellAddress(id, 0, 0) for id in "abcd"},
        "rare": {CellAddress("d", 1, 1)},
        "absent": set[CellAddress](),
    }
    assert likeliest(found) == ["d", "a", "b", "c"]
    assert likeliest(found, 2) == ["d", "a"]
    assert likeliest({}) == []


def test_a_model_that_names_no_labels_is_done_without(store: EmbeddedStore, names: Namespaces) -> None:
    llm = ScriptedLLM([{"words": []}, {"tables": []}])
    found = IndexlessRetriever(store, names, llm=llm).retrieve("How many gold medals did Kenya win?", 4)
    assert found.triples[0].table == "medals"
    assert "labels_refused" in found.trace
