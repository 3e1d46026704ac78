"""Reading files and folders of tables: one bad file never stops the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from kgtable.errors import MissingExtraError, NoTableError, TableError, UnavailableTableError
from kgtable.tables.discovery import TableFile, Walk, file_digest, find_files, hash_file, walk
from kgtable.tables.layout.regions import split_regions
from kgtable.tables.limits import ReadLimits, check_extent, faults_of, this_process
from kgtable.tables.model import Context, Grid, Notice, ReadContent, merge_contexts, read_sidecar, text_beside
from kgtable.values.text import sound_text

if TYPE_CHECKING:
    from kgtable.tables.readers.delimited import DelimitedScan

__all__ = [
    "ReadLimits", "TableFile", "Walk", "file_digest", "find_files", "read_content", "read_file", "read_folder", "walk",
]  # fmt: skip

ContentReader = Callable[[TableFile, ReadLimits], ReadContent]


def read_file(
    file: TableFile,
    limits: ReadLimits | None = None,
    *,
    sha256: str = "",
    scan: DelimitedScan | None = None,
) -> list[Grid]:
    """The tables of one file, each with its id, the file's hash and its sidecar's context.

    `sha256` is the file's hash and `scan` a look over a delimited file, where they are known already.
    Raises `TableError` if the file cannot be read or holds no table.
    """
    grids = list(read_content(file, limits, sha256=sha256, scan=scan).grids)
    if not grids:
        kind = {".html": "page has no table", ".md": "text has no pipe table"}
        fault = kind.get(file.suffix, "file holds no table")
        raise NoTableError(f"the {fault}.", path=file.relative, hint="Remove it, or put a table into it.")
    return grids


def read_content(
    file: TableFile,
    limits: ReadLimits | None = None,
    *,
    sha256: str = "",
    scan: DelimitedScan | None = None,
) -> ReadContent:
    """The tables of one file as returned by `read_file`, and its text or what its sidecar says next to them.

    Raises `TableError` if the file cannot be read, or holds neither a table nor text.
    """
    with faults_of(file):
        return _read(file, limits or ReadLimits(), sha256, scan)


def _read(file: TableFile, limits: ReadLimits, sha256: str, scan: DelimitedScan | None) -> ReadContent:
    content = _read_here_or_apart(file, limits) if scan is None else ReadContent((scan.grid(),))
    sha256 = sha256 or hash_file(file)
    for grid in content.grids:
        check_extent(file, limits, 1, grid.width, 1)
    if not content.grids and not content.has_text:
        raise NoTableError("it holds no table and no text.", path=file.relative, hint="Remove it from the folder.")
    ids, grids = _divided(file, list(content.grids))
    beside, notices = Context(), tuple[Notice, ...]()
    if file.sidecar is not None:
        beside, notices = read_sidecar(file.sidecar, _sidecar_name(file))
    if not grids:
        notices += content.notices
    found = tuple(
        replace(
            grid,
            id=table_id,
            source=replace(grid.source, sha256=sha256),
            context=merge_contexts(beside, grid.context),
            notices=grid.notices + ((*notices, *content.notices) if number == 0 else ()),
        )
        for number, (table_id, grid) in enumerate(zip(ids, grids, strict=True))
    )
    text = content.text
    if not content.has_text and file.sidecar is not None and found:
        text = text_beside(found)
    return ReadContent(found, text, notices, file.media_type, sha256)


def read_folder(
    paths: Sequence[Path | str] | Path | str, *, limits: ReadLimits | None = None
) -> Iterator[Grid | TableError]:
    """Every table under the paths in stable order; a file that cannot be read yields its error instead.

    Raises `UsageError` for a path that does not exist.
    """
    for file in find_files([paths] if isinstance(paths, Path | str) else paths):
        try:
            yield from read_file(file, limits)
        except TableError as error:
            yield error


def _read_here_or_apart(file: TableFile, limits: ReadLimits) -> ReadContent:
    from kgtable.tables.readers.apart import is_read_apart, read_apart

    if not this_process.is_bounded and is_read_apart(file, limits):
        return read_apart(file, limits)
    return reader_of(file)(file, limits)


def reader_of(file: TableFile) -> ContentReader:
    """The function that reads files of this kind: its tables have neither ids nor the sidecar's context.

    Raises `UnavailableTableError` if the packages for it are not installed.
    """
    module, function = file.format.reader.split(":")
    try:
        read = getattr(import_module(f"kgtable.tables.readers.{module}"), function)
    except MissingExtraError as error:
        raise UnavailableTableError(error.message, path=file.relative, hint=error.hint) from error
    if file.format.with_text:
        reader: ContentReader = read
        return reader
    return lambda file, limits: ReadContent(tuple(read(file, limits)))


def _divided(file: TableFile, grids: list[Grid]) -> tuple[list[str], list[Grid]]:
    """The tables of sheets and delimited files, which may hold several, and the ids of all."""
    ids: list[str] = []
    tables: list[Grid] = []
    for table_id, grid in zip(_ids(file, grids), grids, strict=True):
        begins = next((rows for pattern, rows in reversed(file.splits) if fnmatchcase(table_id, pattern)), None)
        parts = split_regions(grid, begins) if file.format.divided else [grid]
        ids += [table_id] if len(parts) == 1 else [f"{table_id}#{number}" for number in range(len(parts))]
        tables += parts
    return ids, tables


def _ids(file: TableFile, grids: list[Grid]) -> list[str]:
    """The file's id for its only table; followed by sheet or number where there are several."""
    if len(grids) == 1:
        return [file.id]
    names = [grid.source.sheet or str(grid.source.number) for grid in grids]
    counts = Counter(names)
    ids: dict[str, None] = {}
    for number, name in enumerate(names):
        name = f"{name}~{number}" if counts[name] > 1 or f"{file.id}#{name}" in ids else name
        ids[f"{file.id}#{name}"] = None
    return list(ids)


def _sidecar_name(file: TableFile) -> str:
    assert file.sidecar is not None
    folder, slash, _ = file.relative.rpartition("/")
    return folder + slash + sound_text(file.sidecar.name)
