"""The directory of a graph: complete generations, the pointer to the current one, leases of readers.

A build fills a new generation next to the current one and then switches the pointer. Whoever reads a
graph holds a lease on its generation (`GraphDirectory.lease`); builds remove the generations that
are neither current nor leased.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgtable.building.catalogue import Catalogue, Changes
from kgtable.errors import GraphNotFoundError, GraphVersionError
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.store import (
    BUILD_AGAIN,
    copy_store,
    damage_error,
    damaged_files,
    newest,
    pointer_of,
    record_checksums,
    was_only_read,
)
from kgtable.graph.table_content import TableContent
from kgtable.graph.tally import Tally
from kgtable.graph.terms import DEFAULT_BASE, Blocks
from kgtable.storage import (
    LEASE,
    PARTS,
    POINTER,
    Lease,
    checksum,
    checksum_of_json,
    differing,
    exclusive_lock,
    make_folder,
    remove_unread,
    storage_errors,
    sync_folder,
    sync_tree,
    whole_file,
    write_record,
)

FORMAT = "kgtable graph"
FORMAT_VERSION = 1
LOCK = ".kgtable.lock"
LOCK_WAIT = 20.0
"""Seconds that a build waits for another build, or for updates through a server, to end."""

DESCRIPTION = "default-graph.nq"
"""The text of the default graph as a build loads it, to find what the next build changes in it."""


@dataclass(frozen=True)
class Generation:
    """One complete state of the graph. `previous` is the generation it was made from, if any.

    `lease` keeps the generation on disk for its reader. While it is built, `catalogue` is what was saved,
    `fresh` provides the contents of converted tables, and `describe` writes the default graph: the description of the
    tables, and the statements that it is given.
    """

    number: int
    path: Path
    base: str = DEFAULT_BASE
    previous: Generation | None = None
    changes: Changes = field(default_factory=Changes)
    lease: Lease | None = field(default=None, compare=False, repr=False)
    catalogue: Catalogue | None = field(default=None, compare=False, repr=False)
    fresh: Callable[[str], TableContent | None] = field(default=lambda id: None, compare=False, repr=False)
    describe: Callable[[Blocks], None] = field(default=lambda found: None, compare=False, repr=False)

    def release(self) -> None:
        """End the lease, where there is one; a second call does nothing."""
        if self.lease is not None:
            self.lease.release()

    @property
    def parts(self) -> list[Path]:
        """Its own files, next to those of the store and the index, which never change once it was made."""
        marks = (LEASE, PARTS, pointer_of(self.first_store_path).name)
        return [path for path in sorted(self.path.iterdir()) if path.is_file() and path.name not in marks]

    def record_parts(self) -> None:
        """Record the checksums of its parts and of the file with those of its index. Raises `OSError`."""
        found = {path.name: checksum(path) for path in self.parts}
        if (about := self.index_path / "index.json").exists():
            found[f"{self.index_path.name}/{about.name}"] = checksum(about)
        write_record(self.path, found, PARTS)

    def damaged_files(self) -> list[str]:
        """The names of its own and its store's files that are missing or corrupt."""
        store = self.store_path
        in_store = damaged_files(store) or (() if (store / "CURRENT").exists() else ("CURRENT",))
        return [*(f"{store.name}/{name}" for name in in_store), *self._damaged_parts()]

    def _damaged_parts(self) -> list[str]:
        return [name for name in differing(self.path, name=PARTS) if "/" not in name]

    def check(self) -> None:
        """Raise `DamagedGraphError` if a file of its own or of its store is missing or corrupt."""
        if damaged := self.damaged_files():
            raise damage_error(self.path, damaged)

    def check_part(self, path: Path) -> Path:
        """The path of a part. Raises `DamagedGraphError` if that is missing or corrupt."""
        if path.name in self._damaged_parts():
            raise damage_error(self.path, [path.name])
        return path

    @property
    def is_as_made(self) -> bool:
        """Whether its store is unchanged since it was completed."""
        first = self.first_store_path
        is_first = not pointer_of(first).exists() and not any(self.path.glob(f"{first.name}-*"))
        return is_first and was_only_read(first)

    @property
    def store_path(self) -> Path:
        """The Oxigraph store: the newest version, where people wrote to it since the build."""
        return newest(self.first_store_path)

    @property
    def first_store_path(self) -> Path:
        """The store as the build made it; its versions are next to it, see `kgtable.graph.store`."""
        return self.path / "store"

    @property
    def catalogue_path(self) -> Path:
        """The catalogue, see `kgtable.building.catalogue`."""
        return self.path / "catalogue.sqlite"

    @property
    def report_path(self) -> Path:
        """The report of the conversion as JSON."""
        return self.path / "report.json"

    @property
    def description_path(self) -> Path:
        """The text of the default graph, see `DESCRIPTION`."""
        return self.path / DESCRIPTION

    @property
    def index_path(self) -> Path:
        """The folder of the search indexes."""
        return self.path / "index"


