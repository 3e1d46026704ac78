from __future__ import annotations

from pathlib import Path

import numpy as np

from kgtable.building.catalogue import Catalogue
from kgtable.index.build import RememberingEmbedder
from kgtable.index.open import GraphIndex
from kgtable.ontology.column_stats import by_name
from tests.index.sample_graph import WordEmbedder, build


def test_a_text_is_embedded_once() -> None:
    words = WordEmbedder()
    embedder = RememberingEmbedder(words)
    first = embedder.embed(["a cat", "a dog", "a cat"])
    np.testing.assert_array_equal(embedder.embed(["a dog", "a cat"]), first[[1, 0]])
    assert words.asked == ["a cat", "a dog"]
    assert embedder.embed([]).shape == (0, 64)


def test_column_names_of_an_index_are_known(index: GraphIndex) -> None:
    words = WordEmbedder()
    embedder = RememberingEmbedder(words)
    embedder.know_names_of(index.folder)
    vectors = embedder.embed_names([" Gold", "Nation"])
    assert words.asked == []
    np.testing.assert_allclose(vectors, words.embed(["gold", "nation"]), atol=1e-6)


def test_names_of_several_lines_are_known(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text('Name,"Share of\n votes"\nx,1\ny,2\n', encoding="utf-8")
    generation = build(tmp_path / "tables", tmp_path / "graph")
    words = WordEmbedder()
    embedder = RememberingEmbedder(words)
    embedder.know_names_of(generation.index_path)
    embedder.embed_names(sorted(by_name(Catalogue.load(generation.catalogue_path).facts())))
    assert words.asked == []


def test_the_vectors_of_another_embedding_are_not_taken_over(index: GraphIndex, tmp_path: Path) -> None:
    words = WordEmbedder()
    words.name = "other"
    embedder = RememberingEmbedder(words)
    embedder.know_names_of(index.folder)
    embedder.know_names_of(tmp_path / "absent")
    embedder.embed_names(["Gold"])
    assert words.asked == ["gold"]
