"""The bytes of a file: plain or unpacked from gzip, within the limits."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import IO, cast

from kgtable.errors import EmptyTableError, UnreadableTableError
from kgtable.tables.limits import Limits
from kgtable.tables.walk import TableFile

CHUNK = 1 << 20


def open_content(file: TableFile) -> IO[bytes]:
    """The file opened for reading bytes, unpacked if its name ends in ``.gz``."""
    if file.compressed:
        return cast(IO[bytes], gzip.open(file.path, "rb"))
    return file.path.open("rb")


def chunks(file: TableFile, limits: Limits) -> Iterator[bytes]:
    """The content piece by piece.

    Raises `UnreadableTableError` where the file cannot be read or unpacks beyond the limits.
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


def read_bytes(file: TableFile, limits: Limits) -> bytes:
    """All of the content. Raises `EmptyTableError` for a file of no bytes, and as `chunks` does."""
    content = b"".join(chunks(file, limits))
    if not content:
        raise EmptyTableError(
            "the file is empty.", path=file.relative, hint="Remove it, or put a table into it."
        )
    return content


def unreadable(file: TableFile, error: BaseException, hint: str = "") -> UnreadableTableError:
    """The error for a file that the system or a library refuses to read."""
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        return UnreadableTableError(
            f"the file cannot be read: {reason}.",
            path=file.relative,
            hint=hint or "Check that it exists and that you may read it.",
        )
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return UnreadableTableError(
        f"the file cannot be read: {reason}.", path=file.relative, hint=hint or "Is it complete?"
    )


def content_size(file: TableFile, limits: Limits) -> int:
    """How many bytes the content has; a compressed file is unpacked once to find out."""
    try:
        size = file.path.stat().st_size
    except OSError as error:
        raise unreadable(file, error) from error
    return sum(map(len, chunks(file, limits))) if file.compressed else size
