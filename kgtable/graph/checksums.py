"""Checksums of a store's data files, which tell damage before the engine meets it.

Oxigraph never changes a data file (``.sst``) once it is written. Met in the middle of a query, a damaged block makes
it count errors without end, so what is damaged is not queried at all.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from kgtable.storage import whole_file

RECORD = ".checksums"
"""The file in a store's folder with the CRC-32 of each data file by name."""

CHECKED_AT_ONCE = 64 << 20
"""Bytes of a store that are checked each time it is opened: some hundredths of a second. Larger ones are checked by
builds, and by commands after a query failed."""

_PIECE = 1 << 20


def record_checksums(store: Path) -> None:
    """Write the checksums of a closed store, if it is there; those that are recorded already stay as they are.

    Raises `StorageError` where it cannot be written.
    """
    if not store.is_dir():
        return
    known = _recorded(store)
    files = sorted(store.glob("*.sst"))
    found = {file.name: known.get(file.name, -1) for file in files}
    found |= {file.name: _checksum(file) for file in files if found[file.name] < 0}
    with whole_file(store / RECORD) as handle:
        handle.write(json.dumps(found, indent=0).encode("ascii"))


def damaged_files(store: Path, most: int | None = None) -> tuple[str, ...]:
    """The names of data files that are not what was written.

    None where nothing was recorded, or the files have more than `most` bytes together.
    """
    known = {store / name: checksum for name, checksum in _recorded(store).items()}
    try:
        if most is not None and sum(file.stat().st_size for file in known if file.exists()) > most:
            return ()
        return tuple(
            file.name for file, checksum in known.items() if file.exists() and _checksum(file) != checksum
        )
    except OSError:  # the version was removed meanwhile, or cannot be read: opening it tells more
        return ()


def _recorded(store: Path) -> dict[str, int]:
    try:
        content = json.loads((store / RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {
        name: checksum
        for name, checksum in content.items()
        if Path(name).name == name and name.endswith(".sst") and type(checksum) is int
    }


def _checksum(file: Path) -> int:
    found = 0
    with file.open("rb") as handle:
        while piece := handle.read(_PIECE):
            found = zlib.crc32(piece, found)
    return found
