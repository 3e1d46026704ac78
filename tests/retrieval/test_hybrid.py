"""Hybrid retrieval; the index's substring search gives the triples that SPARQL's CONTAINS gives."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgtable
from kgtable.building.catalogue import Catalogue
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex, build_index
from kgtable.index.substring import folded
from kgtable.retrieval.candidates_query import containing_cells, matching_cells
from kgtable.retrieval.expansion import expand
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.indexless import IndexlessRetriever
from kgtable.retrieval.labels import extract_labels, plain_labels
from tests.index.sample_graph import build, load_words, write_tables


@pytest.fixture
def hybrid(index: GraphIndex, store: EmbeddedStore, names: Namespaces) -> HybridRetriever:
    return HybridRetriever(store, names, index)


def test_triples_and_tables_come_by_falling_score(hybrid: HybridRetriever) -> None:
    found = hybrid.retrieve("How many gold medals did Kenya win?", 6)
    assert len(found.triples) == 6
    assert (found.triples[0].table, found.triples[0].object) == ("medals", "7")
    assert found.method == "hybrid"
    for scores in ([t.score for t in found.triples], [t.score for t in found.tables]):
        assert scores == sorted(scores, reverse=True)
    assert found.tables[0].table == "medals"
    assert len(found.tables) == 3


@pytest.mark.parametrize("question", ["", "   ", "xyzzy plugh", "你好吗", "?" * 500])
def test_a_question_about_nothing_here_finds_nothing(hybrid: HybridRetriever, question: str) -> None:
    found = hybrid.retrieve(question, 10)
    assert found.triples == ()
    assert found.tables == ()


def test_an_endless_question_is_answered(hybrid: HybridRetriever) -> None:
    assert hybrid.retrieve("gold of Kenya? " * 7_000, 3).triples[0].table == "medals"


def test_a_lexical_index_does_without_vectors(tmp_path: Path) -> None:
    generation = build(write_tables(tmp_path / "tables"), tmp_path / "kg", "none")
    names = Namespaces(generation.base)
    hybrid = HybridRetriever(
        EmbeddedStore(generation.store_path, names.prefixes), names, GraphIndex(generation.index_path, load_words)
    )
    found = hybrid.retrieve("How many gold medals did Kenya win?", 3)
    assert found.triples[0].table == "medals"
    assert found.trace["expanded"] == {}
    assert hybrid.retrieve("xyzzy", 3).triples == ()
    assert hybrid.nearest_tables("How many gold medals did Kenya win?", 3) == []


@pytest.mark.parametrize("embedding", ["none", "words"])
def test_a_graph_without_tables_finds_nothing(tmp_path: Path, embedding: str) -> None:
    generation = build(write_tables(tmp_path / "tables"), tmp_path / "kg", embedding)
    names = Namespaces(generation.base)
    Catalogue().save(tmp_path / "catalogue.sqlite")
    (tmp_path / "catalogue.sqlite").replace(generation.catalogue_path)
    generation = replace(generation, catalogue=None)
    shutil.rmtree(generation.index_path)
    generation.record_parts()
    build_index(generation, embedding=embedding, load=load_words)
    index = GraphIndex(generation.index_path, load_words)
    found = HybridRetriever(EmbeddedStore(generation.store_path), names, index).retrieve("gold of Kenya?", 5)
    assert (found.triples, found.tables) == ((), ())


BENCHMARKS = Path(os.environ.get("KGTABLE_BENCHMARKS", Path(__file__).parents[2].parent / "shared" / "data"))


def by_index(labels: tuple[str, ...], index: GraphIndex) -> set[tuple[str, int, int]]:
    places, ids = index.corpus.places, index.corpus.table_ids
    cells = matching_cells(labels, index)
    rows, columns = places.cell_row[cells], places.cell_column[cells]
    found = zip(
        places.row_table[rows].tolist(),
        places.row_number[rows].tolist(),
        places.column_number[columns].tolist(),
        strict=True,
    )
    return {(ids[table], row, column) for table, row, column in found}


def by_contains(labels: tuple[str, ...], store: EmbeddedStore, names: Namespaces) -> set[tuple[str, int, int]]:
    found = containing_cells(labels, store, names)
    return {tuple(address) for cells in found.values() for address in cells}


@pytest.mark.parametrize(
    ("label", "count"),
    [
        ("cloud", 6), ("gold", 3), ("costs", 7), ("bay", 6), ("1921-12", 1), ("dec. 1", 1), ("1,766", 1), ("7", 6),
        ("", 0), ("absent", 0),
    ],
)  # fmt: skip
def test_both_ways_find_the_same(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces, label: str, count: int
) -> None:
    found = by_index((label,), index)
    if label:
        assert found == by_contains((label,), store, names)
    assert len(found) == count, found


@settings(max_examples=40)
@given(st.lists(st.text(st.sampled_from("abcdeglnorsty 127.,()-"), min_size=1, max_size=4).map(folded), max_size=3))
def test_both_ways_find_the_same_for_any_labels(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces, labels: list[str]
) -> None:
    known = tuple(label for label in labels if label)
    assert by_index(known, index) == by_contains(known, store, names)


@pytest.mark.benchmarks
def test_both_ways_find_the_same_on_a_benchmark(tmp_path: Path) -> None:
    """A sample of its tables and of its questions: several hundred cells are led to."""
    folder = BENCHMARKS / "finqa"
    if not folder.is_dir():
        pytest.skip("the benchmark folder is absent")
    tables = tmp_path / "tables"
    tables.mkdir()
    for number, path in enumerate(sorted((folder / "tables").glob("*.csv"))):
        if number % 16 == 0:
            (tables / path.name).symlink_to(path)
    generation = build(tables, tmp_path / "kg", "none")
    names = Namespaces(generation.base)
    index = GraphIndex(generation.index_path)
    store = EmbeddedStore(generation.store_path, names.prefixes)
    lines = (folder / "questions.dev.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [extract_labels(json.loads(line)["question"], index) for line in lines[::4]]
    cells = containing_cells(sorted({label for labels in questions for label in labels}), store, names)
    found = 0
    for labels in questions:
        expected = {tuple(address) for label in labels for address in cells[label]}
        assert by_index(labels, index) == expected, labels
        found += bool(expected)
    assert found > 200


def test_the_nearest_terms_of_the_graph_join_the_labels(index: GraphIndex) -> None:
    expanded = expand(index.embed(["costs of the cloud", "gold"]), index, count=2)
    assert next(iter(expanded["groups"])) == "costs:"
    assert expanded["predicates"]["gold"] == pytest.approx(1)
    assert "- cloud" in expanded["subjects"]
    assert all(len(terms) == 2 for terms in expanded.values())


@pytest.mark.parametrize(
    ("question", "labels"),
    [
        ("How long is the Old Bay Bridge?", ("old bay bridge", "long", "old", "bay", "bridge")),
        ('What was "Total revenue" in 2019?', ("total revenue", "revenue", "2019")), ("how many?", ()), ("", ()),
    ],
)  # fmt: skip
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
def test_nothing_is_found_where_no_label_leads(store: EmbeddedStore, names: Namespaces, question: str) -> None:
    found = IndexlessRetriever(store, names).retrieve(question, 4)
    assert (found.triples, found.tables) == ((), ())


def test_a_table_is_found_by_the_name_of_its_file(tmp_path: Path) -> None:
    tables = tmp_path / "tables"
    tables.mkdir()
    for name, title in (("album-tracks", "Blue"), ("podcast-episodes", "Bread"), ("ship-logs", "Fog")):
        (tables / f"{name}.csv").write_text(f"Title,Length\n{title},30\nOther,40\n", encoding="utf-8")
    with kgtable.build(tables, tmp_path / "kg", embedding="none") as kg:
        assert kg.retrieve("Which podcast episode is the shortest?").tables[0].table == "podcast-episodes"
