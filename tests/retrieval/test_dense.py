from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kgtable.index.embedding import Matrix, normalise
from kgtable.retrieval.whole_table import DenseRetriever, TableTexts, tokens
from tests.retrieval.whole_tables_data import TABLES, triples_of


class HashedWords:
    """Counts words in 64 fixed buckets: enough to tell the tables apart, and counts its calls."""

    name = "hashed"
    dimension = 64

    def __init__(self) -> None:
        self.embedded = 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.embedded += len(texts)
        rows = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in tokens(text):
                row[sum(word.encode()) % 64] += 1
        return normalise(rows)


def test_scores_are_cosines() -> None:
    texts, embedder = TableTexts.write(TABLES, "plaintext"), HashedWords()
    retriever = DenseRetriever(texts, embedder, triples_of)
    vectors, question = embedder.embed(texts.texts), embedder.embed(["moons of mars"])
    assert retriever.scores("moons of mars") == pytest.approx(vectors @ question[0], abs=1e-6)


def test_the_nearest_table_comes_first() -> None:
    retriever = DenseRetriever(TableTexts.write(TABLES, "plaintext"), HashedWords(), triples_of)
    found = retriever.retrieve("planet jupiter moons", 3)
    assert found.tables[0].table == "planets"
    assert len(found.triples) == 3
    assert found.trace["format"] == "plaintext"


def test_vectors_are_made_once_and_kept(tmp_path: Path) -> None:
    texts, first, second = TableTexts.write(TABLES, "csv"), HashedWords(), HashedWords()
    one = DenseRetriever(texts, first, triples_of, tmp_path / "cache")
    two = DenseRetriever(texts, second, triples_of, tmp_path / "cache")
    assert (first.embedded, second.embedded) == (3, 0)
    assert np.array_equal(one.scores("rhine"), two.scores("rhine"))
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".npy"]


def test_no_tables_at_all() -> None:
    assert (
        DenseRetriever(TableTexts.write([], "csv"), HashedWords(), triples_of).retrieve("x", 5).tables == ()
    )
