from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kgtable.building.generations import Generation
from kgtable.errors import VocabularyIndexError
from kgtable.index.graph_index import GraphIndex
from tests.index.sample_graph import load_words


@pytest.fixture
def copy(generation: Generation, tmp_path: Path) -> Path:
    """The index of the sample graph, to be damaged."""
    return Path(shutil.copytree(generation.index_path, tmp_path / "index"))


def test_questions_are_embedded_as_the_graph_was(index: GraphIndex) -> None:
    assert index.embedding == "words"
    vectors = index.embed(["norway", "old bay bridge"])
    assert vectors is not None
    assert vectors.shape == (2, 64)
    assert index.vectors is not None
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_threads_share_it(index: GraphIndex) -> None:
    labels = ["norway", "kenya", "cloud", "bridge", '"', "%", "\u202e", "nowhere"] * 5
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda label: index.lexical.containing([label]).tolist(), labels))
    assert found[:8] * 5 == found
    assert found[0]
    assert not found[7]


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", '{"version": -1, "embedding": "words"}'])
def test_an_index_that_is_not_there_or_of_another_version(content: str | None, copy: Path) -> None:
    if content is None:
        (copy / "index.json").unlink()
    else:
        (copy / "index.json").write_text(content, encoding="utf-8")
    with pytest.raises(VocabularyIndexError, match="Build the graph again"):
        GraphIndex(copy, load_words)


def test_damaged_vectors_are_named_when_they_are_needed(copy: Path) -> None:
    for name in ("vectors.tables.npy", "vectors.subjects.faiss", "vectors.predicates.texts.npy"):
        sound = (copy / name).read_bytes()
        for damaged in (b"", b"damaged"):
            (copy / name).write_bytes(damaged)
            index = GraphIndex(copy, load_words)
            with pytest.raises(VocabularyIndexError, match=r"vectors in .* damaged"):
                index.vectors  # noqa: B018
        (copy / name).write_bytes(sound)
    assert GraphIndex(copy, load_words).vectors is not None


def test_a_damaged_word_index_is_named(copy: Path) -> None:
    for name in ("keys", "starts", "items"):
        sound = (copy / f"grams.{name}.npy").read_bytes()
        for damaged in (b"", b"damaged"):
            (copy / f"grams.{name}.npy").write_bytes(damaged)
            with pytest.raises(VocabularyIndexError, match="missing or damaged"):
                GraphIndex(copy, load_words)
        (copy / f"grams.{name}.npy").write_bytes(sound)
    assert GraphIndex(copy, load_words).lexical.is_known("norway")
