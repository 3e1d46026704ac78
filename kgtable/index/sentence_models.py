"""Any sentence-transformers model by its name: ``st:<model>``."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index.embedding import Matrix, normalise


class SentenceModel:
    """A model of the sentence-transformers library, from its hub name or a local folder."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = f"st:{name}"
        self._model = model
        self.dimension = int(model.get_embedding_dimension())

    @classmethod
    def load(cls, name: str) -> SentenceModel:
        """Raises `MissingExtraError` without the library, `EmbeddingError` if the model cannot be had."""
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingExtraError(f"The embedding 'st:{name}'", "embeddings")
        from sentence_transformers import SentenceTransformer

        try:
            return cls(name, SentenceTransformer(name))
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise EmbeddingError(
                f"The sentence-transformers model {name!r} cannot be loaded: {reason}",
                hint="Give a model name of the Hugging Face hub, or a folder with a saved model.",
            ) from error

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 a text; texts beyond the model's own limit are cut by it."""
        vectors = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return normalise(vectors.reshape(len(texts), self.dimension))
