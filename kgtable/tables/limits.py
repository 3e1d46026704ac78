"""Reading the bytes of a file within limits (plain, gzip, ZIP-based), and limits of the Python process."""

from __future__ import annotations

import gzip
import logging
import os
import signal
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Generic, TypeVar, cast

from kgtable.errors import EmptyTableError, KgtableError, TableError, UnavailableTableError, UnreadableTableError
from kgtable.tables.discovery import ZIP, FileVersion, TableFile, file_state, file_version

log = logging.getLogger(__name__)

MEBIBYTE = 1 << 20
SMALLEST_PAGE = 2 << 10
"""Bytes of a file per page that is given time: pages may share their content and then cost no bytes."""
_LONGEST_REASON = 200
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How far reading goes before it streams, or fails with a clear error.

    `stream_above`: bytes from which a delimited, JSON Lines or columnar file is streamed.
    `max_cells`: cells of one table held in memory (a spreadsheet's used area counts its gaps).
    `max_unpacked`, `max_ratio`: bytes a compressed file may unpack to, and how many times its own
    size once that exceeds `ratio_from` bytes. `max_columns`: columns of one table. `max_gaps`: cells
    without a value that may stand for each with one, once there are more than a million.
    `max_memory`, `max_seconds`: memory and processor time for the process that reads workbooks, columnar
    files, and pages and documents of more than `apart_above` bytes; it has a second more for each MiB. A small
    file has `base_seconds`, and as much for each MiB. A PDF of at most `max_pages` has `base_seconds`, a second
    for each MiB, and `max_page_seconds` for each page, with one page counted for each 2 KiB of the file.
    `max_statement`: bytes of one statement, which a cell of a very long text becomes; a store takes up to 16 MiB.
    """

    stream_above: int = 16 * MEBIBYTE
    max_cells: int = 20_000_000
    max_unpacked: int = 512 * MEBIBYTE
    max_ratio: int = 200
    ratio_from: int = 64 * MEBIBYTE
    max_columns: int = 16_384
    max_gaps: int = 100
    max_memory: int = 3072 * MEBIBYTE
    max_seconds: int = 120
    apart_above: int = 64 << 10
    max_pages: int = 3_000
    base_seconds: int = 30
    max_page_seconds: float = 0.5
    max_statement: int = 8 * MEBIBYTE

    @classmethod
    def of_seconds(cls, seconds: int | None) -> ReadLimits:
        """The usual limits, with this much processor time for a file of any kind; None for the usual time."""
        return cls() if seconds is None else cls(max_seconds=seconds, base_seconds=seconds)

    def seconds_for(self, path: Path, pages: int = 0) -> float:
        """Seconds of processor time for a file: more for a large one, and for each of so many pages of a PDF.

        >>> ReadLimits().seconds_for(Path("none.xlsx")), ReadLimits.of_seconds(300).seconds_for(Path("none.xlsx"))
        (30.0, 300.0)
        """
        try:
            size = path.stat().st_size
        except OSError:
            size = 0
        mebibytes = size / MEBIBYTE
        if path.suffix.lower() == ".pdf":
            paid = min(self.max_pages, size // SMALLEST_PAGE)
            return self.base_seconds + mebibytes + min(paid, pages) * self.max_page_seconds
        return min(self.max_seconds, self.base_seconds * (1 + mebibytes)) + mebibytes

    def unpacks_too_far(self, packed: int, unpacked: int) -> bool:
        """Whether a file of `packed` bytes that unpacks to `unpacked` bytes is out of bounds.

        >>> ReadLimits().unpacks_too_far(1_000, 500_000)
        False
        >>> ReadLimits().unpacks_too_far(100_000, 500_000_000)
        True
        """
        if unpacked > self.max_unpacked:
            return True
        return unpacked > self.ratio_from and unpacked > packed * self.max_ratio


@dataclass(slots=True)
class _ThisProcess:
    """What is known of the process: whether it was started to read files, with bounds."""

    is_bounded: bool = False

    def bound(self, memory: int, seconds: float) -> None:
        """Bound what it may take from here on, where it was: bytes beyond those it has, and processor time."""
        if not self.is_bounded or sys.platform == "win32":
            return
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = memory_in_use(ADDRESSED) + memory
        resource.setrlimit(resource.RLIMIT_AS, (wanted if most < 0 else min(wanted, most), most))
        most = resource.getrlimit(resource.RLIMIT_CPU)[1]
        until = max(int(time.process_time() + seconds), 0) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (until if most < 0 else min(until, most), most))


ADDRESSED, RESIDENT = 0, 1


def memory_in_use(which: int) -> int:
    """Bytes of memory that the process addresses or holds; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[which]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


this_process = _ThisProcess()

CHUNK = 1 << 20
_GAPS_FROM = 1_000_000


def check_extent(file: TableFile, limits: ReadLimits, height: int, width: int, filled: int) -> None:
    """Raises `UnreadableTableError` for too many columns, or where few values span a huge table."""
    if width > limits.max_columns:
        raise UnreadableTableError(
            f"it has {width:,} columns, more than {limits.max_columns:,}.",
            path=file.relative,
            hint="Split it, or turn its columns into rows.",
        )
    cells = height * width
    if cells > _GAPS_FROM + limits.max_gaps * filled:
        raise UnreadableTableError(
            f"{filled:,} values span a table of {cells:,} cells.",
            path=file.relative,
            hint="Remove stray values far from the table, or keys that few records have.",
        )


def open_content(file: TableFile) -> IO[bytes]:
    """The file opened for reading bytes, unpacked if its name ends in ``.gz``."""
    if file.compressed:
        return cast(IO[bytes], gzip.open(file.path, "rb"))
    return file.path.open("rb")


def chunks(file: TableFile, limits: ReadLimits) -> Iterator[bytes]:
    """The content piece by piece.

    Raises `UnreadableTableError` if the file cannot be read or unpacks beyond the limits.
    """
    try:
        packed = file.path.stat().st_size
        with open_content(file) as stream:
            size = 0
            while chunk := stream.read(CHUNK):
                size += len(chunk)
                if file.compressed and limits.unpacks_too_far(packed, size):
                    raise UnreadableTableError(
                        f"{packed:,} bytes unpack to more than {size:,}.",
                        path=file.relative,
                        hint="Unpack it yourself if you trust it, or raise the limits.",
                    )
                yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file, error) from error