class GraphDirectory:
    """The directory a user chose for a graph."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def generations_path(self) -> Path:
        """The folder of the generations."""
        return self.path / "generations"

    def lease(self) -> Generation:
        """The current generation with a lease on it: no build removes it while the lease is held.

        Raises the errors of `current`.
        """
        gone: int | None = None
        while True:
            pointer = self._pointer()
            number = pointer.get("generation")
            with suppress(FileNotFoundError):
                if isinstance(number, int):
                    path = self.generations_path / str(number)
                    lease = Lease(path)
                    return Generation(number, path, str(pointer.get("base", DEFAULT_BASE)), lease=lease)
            # A build switched the pointer and removed that generation meanwhile, or it never was there.
            if number == gone:
                return self.current()
            gone = number

    def current(self) -> Generation:
        """The complete generation the pointer names, without a lease: for builds, which keep it anyway.

        Raises `GraphNotFoundError` if there is none and `GraphVersionError` for a directory of
        another kind or version.
        """
        generation = self._pointed_generation(self._pointer())
        if generation is None:
            raise GraphNotFoundError(
                f"The graph in {self.path} was never completed.", hint=f"Run: kgtable build PATH --kg {self.path}"
            )
        return generation

    def endpoint(self) -> StoreEndpoint | None:
        """The endpoint that the directory points to; None if it holds a graph."""
        content = self._pointer().get("endpoint")
        if not isinstance(content, dict):
            return None
        url, store = content.get("query"), content.get("store")
        if not isinstance(url, str) or not isinstance(store, str | None):
            raise GraphVersionError(
                f"{self.path / POINTER} names no endpoint.", hint="Make it again with kgtable connect."
            )
        dialect, base = content.get("dialect", "generic"), content.get("base", DEFAULT_BASE)
        return StoreEndpoint(url, str(dialect), str(base), store)

    def _pointed_generation(self, pointer: dict[str, Any]) -> Generation | None:
        number = pointer.get("generation")
        if not isinstance(number, int):
            return None
        path = self.generations_path / str(number)
        if not path.is_dir():
            raise GraphVersionError(
                f"{self.path / POINTER} points to generation {number}, which is gone.",
                hint="Build the graph again in an empty directory.",
            )
        return Generation(number, path, str(pointer.get("base", DEFAULT_BASE)))

    def _pointer(self) -> dict[str, Any]:
        path = self.path / POINTER
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise GraphNotFoundError(
                f"There is no graph in {self.path}.", hint=f"Make one with: kgtable build PATH --kg {self.path}"
            ) from error
        except OSError as error:
            raise GraphNotFoundError(f"{path} cannot be read: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise GraphVersionError(
                f"{path} is not a kgtable graph's description: it is not JSON.", hint=BUILD_AGAIN
            ) from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise GraphVersionError(f"{path} was not written by kgtable.", hint="Choose another directory.")
        if "checksum" in content and content.pop("checksum") != checksum_of_json(content):
            raise GraphVersionError(f"{path} is damaged: it does not say what was written.", hint=BUILD_AGAIN)
        if content.get("version") != FORMAT_VERSION:
            raise GraphVersionError(
                f"The graph in {self.path} has format version {content.get('version')!r}; "
                f"this kgtable reads version {FORMAT_VERSION}.",
                hint="Build it again in an empty directory.",
            )
        return content

    @contextmanager
    def building(self) -> Iterator[Generation | None]:
        """Lock the graph for one build; returns the current generation, None at the first build.

        Raises `GraphLockedError`, `GraphVersionError` for a foreign directory, `StorageError`.
        """
        with storage_errors(self.path):
            self.path.exists()  # a name that is too long
        if (self.path / POINTER).exists() and self.endpoint() is not None:
            raise GraphVersionError(
                f"The graph in {self.path} is kept by a SPARQL endpoint.",
                hint="Build into a directory of its own, then send it there with kgtable push.",
            )
        if self._is_foreign():
            raise GraphVersionError(
                f"{self.path} is not empty and holds no kgtable graph.",
                hint="Choose a new or empty directory for the graph.",
            )
        with storage_errors(self.path):
            make_folder(self.path)
        with exclusive_lock(self.path / LOCK, LOCK_WAIT):
            if not (self.path / POINTER).exists():
                self.point_to(None, DEFAULT_BASE)
            current = self._pointed_generation(self._pointer())
            with storage_errors(self.path):
                self._clean(current)
            yield current
            with suppress(OSError):  # the build is complete; the next one cleans what is left
                self._clean(self._pointed_generation(self._pointer()))

    def _clean(self, current: Generation | None) -> None:
        """Remove what unfinished builds left, and earlier generations that nobody reads."""
        make_folder(self.generations_path)
        for stray in self.path.glob(".*.tmp"):
            stray.unlink(missing_ok=True)
        for entry in sorted(self.generations_path.iterdir()):
            if not entry.is_dir():
                entry.unlink(missing_ok=True)
            elif entry.name.startswith("."):
                shutil.rmtree(entry, ignore_errors=True)
            elif current is None or entry.name != str(current.number):
                remove_unread(entry)

    def begin(self, current: Generation | None, base: str) -> Generation:
        """Make an empty folder for the next generation."""
        number = 1 if current is None else current.number + 1
        path = self.generations_path / str(number)
        with storage_errors(path):
            path.mkdir()
            (path / LEASE).touch()
        return Generation(number, path, base, current)

    def begin_copy(self, current: Generation) -> Generation:
        """Make a folder for the next generation with a copy of the current one, without its index.

        The store's data files are shared by hard links. Where something was written to the store, the copy has no
        text of its default graph. Raises `StorageError`, also where something is damaged.
        """
        current.check()
        copy = self.begin(current, current.base)
        with storage_errors(copy.path):
            copy_store(current.store_path, copy.store_path)
            for entry in current.parts:
                if entry != current.description_path or current.is_as_made:
                    shutil.copyfile(entry, copy.path / entry.name)
        return copy

    def point_to(self, generation: Generation | None, base: str) -> None:
        """Make a complete generation the current one, in one step.

        Everything in the generation is on disk before the pointer names it, also after a power cut.
        Raises `StorageError`.
        """
        if generation is not None:
            with storage_errors(generation.path):
                record_checksums(generation.first_store_path)
                generation.record_parts()
                sync_tree(generation.path)
                sync_folder(self.generations_path)
        self._write({"generation": None if generation is None else generation.number, "base": base})

    def point_to_endpoint(self, endpoint: StoreEndpoint) -> None:
        """Make a new or empty directory, or one that points to an endpoint, point to this one.

        Raises `GraphVersionError` for a directory with a graph or anything else, `StorageError`.
        """
        if self._is_foreign() or ((self.path / POINTER).exists() and self.endpoint() is None):
            raise GraphVersionError(
                f"{self.path} is not empty.", hint="Choose a new or empty directory for the connection."
            )
        with storage_errors(self.path):
            make_folder(self.path)
        parts = {"query": endpoint.url, "store": endpoint.store, "dialect": endpoint.dialect, "base": endpoint.base}
        self._write({"endpoint": parts})

    def _is_foreign(self) -> bool:
        """Whether the directory holds other things than a graph."""
        if (self.path / POINTER).exists() or not self.path.is_dir():
            return False
        return any(not entry.name.startswith(".") for entry in self.path.iterdir())

    def _write(self, target: dict[str, Any]) -> None:
        """Write the pointer with its checksum, in one step. Raises `StorageError`."""
        content = {"format": FORMAT, "version": FORMAT_VERSION, **target}
        content["checksum"] = checksum_of_json(content)
        with whole_file(self.path / POINTER) as handle:
            handle.write((json.dumps(content, indent=2) + "\n").encode("utf-8"))


def catalogue_info(catalogue: Catalogue, generation: Generation) -> dict[str, Any]:
    """Counts of files, tables, rows, cells by kind, quads and units, what could not be read or is odd."""
    tables, texts = catalogue.tables, catalogue.documents
    tally = Tally()
    for table in tables.values():
        tally.add(Tally.from_json(table.tally))
    counts = tally.to_json()
    return {
        "generation": generation.number,
        "base": generation.base,
        "files": len(catalogue.files),
        "tables": len(tables),
        "rows": sum(record.members for record in tables.values()),
        "cells": tally.cells,
        "quads_of_tables": tally.predicates.total(),
        "documents": len(texts),
        "passages": sum(text.passages for text in texts.values()),
        "quads_of_documents": sum(text.quads for text in texts.values()),
        "kinds": counts["kinds"],
        "units": {unit: sum(sources.values()) for unit, sources in counts["units"].items()},
        "errors": [file.error for file in catalogue.files.values() if file.error],
        "notices": [str(notice) for record in tables.values() for notice in record.notices]
        + [str(notice) for record in texts.values() for notice in record.notices],
        "table_ids": list(tables),
    }
