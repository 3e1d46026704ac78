"""Discovery of tables: the files under given paths in a stable order, each with its id, or an open stream."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import IO

from kgtable.errors import UsageError
from kgtable.storage import storage_errors
from kgtable.tables.model import Notice
from kgtable.values.text import sound_text

_OFFICE = "application/vnd.openxmlformats-officedocument"
_SHEETS = "spreadsheet:read_spreadsheet"
_COLUMNAR = "parquet:read_columnar"
_ARROW = "application/vnd.apache.arrow.file"


class Apart(Enum):
    """Which files are read in a process of their own."""

    NEVER = 0
    LARGE = 1
    ALWAYS = 2


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A kind of file that may hold tables.

    `reader` is the module and function that read it, loaded when needed; `with_text` whether it reads text next to
    tables; `divided` whether a sheet of it may hold several tables; `delimiter` the one the suffix suggests.
    """

    media_type: str
    label: str
    reader: str
    apart: Apart = Apart.NEVER
    with_text: bool = False
    divided: bool = False
    delimiter: str = ""


def _delimited(media_type: str, label: str, delimiter: str) -> FileFormat:
    return FileFormat(media_type, label, "delimited:read_delimited", divided=True, delimiter=delimiter)


def _document(media_type: str, label: str, reader: str, apart: Apart = Apart.LARGE) -> FileFormat:
    return FileFormat(media_type, label, reader, apart, with_text=True)


_TSV = _delimited("text/tab-separated-values", "TSV", "\t")
_HTML = _document("text/html", "HTML", "html:read_page")
_MARKDOWN = _document("text/markdown", "Markdown", "markdown:read_markdown")
_LINES = FileFormat("application/jsonl", "JSON Lines", "json_records:read_records")

FORMATS: dict[str, FileFormat] = {
    ".csv": _delimited("text/csv", "CSV", ","),
    ".tsv": _TSV,
    ".tab": _TSV,
    ".psv": _delimited("text/csv", "CSV", "|"),
    ".txt": _delimited("text/csv", "CSV", ","),
    ".xlsx": FileFormat(f"{_OFFICE}.spreadsheetml.sheet", "Excel", _SHEETS, Apart.ALWAYS, divided=True),
    ".xlsm": FileFormat("application/vnd.ms-excel.sheet.macroEnabled.12", "Excel", _SHEETS, Apart.ALWAYS, divided=True),
    ".xls": FileFormat("application/vnd.ms-excel", "Excel", _SHEETS, Apart.ALWAYS, divided=True),
    ".ods": FileFormat(
        "application/vnd.oasis.opendocument.spreadsheet", "OpenDocument", _SHEETS, Apart.ALWAYS, divided=True
    ),
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _document("application/xhtml+xml", "HTML", "html:read_page"),
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".docx": _document(f"{_OFFICE}.wordprocessingml.document", "Word", "office:read_docx"),
    ".pptx": _document(f"{_OFFICE}.presentationml.presentation", "PowerPoint", "office:read_pptx"),
    ".pdf": _document("application/pdf", "PDF", "pdf:read_pdf", Apart.ALWAYS),
    ".json": FileFormat("application/json", "JSON", "json_records:read_records", Apart.LARGE),
    ".jsonl": _LINES,
    ".ndjson": _LINES,
    ".parquet": FileFormat("application/vnd.apache.parquet", "Parquet", _COLUMNAR, Apart.ALWAYS),
    ".feather": FileFormat(_ARROW, "Arrow", _COLUMNAR, Apart.ALWAYS),
    ".arrow": FileFormat(_ARROW, "Arrow", _COLUMNAR, Apart.ALWAYS),
}
"""The files that may hold tables, by suffix."""


