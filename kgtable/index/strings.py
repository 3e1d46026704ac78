"""A sorted list of distinct strings that is searched where it lies on disk."""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kgtable.index.postings import Integers, mapped


class Strings(Sequence[str]):
    """Strings in the order of their UTF-8 bytes; a string's position is its id."""

    def __init__(self, content: bytes | mmap.mmap, starts: Integers) -> None:
        self._content = content
        self._starts = starts

    @classmethod
    def write(cls, strings: Sequence[str], path: Path) -> None:
        """Write strings that are distinct and sorted by `encoded` to ``path.txt`` and ``path.npy``."""
        pieces = [encoded(text) for text in strings]
        starts = np.zeros(len(pieces) + 1, dtype=np.int64)
        np.cumsum([len(piece) for piece in pieces], out=starts[1:])
        path.with_suffix(".txt").write_bytes(b"".join(pieces))
        np.save(path.with_suffix(".npy"), starts)

    @classmethod
    def open(cls, path: Path) -> Strings:
        """The strings that `write` wrote, memory-mapped."""
        starts = mapped(path.with_suffix(".npy"))
        if starts[-1] == 0:
            return cls(b"", starts)
        with path.with_suffix(".txt").open("rb") as file:
            return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), starts)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def piece(self, index: int) -> bytes:
        """The string's UTF-8 bytes."""
        return self._content[self._starts[index] : self._starts[index + 1]]

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        return self.piece(index).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def holding(self, part: bytes, ids: Integers) -> Iterator[int]:
        """Those of the ids whose strings contain the bytes, in the order given."""
        find = self._content.find
        starts, ends = self._starts[ids].tolist(), self._starts[ids + 1].tolist()
        for index, start, end in zip(ids.tolist(), starts, ends, strict=True):
            if find(part, start, end) >= 0:
                yield index

    def find(self, text: str) -> int | None:
        """The id of the string; None if it is not among them."""
        wanted = encoded(text)
        place = bisect_left(range(len(self)), wanted, key=self.piece)
        return place if place < len(self) and self.piece(place) == wanted else None


def encoded(text: str) -> bytes:
    """UTF-8, lone surrogates included: the order of these bytes is the order of the strings."""
    return text.encode("utf-8", "surrogatepass")
