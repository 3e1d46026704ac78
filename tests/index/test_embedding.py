from __future__ import annotations

import logging

import numpy as np
import pytest

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index import embedding_models
from kgtable.index.embedding import normalise
from kgtable.index.embedding_models import embedder_or_lexical, load_embedder


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
