"""Substring search over the distinct texts of a graph: postings of letters, pairs and triples of letters."""

from __future__ import annotations

import array
import mmap
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgtable.errors import VocabularyIndexError
from kgtable.index.postings import IntArray, distinct, mapped, ranges


class Strings(Sequence[str]):
    """Strings by number. `find` and `place` need them in the order of their UTF-8 bytes.

    `starts` tells where each string begins among the bytes of all, and after the last one, where they end.
    """

    def __init__(self, content: bytes | mmap.mmap, starts: IntArray) -> None:
        self._content, self.starts = content, starts

    @classmethod
    def open(cls, path: Path) -> Strings:
        """The strings that a `StringsWriter` wrote, memory-mapped."""
        starts = mapped(path.with_suffix(".npy"))
        if starts[-1] == 0:
            return cls(b"", starts)
        with path.with_suffix(".txt").open("rb") as file:
            return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), starts)

    def between(self, first: int, last: int) -> bytes:
        """The bytes of the strings from number `first` to before `last`, one after the other."""
        return self._content[self.starts[first] : self.starts[last]]

    def equal(self, ones: IntArray, others: IntArray) -> npt.NDArray[np.bool_]:
        """For each pair of numbers, whether their strings are equal; compared in batches of pairs."""
        content = np.frombuffer(self._content, dtype=np.uint8)
        found = np.ones(len(ones), dtype=np.bool_)
        for start in range(0, len(ones), _RUN):
            one, other = ones[start : start + _RUN], others[start : start + _RUN]
            lengths = self.starts[one + 1] - self.starts[one]
            same = lengths == self.starts[other + 1] - self.starts[other]
            looked_at = np.flatnonzero(same & (one != other) & (lengths > 0))
            if len(looked_at):
                first, last, beside, end = (
                    self.starts[some[looked_at] + after] for some in (one, other) for after in (0, 1)
                )
                letters = content[ranges(first, last)] == content[ranges(beside, end)]
                begins = np.cumsum(last - first) - (last - first)
                same[looked_at] = np.logical_and.reduceat(letters, begins)
            found[start : start + _RUN] = same
        return found

    def place(self, piece: bytes, low: int = 0) -> int:
        """The number of strings that sort before these bytes; the first `low` are known to."""
        return bisect_left(range(len(self)), piece, low, key=self.piece)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def piece(self, index: int) -> bytes:
        """The string's UTF-8 bytes."""
        return self._content[self.starts[index] : self.starts[index + 1]]

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        return self.piece(index).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def holding(self, part: bytes, ids: IntArray) -> Iterator[int]:
        """Those of the ids whose strings contain the bytes, in the order given."""
        find = self._content.find
        starts, ends = self.starts[ids].tolist(), self.starts[ids + 1].tolist()
        for index, start, end in zip(ids.tolist(), starts, ends, strict=True):
            if find(part, start, end) >= 0:
                yield index

    def with_part(self, part: bytes) -> Iterator[int]:
        """The numbers of all strings that contain the bytes, rising; all are scanned at once."""
        at = self._content.find(part)
        while at >= 0:
            number = int(np.searchsorted(self.starts, at, "right")) - 1
            if at + len(part) <= self.starts[number + 1]:
                yield number
                at = int(self.starts[number + 1]) - 1
            at = self._content.find(part, at + 1)

    def find(self, text: str) -> int | None:
        """The id of the string; None if it is not among them."""
        wanted = encoded(text)
        place = self.place(wanted)
        return place if place < len(self) and self.piece(place) == wanted else None


_RUN = 1 << 16
"""Strings that are copied at a time."""


