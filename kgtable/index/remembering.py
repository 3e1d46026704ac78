"""An embedding that embeds no text twice in a build, and knows the column names of the index before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgtable.errors import VocabularyIndexError
from kgtable.index.build import read_about
from kgtable.index.corpus import Corpus
from kgtable.index.embedding import Embedder, Matrix
from kgtable.index.lexical import folded
from kgtable.ontology.facts import clean_text


class RememberingEmbedder:
    """An `Embedder` in front of another one that keeps the vectors of all texts it was asked for."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Matrix] = {}
        self.name = embedder.name
        self.dimension = embedder.dimension

    def know_names_of(self, folder: Path) -> None:
        """Take over the vectors of the column names in an index folder, if it is one of this embedding."""
        from kgtable.index.vectors import Vectors

        try:
            if read_about(folder)["embedding"] != self.name:
                return
            texts, vectors = Corpus.open(folder).texts, Vectors.open(folder)
        except VocabularyIndexError:
            return
        # Names have their line breaks as blanks; to a model that is the same text.
        names = (clean_text(texts[number]) for number in vectors.texts["predicates"].tolist())
        self._known.update(zip(names, vectors.predicates, strict=True))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """See `Embedder.embed`."""
        missing = list(dict.fromkeys(text for text in texts if text not in self._known))
        if missing:
            self._known.update(zip(missing, self._embedder.embed(missing), strict=True))
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        return np.stack([self._known[text] for text in texts])

    def embed_names(self, names: Sequence[str]) -> Matrix:
        """The vectors of column names, folded as the index holds them."""
        return self.embed([folded(name) for name in names])