def is_delimited(suffix: str) -> bool:
    """Whether the suffix stands for delimited text."""
    return suffix in FORMATS and bool(FORMATS[suffix].delimiter)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file that may hold tables.

    `relative` is its path below the folder that was given, with ``/``; `id` the id of its table, or
    the first part of their ids where it holds several; `sidecar` the JSON file that describes it;
    `encoding` the codec of its text where that is given; `splits` the rows at which the tables of its sheets begin,
    as patterns of the ids of sheets with 0-based rows, the last of which that fits applies.
    """

    path: Path
    relative: str
    id: str
    sidecar: Path | None = None
    encoding: str | None = None
    splits: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def suffix(self) -> str:
        """The suffix of the file's kind, in lower case, without a final ``.gz``."""
        return _split_name(self.path.name)[1]

    @property
    def compressed(self) -> bool:
        """Whether the name says that the file is gzip data."""
        return self.path.name.lower().endswith(".gz")

    @property
    def format(self) -> FileFormat:
        """The format that the suffix stands for."""
        return FORMATS[self.suffix]

    @property
    def media_type(self) -> str:
        """The media type that the suffix stands for."""
        return self.format.media_type


@dataclass(frozen=True, slots=True)
class Walk:
    """The table files found, in order, skipped files, and folders that cannot be read."""

    files: tuple[TableFile, ...]
    notices: tuple[Notice, ...] = ()
    unreadable: tuple[Path, ...] = ()


MOST_OTHERS = 200_000
"""Maximum folders, and files of other kinds, in a walk: the user may have named a whole disk."""
SILENT_SECONDS = 20.0
"""Seconds without a folder entry after which a walk ends: a network share does not answer."""


def walk(paths: Sequence[Path | str]) -> Walk:
    """Every table file among the paths and below those that are folders, sorted by relative path.

    Hidden files are left out; a file of unknown kind causes a notice; a folder reached twice (by a
    link or a repeated argument) is read once; a directory of a graph is never input. Links are followed;
    one notice reports those in a folder that lead out of all the paths. Raises `UsageError` for a path
    that does not exist or does not answer, and for one with more than `MOST_OTHERS` folders and files of other kinds.
    """
    listing = _Listing()
    ended: list[Walk | BaseException] = []

    def work() -> None:
        try:
            ended.append(_walk(paths, listing))
        except BaseException as error:
            ended.append(error)

    # A thread, since nothing ends a call of the system that waits for a share.
    thread = Thread(target=work, daemon=True)
    thread.start()
    count = -1
    while thread.is_alive() and (listing.is_complete or count != listing.count):
        count = listing.count
        thread.join(SILENT_SECONDS)
    if not ended:
        raise UsageError(
            f"{listing.folder or paths[0]} has not answered for {SILENT_SECONDS:g} seconds.",
            hint="Check whether its disk or network share can be reached.",
        )
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


@dataclass(slots=True)
class _Listing:
    """How far a walk is: the last folder, files found so far, and how many of them, and folders, are not tables."""

    folder: str = ""
    count: int = 0
    others: int = 0
    is_complete: bool = False


def _walk(paths: Sequence[Path | str], listing: _Listing) -> Walk:
    roots = tuple(os.path.realpath(path) for path in paths)
    outside: list[tuple[str, str]] = []
    found: list[tuple[Path, str]] = []
    notices: list[Notice] = []
    unreadable: list[Path] = []
    seen: set[str] = set()

    def leads_out(path: str, relative: str) -> None:
        target = os.path.realpath(path)
        if os.path.exists(target) and not any(_is_within(target, root) for root in roots):
            outside.append((relative, sound_text(target)))

    for path in paths:
        root = Path(os.path.abspath(path))
        if not root.exists():
            raise UsageError(f"{path}: there is no such file or folder.", hint="Check the path.")
        for file, relative in _below(root, notices, unreadable, leads_out, listing):
            listing.count += 1
            if str(file) not in seen:
                seen.add(str(file))
                found.append((file, relative))
    listing.is_complete = True
    found = _distinct_relatives(found)
    tables = {str(file) for file, _ in found if _is_table_name(file.name) and _suffix(file) != ".json"}
    stems = {_stem_path(Path(name)) for name in tables}
    kept: list[tuple[Path, str]] = []
    for file, relative in sorted(found, key=lambda item: item[1]):
        problem = _problem(file, stems)
        if problem is None:
            kept.append((file, relative))
        elif problem:
            notices.append(Notice("skipped-file", problem, relative))
    if outside:
        notices.append(_notice_of_links(outside))
    return Walk(assign_ids(kept), tuple(notices), tuple(unreadable))


