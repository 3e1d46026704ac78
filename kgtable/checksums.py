"""Checksums of files that are written once: a record in their folder tells when they are no longer what was written.

They recognise damage, not forgery. What is not recorded is not judged, and neither is anything by a damaged record.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from kgtable.storage import whole_file

RECORD = ".checksums"
"""The file in a folder with the CRC-32 of its files by name, and under the name "" of these numbers themselves."""

PARTS = ".parts"
"""Such a file in a generation: of its own files, beside those of the store and the index."""

_PIECE = 1 << 20


def checksum(file: Path) -> int:
    """The CRC-32 of a file. Raises `OSError`."""
    found = 0
    with file.open("rb") as handle:
        while piece := handle.read(_PIECE):
            found = zlib.crc32(piece, found)
    return found


def checksum_of_json(content: Mapping[str, object]) -> int:
    """The CRC-32 of what a JSON object says, whatever the order and the blanks that it is written with."""
    return zlib.crc32(json.dumps(content, sort_keys=True).encode("ascii"))


def write_record(folder: Path, checksums: Mapping[str, int], name: str = RECORD) -> None:
    """Write the record of a folder. Raises `StorageError`."""
    content = dict(checksums) | {"": checksum_of_json(checksums)}
    with whole_file(folder / name) as handle:
        handle.write(json.dumps(content, indent=0).encode("ascii"))


def recorded(folder: Path, name: str = RECORD) -> dict[str, int]:
    """The checksums of a folder's record; none where it is missing or damaged."""
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
    """The recorded files of a folder, or those of them that are named, that are missing or not what was written.

    A folder that somebody removes meanwhile has none.
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
