"""Vectors kept on disk: embedded once, whoever asks, and never more than the bound."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtable.index.embedding import StoredVectors
from tests.index.sample_graph import WordEmbedder


def test_vectors_are_made_once_and_kept(tmp_path: Path) -> None:
    first, second = WordEmbedder(), WordEmbedder()
    texts = ["gold in kenya", "", "gold in kenya", "half \ud800"]
    one = StoredVectors(first, tmp_path / "cache" / "vectors").embed(texts)
    two = StoredVectors(second, tmp_path / "cache" / "vectors").embed(texts)
    assert (len(first.asked), len(second.asked)) == (3, 0)
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, WordEmbedder().embed(texts))
    assert StoredVectors(second, tmp_path / "cache" / "vectors", "elsewhere").embed(["gold in kenya"]).shape == (1, 64)
    assert len(second.asked) == 1
    assert StoredVectors(second, tmp_path / "cache" / "vectors").embed([]).shape == (0, 64)


def test_the_oldest_make_room(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    stored = StoredVectors(embedder, tmp_path / "vectors", most=100_000)
    for start in range(0, 2_000, 50):
        stored.embed([f"text {number}" for number in range(start, start + 50)])
    assert (tmp_path / "vectors").stat().st_size < 200_000
    embedder.asked.clear()
    stored.embed(["text 1999", "text 0"])
    assert embedder.asked == ["text 0"]
