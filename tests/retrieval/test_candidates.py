"""The substring search over the index gives the triples that SPARQL's CONTAINS gives, one for one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.graph.store import EmbeddedStore
from kgtable.graph.terms import Namespaces
from kgtable.index.open import GraphIndex
from kgtable.index.substring import folded
from kgtable.retrieval.hybrid import containing_cells, matching_cells
from kgtable.retrieval.question_terms import extract_labels
from tests.index.sample_graph import build

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


def by_contains(
    labels: tuple[str, ...], store: EmbeddedStore, names: Namespaces
) -> set[tuple[str, int, int]]:
    found = containing_cells(labels, store, names)
    return {tuple(address) for cells in found.values() for address in cells}


@pytest.mark.parametrize(
    ("label", "count"),
    [
        ("cloud", 6),
        ("gold", 3),
        ("costs", 7),
        ("bay", 6),
        ("1921-12", 1),
        ("dec. 1", 1),
        ("1,766", 1),
        ("7", 6),
        ("", 0),
        ("absent", 0),
    ],
)
def test_both_ways_find_the_same(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces, label: str, count: int
) -> None:
    found = by_index((label,), index)
    if label:
        assert found == by_contains((label,), store, names)
    assert len(found) == count, found


@settings(max_examples=40)
@given(
    st.lists(
        st.text(st.sampled_from("abcdeglnorsty 127.,()-"), min_size=1, max_size=4).map(folded), max_size=3
    )
)
def test_both_ways_find_the_same_for_any_labels(
    index: GraphIndex, store: EmbeddedStore, names: Namespaces, labels: list[str]
) -> None:
    known = tuple(label for label in labels if label)
    assert by_index(known, index) == by_contains(known, store, names)


@pytest.mark.benchmarks
def test_both_ways_find_the_same_on_a_benchmark(tmp_path: Path) -> None:
    """A sample of its tables, all of its questions: several hundred."""
    folder = BENCHMARKS / "finqa"
    if not folder.is_dir():
        pytest.skip("the benchmark folder is absent")
    tables = tmp_path / "tables"
    tables.mkdir()
    for number, path in enumerate(sorted((folder / "tables").glob("*.csv"))):
        if number % 8 == 0:
            (tables / path.name).symlink_to(path)
    generation = build(tables, tmp_path / "kg", "none")
    names = Namespaces(generation.base)
    index = GraphIndex(generation.index_path)
    store = EmbeddedStore(generation.store_path, names.prefixes)
    lines = (folder / "questions.dev.jsonl").read_text(encoding="utf-8").splitlines()
    remembered: dict[str, set[tuple[str, int, int]]] = {}
    found = 0
    for line in lines[::2]:
        labels = extract_labels(json.loads(line)["question"], index)
        unknown = [label for label in labels if label not in remembered]
        for label, cells in containing_cells(unknown, store, names).items():
            remembered[label] = {tuple(address) for address in cells}
        expected: set[tuple[str, int, int]] = set().union(*(remembered[label] for label in labels))
        assert by_index(labels, index) == expected, labels
        found += bool(expected)
    assert found > 400
