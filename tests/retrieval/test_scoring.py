from __future__ import annotations

import numpy as np
import pytest

from kgtable.index.open import GraphIndex
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.ranking import CellWeights, Scored, TableWeights, Weights, score, softmax


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


def test_without_signals_every_table_is_as_likely(index: GraphIndex) -> None:
    nothing = Weights(TableWeights(0, 0, 0, 0, 0, 0), CellWeights(*[0.0] * 10))
    probabilities = scored("gold medals of Kenya", index, nothing).table_probabilities
    assert probabilities.tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("signal", ["bm25", "coverage", "named", "vector", "agreement"])
def test_each_table_signal_alone_finds_the_table(index: GraphIndex, signal: str) -> None:
    alone = Weights(
        TableWeights(**{"bm25": 0, "coverage": 0, "named": 0, "vector": 0, "agreement": 0, signal: 1})
    )
    found = scored("Which nation won gold and silver, Kenya or Peru?", index, alone)
    assert index.corpus.table_ids[int(found.table_logits.argmax())] == "medals"


def test_a_question_without_known_words_is_scored_too(index: GraphIndex) -> None:
    assert len(scored("xyzzy", index).best(5)[0]) == 5


def test_softmax_of_large_and_of_no_numbers() -> None:
    assert softmax(np.array([1000.0, 1000.0], dtype=np.float32)).tolist() == [0.5, 0.5]
    assert len(softmax(np.zeros(0, dtype=np.float32))) == 0
