"""Vectors of tables, column names, subjects and groups, kept with the texts they stand for."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import faiss
import numpy as np

from kgtable.index.embedding import Embedder, Matrix
from kgtable.index.postings import IntArray, mapped
from kgtable.storage import index_errors

KINDS = ("subjects", "predicates", "groups")
"""The three vocabularies that labels are expanded with (thesis, section 4.4, step 2)."""

NAMES = ("headers", "values")
"""The basis of inferred names: all headers, and values of the columns that have none."""

BATCH = 2_048
"""Batch size between checks for an interrupt."""

LOOKED_AT_AGAIN = 100
"""Vectors of those found among shortened ones that are compared exactly."""

MOST_CLUSTERS = 128
"""Clusters looked into at most."""

ADDED_AT_ONCE = 1 << 16

ALL_LOOKED_AT = 20_000
"""Terms of a vocabulary up to which a search looks at each: one or two milliseconds."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS work in one thread inside the block: for one question, threads cost more than they save.

    OpenMP keeps the number for each calling thread, so that no other thread is affected.
    """
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


class VectorCache:
    """Vectors by the hash of their text, so that no text is embedded twice: those of an earlier build, then new ones.

    For each vector, its memory-mapped file and its row in it are remembered.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[bytes, tuple[Matrix, int]] = {}
        self.embedded = 0
        """How many texts had to be embedded."""

    def embed(self, texts: Sequence[str], path: Path) -> tuple[Matrix, IntArray]:
        """Write the vectors of the texts to a file as they come; returns them memory-mapped, and their hashes.

        The shapes are (n, dimension) and (n, 16).
        """
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        shape = len(keys), self._embedder.dimension
        if not keys:
            np.save(path, np.zeros(shape, dtype=np.float32), allow_pickle=False)
            return mapped(path), np.zeros((0, 16), dtype=np.uint8)
        rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        first = dict.fromkeys(key for key in keys if key not in self._known)
        missing = [row for row, key in enumerate(keys) if key in first and first.pop(key, row) is None]
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            rows[batch] = self._embedder.embed([texts[row] for row in batch])
            self._known.update((keys[row], (rows, row)) for row in batch)
        self.embedded += len(missing)
        for row, key in enumerate(keys):
            vectors, known = self._known[key]
            if vectors is not rows or known != row:
                rows[row] = vectors[known]
        rows.flush()
        return mapped(path), np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, 16)

    @classmethod
    def load(cls, embedder: Embedder, folder: Path | None) -> VectorCache:
        """All vectors in the index `folder` of an earlier build with the same embedder; none without one.

        Damaged vectors are computed again.
        """
        cache = cls(embedder)
        for name in ("tables", "pieces", *NAMES, *KINDS) if folder is not None else ():
            assert folder is not None
            with suppress(OSError, ValueError, RuntimeError):
                keys = mapped(folder / f"vectors.{name}.keys.npy")
                vectors = stored_vectors(folder, name)
                if vectors.shape == (len(keys), embedder.dimension):
                    cache._known.update((key.tobytes(), (vectors, row)) for row, key in enumerate(keys))
        return cache


@dataclass(frozen=True)
class Vectors:
    """The vectors of an index: `tables` and `predicates` as matrices, all three vocabularies in FAISS.

    `texts[kind]` are the text ids the FAISS index of that kind holds, in its order.
    """

    tables: Matrix
    predicates: Matrix
    texts: dict[str, IntArray]
    _indexes: dict[str, faiss.Index]
    _exact: dict[str, Matrix]

    def nearest(self, kind: str, vectors: Matrix, count: int) -> tuple[IntArray, Matrix]:
        """The `count` nearest text ids of a kind for each vector, shape (n, count), and their cosines."""
        texts = self.texts[kind]
        count = min(count, len(texts))
        if count == 0 or len(vectors) == 0:
            empty = np.zeros((len(vectors), 0))
            return empty.astype(np.int64), empty.astype(np.float32)
        index, exact = self._indexes[kind], self._exact.get(kind)
        wanted = count if exact is None else min(max(LOOKED_AT_AGAIN, count), len(texts))
        with one_thread():
            cosines, places = index.search(np.ascontiguousarray(vectors), wanted)
        if exact is not None:
            again, nearest = _looked_at_again(vectors, places, exact, count)
            return np.asarray(texts)[nearest], again
        return np.asarray(texts)[places], cosines

    def of(self, text: int) -> Matrix | None:
        """The vector of a text by its id, shape (dimension,); None if no vocabulary has it."""
        for kind, texts in self.texts.items():
            place = int(np.searchsorted(texts, text))
            if place < len(texts) and texts[place] == text:
                exact = self._exact.get(kind)
                return np.asarray(self._indexes[kind].reconstruct(place) if exact is None else exact[place])
        return None

    @classmethod
    def open(cls, folder: Path) -> Vectors:
        """The vectors in an index folder, memory-mapped."""
        with index_errors(f"The vectors in {folder} are missing or damaged"):
            indexes = {
                kind: faiss.read_index(str(folder / f"vectors.{kind}.faiss"), faiss.IO_FLAG_MMAP_IFC) for kind in KINDS
            }
            return cls(
                tables=mapped(folder / "vectors.tables.npy"),
                predicates=mapped(folder / "vectors.predicates.npy"),
                texts={kind: mapped(folder / f"vectors.{kind}.texts.npy") for kind in KINDS},
                _indexes=indexes,
                _exact={
                    kind: mapped(folder / f"vectors.{kind}.npy") for kind, index in indexes.items() if _is_coarse(index)
                },
            )


