"""Texts to vectors: the `Embedder` protocol, and embedding models by name.

MiniLM (`kgtable.index.minilm`), any sentence-transformers model, or OpenAI's API (``openai:<model>``). Vectors that are
asked for again and again, or paid for, are kept on disk.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from kgtable.errors import EmbeddingError, MissingExtraError
from kgtable.llm.deadline import keeps_deadlines, within
from kgtable.resources import cache_folder
from kgtable.storage import make_private

if TYPE_CHECKING:
    from openai import OpenAI


Matrix: TypeAlias = npt.NDArray[np.float32]
"""Vectors as rows: float32, shape (texts, dimension), each of length 1 (or 0 for a text without tokens)."""


class Embedder(Protocol):
    """A model whose vectors of similar texts are close together."""

    @property
    def name(self) -> str:
        """The requested name; part of the cache key of every vector."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One L2-normalised row per text, in the order given; shape (0, dimension) for no texts."""
        ...


def normalise(vectors: npt.NDArray[np.floating]) -> Matrix:
    """Rows scaled to length 1; rows of zeros stay so."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0), dtype=np.float32)


DEFAULT = "minilm"
_RECORDED = re.compile(r"minilm-(?:int8|[0-9a-f]{12})")
"""Names that indexes record of the weights of the default model."""

log = logging.getLogger("kgtable")


class SentenceModel:
    """A model of the sentence-transformers library, from its hub name or a local folder."""

    def __init__(self, name: str, model: Any) -> None:
        self.name = f"st:{name}"
        self._model = model
        self.dimension = int(model.get_embedding_dimension())

    @classmethod
    def load(cls, name: str) -> SentenceModel:
        """Raises `MissingExtraError` without the library, `EmbeddingError` if the model is not available."""
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
        """One row of length 1 per text; the model cuts texts beyond its own limit."""
        vectors = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)
        return normalise(vectors.reshape(len(texts), self.dimension))


def load_embedder(name: str = DEFAULT) -> Embedder | None:
    """The model of that name; None for ``none``, which stands for lexical retrieval only.

    ``minilm`` (indexes call it by its weights, such as ``minilm-int8``) is all-MiniLM-L6-v2, local and offline;
    ``st:<model>`` any sentence-transformers model; ``openai:<model>`` OpenAI's embedding API. Raises
    `MissingExtraError` without MiniLM, or where the packages of the ``embeddings`` extra are needed and absent,
    `EmbeddingError` for a name that means nothing.

    >>> load_embedder("none") is None
    True
    """
    if _RECORDED.fullmatch(name):
        return _with_weights(load_embedder(), name)
    kind, _, model = name.partition(":")
    if kind == "none" and not model:
        return None
    if kind == "minilm" and not model:
        from kgtable.index.minilm import MiniLM

        return MiniLM.load()
    if kind == "st" and model:
        return SentenceModel.load(model)
    if kind == "openai" and model:
        return HostedModel.connect(model)
    raise EmbeddingError(
        f"There is no embedding named {name!r}.",
        hint="Choose minilm, none, st:<sentence-transformers model> or openai:<model>.",
    )


def refuse_folder(name: str) -> None:
    """Raise `EmbeddingError` for a folder as the embedding of an index, which may be foreign."""
    kind, _, model = name.partition(":")
    if kind == "st" and (os.path.exists(model) or os.path.isabs(model) or model.startswith((".", "~"))):
        raise EmbeddingError(
            f"A search index cannot name a folder as its embedding: {model}.",
            hint="Build the graph with minilm, or with st: and the name of a model of the Hugging Face hub.",
        )


def _with_weights(embedder: Embedder | None, name: str) -> Embedder | None:
    """The default model. Raises `EmbeddingError` if its weights are not those that an index was made with."""
    if embedder is not None and embedder.name != name:
        raise EmbeddingError(
            f"The index was made with other weights of the embedding model: {name}, not {embedder.name}.",
            hint="Name their file by KGTABLE_MINILM, or build the graph in a new directory.",
        )
    return embedder


def release_embedders() -> None:
    """Clear the cache of loaded models; current users keep theirs, the next graph loads it again."""
    _loaded.cache_clear()


def embedder_or_lexical(name: str = DEFAULT) -> Embedder | None:
    """Load an embedder as `load_embedder` does; log once and return None if the extra is missing."""
    return _with_weights(_loaded(DEFAULT), name) if _RECORDED.fullmatch(name) else _loaded(name)


@cache
def _loaded(name: str) -> Embedder | None:
    try:
        return load_embedder(name)
    except MissingExtraError as error:
        log.warning("Retrieval is lexical only: %s", error)
        return None


def load_stored(name: str = DEFAULT) -> Embedder | None:
    """The model of that name with its vectors cached in the user's cache folder. Raises as `load_embedder` does."""
    embedder = load_embedder(name)
    if embedder is None or isinstance(embedder, StoredVectors):
        return embedder
    return StoredVectors(embedder, cache_folder() / FILE)


