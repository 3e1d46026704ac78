"""Writing to disk: one lock a graph, files that appear whole or not at all, errors people understand."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kgtable.errors import GraphLockedError, StorageError

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def storage_errors(place: Path | str) -> Iterator[None]:
    """Turns an `OSError` of the block into a `StorageError` that names the place and the remedy.

    A reader that closed its pipe is no fault of the storage: `BrokenPipeError` stays what it is.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _storage_error(error, place) from error


def _storage_error(error: OSError, place: Path | str) -> StorageError:
    text = str(error)
    if (
        error.errno in _NO_SPACE
        or "No space left" in text
        or "disk is full" in text
        or "File too large" in text
    ):
        return StorageError(
            f"No space left to write {place}.",
            hint="Free some space or choose another disk, then run it again.",
        )
    if error.errno in _NOT_ALLOWED or "Read-only" in text or "Permission denied" in text:
        return StorageError(
            f"Writing to {place} is not allowed.", hint="Check its permissions or choose another place."
        )
    if error.errno in {errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOENT}:
        return StorageError(
            f"{place} cannot be written: {error.strerror}.", hint="Choose another place for the output."
        )
    return StorageError(
        f"Writing {place} failed: {text}.", hint="Nothing half-written was kept; run it again."
    )


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Holds the operating system's lock on a file, which a killed process gives back by itself.

    Raises `GraphLockedError` where another process holds it.
    """
    with storage_errors(path.parent):
        handle = path.open("a+b")
    with handle:
        try:
            _lock(handle)
        except OSError as error:
            raise GraphLockedError(
                f"Another process is building the graph in {path.parent}.",
                hint="Wait for it to end, then run this again.",
            ) from error
        yield


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: IO[bytes]) -> None:
        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: IO[bytes]) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` only when the block ends without an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with storage_errors(path):
            with temporary.open("wb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(path)
            sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Makes renames in a folder survive a power cut, where the system can."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_file(path: Path, out: IO[bytes]) -> None:
    """Copies a file to the end of an open one, within the system's kernel where it can."""
    out.flush()
    with path.open("rb") as source:
        if not _copy_in_kernel(source, out):
            shutil.copyfileobj(source, out, 1 << 20)


def _copy_in_kernel(source: IO[bytes], out: IO[bytes]) -> bool:
    """Whether the system could do it; if not, nothing was copied."""
    if sys.platform != "linux":
        return False
    copied = 0
    try:
        while count := os.copy_file_range(source.fileno(), out.fileno(), 1 << 30):
            copied += count
    except OSError:
        if copied:
            raise
        return False
    out.seek(0, os.SEEK_END)
    return True


def link_tree(source: Path, target: Path) -> None:
    """Copies a closed Oxigraph store, its immutable ``.sst`` files as hard links where that is possible."""
    target.mkdir()
    for entry in sorted(source.iterdir()):
        if entry.suffix == ".sst":
            _link_or_copy(entry, target / entry.name)
        elif entry.is_file() and entry.name != "LOCK":
            shutil.copyfile(entry, target / entry.name)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise
        shutil.copyfile(source, target)