def stored_vectors(folder: Path, name: str) -> Matrix:
    """The vectors of one kind, shape (n, dimension), from an index folder."""
    path = folder / f"vectors.{name}.npy"
    if path.exists():
        return mapped(path)
    index = faiss.read_index(str(folder / f"vectors.{name}.faiss"))
    if isinstance(index, faiss.IndexIVF):
        index.make_direct_map()
    return np.asarray(index.reconstruct_n(0, index.ntotal), dtype=np.float32)


def _is_coarse(index: faiss.Index) -> bool:
    """Whether the index holds shortened vectors, whose cosines are not exact."""
    return isinstance(index, faiss.IndexIVFScalarQuantizer)


def _looked_at_again(vectors: Matrix, places: IntArray, exact: Matrix, count: int) -> tuple[Matrix, IntArray]:
    """The `count` nearest of the places found for each vector, by the exact vectors."""
    cosines = np.full((len(vectors), count), -1.0, dtype=np.float32)
    best = np.zeros((len(vectors), count), dtype=np.int64)
    for row, (vector, found) in enumerate(zip(vectors, places, strict=True)):
        near = np.unique(found[found >= 0])
        again = exact[near] @ vector
        order = np.argsort(-again, kind="stable")[:count]
        cosines[row, : len(order)], best[row, : len(order)] = again[order], near[order]
        if len(order):
            cosines[row, len(order) :], best[row, len(order) :] = again[order[-1]], near[order[-1]]
    return cosines, best


def _faiss_index(vectors: Matrix) -> faiss.Index:
    """All vectors in a row; more than `ALL_LOOKED_AT` are clustered, and only the nearest clusters are searched.

    In clusters a number of a vector is one byte; the nearest found are compared by their exact vectors.
    """
    count, dimension = vectors.shape
    index = faiss.IndexFlatIP(dimension)
    if count <= ALL_LOOKED_AT:
        index.add(np.ascontiguousarray(vectors))
        return index
    clusters = int(1.4 * count**0.5)
    clustered = faiss.IndexIVFScalarQuantizer(
        index, dimension, clusters, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    clustered.nprobe = min(clusters // 6, MOST_CLUSTERS)
    clustered.cp.niter, clustered.cp.max_points_per_centroid = 8, 64
    sample = np.linspace(0, count - 1, min(count, 64 * clusters)).astype(np.int64)
    with one_thread():  # the sums of several threads would differ from run to run
        clustered.train(vectors[sample])
        for start in range(0, count, ADDED_AT_ONCE):
            clustered.add(np.ascontiguousarray(vectors[start : start + ADDED_AT_ONCE]))
    return clustered


def write_whole(cache: VectorCache, name: str, texts: Sequence[str], folder: Path) -> Matrix:
    """Embed the texts of one kind, such as one for each table; returns their vectors, memory-mapped."""
    vectors, keys = cache.embed(texts, folder / f"vectors.{name}.npy")
    np.save(folder / f"vectors.{name}.keys.npy", keys, allow_pickle=False)
    return vectors


def keep_missing(previous: Path, folder: Path) -> None:
    """Keep the vectors of `NAMES` that this build did not need, for a later build that does."""
    for name in NAMES:
        for file in (f"vectors.{name}.npy", f"vectors.{name}.keys.npy"):
            if (previous / file).exists() and not (folder / file).exists():
                shutil.copyfile(previous / file, folder / file)


def write_vocabulary(cache: VectorCache, kind: str, texts: Sequence[str], text_ids: IntArray, folder: Path) -> None:
    """Embed the terms of one vocabulary and index them; `text_ids` are their ids in the corpus."""
    index = _faiss_index(write_whole(cache, kind, texts, folder))
    faiss.write_index(index, str(folder / f"vectors.{kind}.faiss"))
    np.save(folder / f"vectors.{kind}.texts.npy", np.asarray(text_ids, dtype=np.int64), allow_pickle=False)
    if kind != "predicates" and not _is_coarse(index):  # which has them, too
        (folder / f"vectors.{kind}.npy").unlink()
