"""Tables from an open stream, such as standard input: its kind, and a file to read it from."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import IO

from kgtable.errors import UsageError
from kgtable.storage import storage_errors
from kgtable.tables.discovery import DELIMITED, SUFFIXES

NAME = "stdin"
"""The file name, and so the table id, of what comes from a stream."""

SNIFFED = 1 << 16
"""Bytes at the beginning that tell the kind of content."""

_GZIP = b"\x1f\x8b"
_SIGNATURES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ".xls",
}
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
    for suffix, media_type in SUFFIXES.items():
        if wanted in (suffix, suffix[1:], media_type):
            return suffix
    known = ", ".join(suffix[1:] for suffix in SUFFIXES)
    raise UsageError(f"Unknown table format {name!r}.", hint=f"Choose one of: {known}.")


def sniff_suffix(content: bytes) -> str:
    """The file suffix that fits the beginning of a content; delimited text where nothing else does.

    >>> sniff_suffix(b"a;b\\n1;2\\n"), sniff_suffix(b"<table><tr><td>1"), sniff_suffix(b'[{"a": 1}]')
    ('.csv', '.html', '.json')
    """
    for signature, suffix in _SIGNATURES.items():
        if content.startswith(signature):
            return suffix
    if content.startswith(b"PK\x03\x04"):
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
    """Save a stream to a file in `folder` whose suffix tells its kind, by `format` or by its content.

    Delimited text may be compressed by gzip. Raises `UsageError` for an empty stream or an unknown
    format, `StorageError` where there is no room for it.
    """
    head = _beginning(stream)
    if not head:
        raise UsageError("There is nothing to read: the stream is empty.", hint="Pipe a table into it.")
    compressed = head.startswith(_GZIP)
    suffix = format_suffix(format) if format else sniff_suffix(_unpacked(head) if compressed else head)
    path = folder / f"{NAME}{suffix}{'.gz' if compressed and suffix in DELIMITED else ''}"
    with storage_errors(path), path.open("wb") as out:
        out.write(head)
        shutil.copyfileobj(stream, out, 1 << 20)
    if suffix == ".xlsx" and format is None:
        return _zip_kind(path)
    return path


def _beginning(stream: IO[bytes]) -> bytes:
    """The first bytes, from as many reads as it takes: a pipe gives what it has."""
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