def read_bytes(file: TableFile, limits: ReadLimits) -> bytes:
    """All of the content. Raises `EmptyTableError` for a file of no bytes, and as `chunks` does.

    More than `max_unpacked` bytes (or what would not be streamed) are refused: they are held as a whole.
    """
    pieces: list[bytes] = []
    size, most = 0, max(limits.max_unpacked, limits.stream_above)
    for piece in chunks(file, limits):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise UnreadableTableError(
                f"it has more than {most:,} bytes, which would be held in memory as a whole.",
                path=file.relative,
                hint="Split it, or save it as CSV, which is read piece by piece.",
            )
    content = b"".join(pieces)
    if not content:
        raise EmptyTableError("the file is empty.", path=file.relative, hint="Remove it, or put a table into it.")
    return content


@contextmanager
def faults_of(file: TableFile) -> Iterator[None]:
    """Turn any failure on one file, in a library or here, into an `UnreadableTableError`.

    Errors of kgtable stay what they are: those of the file, and those of the output.
    """
    try:
        yield
    except KgtableError:
        raise
    except MemoryError as error:
        raise unreadable(file, error, "It needs more memory than there is; split it.") from error
    except RecursionError as error:
        raise unreadable(file, ValueError("it is nested too deeply"), "Does it hold a table?") from error
    except OSError as error:
        raise unreadable(file, error) from error
    except Exception as error:
        log.debug("%s cannot be read", file.relative, exc_info=True)
        named = ValueError(f"{type(error).__name__}: {str(error)[:_LONGEST_REASON]}")
        raise unreadable(file, named, "Is it damaged? Save it again, or as CSV.") from error


@contextmanager
def unchanged(file: TableFile, known: FileVersion | None = None) -> Iterator[FileVersion]:
    """The content of a file that is read within the block.

    Raises `UnavailableTableError` if the file cannot be read, or changed before the end of the block, in place of any
    `TableError` the block raises.
    """
    error: TableError | None = None
    try:
        state, version = file_state(file), file_version(file, known)
    except OSError as caught:
        raise unreadable(file, caught) from caught
    try:
        yield version
    except TableError as caught:
        error = caught
    try:
        is_same = state == file_state(file) and version.digest == file_version(file, version).digest
    except OSError:
        is_same = False
    if not is_same:
        raise UnavailableTableError(
            "the file changed while it was read.", path=file.relative, hint="Run it again when nothing writes to it."
        ) from error
    if error is not None:
        raise error


class ReadingTime:
    """The processor time that a file has for what is done with it as a whole in this process: blocks of `with`.

    Rows that stream are not among it: each takes as long as the one before. Signals reach the main thread alone,
    so that there is no bound in others.
    """

    def __init__(self, file: TableFile, limits: ReadLimits) -> None:
        self._file, self._seconds = file, limits.seconds_for(file.path)
        self._left = self._seconds

    def __enter__(self) -> None:
        self._bounded = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if self._bounded:
            self._before = signal.signal(signal.SIGVTALRM, self._end)
            signal.setitimer(signal.ITIMER_VIRTUAL, max(self._left, 0.01), 1.0)

    def __exit__(self, *_: object) -> None:
        if self._bounded:
            self._left = signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0]
            signal.signal(signal.SIGVTALRM, self._before)

    def _end(self, *_: object) -> None:
        raise UnreadableTableError(
            f"reading it takes more than {self._seconds:,.0f} seconds.",
            path=self._file.relative,
            hint="Split it, or give it more time by --file-seconds.",
        )