class StringsWriter:
    """Writes strings in any order to ``path.txt`` and ``path.npy``; `Strings.open` reads them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.with_suffix(".txt").open("wb")
        self._starts = array.array("q", [0])

    def add(self, text: str) -> None:
        """Append a string."""
        self._starts.append(self._starts[-1] + self._file.write(encoded(text)))

    def add_run(self, strings: Strings, first: int, last: int) -> None:
        """Append the strings from number `first` to before `last`."""
        starts, own = strings.starts, self._starts[-1]
        for start in range(first, last, _RUN):
            end = min(start + _RUN, last)
            self._file.write(strings.between(start, end))
            moved = starts[start + 1 : end + 1] - (int(starts[first]) - own)
            self._starts.frombytes(np.ascontiguousarray(moved, dtype=np.int64).tobytes())

    def close(self) -> None:
        """Finish both files."""
        self._file.close()
        np.save(self._path.with_suffix(".npy"), np.frombuffer(self._starts, dtype=np.int64))


def encoded(text: str) -> bytes:
    """UTF-8, lone surrogates included: the order of these bytes is the order of the strings."""
    return text.encode("utf-8", "surrogatepass")


LONGEST_GRAM = 3
FEW = 64
"""Candidates that are looked into rather than narrowed down by further grams."""

_BITS = 21
"""Bits of a code point; three of them fit into a key of 63 bits."""


def folded(text: str) -> str:
    """A text as labels and graph texts are compared: lower case, no white space at its ends.

    >>> folded(" Net Income ")
    'net income'
    """
    return text.strip().lower()


PIECE = 1 << 21
"""Letters whose grams are sorted at a time: it bounds the memory of `write_grams`."""


def write_grams(texts: Sequence[str], folder: Path) -> None:
    """Write the index of folded texts, numbered from 0, into an existing folder.

    The texts are gone through twice for each length of grams: to count, and to write each gram's texts to
    their place in the file.
    """
    keys: list[IntArray] = []
    counts: list[IntArray] = []
    for length in range(1, LONGEST_GRAM + 1):
        found: IntArray = np.zeros(0, dtype=np.int64)
        count: IntArray = np.zeros(0, dtype=np.int64)
        for gram, _ in _grams_of(texts, length):
            new, times = np.unique(gram, return_counts=True)
            found, place = np.unique(np.concatenate([found, new]), return_inverse=True)
            count = np.bincount(place, weights=np.concatenate([count, times])).astype(np.int64)
        keys.append(found)
        counts.append(count)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    np.save(folder / "grams.keys.npy", np.concatenate(keys), allow_pickle=False)
    np.save(folder / "grams.starts.npy", starts, allow_pickle=False)
    items = np.lib.format.open_memmap(folder / "grams.items.npy", mode="w+", dtype=np.int32, shape=(int(starts[-1]),))
    free = starts[:-1].copy()
    before = 0
    for length, found in enumerate(keys, 1):
        for gram, owner in _grams_of(texts, length):
            place = np.searchsorted(found, gram) + before
            first = np.flatnonzero(np.r_[True, place[1:] != place[:-1]])
            times = np.diff(np.r_[first, len(place)])
            within = np.arange(len(place)) - np.repeat(first, times)
            items[free[place] + within] = owner
            free[place[first]] += times
        before += len(found)
    items.flush()


GRAMS_AT_ONCE = 1 << 22
"""Postings of grams that are taken over at a time."""


def update_grams(previous: Path, folder: Path, places: IntArray, added: Added) -> None:
    """Write an index of texts most of which are in the index in another folder; the rest are `added`.

    `places` has for each text of the previous index its new number, -1 if it is gone, in ascending order.
    The files are those that `write_grams` makes of all texts.
    """
    keys, starts, items = (mapped(previous / f"grams.{name}.npy") for name in ("keys", "starts", "items"))
    grams, owners, before = _grams_added(added)
    new_keys, place_of_key = np.unique(np.concatenate([keys, grams]), return_inverse=True)
    of_old, of_added = place_of_key[: len(keys)], place_of_key[len(keys) :]
    inserted_at = _insertions(keys, starts, items, grams, before)
    gone = [
        start + np.flatnonzero(places[items[start : start + GRAMS_AT_ONCE]] < 0)
        for start in range(0, len(items), GRAMS_AT_ONCE)
    ]
    dropped = np.concatenate([np.zeros(0, dtype=np.int64), *gone])
    counts = np.bincount(of_added, minlength=len(new_keys)).astype(np.int64)
    counts[of_old] += np.diff(starts) - np.diff(np.searchsorted(dropped, starts))
    filled = counts > 0
    total = np.concatenate([[0], np.cumsum(counts[filled])]).astype(np.int64)
    np.save(folder / "grams.keys.npy", new_keys[filled], allow_pickle=False)
    np.save(folder / "grams.starts.npy", total, allow_pickle=False)
    out = np.lib.format.open_memmap(folder / "grams.items.npy", mode="w+", dtype=np.int32, shape=(int(total[-1]),))
    written = 0
    for start in range(0, max(len(items), 1), GRAMS_AT_ONCE):
        end = start + GRAMS_AT_ONCE
        first = np.searchsorted(inserted_at, start)
        last = np.searchsorted(inserted_at, end) if end < len(items) else len(inserted_at)
        moved = places[items[start:end]]
        both = np.insert(moved, inserted_at[first:last] - start, owners[first:last])
        both = both[both >= 0]
        out[written : written + len(both)] = both
        written += len(both)
    out.flush()


class Added(NamedTuple):
    """Texts added to an index: their numbers there, and how many texts of the previous one precede each."""

    texts: Sequence[str]
    numbers: IntArray
    before: IntArray


def _grams_added(added: Added) -> tuple[IntArray, IntArray, IntArray]:
    """Grams of the texts, rising, the number of the text of each, and how many of the earlier texts come before it."""
    found = [(gram, owner) for length in range(1, LONGEST_GRAM + 1) for gram, owner in _grams_of(added.texts, length)]
    empty = np.zeros(0, dtype=np.int64)
    gram = np.concatenate([empty, *(gram for gram, _ in found)])
    owner = np.concatenate([empty, *(owner for _, owner in found)])
    order = np.lexsort((owner, gram))
    gram, owner = gram[order], owner[order]
    return gram, added.numbers[owner], added.before[owner]


def _insertions(keys: IntArray, starts: IntArray, items: IntArray, grams: IntArray, before: IntArray) -> IntArray:
    """Where among the items each of the grams goes, whose text comes after so many of the earlier texts."""
    found = np.zeros(len(grams), dtype=np.int64)
    bounds = [*np.flatnonzero(np.r_[True, grams[1:] != grams[:-1]]).tolist(), len(grams)] if len(grams) else [0]
    places = np.searchsorted(keys, grams[bounds[:-1]]).tolist()
    for first, last, place in zip(bounds[:-1], bounds[1:], places, strict=True):
        if place < len(keys) and keys[place] == grams[first]:
            start, end = int(starts[place]), int(starts[place + 1])
            found[first:last] = start + np.searchsorted(items[start:end], before[first:last])
        else:
            found[first:last] = starts[place]
    return found


def _grams_of(texts: Sequence[str], length: int) -> Iterator[tuple[IntArray, IntArray]]:
    """The grams of the texts, piece by piece: in each, pairs of gram and text, rising, each once."""
    for first, batch in _batches(texts):
        letters = _letters("".join(batch))
        lengths = np.fromiter(map(len, batch), dtype=np.int64, count=len(batch))
        owners = np.repeat(np.arange(first, first + len(batch), dtype=np.int32), lengths)
        gram = _grams(letters, length)
        owner = owners[: len(gram)]
        inside = owner == owners[length - 1 :]
        gram, owner = gram[inside], owner[inside]
        if not len(gram):
            continue
        order = np.argsort(gram, kind="stable")
        gram, owner = gram[order], owner[order]
        new = np.ones(len(gram), dtype=np.bool_)
        new[1:] = (gram[1:] != gram[:-1]) | (owner[1:] != owner[:-1])
        yield gram[new], owner[new]


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Neighbouring texts of about `PIECE` letters, with the number of the first."""
    batch: list[str] = []
    first = letters = 0
    for number, text in enumerate(texts):
        batch.append(text)
        letters += len(text)
        if letters >= PIECE:
            yield first, batch
            first, batch, letters = number + 1, [], 0
    if batch:
        yield first, batch


