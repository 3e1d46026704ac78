"""Lists of items by key, in two arrays that can be memory-mapped."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float32]


def ranges(starts: IntArray, ends: IntArray) -> IntArray:
    """All integers of the half-open ranges, one range after the other.

    >>> ranges(np.array([5, 0, 9]), np.array([7, 1, 9])).tolist()
    [5, 6, 0]
    """
    lengths = ends - starts
    total = int(lengths.sum())
    if total == 0:
        return np.zeros(0, dtype=np.int64)
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(total) + np.repeat(starts - before, lengths), dtype=np.int64)


def runs(values: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct values of a sorted array, and for each element the place of its value among them.

    >>> [part.tolist() for part in runs(np.array([3, 3, 7, 9, 9]))]
    [[3, 7, 9], [0, 0, 1, 2, 2]]
    """
    if len(values) == 0:
        return values, np.zeros(0, dtype=np.int64)
    new = np.empty(len(values), dtype=np.bool_)
    new[0] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return values[new], np.cumsum(new) - 1


def distinct(values: IntArray) -> IntArray:
    """The distinct values, rising.

    >>> distinct(np.array([9, 3, 7, 9])).tolist()
    [3, 7, 9]
    """
    return runs(np.sort(values))[0]


def mapped(path: Path) -> npt.NDArray[Any]:
    """An array in a file, memory-mapped. Raises `OSError`, `ValueError` for a damaged file."""
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # NumPy parses the head of the file as Python's tokens
        raise ValueError(f"{path.name} is not an array") from error
    # A plain array over the mapped file: slicing a memmap object costs far more.
    return array.view(np.ndarray)


@dataclass(frozen=True, slots=True)
class Postings:
    """The items of key i are ``items[starts[i]:starts[i + 1]]``, in ascending order."""

    starts: IntArray
    items: IntArray

    @classmethod
    def build(cls, keys: IntArray, items: IntArray, size: int) -> Postings:
        """Postings of the pairs (key, item), each once, for keys below `size`; none is negative."""
        span = int(items.max(initial=0)) + 1
        found, sorted_items = np.divmod(distinct(keys.astype(np.int64) * span + items), span)
        starts = np.zeros(size + 1, dtype=np.int64)
        np.cumsum(np.bincount(found, minlength=size), out=starts[1:])
        return cls(starts, sorted_items.astype(np.int32))

    def save(self, folder: Path, name: str) -> None:
        """Write the two arrays, ``NAME.starts.npy`` and ``NAME.items.npy``, into an existing folder."""
        np.save(folder / f"{name}.starts.npy", self.starts, allow_pickle=False)
        np.save(folder / f"{name}.items.npy", self.items, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path, name: str) -> Postings:
        """The saved postings, memory-mapped. Raises `OSError`, `ValueError` for a damaged file."""
        return cls(mapped(folder / f"{name}.starts.npy"), mapped(folder / f"{name}.items.npy"))

    def of_one(self, key: int) -> IntArray:
        """The items of this key, rising; no copy."""
        return self.items[self.starts[key] : self.starts[key + 1]]

    def of(self, keys: IntArray) -> IntArray:
        """The items of all these keys, one key after the other; an item may come more than once."""
        return np.asarray(self.items[ranges(self.starts[keys], self.starts[np.asarray(keys) + 1])])