MOST_BYTES = 1 << 30
"""Size of the file beyond which the oldest quarter of the vectors is dropped."""

FILE = "embeddings.sqlite"
"""The file in the user's cache folder."""

AT_ONCE = 512
"""Texts that are embedded before their vectors are written."""


class StoredVectors:
    """An embedder whose vectors are cached in a file, by model name and text.

    `source` distinguishes models of one name, such as the address of an API. May be used from several threads and
    processes.
    """

    def __init__(self, embedder: Embedder, path: Path, source: str = "", most: int = MOST_BYTES) -> None:
        self.name = embedder.name
        self._embedder, self._path, self._source, self._most = embedder, path, source, most
        make_private(path)
        with closing(self._open()) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)")

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        return self._embedder.dimension

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 per text, in the order given. Raises the errors of the model."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        keys = [self._key(text) for text in texts]
        known = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for start in range(0, len(missing), AT_ONCE):
            batch = dict(islice(missing.items(), start, start + AT_ONCE))
            fresh = dict(zip(batch, self._embedder.embed(list(batch.values())), strict=True))
            self._write(fresh)
            known.update(fresh)
        return np.stack([known[key] for key in keys])

    def _key(self, text: str) -> str:
        return hashlib.sha256(f"{self._source}\0{self.name}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=30)

    def _read(self, keys: Sequence[str]) -> dict[str, Matrix]:
        with closing(self._open()) as database:
            found = database.execute(
                "SELECT key, vector FROM vectors WHERE key IN (SELECT value FROM json_each(?))", [json.dumps(keys)]
            )
            return {key: np.frombuffer(vector, dtype=np.float32) for key, vector in found}

    def _write(self, vectors: Mapping[str, Matrix]) -> None:
        rows = [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()]
        with closing(self._open()) as database, database:
            pages, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
            free = database.execute("PRAGMA freelist_count").fetchone()[0]
            if (pages - free) * size > self._most:
                first, last = database.execute("SELECT MIN(rowid), MAX(rowid) FROM vectors").fetchone()
                database.execute("DELETE FROM vectors WHERE rowid <= ?", [first + (last - first) // 4])
            database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)


HOSTED_BATCH = 256
HOSTED_LONGEST = 8_000
"""Characters sent of a text; the API refuses longer ones than 8,191 tokens."""
HOSTED_SECONDS = 600.0
"""For a batch of texts, further attempts included."""


class HostedModel:
    """An embedding model behind an OpenAI-compatible API."""

    def __init__(self, model: str, client: OpenAI) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._client = client

    @classmethod
    def connect(cls, model: str) -> Embedder:
        """Use ``OPENAI_API_KEY`` and, if set, ``OPENAI_BASE_URL``; vectors are kept on disk.

        Raises `EmbeddingError` without a key.
        """
        key = os.environ.get("OPENAI_API_KEY")
        if not key:
            raise EmbeddingError(
                f"The embedding 'openai:{model}' needs a key.", hint="Set OPENAI_API_KEY, or choose minilm."
            )
        from openai import DefaultHttpxClient, OpenAI

        # A redirect could carry the texts elsewhere.
        http = keeps_deadlines(DefaultHttpxClient(follow_redirects=False))
        address = os.environ.get("OPENAI_BASE_URL") or None
        client = OpenAI(api_key=key, base_url=address, max_retries=4, http_client=http)
        return StoredVectors(cls(model, client), cache_folder() / FILE, str(client.base_url))

    @cached_property
    def dimension(self) -> int:
        """The length of the model's vectors, measured on a one-word text."""
        return len(self._ask(["table"])[0])

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 per text. Raises `EmbeddingError` if the API does not return the vectors."""
        batches = (texts[start : start + HOSTED_BATCH] for start in range(0, len(texts), HOSTED_BATCH))
        vectors = [vector for batch in batches for vector in self._ask(batch)]
        return normalise(np.stack(vectors)) if vectors else np.zeros((0, self.dimension), dtype=np.float32)

    def _ask(self, texts: Sequence[str]) -> list[Matrix]:
        from openai import OpenAIError

        try:
            with within(HOSTED_SECONDS):
                reply = self._client.embeddings.create(
                    model=self._model, input=[text[:HOSTED_LONGEST] or " " for text in texts]
                )
        except OpenAIError as error:
            raise EmbeddingError(
                f"The embedding API gave no vectors: {error}",
                hint="Check the model's name, the key and the connection, or choose minilm.",
            ) from error
        found = sorted(reply.data, key=lambda item: item.index)
        if len(found) != len(texts):
            raise EmbeddingError(f"The embedding API gave {len(found)} vectors for {len(texts)} texts.")
        return [np.asarray(item.embedding, dtype=np.float32) for item in found]
