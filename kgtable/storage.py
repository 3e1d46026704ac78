"""Files on disk: locks, leases of readers, files written whole or not at all, checksums, errors with a hint."""

from __future__ import annotations

import errno
import io
import json
import os
import secrets
import shutil
import socket
import stat
import sys
import time
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kgtable.errors import GraphLockedError, NoSpaceError, StorageError, VocabularyIndexError

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SAYS_NO_SPACE = ("No space left", "disk is full", "File too large")
_LONGEST_PART = 120
_DESCRIPTORS = ("/dev/fd/", "/dev/std", "/proc/")
"""How names of files that are open begin, such as /dev/stdout."""
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def storage_errors(place: Path | str) -> Iterator[None]:
    """Turn an `OSError` of the block into a `StorageError` that names the place and the remedy.

    A reader that closed its pipe is not a fault of the storage: `BrokenPipeError` stays what it is.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _storage_error(error, place) from error


@contextmanager
def index_errors(fault: str) -> Iterator[None]:
    """Turn what reading a damaged file of an index raises into a `VocabularyIndexError`.

    `fault` says what is wrong with which part, such as "The vectors in graph/index are missing or damaged".
    """
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
        raise VocabularyIndexError(f"{fault}: {error}.", hint="Build the graph again.") from error


def is_full(error: BaseException) -> bool:
    """Whether an error of the system, SQLite or the triple store says that there is no room left."""
    text = str(error)
    return getattr(error, "errno", None) in _NO_SPACE or any(words in text for words in _SAYS_NO_SPACE)


def _storage_error(error: OSError, place: Path | str) -> StorageError:
    text = str(error)
    if is_full(error):
        return NoSpaceError(
            f"No space left to write {place}.",
            hint="Free some space or choose another disk, then run it again.",
        )
    if error.errno in _NOT_ALLOWED or "Read-only" in text or "Permission denied" in text:
        return StorageError(
            f"Writing to {place} is not allowed.", hint="Check its permissions or choose another place."
        )
    if error.errno == errno.ENAMETOOLONG:
        return StorageError(f"{place} cannot be written: its name is too long.", hint="Choose a shorter name.")
    if error.errno in {errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOENT}:
        return StorageError(
            f"{place} cannot be written: {error.strerror}.", hint="Choose another place for the output."
        )
    return StorageError(f"Writing {place} failed: {text}.", hint="Nothing half-written was kept; run it again.")


@contextmanager
def exclusive_lock(path: Path, wait: float = 0) -> Iterator[None]:
    """Hold an exclusive lock on a file; the operating system releases it when the process ends.

    The file says who holds it. Raises `GraphLockedError` if another process holds it and does not
    release it within `wait` seconds, `StorageError` for a folder with links: see `refuse_links`.
    """
    refuse_links(path.parent)
    with storage_errors(path.parent):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _AS_IT_IS, 0o666)
    with os.fdopen(descriptor, "a+b") as handle:
        deadline = time.monotonic() + wait
        while True:
            try:
                _lock(handle)
                break
            except OSError as error:
                if time.monotonic() >= deadline:
                    raise GraphLockedError(
                        f"Another process is building the graph in {path.parent}{_holder(path)}.",
                        hint="Wait for it to end, then run this again.",
                    ) from error
            time.sleep(_BETWEEN_TRIES)
        _sign(handle)
        yield


_BETWEEN_TRIES = 0.02
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of `os.open` for a file that is not a link, and no pipe that waits for its other end."""


def refuse_links(folder: Path) -> None:
    """Raise `StorageError` for a symbolic link in a folder: what is written or removed through it is elsewhere."""
    for place, folders, files in os.walk(folder):
        for entry in (Path(place, name) for name in (*folders, *files)):
            if entry.is_symlink():
                raise StorageError(f"{entry} is a link.", hint="Remove it. A graph that is changed has no links in it.")


def _sign(handle: IO[bytes]) -> None:
    """Write into a locked file who holds it."""
    command = " ".join(Path(part).name for part in sys.argv[:2])
    about = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "command": command,
        "since": int(time.time()),
    }
    with suppress(OSError):  # the lock counts, not what the file says
        handle.truncate(0)
        handle.write(json.dumps(about).encode("utf-8"))
        handle.flush()


def _holder(path: Path) -> str:
    """Who holds the lock on a file, in words; nothing if the file does not say."""
    try:
        about = json.loads(path.read_bytes()[:4096])
        since = time.strftime("%H:%M:%S", time.localtime(about["since"]))
        return f" (process {about['process']} on {about['host']}, {about['command']}, since {since})"
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return ""


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: IO[bytes]) -> None:
        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)

    def _share(descriptor: int) -> None:
        """Nothing to do: Windows renames no folder with an open file in it."""

