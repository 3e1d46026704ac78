"""The index of a graph, opened for questions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtable.graph.store import EmbeddedStore, TripleStore, store_state
from kgtable.index.build import read_about
from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Embedder, Matrix
from kgtable.index.embedding_models import embedder_or_lexical
from kgtable.index.substring import LexicalIndex

if TYPE_CHECKING:
    from kgtable.index.vectors import Vectors


class GraphIndex:
    """Corpus, substring search and vectors of one generation. May be used from several threads.

    Without vectors, or without the packages to embed a question, it is lexical only: `vectors` and
    `embed` give None then. Raises `VocabularyIndexError` where the index is missing or damaged.
    """

    def __init__(self, folder: Path, load: Callable[[str], Embedder | None] = embedder_or_lexical) -> None:
        self.folder = folder
        self.about: dict[str, Any] = read_about(folder)
        self.corpus = Corpus.open(folder)
        self.lexical = LexicalIndex(folder, self.corpus.texts)
        self._load = load

    def describes(self, store: TripleStore) -> bool:
        """Whether nothing was written to the store since the index was made: what it says of cells holds."""
        return isinstance(store, EmbeddedStore) and self.about.get("store") == store_state(store.path)

    @property
    def embedding(self) -> str:
        """The name of the embedding the index was built with; ``none`` for a lexical one."""
        return str(self.about["embedding"])

    @cached_property
    def vectors(self) -> Vectors | None:
        """The vectors, if questions can be compared with them."""
        if self._embedder is None:
            return None
        from kgtable.index.vectors import Vectors

        return Vectors.open(self.folder)

    def embed(self, texts: list[str]) -> Matrix | None:
        """Vectors of questions and labels, by the embedding of the index; None for a lexical index."""
        return None if self._embedder is None else self._embedder.embed(texts)

    @cached_property
    def _embedder(self) -> Embedder | None:
        return self._load(self.embedding)
