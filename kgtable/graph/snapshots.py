"""Versions of a store on disk: snapshots that nothing writes to, made one after another by one writer.

Reading a store beside a process that writes to it is undefined in Oxigraph (it fails now and then: swollen
memory, crashes). So the writer keeps a private working copy, whose data files are hard links, and makes a
checkpoint of it after each change; readers open checkpoints only. The file ``.NAME.current`` names the newest
version of the store ``NAME`` and is replaced in one step. A crash at any instant leaves the last version whole.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pyoxigraph as ox

from kgtable.errors import GraphNotFoundError, StorageError
from kgtable.storage import Lease, link_tree, remove_unread, storage_errors, sync_folder, whole_file

_NUMBER = re.compile(rb"[1-9][0-9]{0,17}")


def pointer_of(base: Path) -> Path:
    """The file that names the newest version of a store, where there is more than the first."""
    return base.with_name(f".{base.name}.current")


def newest(base: Path) -> Path:
    """The newest version of a store: a folder beside it, or the store itself.

    What the pointer says is a name of such a folder: it never leads elsewhere. Raises `StorageError` for
    one that says anything else or cannot be read: an older version must not pass for the newest.
    """
    pointer = pointer_of(base)
    try:
        name = pointer.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return base
    except OSError as error:
        raise StorageError(f"{pointer} cannot be read: {error.strerror}.", hint="Try again.") from error
    number = name[:400].removeprefix(os.fsencode(f"{base.name}-")).removesuffix(b"\n")
    if number == name[:400] or not _NUMBER.fullmatch(number):
        raise StorageError(
            f"{pointer} is damaged: it names no version of the store.",
            hint="Restore it, or build the graph again in an empty directory.",
        )
    return base.with_name(f"{base.name}-{int(number)}")


def number_of(version: Path, base: Path) -> int:
    """The number of a version, 0 for the store as it was first made."""
    return 0 if version == base else int(version.name.removeprefix(f"{base.name}-"))


def leased(base: Path) -> tuple[Path, Lease]:
    """The newest version with a lease on it. Raises `GraphNotFoundError` where there is no store."""
    while True:
        version = newest(base)
        try:
            return version, Lease(version)
        except (FileNotFoundError, NotADirectoryError) as error:
            if newest(base) == version:
                raise GraphNotFoundError(f"There is no store in {version}.") from error


class WorkingStore:
    """A private copy of a store's newest version, to be changed and published; for one writer at a time.

    A change that fails on the way needs no undoing: close the copy, and make another.
    Raises `OSError` or `RuntimeError` where it cannot be made.
    """

    def __init__(self, base: Path) -> None:
        self.base = base
        self.source, lease = leased(base)
        self._folder = base.with_name(f".{base.name}.work")
        shutil.rmtree(self._folder, ignore_errors=True)
        link_tree(self.source, self._folder)
        lease.release()
        # The working copy lies beside the versions: their folder must stay while it is open.
        self._kept = Lease(base.parent)
        self.store = ox.Store(str(self._folder))

    def is_current(self) -> bool:
        """Whether the copy is still what the newest version holds."""
        return newest(self.base) == self.source

    def publish(self) -> Path:
        """Make the state of the copy the newest version; it is on disk when this returns.

        Raises `OSError`, `RuntimeError` or `StorageError`; the version before stays the newest then.
        """
        number = number_of(self.source, self.base) + 1
        version = self.base.with_name(f"{self.base.name}-{number}")
        if version.exists():  # left by a crash before it was named
            shutil.rmtree(version)
        try:
            with storage_errors(version):
                self.store.backup(str(version))
                _sync_new_files(version)
            with whole_file(pointer_of(self.base)) as handle:
                handle.write(f"{version.name}\n".encode("ascii"))
        except BaseException:
            if newest(self.base) != version:
                shutil.rmtree(version, ignore_errors=True)
            raise
        self.source = version
        self._remove_older()
        return version

    def _remove_older(self) -> None:
        """Remove the versions that nobody reads any more."""
        for entry in [self.base, *self.base.parent.glob(f"{self.base.name}-*")]:
            if entry != self.source and entry.is_dir():
                with suppress(OSError):
                    remove_unread(entry)

    def close(self) -> None:
        """Throw the copy away."""
        del self.store
        shutil.rmtree(self._folder, ignore_errors=True)
        self._kept.release()


def _sync_new_files(version: Path) -> None:
    """Sync a checkpoint: its data files are links to files that the engine has synced itself."""
    for entry in version.iterdir():
        if entry.stat().st_nlink == 1:
            descriptor = os.open(entry, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
    sync_folder(version)
    sync_folder(version.parent)