else:
    import fcntl

    def _lock(handle: IO[bytes]) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _share(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


LEASE = ".lease"
"""The file in a folder on which its readers hold a shared lock."""


class Lease:
    """A reader's hold on a folder: `remove_unread` leaves the folder alone meanwhile.

    The lease ends by `release`, with the last reference to it, or with the process, however that
    ends: it is a shared lock of the operating system on an open file. Raises `FileNotFoundError`
    where the folder is gone or about to go.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LEASE
        descriptor = _open_lease(path)
        self._release = weakref.finalize(self, _close, descriptor)
        if descriptor is None:
            return
        try:
            _share(descriptor)
        except BlockingIOError as error:
            self.release()
            raise FileNotFoundError(errno.ENOENT, "is being removed", str(folder)) from error
        except OSError:  # a file system without locks: nobody can build there either
            return
        try:
            if not os.path.samestat(os.fstat(descriptor), path.stat()):
                raise FileNotFoundError(errno.ENOENT, "was replaced", str(folder))
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """End the lease; a second call does nothing."""
        self._release()


def _open_lease(path: Path) -> int | None:
    """The open lease file; None if there is none and none can be made, as on a read-only disk."""
    with suppress(FileNotFoundError):
        return _opened(path, os.O_RDONLY)
    return _opened(path, os.O_RDWR | os.O_CREAT)


def _opened(path: Path, flags: int) -> int | None:
    try:
        return os.open(path, flags | _AS_IT_IS, 0o666)
    except FileNotFoundError:
        raise
    except OSError:
        return None


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)


def remove_unread(folder: Path) -> bool:
    """Remove a folder unless somebody holds a `Lease` on it; returns whether it was removed.

    It is renamed first, so that nobody finds half of it.
    """
    with (folder / LEASE).open("a+b") as handle:
        try:
            _lock(handle)
        except OSError:
            return False
        if sys.platform == "win32":
            handle.close()
        unwanted = folder.with_name(f".{folder.name}.removed")
        shutil.rmtree(unwanted, ignore_errors=True)
        try:
            folder.rename(unwanted)
        except PermissionError:
            if sys.platform == "win32":
                return False
            raise
        shutil.rmtree(unwanted, ignore_errors=True)
    return True


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Write a file that replaces `path` only when the block ends without an error.

    A link is followed, and a file that is there keeps its mode and owner. What is not a regular file (a
    device, a pipe) is written to as it is, piece by piece. Raises `StorageError`.
    """
    with storage_errors(path):
        before = _status(path)
        if before is not None and not _can_be_replaced(path, before):
            with _PassingWriter(io.FileIO(path, "w")) as through:
                yield through
            return
        target = Path(os.path.realpath(path))
        temporary = _temporary_beside(target)
        try:
            with open(_create(temporary, before), "wb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(target)
            sync_folder(target.parent)
        finally:
            temporary.unlink(missing_ok=True)


POINTER = "kgtable.json"
"""The file of a graph directory that names its current generation."""


def refuse_within_graph(path: Path) -> None:
    """Raise `StorageError` for an output in the directory of a graph, which may hold only its own files."""
    with storage_errors(path):
        path.exists()  # a name that is too long
        target = Path(os.path.realpath(path))
        for folder in (target, *target.parents):
            if (folder / POINTER).is_file():
                raise StorageError(
                    f"{path} is in the directory of a graph.", hint="Choose a place beside it for the output."
                )


@contextmanager
def output_file(path: Path) -> Iterator[IO[bytes]]:
    """A `whole_file` at a place that a user names: not in the directory of a graph. Raises `StorageError`."""
    refuse_within_graph(path)
    with whole_file(path) as handle:
        yield handle


class _PassingWriter(io.BufferedWriter):
    """Writes to a device or a pipe; it cannot seek, even if the system reports that it can."""

    def seekable(self) -> bool:
        return False


def _status(path: Path) -> os.stat_result | None:
    """The status of the path, links followed; None if nothing is there."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _can_be_replaced(path: Path, status: os.stat_result) -> bool:
    """Whether another file may take the name: not that of a device, a pipe or an open descriptor."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        return False
    return not os.path.abspath(path).startswith(_DESCRIPTORS)


def _temporary_beside(path: Path) -> Path:
    """A name in the same folder that nothing has; `GraphDirectory` knows such names by their form."""
    name = os.fsdecode(os.fsencode(path.name)[:_LONGEST_PART])
    return path.with_name(f".{name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


def _create(path: Path, like: os.stat_result | None) -> int:
    """Open a new file for writing; with the mode and, where allowed, the owner of another one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    if like is None:
        return os.open(path, flags, 0o666)
    descriptor = os.open(path, flags, 0o600)
    if sys.platform != "win32":
        with suppress(PermissionError):
            os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
    return descriptor


def sync_folder(path: Path) -> None:
    """Write the entries of a folder through to the disk, where the system can."""
    if sys.platform != "win32":
        sync_file(path)


def sync_tree(folder: Path) -> None:
    """Write a folder through to the disk: the content of all its files, and all entries."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            sync_file(Path(place, name))
        sync_folder(Path(place))


def sync_file(path: Path) -> None:
    """Write the content of a file, or the entries of a folder, through to the disk."""
    # Windows syncs only files that are open for writing.
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, written through to the disk; an existing folder stays as it is."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def make_private(path: Path) -> None:
    """Create a file that only its owner may read and write, in such folders; restrict an existing file likewise.

    What is not a regular file, or belongs to somebody else, stays as it is. Raises `OSError`.
    """
    missing = [folder for folder in path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    elif sys.platform != "win32" and path.is_file():
        status = path.stat()
        if status.st_uid == os.getuid() and status.st_mode & 0o077:
            path.chmod(status.st_mode & 0o700)


def append_file(path: Path, out: IO[bytes]) -> None:
    """Append a file to an open one, within the system's kernel where possible."""
    out.flush()
    with path.open("rb") as source:
        if not _copy_in_kernel(source, out):
            shutil.copyfileobj(source, out, 1 << 20)


def _copy_in_kernel(source: IO[bytes], out: IO[bytes]) -> bool:
    """Copy within the kernel; returns whether it could, and if not, nothing was copied."""
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
    """Copy a closed Oxigraph store, its immutable ``.sst`` files as hard links where possible."""
    target.mkdir()
    for entry in sorted(source.iterdir()):
        if entry.suffix == ".sst":
            _link_or_copy(entry, target / entry.name)
        elif entry.is_file() and entry.name not in ("LOCK", LEASE):
            shutil.copyfile(entry, target / entry.name)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise
        shutil.copyfile(source, target)


RECORD = ".checksums"
"""The file in a folder with the CRC-32 of its files by name, and under the name "" of these numbers themselves."""

PARTS = ".parts"
"""The name of that file in the folder of a generation; its store and index have their own records."""

_PIECE = 1 << 20


def checksum(file: Path) -> int:
    """The CRC-32 of a file. Raises `OSError`."""
    found = 0
    with file.open("rb") as handle:
        while piece := handle.read(_PIECE):
            found = zlib.crc32(piece, found)
    return found


def checksum_of_json(content: Mapping[str, object]) -> int:
    """The CRC-32 of a JSON object, independent of key order and white space."""
    return zlib.crc32(json.dumps(content, sort_keys=True).encode("ascii"))


def write_record(folder: Path, checksums: Mapping[str, int], name: str = RECORD) -> None:
    """Write the checksums of a folder's files, by file name, to its record. Raises `StorageError`."""
    content = dict(checksums) | {"": checksum_of_json(checksums)}
    with whole_file(folder / name) as handle:
        handle.write(json.dumps(content, indent=0).encode("ascii"))


def recorded(folder: Path, name: str = RECORD) -> dict[str, int]:
    """The checksums of a folder's record; none if it is missing or damaged."""
    try:
        content = json.loads((folder / name).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    own = content.pop("", None)
    if own is not None and own != checksum_of_json(content):
        return {}
    return {file: number for file, number in content.items() if _is_within(file) and type(number) is int}


def _is_within(file: str) -> bool:
    return bool(file) and not Path(file).is_absolute() and ".." not in Path(file).parts


def differing(folder: Path, files: Iterable[str] | None = None, name: str = RECORD) -> list[str]:
    """The names of files that are missing or differ from their recorded checksum, sorted.

    All recorded files of the folder are compared, or those of them in `files`. A folder that is removed meanwhile
    yields none. Checksums detect damage, not forgery; files without a record are not checked.
    """
    known = recorded(folder, name)
    found = []
    for file in known if files is None else known.keys() & set(files):
        try:
            if checksum(folder / file) != known[file]:
                found.append(file)
        except OSError:
            if folder.is_dir():
                found.append(file)
    return sorted(found)
