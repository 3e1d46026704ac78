"""Fill a store from N-Quads: a new one, or a copy of the last one with the changed tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from io import RawIOBase
from itertools import compress, count
from pathlib import Path

import numpy as np
import pyoxigraph as ox

from kgtable.building.conversion_report import Progress, silent
from kgtable.errors import DamagedGraphError, StorageError
from kgtable.graph.store import copy_store
from kgtable.storage import storage_errors

_PIECE = 1 << 20

LOADED_AT_ONCE = 80_000_000
"""Bytes of N-Quads, about half a million quads, passed to Oxigraph at a time.

It sorts what it is given a million quads at a time in two threads, which holds 2 GB; with half a million it holds
0.6 GB. But what is loaded in many parts is merged again and again on disk, so the parts grow after the first.
"""

LONG_TEXT = 16
"""Megabytes of text from which loading reports progress."""

EQUAL_PARTS = 4
"""Parts of a load before each is twice as large as the one before."""


class JoinedFiles(RawIOBase):
    """One stream over files that are still being written: each is read in turn, then deleted.

    It ends after about `part_size` bytes, at the end of a line; `next_part` continues from there, and parts after the
    first `EQUAL_PARTS` are each twice as large as the one before.
    """

    def __init__(self, paths: Iterable[Path], part_size: int, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._pieces = self._read_all(paths)
        self._rest = self._held = b""
        self._part_size = self._left = part_size
        self._parts = 0

    def next_part(self) -> bool:
        """Whether there is more to read after the end of a part; if so, reading continues with it."""
        self._parts += 1
        self._part_size *= 2 if self._parts > EQUAL_PARTS else 1
        self._rest, self._held, self._left = self._held, b"", self._part_size
        self._rest = self._rest or self._next_piece()
        return bool(self._rest)

    def _next_piece(self) -> bytes:
        """What follows in the part; nothing at its end."""
        if self._left <= 0:
            return b""
        piece = next(self._pieces, b"")
        self._left -= len(piece)
        if self._left <= 0:
            while b"\n" not in piece and (following := next(self._pieces, b"")):
                piece += following
            end = piece.rfind(b"\n") + 1 or len(piece)
            piece, self._held = piece[:end], piece[end:]
        return piece

    def _read_all(self, paths: Iterable[Path]) -> Iterator[bytes]:
        for path in paths:
            size = path.stat().st_size // _PIECE
            with path.open("rb") as file:
                for done in count():
                    if size >= LONG_TEXT:
                        self._progress("loading MB of statements", done, size)
                    if not (piece := file.read(_PIECE)):
                        break
                    yield piece
            path.unlink()

    def readable(self) -> bool:
        """Always true."""
        return True

    def read(self, size: int = _PIECE) -> bytes:
        """At most `size` bytes of the part, nothing at its end."""
        rest = self._rest or self._next_piece()
        self._rest = rest[size:]
        return rest[:size]


def fill_store(path: Path, nquads: Iterable[Path], progress: Progress = silent) -> None:
    """Make a new store from N-Quads files, which are deleted; raises `StorageError`."""
    _change(path, lambda store: _load(store, nquads, progress))


def carry_over(previous: Path, path: Path, known: Collection[str]) -> None:
    """Copy the named graphs that are not `known`, which users wrote, to another store. Raises `StorageError`."""
    with _store_errors(path, previous):
        old = ox.Store.read_only(str(previous))
        names = [name for name in old.named_graphs() if name.value not in known]

        def add(store: ox.Store) -> None:
            for name in names:
                store.add_graph(name)
                store.bulk_extend(old.quads_for_pattern(None, None, None, name))

        if names:
            _change(path, add, previous)


def differing_lines(before: Path, now: Path) -> tuple[list[bytes], list[bytes]]:
    """The lines of one file that the other lacks, and vice versa. Raises `OSError`."""
    with before.open("rb") as earlier, now.open("rb") as later:
        old, new = (np.fromiter(map(hash, lines), np.int64) for lines in (earlier, later))
        earlier.seek(0)
        later.seek(0)
        gone, added = ~np.isin(old, new), ~np.isin(new, old)
        return list(compress(earlier, gone.tolist())), list(compress(later, added.tolist()))


def change_store(
    previous: Path, path: Path, removed: Iterable[str], nquads: Iterable[Path], progress: Progress = silent
) -> None:
    """Make a copy of a store with some graphs replaced.

    The `removed` graphs are emptied, then the N-Quads files are loaded and deleted. The previous store is not touched:
    its data files are shared by hard links. Raises `StorageError`.
    """

    def exchange(store: ox.Store) -> None:
        for name in removed:
            store.remove_graph(ox.NamedNode(name))
        _load(store, nquads, progress)

    with _store_errors(path, previous):
        copy_store(previous, path)
        _change(path, exchange, previous)


def describe_store(path: Path, description: Path, before: Path | None = None, progress: Progress = silent) -> None:
    """Replace the default graph of a store without readers by a file of N-Quads without blank nodes.

    `before` is such a file with what the default graph holds now: only the difference is written. Without it, the
    default graph is emptied first. Raises `StorageError`.
    """

    def exchange(store: ox.Store) -> None:
        if before is None:
            store.clear_graph(ox.DefaultGraph())
            copy = shutil.copyfile(description, description.with_suffix(".loaded"))
            return _load(store, [copy], progress)
        gone, new = differing_lines(before, description)
        for quad in ox.parse(b"".join(gone), ox.RdfFormat.N_QUADS, lenient=True):
            store.remove(quad)
        store.extend(ox.parse(b"".join(new), ox.RdfFormat.N_QUADS, lenient=True))

    _change(path, exchange)


def _change(path: Path, change: Callable[[ox.Store], object], previous: Path | None = None) -> None:
    """Open or make a store that nobody reads yet, change it, and close it; damage is that of the `previous` store."""
    with _store_errors(path, previous or path):
        store = ox.Store(str(path))
        try:
            change(store)
            store.flush()
        finally:
            del store


@contextmanager
def _store_errors(path: Path, read: Path) -> Iterator[None]:
    """Turn errors of Oxigraph into `StorageError`: `OSError` on a full disk, `RuntimeError` on damage.

    Its parser raises a `MemoryError` for one statement of more than 16 MiB.
    """
    try:
        with storage_errors(path):
            yield
    except MemoryError as error:
        raise StorageError(
            f"The store in {path} does not take what is loaded: {error}.",
            hint="Is a text of more than 16 MiB among the tables, or too little memory free?",
        ) from error
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # such as a RecursionError: not of Oxigraph
            raise
        raise DamagedGraphError(
            f"The store in {read} is damaged: {error}.", hint="Build the graph again in an empty directory."
        ) from error


def _load(store: ox.Store, nquads: Iterable[Path], progress: Progress) -> None:
    stream = JoinedFiles(nquads, LOADED_AT_ONCE, progress)
    while stream.next_part():
        store.bulk_load(stream, ox.RdfFormat.N_QUADS, lenient=True)  # type: ignore[arg-type]
