"""Whether a ZIP-based workbook may be opened: sound, not encrypted, and not a bomb."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

from kgtable.errors import UnreadableTableError
from kgtable.tables.limits import Limits
from kgtable.tables.walk import TableFile

CHUNK = 1 << 20
_LOCAL_HEADER = 30


def check_archive(file: TableFile, limits: Limits) -> None:
    """Raises `UnreadableTableError` where the archive is damaged, encrypted or unpacks too far.

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
                        "the workbook is protected by a password.",
                        path=file.relative,
                        hint="Save it without a password.",
                    )
                for size in _unpacked(raw, member):
                    total += size
                    _allow(file, limits, packed, total)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise UnreadableTableError(
            "the workbook is damaged or cut off.",
            path=file.relative,
            hint="Get a complete copy, or open and save it again in a spreadsheet program.",
        ) from error


def _allow(file: TableFile, limits: Limits, packed: int, unpacked: int) -> None:
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
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
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
