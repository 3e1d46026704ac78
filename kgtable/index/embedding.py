"""Texts to vectors: the `Embedder` protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Matrix: TypeAlias = npt.NDArray[np.float32]
"""Vectors as rows: float32, shape (texts, dimension), each of length 1 (or 0 for a text without tokens)."""


class Embedder(Protocol):
    """A model that places texts so that similar ones lie close together."""

    @property
    def name(self) -> str:
        """The name it was asked for by; part of every key its vectors are cached under."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One L2-normalised row a text, in the order given; shape (0, dimension) for no texts."""
        ...


def normalise(vectors: npt.NDArray[np.floating]) -> Matrix:
    """Rows scaled to length 1; rows of zeros stay so."""
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0), dtype=np.float32)
