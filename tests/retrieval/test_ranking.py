from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from kgtable.index.corpus import Corpus
from kgtable.index.graph_index import GraphIndex
from kgtable.retrieval import cell_scores as ranking
from kgtable.retrieval.cell_scores import (
    CellWeights,
    Scored,
    TableWeights,
    Weights,
    cell_scores,
    score,
    scored_cells,
    table_scores,
)
from kgtable.retrieval.question_terms import Query
from tests.index.sample_graph import build, load_words


def scored(question: str, index: GraphIndex, weights: Weights | None = None, k: int = 10) -> Scored:
    vectors = index.embed([question])
    query = Query.of(question, index.corpus, None if vectors is None else vectors[0])
    matching = np.zeros(0, dtype=np.int64)
    return score(query, index, matching, weights or Weights(), k)


def best(question: str, index: GraphIndex, k: int) -> list[tuple[str, int, int]]:
    places, ids = index.corpus.places, index.corpus.table_ids
    cells, _ = scored(question, index).best(k)
    rows, columns = places.cell_row[cells], places.cell_column[cells]
    return [
        (ids[places.row_table[row]], int(places.row_number[row]), int(places.column_number[column]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("question", "cell"),
    [
        ("How many gold medals did Kenya win?", ("medals", 2, 2)),
        ("What is the length of the New Bay Bridge?", ("bridges", 2, 2)),
        ("What was the total revenue in 2019?", ("income", 4, 2)),
        ("How high were the costs of the cloud in 2018?", ("income", 6, 1)),
    ],
)
def test_the_cell_that_is_asked_for_is_among_the_first(
    index: GraphIndex, question: str, cell: tuple[str, int, int]
) -> None:
    assert cell in best(question, index, 2)


def test_probabilities_of_all_cells_sum_to_one(index: GraphIndex) -> None:
    found = scored("How many gold medals did Kenya win?", index)
    cells, probabilities = found.best(10**6)
    assert len(set(cells.tolist())) == len(index.corpus.places.cell_row)
    assert probabilities.sum() == pytest.approx(1, abs=1e-4)
    assert found.table_probabilities.sum() == pytest.approx(1, abs=1e-4)
    assert (np.diff(probabilities) <= 1e-9).all()


def test_the_budget_is_kept_and_is_a_prefix(index: GraphIndex) -> None:
    found = scored("gold", index)
    assert found.best(3)[0].tolist() == found.best(7)[0][:3].tolist()


@pytest.mark.parametrize("signal", ["bm25", "coverage", "named", "vector", "agreement"])
def test_each_table_signal_alone_finds_the_table(index: GraphIndex, signal: str) -> None:
    alone = Weights(TableWeights(**{"bm25": 0, "coverage": 0, "named": 0, "vector": 0, "agreement": 0, signal: 1}))
    found = scored("Which nation won gold and silver, Kenya or Peru?", index, alone)
    assert index.corpus.table_ids[int(found.table_logits.argmax())] == "medals"


def tables_of(index: GraphIndex, cells: np.ndarray) -> list[int]:  # type: ignore[type-arg]
    places = index.corpus.places
    return sorted(set(places.row_table[places.cell_row[cells]].tolist()))


def not_asked() -> np.ndarray:  # type: ignore[type-arg]
    raise AssertionError("there is no large table")


def test_the_likeliest_tables_are_scored_whole_until_there_are_enough(
    index: GraphIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "FEWEST", 5)
    logits = np.array([0.0, 2.0, 1.0], dtype=np.float32)
    matching = np.zeros(0, dtype=np.int64)
    assert tables_of(index, scored_cells(index.corpus, logits, matching, not_asked, 0)) == [1]
    assert tables_of(index, scored_cells(index.corpus, logits, matching, not_asked, 1_000)) == [0, 1, 2]


def test_of_a_large_table_the_first_rows_and_those_led_to(index: GraphIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "LARGE", 4)
    places = index.corpus.places
    matching = np.zeros(0, dtype=np.int64)
    last = int(places.table_row_start[1]) - 1
    hits = np.zeros(len(places.row_number), dtype=np.float32)
    hits[last] = 1
    cells = scored_cells(index.corpus, np.zeros(3, dtype=np.float32), matching, lambda: hits, 0)
    of_first = cells[cells < places.table_cell_start[1]]
    assert of_first.tolist() == [0, 1, 2, 3, *range(int(places.row_cell_start[last]), int(places.table_cell_start[1]))]


NOTHING = CellWeights(**dict.fromkeys((item.name for item in fields(CellWeights)), 0.0))


def scores_of_cells(question: str, index: GraphIndex, weights: CellWeights) -> dict[tuple[str, int, int], float]:
    """The score of every cell by its place."""
    vector = index.embed([question])
    query = Query.of(question, index.corpus, None if vector is None else vector[0])
    places = index.corpus.places
    cells = np.arange(len(places.cell_row))
    found = cell_scores(query, index, cells, weights)
    rows = places.cell_row[cells]
    tables = (index.corpus.table_ids[table] for table in places.row_table[rows].tolist())
    columns = places.column_number[places.cell_column[cells]].tolist()
    keys = zip(tables, places.row_number[rows].tolist(), columns, strict=True)
    return dict(zip(keys, found.tolist(), strict=True))


@pytest.mark.parametrize(
    ("signal", "question", "cell", "other"),
    [
        ("row", "gold of Kenya", ("medals", 2, 2), ("medals", 1, 2)),
        ("rare_in_table", "gold of Kenya", ("medals", 2, 2), ("medals", 1, 2)),
        ("own", "gold of Kenya", ("medals", 2, 1), ("medals", 2, 2)),
        ("named", "gold of Kenya", ("medals", 2, 1), ("medals", 1, 1)),
        ("column_named_in", "gold of Kenya", ("medals", 1, 1), ("medals", 1, 2)),
        ("header", "gold of Kenya", ("medals", 1, 2), ("medals", 1, 3)),
        ("header_named", "gold of Kenya", ("medals", 1, 2), ("medals", 1, 3)),
        ("header_vector", "gold", ("medals", 1, 2), ("medals", 1, 3)),
        ("number", "How many medals?", ("medals", 1, 2), ("medals", 1, 1)),
        ("date", "When was it opened?", ("bridges", 1, 1), ("bridges", 1, 0)),
        ("above_body", "gold", ("medals", 0, 2), ("medals", 1, 2)),
    ],
)
def test_each_signal_alone_prefers_what_it_is_for(
    signal: str, question: str, cell: tuple[str, int, int], other: tuple[str, int, int], index: GraphIndex
) -> None:
    found = scores_of_cells(question, index, replace(NOTHING, **{signal: 1.0}))
    assert found[cell] > found[other]


TABLES = {
    "one": "Ship,Built\nAurora,1901\nBoreas,1902\n",
    "other": "Ship,Captain\nAurora,Lind\nBoreas,Berg\n",
    "apart": "Ship,Harbour\nZephyr,Oslo\nNotus,Turku\n",
}
WORDS = TableWeights(bm25=1, coverage=1, named=1, vector=0, agreement=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tables = tmp_path / "tables"
    tables.mkdir()
    for name, text in TABLES.items():
        (tables / f"{name}.csv").write_text(text, encoding="utf-8")
        title = "Lakes" if name == "apart" else "Fleet list"
        (tables / f"{name}.json").write_text(f'{{"title": "{title}"}}', encoding="utf-8")
    return tables


def scores_of_tables(corpus: Corpus, question: str, kin: float) -> dict[str, float]:
    weights = TableWeights(WORDS.bm25, WORDS.coverage, WORDS.named, 0, 0, kin)
    found = table_scores(Query.of(question, corpus), corpus, None, weights)
    return dict(zip(corpus.table_ids, found.tolist(), strict=True))


def test_a_word_in_one_of_two_tables_under_a_title_counts_for_the_other(folder: Path) -> None:
    corpus = GraphIndex(build(folder, folder.parent / "kg", "none").index_path, load_words).corpus
    kin = corpus.places.table_kin
    one, other, apart = (int(kin[corpus.table_ids.index(name)]) for name in ("one", "other", "apart"))
    assert one == other != apart
    alone = scores_of_tables(corpus, "Which captain is Berg?", kin=0.0)
    shared = scores_of_tables(corpus, "Which captain is Berg?", kin=0.75)
    assert alone["one"] == pytest.approx(alone["apart"])
    assert shared["other"] > shared["one"] > shared["apart"]