class LexicalIndex:
    """Substring search over the distinct texts of a graph. May be used from several threads.

    Raises `VocabularyIndexError` if the folder holds no such index.
    """

    def __init__(self, folder: Path, texts: Strings) -> None:
        try:
            self._keys, self._starts, self._items = (
                mapped(folder / f"grams.{name}.npy") for name in ("keys", "starts", "items")
            )
        except (OSError, ValueError) as error:
            raise VocabularyIndexError(
                f"The index of texts in {folder} is missing or damaged.", hint="Build the graph again."
            ) from error
        self._texts = texts

    def containing(self, labels: Iterable[str]) -> IntArray:
        """The ids of all texts that contain one of the folded labels, rising; an empty label is in none."""
        found = [self._having(label) for label in labels if label]
        return distinct(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def is_known(self, label: str) -> bool:
        """Whether any text contains the folded label."""
        if not label:
            return False
        found = self._candidates(label)
        if len(label) <= LONGEST_GRAM:
            return len(found) > 0
        return next(self._texts.holding(encoded(label), found), None) is not None

    def _having(self, label: str) -> IntArray:
        found = self._candidates(label)
        if len(label) <= LONGEST_GRAM:
            return found
        return np.fromiter(self._texts.holding(encoded(label), found), dtype=np.int64)

    def _candidates(self, label: str) -> IntArray:
        """The texts that have the grams of the label, or `FEW` that have some of them."""
        letters = _letters(label)
        grams = distinct(_grams(letters, min(len(letters), LONGEST_GRAM)))
        places = np.searchsorted(self._keys, grams)
        if places[-1] == len(self._keys) or (self._keys[places] != grams).any():
            return np.zeros(0, dtype=np.int64)
        starts, ends = self._starts[places], self._starts[places + 1]
        order = np.argsort(ends - starts, kind="stable").tolist()
        found: IntArray = self._items[starts[order[0]] : ends[order[0]]].astype(np.int64)
        for place in order[1:]:
            if len(found) <= FEW:
                break
            found = _in_both(found, self._items[starts[place] : ends[place]])
        return found


def _in_both(few: IntArray, many: IntArray) -> IntArray:
    """The elements of one sorted array that occur in another."""
    places = np.minimum(np.searchsorted(many, few), len(many) - 1)
    return np.asarray(few[many[places] == few])


def _letters(text: str) -> IntArray:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)


def _grams(letters: IntArray, length: int) -> IntArray:
    """A key for each run of so many letters; runs of different length have different keys."""
    count = max(len(letters) - length + 1, 0)
    keys = np.zeros(count, dtype=np.int64)
    for place in range(length):
        keys = (keys << _BITS) | (letters[place : place + count] + 1)
    return keys