def find_files(paths: Sequence[Path | str]) -> list[TableFile]:
    """The files of `walk`, without its notices."""
    return list(walk(paths).files)


def assign_ids(files: Iterable[tuple[Path, str]]) -> tuple[TableFile, ...]:
    """Table files with ids that differ, from (path, relative path) in the order to be kept.

    The id is the file's stem; where stems collide, the relative path without its suffix; where
    these collide too, the relative path; a number is added as the last resort. ``#`` is left to
    the tables within a file and written ``%23``.
    """
    files = list(files)
    candidates = [_id_candidates(relative) for _, relative in files]
    chosen: dict[int, str] = {}
    open_indexes = list(range(len(files)))
    for level in range(3):
        counts = Counter(candidates[index][level] for index in open_indexes)
        taken = set(chosen.values())
        for index in open_indexes:
            name = candidates[index][level]
            if counts[name] == 1 and name not in taken:
                chosen[index] = name
        open_indexes = [index for index in open_indexes if index not in chosen]
    for index in open_indexes:
        chosen[index] = _numbered(candidates[index][2], set(chosen.values()))
    return tuple(
        TableFile(path, relative, chosen[index], _sidecar(path)) for index, (path, relative) in enumerate(files)
    )


def file_digest(file: TableFile) -> str:
    """A SHA-256 over the file and its sidecar: it changes when anything read from them can change.

    Raises `OSError` if one of them cannot be read.
    """
    digest = _sha256(file)
    if file.sidecar is not None:
        digest.update(b"\0sidecar\0" + file.sidecar.read_bytes())
    return digest.hexdigest()


SETTLED = 2.0
"""Seconds after which a changed file has a new modification time."""


def file_stamp(file: TableFile) -> str:
    """A stamp of a file and its sidecar from the file system: sizes, numbers, times.

    As long as it is the same, so is `file_digest`. Empty for files that changed a moment ago: they may
    change again without another time. Raises `OSError` if one of them is gone.
    """
    latest, state = file_state(file)
    return state if 0 <= latest < time.time() - SETTLED else ""


