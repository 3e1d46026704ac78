"""Embedding models by name: MiniLM, any sentence-transformers model, OpenAI's API."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from functools import cache
from typing import Any

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.index.embedding import Embedder, Matrix, normalise

DEFAULT = "minilm"
_ALSO = {"minilm-int8": "minilm"}
"""Names that indexes record, and the name that loads the same model."""

log = logging.getLogger("kgtable")


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


def load_embedder(name: str = DEFAULT) -> Embedder | None:
    """The model of that name; None for ``none``, which stands for lexical retrieval only.

    ``minilm`` (indexes call it ``minilm-int8``) is all-MiniLM-L6-v2, local and offline; ``st:<model>`` any
    sentence-transformers model; ``openai:<model>`` OpenAI's embedding API. Raises `MissingExtraError` where the
    packages of the ``embeddings`` extra are needed and absent, `EmbeddingError` for a name that means nothing.

    >>> load_embedder("none") is None
    True
    """
    kind, _, model = _ALSO.get(name, name).partition(":")
    if kind == "none" and not model:
        return None
    if kind == "minilm" and not model:
        from kgtable.index.minilm import MiniLM

        return MiniLM.load()
    if kind == "st" and model:
        return SentenceModel.load(model)
    if kind == "openai" and model:
        from kgtable.index.remote_models import HostedModel

        return HostedModel.connect(model)
    raise EmbeddingError(
        f"There is no embedding named {name!r}.",
        hint="Choose minilm, none, st:<sentence-transformers model> or openai:<model>.",
    )


def release_embedders() -> None:
    """Forget the models that are loaded; who holds one keeps it, the next graph loads it again."""
    _loaded.cache_clear()


def embedder_or_lexical(name: str = DEFAULT) -> Embedder | None:
    """As `load_embedder`, but where the extra is missing it says so once and goes on without vectors."""
    return _loaded(_ALSO.get(name, name))


@cache
def _loaded(name: str) -> Embedder | None:
    try:
        return load_embedder(name)
    except MissingExtraError as error:
        log.warning("Retrieval is lexical only: %s", error)
        return None
