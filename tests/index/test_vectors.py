from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faiss
import numpy as np
import pytest

import kgtable
from kgtable.index import graph_index
from kgtable.index.graph_index import GraphIndex
from kgtable.index.vectors import KINDS, VectorCache, Vectors, one_thread, stored_vectors, write_vocabulary, write_whole
from tests.index.sample_graph import WordEmbedder, build, load_words


def test_the_nearest_terms_of_each_vocabulary(index: GraphIndex) -> None:
    assert index.vectors is not None
    asked = index.embed(["a bridge", "costs"])
    assert asked is not None
    texts, cosines = index.vectors.nearest("predicates", asked, 2)
    assert index.corpus.texts[texts[0, 0]] == "bridge"
    assert cosines[0, 0] == pytest.approx(1.0)
    assert texts.shape == cosines.shape == (2, 2)
    groups, _ = index.vectors.nearest("groups", asked, 5)
    assert index.corpus.texts[groups[1, 0]] == "costs:"


def test_every_table_and_term_has_its_vector(index: GraphIndex) -> None:
    assert index.vectors is not None
    embedder = WordEmbedder()
    for kind in KINDS:
        texts = [index.corpus.texts[number] for number in index.vectors.texts[kind].tolist()]
        np.testing.assert_allclose(stored_vectors(index.folder, kind), embedder.embed(texts), atol=1e-6)
    assert index.vectors.tables.shape == (3, 64)


def test_a_text_is_embedded_once(index: GraphIndex, tmp_path: Path) -> None:
    embedder = WordEmbedder()
    cache = VectorCache.load(embedder, index.folder)
    vectors, keys = cache.embed(["norway", "a new text", "norway", "a new text"], tmp_path / "a.npy")
    again, _ = cache.embed(["a new text", "norway"], tmp_path / "b.npy")
    assert embedder.asked == ["a new text"]
    np.testing.assert_array_equal(again, vectors[[1, 0]])
    np.testing.assert_array_equal(vectors, np.load(tmp_path / "a.npy"))
    np.testing.assert_allclose(vectors[:2], embedder.embed(["norway", "a new text"]), atol=1e-6)
    np.testing.assert_allclose(vectors[0], vectors[2])
    assert keys.shape == (4, 16)


def test_a_large_vocabulary_is_searched_in_clusters_and_read_back_exactly(tmp_path: Path) -> None:
    texts = [f"term {number} {'abcdefg'[number % 7]}" for number in range(600)]
    cache = VectorCache(WordEmbedder())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgtable.index.vectors.ALL_LOOKED_AT", 500)
        write_vocabulary(cache, "subjects", texts, np.arange(600) * 2, tmp_path)
    for kind in ("predicates", "groups"):
        write_vocabulary(cache, kind, texts[:3], np.arange(3), tmp_path)
    write_whole(cache, "tables", texts[:2], tmp_path)
    vectors, _ = cache.embed(texts, tmp_path / "again.npy")
    assert np.array_equal(stored_vectors(tmp_path, "subjects"), vectors)
    found, cosines = Vectors.open(tmp_path).nearest("subjects", vectors[40:60], 1)
    assert cosines[:, 0] == pytest.approx(1, abs=1e-5)
    assert set(found[:, 0] % 2) == {0}
    nearest, cosines = Vectors.open(tmp_path).nearest("subjects", vectors[40:60], 3)
    np.testing.assert_allclose(cosines, np.take_along_axis(vectors[40:60] @ vectors.T, nearest // 2, 1), atol=1e-6)
    assert (np.diff(cosines) <= 0).all()


def test_other_threads_keep_their_number_of_threads() -> None:
    with ThreadPoolExecutor(1) as pool:
        before, here = pool.submit(faiss.omp_get_max_threads).result(), faiss.omp_get_max_threads()
        with one_thread():
            assert faiss.omp_get_max_threads() == 1
            assert pool.submit(faiss.omp_get_max_threads).result() == before
    assert faiss.omp_get_max_threads() == here


def subjects_of(index: GraphIndex) -> set[str]:
    assert index.vectors is not None
    return {index.corpus.texts[number] for number in index.vectors.texts["subjects"].tolist()}


def test_identifiers_have_no_vector_and_a_table_has_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_index, "MOST_SUBJECTS", 30)
    orders = "".join(f"SO-{1_000 + n},Customer {n % 7},{n * 37 % 101}\n" for n in range(60))
    rivers = "".join(f"River {'abcdefgh'[n % 8]}{'klmnopqr'[n // 8]},{n * 53 % 997}\n" for n in range(40))
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "orders.csv").write_text(f"Order number,Customer,Quantity\n{orders}", encoding="utf-8")
    (tables / "rivers.csv").write_text(f"River,Length (km)\n{rivers}", encoding="utf-8")
    index = GraphIndex(build(tables, tmp_path / "kg").index_path, load_words)
    assert subjects_of(index) == {f"river {'abcdefgh'[n % 8]}{'klmnopqr'[n // 8]}" for n in range(30)}
    with kgtable.build(tables, tmp_path / "lexical", embedding="none") as kg:
        assert kg.retrieve("SO-1033", 5).triples[0].subject == "SO-1033"