def each_of(file: TableFile, items: Iterable[_Item]) -> Iterator[_Item]:
    """The items, under `faults_of` while each is made but not while it is used."""
    with faults_of(file):
        iterator = iter(items)
    while True:
        with faults_of(file):
            try:
                item = next(iterator)
            except StopIteration:
                return
        yield item


def unreadable(file: TableFile, error: BaseException, hint: str = "") -> UnreadableTableError:
    """The error for a file that the system or a library refuses to read."""
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        hint = hint or "Check that it exists and that you may read it."
        return UnavailableTableError(f"the file cannot be read: {reason}.", path=file.relative, hint=hint)
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    kind = UnavailableTableError if isinstance(error, MemoryError) else UnreadableTableError
    return kind(f"the file cannot be read: {reason}.", path=file.relative, hint=hint or "Is it complete?")


def content_size(file: TableFile, limits: ReadLimits) -> int:
    """How many bytes the content has; a compressed file is unpacked once to find out."""
    try:
        size = file.path.stat().st_size
    except OSError as error:
        raise unreadable(file, error) from error
    return sum(map(len, chunks(file, limits))) if file.compressed else size


_LOCAL_HEADER = 30


def check_archive(file: TableFile, limits: ReadLimits, kind: str = "workbook") -> None:
    """Raises `UnreadableTableError` if the archive is damaged, encrypted or unpacks too far.

    Every member is unpacked once and counted, because the sizes that an archive states may lie.
    """
    try:
        with zipfile.ZipFile(file.path) as archive, file.path.open("rb") as raw:
            members = archive.infolist()
            packed = file.path.stat().st_size
            _allow(file, limits, packed, sum(member.file_size for member in members))
            total = 0
            for member in members:
                if member.flag_bits & 1:
                    raise UnreadableTableError(
                        f"the {kind} is protected by a password.",
                        path=file.relative,
                        hint="Save it without a password.",
                    )
                for size in _unpacked(raw, member):
                    total += size
                    _allow(file, limits, packed, total)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise UnreadableTableError(
            f"the {kind} is damaged or cut off.",
            path=file.relative,
            hint="Get a complete copy, or open and save it again in the program it came from.",
        ) from error


def _allow(file: TableFile, limits: ReadLimits, packed: int, unpacked: int) -> None:
    if limits.unpacks_too_far(packed, unpacked):
        raise UnreadableTableError(
            f"{packed:,} bytes unpack to {unpacked:,} or more.",
            path=file.relative,
            hint="Save its table as CSV if you trust it, or raise the limits.",
        )


def _unpacked(raw: IO[bytes], member: zipfile.ZipInfo) -> Iterator[int]:
    """The sizes of the pieces that a member truly unpacks to."""
    raw.seek(member.header_offset)
    header = raw.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != ZIP:
        raise zipfile.BadZipFile("a member is missing")
    raw.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    if member.compress_type == zipfile.ZIP_STORED:
        yield member.compress_size
        return
    if member.compress_type != zipfile.ZIP_DEFLATED:
        raise NotImplementedError(member.compress_type)
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflate.eof:
        piece = inflate.unconsumed_tail or raw.read(CHUNK)
        if not piece:
            raise EOFError
        yield len(inflate.decompress(piece, CHUNK))


_Value = TypeVar("_Value")


class ProcessSetting(Generic[_Value]):
    """A setting of the process, given by how it is read and written.

    Blocks that change it may overlap, in one thread or several: the first to begin notes the value
    it finds, the last to end puts it back.
    """

    def __init__(self, read: Callable[[], _Value], write: Callable[[_Value], object]) -> None:
        self._read, self._write = read, write
        # Re-entrant: the garbage collector may end a forgotten generator's block within this lock.
        self._lock = threading.RLock()
        self._blocks = 0
        self._before: _Value | None = None

    @contextmanager
    def changed(self, change: Callable[[_Value], _Value]) -> Iterator[None]:
        """Change the setting while the block lasts; within another block it is changed already."""
        with self._lock:
            self._blocks += 1
            if self._blocks == 1:
                self._before = self._read()
                self._write(change(self._before))
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                if not self._blocks:
                    assert self._before is not None
                    self._write(self._before)
