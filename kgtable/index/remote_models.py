"""OpenAI's embedding API: ``openai:<model>``, every vector kept on disk so that it is paid for once."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgtable.errors import EmbeddingError
from kgtable.index.embedding import Matrix, normalise
from kgtable.resources import cache_folder
from kgtable.storage import make_private

if TYPE_CHECKING:
    from openai import OpenAI


BATCH = 256
LONGEST = 8_000
"""Characters sent of a text; the API refuses longer ones than 8,191 tokens."""


class HostedModel:
    """An embedding model behind an OpenAI-compatible API, with an on-disk cache of its vectors."""

    def __init__(self, model: str, client: OpenAI, cache: Path) -> None:
        self.name = f"openai:{model}"
        self._model = model
        self._client = client
        self._cache = cache
        make_private(cache)
        with closing(self._open()) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)"
            )
        self._dimension = 0

    @classmethod
    def connect(cls, model: str) -> HostedModel:
        """Use ``OPENAI_API_KEY`` and, if set, ``OPENAI_BASE_URL``. Raises `EmbeddingError` without a key."""
        key = os.environ.get("OPENAI_API_KEY")
        if not key:
            raise EmbeddingError(
                f"The embedding 'openai:{model}' needs a key.", hint="Set OPENAI_API_KEY, or choose minilm."
            )
        from openai import DefaultHttpxClient, OpenAI

        # A redirect could carry the texts elsewhere.
        http = DefaultHttpxClient(follow_redirects=False)
        address = os.environ.get("OPENAI_BASE_URL") or None
        client = OpenAI(api_key=key, base_url=address, max_retries=4, http_client=http)
        return cls(model, client, cache_folder() / "embeddings.sqlite")

    @property
    def dimension(self) -> int:
        """The length of the model's vectors; asked of it by a one-word text if not known yet."""
        if not self._dimension:
            self._dimension = self.embed(["table"]).shape[1]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 a text. Raises `EmbeddingError` if the API does not give the vectors."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        keys = [self._key(text) for text in texts]
        known = self._read(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        for batch in _batches(list(missing.items())):
            vectors = self._ask([text for _, text in batch])
            fresh = dict(zip((key for key, _ in batch), vectors, strict=True))
            self._write(fresh)
            known.update(fresh)
        return normalise(np.stack([known[key] for key in keys]))

    def _ask(self, texts: Sequence[str]) -> list[Matrix]:
        from openai import OpenAIError

        try:
            reply = self._client.embeddings.create(
                model=self._model, input=[text[:LONGEST] or " " for text in texts]
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

    def _key(self, text: str) -> str:
        address = str(self._client.base_url)
        return hashlib.sha256(f"{address}\0{self._model}\0{text[:LONGEST]}".encode()).hexdigest()

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._cache, timeout=30)

    def _read(self, keys: Sequence[str]) -> dict[str, Matrix]:
        found: dict[str, Matrix] = {}
        with closing(self._open()) as database:
            for key in dict.fromkeys(keys):
                row = database.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
                if row:
                    found[key] = np.frombuffer(row[0], dtype=np.float32)
        return found

    def _write(self, vectors: dict[str, Matrix]) -> None:
        with closing(self._open()) as database, database:
            database.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(key, vector.tobytes()) for key, vector in vectors.items()],
            )


def _batches(items: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