def file_state(file: TableFile) -> tuple[float, str]:
    """The time of the last change to a file or its sidecar, and what `file_stamp` is made of. Raises `OSError`."""
    found = [os.stat(path) for path in (file.path, file.sidecar) if path is not None]
    return max(max(one.st_mtime, one.st_ctime) for one in found), " ".join(
        f"{one.st_dev}:{one.st_ino}:{one.st_size}:{one.st_mtime_ns}:{one.st_ctime_ns}" for one in found
    )


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A content of a file: its `file_digest`, and its `file_stamp` from before that was computed; empty if unknown."""

    stamp: str = ""
    digest: str = ""


def file_version(file: TableFile, known: FileVersion | None = None) -> FileVersion:
    """The present content of a file, which is not read if its stamp is that of the `known` one. Raises `OSError`."""
    stamp = file_stamp(file)
    return known if known and stamp and stamp == known.stamp else FileVersion(stamp, file_digest(file))


def hash_file(file: TableFile) -> str:
    """The SHA-256 of the file alone: its `file_digest` where it has no sidecar. Raises `OSError`."""
    return _sha256(file).hexdigest()


def _sha256(file: TableFile) -> hashlib._Hash:
    with file.path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256")


GRAPH_MARKS = ("kgtable.json", ".kgtable.lock")
"""Files that a directory of a graph holds; the first only where it says so, since anybody may take the name."""


def _is_graph(folder: str) -> bool:
    pointer, lock = (Path(folder, name) for name in GRAPH_MARKS)
    try:
        return lock.is_file() or (pointer.is_file() and b'"kgtable graph"' in pointer.read_bytes()[:4096])
    except OSError:
        return False


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(os.path.join(root, ""))


def _notice_of_links(outside: Sequence[tuple[str, str]]) -> Notice:
    """Tells that links lead out of the folders: what they lead to was read like any other file."""
    (first, target), count = outside[0], len(outside)
    what = f"a link to {target}, outside the folder; it was followed"
    if count > 1:
        what += f", and so were {count - 1:,} more links that lead outside"
    return Notice("outside-link", what, first)


def _below(
    root: Path,
    notices: list[Notice],
    unreadable: list[Path],
    leads_out: Callable[[str, str], None],
    listing: _Listing,
) -> Iterator[tuple[Path, str]]:
    """The files below a folder, or the file itself; `leads_out` is called with each link."""
    if not root.is_dir():
        yield root, sound_text(root.name)
        return
    entered: set[str] = set()

    def note(error: OSError) -> None:
        unreadable.append(Path(error.filename or root))
        where = sound_text(os.path.relpath(error.filename or root, root))
        notices.append(Notice("unreadable-folder", f"the folder cannot be read ({error.strerror})", where))

    for folder, folders, names in os.walk(root, onerror=note, followlinks=True):
        listing.folder = folder
        listing.count += 1
        listing.others += 1 + sum(not _is_table_name(name) for name in names)
        if listing.others > MOST_OTHERS:
            raise UsageError(
                f"{root} holds more than {MOST_OTHERS:,} folders and files that are not tables (reached: {folder}).",
                hint="Name the folders that hold the tables; a link in it may lead to a whole disk.",
            )
        real = os.path.realpath(folder)
        if real in entered:
            folders.clear()
            continue
        entered.add(real)
        if _is_graph(folder):
            where = sound_text(os.path.relpath(folder, root))
            notices.append(Notice("skipped-folder", "the directory of a graph; it was passed over", where))
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            if os.path.islink(inner := os.path.join(folder, name)):
                leads_out(inner, sound_text(os.path.relpath(inner, root)))
        for name in sorted(names):
            if not name.startswith("."):
                path = Path(folder, name)
                relative = sound_text(PurePosixPath(path.relative_to(root)).as_posix())
                if _is_table_name(name) and os.path.islink(path):
                    leads_out(str(path), relative)
                yield path, relative


def _distinct_relatives(found: list[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Relative paths that differ: from the folder that holds all arguments where two are equal."""
    if len({relative for _, relative in found}) == len(found):
        return found
    common = os.path.commonpath([path.parent for path, _ in found])
    return [(path, sound_text(path.relative_to(common).as_posix())) for path, _ in found]


def _problem(file: Path, table_stems: set[str]) -> str | None:
    """None for a file to be read, else why it is skipped; empty if that needs no mention."""
    if not _is_table_name(file.name):
        return "not a kind of file that holds tables; it was passed over"
    if _suffix(file) == ".json" and _stem_path(file) in table_stems:
        return ""
    if file.exists() and not file.is_file():
        return "not a regular file; it was passed over"
    return None


def _sidecar(path: Path) -> Path | None:
    if _suffix(path) == ".json":
        return None
    sidecar = Path(_stem_path(path) + ".json")
    return sidecar if os.path.isfile(sidecar) else None  # also False for a name that is too long


def _id_candidates(relative: str) -> tuple[str, str, str]:
    path = PurePosixPath(relative.replace("#", "%23"))
    stem = _split_name(path.name)[0] or path.name
    return stem, str(path.with_name(stem)), str(path)


def _numbered(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}~{number}" in taken:
        number += 1
    return f"{name}~{number}"


def _split_name(name: str) -> tuple[str, str]:
    """Stem and suffix of a file name: ``("a.b", ".csv")`` for ``a.b.CSV.gz``."""
    base = name[:-3] if name.lower().endswith(".gz") else name
    stem, suffix = os.path.splitext(base)
    return stem, suffix.lower()


def _suffix(path: Path) -> str:
    return _split_name(path.name)[1]


def _stem_path(path: Path) -> str:
    return str(path.with_name(_split_name(path.name)[0] or path.name))


def _is_table_name(name: str) -> bool:
    suffix = _split_name(name)[1]
    return is_delimited(suffix) or (suffix in FORMATS and not name.lower().endswith(".gz"))


