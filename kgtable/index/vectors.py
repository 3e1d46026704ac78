"""Vectors of tables, column names, subjects and groups, kept with the texts they stand for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import faiss
import numpy as np

from kgtable.errors import VocabularyIndexError
from kgtable.index.embedding import Embedder, Matrix
from kgtable.index.postings import Integers, mapped

KINDS = ("subjects", "predicates", "groups")
"""The three vocabularies that labels are expanded with (thesis, section 4.4, step 2)."""

BATCH = 2_048
"""Texts embedded between two looks at whether the build was interrupted."""

ALL_LOOKED_AT = 5_000
"""Terms of a vocabulary up to which a search looks at each: one or two milliseconds."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Has FAISS work without further threads: for one question they cost more than they save.

    OpenMP keeps the number for each calling thread, so that no other thread is affected.
    """
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(threads)


class VectorCache:
    """Vectors of an earlier build by the hash of their text, so that no text is embedded twice."""

    def __init__(self, embedder: Embedder, known: dict[bytes, Matrix]) -> None:
        self._embedder = embedder
        self._known = known
        self.embedded = 0
        """How many texts had to be embedded."""

    def embed(self, texts: Sequence[str]) -> tuple[Matrix, Integers]:
        """The vectors of the texts, shape (n, dimension), and their hashes, shape (n, 16)."""
        keys = [
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts
        ]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        items = list(missing.items())
        for start in range(0, len(items), BATCH):
            batch = items[start : start + BATCH]
            vectors = self._embedder.embed([text for _, text in batch])
            self._known.update(zip((key for key, _ in batch), vectors, strict=True))
        self.embedded += len(missing)
        rows = np.zeros((len(keys), self._embedder.dimension), dtype=np.float32)
        for row, key in enumerate(keys):
            rows[row] = self._known[key]
        return rows, np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, 16)

    @classmethod
    def load(cls, embedder: Embedder, folder: Path | None) -> VectorCache:
        """All vectors in the index `folder` of an earlier build with the same embedder; none without one.

        What is damaged there is embedded again.
        """
        known: dict[bytes, Matrix] = {}
        for name in ("tables", "pieces", *KINDS) if folder is not None else ():
            assert folder is not None
            with suppress(OSError, ValueError, RuntimeError):
                keys = mapped(folder / f"vectors.{name}.keys.npy")
                known |= dict(zip((key.tobytes() for key in keys), stored_vectors(folder, name), strict=True))
        return cls(embedder, known)


@dataclass(frozen=True)
class Vectors:
    """The vectors of an index: `tables` and `predicates` as matrices, all three vocabularies in FAISS.

    `texts[kind]` are the text ids the FAISS index of that kind holds, in its order.
    """

    tables: Matrix
    predicates: Matrix
    texts: dict[str, Integers]
    _indexes: dict[str, faiss.Index]

    def nearest(self, kind: str, vectors: Matrix, count: int) -> tuple[Integers, Matrix]:
        """The `count` nearest text ids of a kind for each vector, shape (n, count), and their cosines."""
        texts = self.texts[kind]
        count = min(count, len(texts))
        if count == 0 or len(vectors) == 0:
            empty = np.zeros((len(vectors), 0))
            return empty.astype(np.int64), empty.astype(np.float32)
        with one_thread():
            cosines, places = self._indexes[kind].search(np.ascontiguousarray(vectors), count)
        return np.asarray(texts)[places], cosines

    @classmethod
    def open(cls, folder: Path) -> Vectors:
        """The vectors in an index folder, memory-mapped."""
        try:
            return cls(
                tables=mapped(folder / "vectors.tables.npy"),
                predicates=mapped(folder / "vectors.predicates.npy"),
                texts={kind: mapped(folder / f"vectors.{kind}.texts.npy") for kind in KINDS},
                _indexes={
                    kind: faiss.read_index(str(folder / f"vectors.{kind}.faiss"), faiss.IO_FLAG_MMAP_IFC)
                    for kind in KINDS
                },
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise VocabularyIndexError(
                f"The vectors in {folder} are missing or damaged: {error}.", hint="Build the graph again."
            ) from error


def stored_vectors(folder: Path, name: str) -> Matrix:
    """The vectors of one kind, shape (n, dimension), from an index folder."""
    path = folder / f"vectors.{name}.npy"
    if path.exists():
        return mapped(path)
    index = faiss.read_index(str(folder / f"vectors.{name}.faiss"))
    if isinstance(index, faiss.IndexIVF):
        index.make_direct_map()
    return np.asarray(index.reconstruct_n(0, index.ntotal), dtype=np.float32)


def _faiss_index(vectors: Matrix) -> faiss.Index:
    """All vectors in a row; more than `ALL_LOOKED_AT` in clusters, of which the nearest are looked into."""
    count, dimension = vectors.shape
    index = faiss.IndexFlatIP(dimension)
    if count <= ALL_LOOKED_AT:
        index.add(vectors)
        return index
    clusters = int(1.4 * count**0.5)
    clustered = faiss.IndexIVFFlat(index, dimension, clusters, faiss.METRIC_INNER_PRODUCT)
    clustered.nprobe = clusters // 6
    clustered.cp.niter, clustered.cp.max_points_per_centroid = 8, 64
    with one_thread():  # the sums of several threads would differ from run to run
        clustered.train(vectors)
        clustered.add(vectors)
    return clustered


def write_whole(cache: VectorCache, name: str, texts: Sequence[str], folder: Path) -> None:
    """Embed the texts of tables, one a table, or of pieces of passages."""
    vectors, keys = cache.embed(texts)
    np.save(folder / f"vectors.{name}.npy", vectors, allow_pickle=False)
    np.save(folder / f"vectors.{name}.keys.npy", keys, allow_pickle=False)


def write_vocabulary(
    cache: VectorCache, kind: str, texts: Sequence[str], text_ids: Integers, folder: Path
) -> None:
    """Embed the terms of one vocabulary and index them; `text_ids` are their ids in the corpus."""
    vectors, keys = cache.embed(texts)
    index = _faiss_index(vectors)
    faiss.write_index(index, str(folder / f"vectors.{kind}.faiss"))
    if kind == "predicates":
        np.save(folder / f"vectors.{kind}.npy", vectors, allow_pickle=False)
    np.save(folder / f"vectors.{kind}.texts.npy", np.asarray(text_ids, dtype=np.int64), allow_pickle=False)
    np.save(folder / f"vectors.{kind}.keys.npy", keys, allow_pickle=False)