STREAM_NAME = "stdin"
"""The file name, and so the table id, of what comes from a stream."""

SNIFFED = 1 << 16
"""Bytes at the beginning that identify the kind of content."""

GZIP, ZIP, OLE = b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of gzip data, of ZIP archives (.xlsx, .docx, .ods), and of the older files of Office."""

SIGNATURES = {".parquet": b"PAR1", ".arrow": b"ARROW1", ".xls": OLE}
"""The first bytes of formats that have some of their own."""

_MARKDOWN_RULE = re.compile(rb"^\s*\|?\s*:?-{3,}:?\s*(\|\s*:?-{3,}:?\s*)+\|?\s*$", re.MULTILINE)
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks."""


def format_suffix(name: str) -> str:
    """The file suffix of a table format, by name, suffix or media type.

    >>> format_suffix("CSV"), format_suffix("text/html"), format_suffix(".xlsx")
    ('.csv', '.html', '.xlsx')

    Raises `UsageError` for a format that is not read.
    """
    wanted = name.lower().partition(";")[0].strip()
    for suffix, kind in FORMATS.items():
        if wanted in (suffix, suffix[1:], kind.media_type):
            return suffix
    known = ", ".join(suffix[1:] for suffix in FORMATS)
    raise UsageError(f"Unknown table format {name!r}.", hint=f"Choose one of: {known}.")


def sniff_suffix(content: bytes) -> str:
    """The file suffix that fits the beginning of a content; delimited text where nothing else does.

    >>> sniff_suffix(b"a;b\\n1;2\\n"), sniff_suffix(b"<table><tr><td>1"), sniff_suffix(b'[{"a": 1}]')
    ('.csv', '.html', '.json')
    """
    for suffix, signature in SIGNATURES.items():
        if content.startswith(signature):
            return suffix
    if content.startswith(ZIP):
        return ".ods" if b"opendocument.spreadsheet" in content[:200] else ".xlsx"
    text = content
    for mark in _MARKS:
        text = text.removeprefix(mark)
    text = text.lstrip()
    if text.startswith(b"<"):
        return ".html"
    if text.startswith(b"{"):
        first, _, rest = text.partition(b"\n")
        return ".jsonl" if first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{") else ".json"
    if text.startswith(b"["):
        return ".json"
    if _MARKDOWN_RULE.search(content):
        return ".md"
    return ".csv"


def save_stream(stream: IO[bytes], folder: Path, format: str | None = None) -> Path:
    """Save a stream to a file in `folder` with the suffix of its kind, from `format` or its content.

    Delimited text may be compressed by gzip. Raises `UsageError` for an empty stream or an unknown
    format, `StorageError` if there is no room for it.
    """
    head = _beginning(stream)
    if not head:
        raise UsageError("There is nothing to read: the stream is empty.", hint="Pipe a table into it.")
    compressed = head.startswith(GZIP)
    suffix = format_suffix(format) if format else sniff_suffix(_unpacked(head) if compressed else head)
    path = folder / f"{STREAM_NAME}{suffix}{'.gz' if compressed and is_delimited(suffix) else ''}"
    with storage_errors(path), path.open("wb") as out:
        out.write(head)
        shutil.copyfileobj(stream, out, 1 << 20)
    if suffix == ".xlsx" and format is None:
        return _zip_kind(path)
    return path


def _beginning(stream: IO[bytes]) -> bytes:
    """The first bytes, from as many reads as it takes: a pipe returns what it has."""
    head = io.BytesIO()
    while head.tell() < SNIFFED and (piece := stream.read(SNIFFED - head.tell())):
        head.write(piece)
    return head.getvalue()


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, SNIFFED)
    except zlib.error:
        return head


def _zip_kind(path: Path) -> Path:
    """The file under a name that fits its archive: a few writers put the kind of an ODS file last."""
    try:
        with zipfile.ZipFile(path) as archive:
            is_ods = "content.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return path
    return path.rename(path.with_suffix(".ods")) if is_ods else path
