"""Where the store to serve lies right now: a build may put a new one in its place at any time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kgtable.errors import GraphVersionError, KgtableError, ServerError
from kgtable.graph.generation import POINTER, GraphDirectory
from kgtable.graph.terms import FIXED_PREFIXES, Namespaces
from kgtable.server.pool import View
from kgtable.server.problems import Problem

WIDELY_USED = {
    "foaf": "http://xmlns.com/foaf/0.1/",
    "quantitykind": "http://qudt.org/vocab/quantitykind/",
    "sd": "http://www.w3.org/ns/sparql-service-description#",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
}
"""Prefixes queries may use beside those of the dataset itself."""


class Source(Protocol):
    """Something with a store that can be served."""

    def view(self) -> View:
        """The store as it is now. Raises `Problem` where there is none. Cheap: asked on every request."""
        ...


class StoreFolder:
    """A bare Oxigraph store, without a graph directory around it."""

    def __init__(self, path: Path, prefixes: Mapping[str, str] | None = None) -> None:
        self._view = View(str(path), "1", {**WIDELY_USED, **FIXED_PREFIXES, **(prefixes or {})})

    def view(self) -> View:
        """The store; only the server itself can change it."""
        return self._view


class GraphFolder:
    """A graph directory: its pointer is looked at on each request and read when it has changed.

    Raises `ServerError` for a directory that points to an endpoint, `GraphNotFoundError` and
    `GraphVersionError` as `GraphDirectory` does.
    """

    def __init__(self, path: Path) -> None:
        self._directory = GraphDirectory(path)
        self._pointer = str(path / POINTER)
        if self._directory.endpoint() is not None:
            raise ServerError(
                f"The graph in {path} is kept by another SPARQL endpoint.",
                hint="Use that endpoint, or build the graph into a directory of its own.",
            )
        self._stamp = self._look()
        self._view = self._read()

    def view(self) -> View:
        """The current generation's store."""
        stamp = self._look()
        if stamp != self._stamp:
            try:
                self._view, self._stamp = self._read(), stamp
            except KgtableError as error:
                raise Problem("unavailable", str(error)) from error
        return self._view

    def _look(self) -> tuple[int, int]:
        try:
            status = os.stat(self._pointer)
        except OSError:
            return 0, 0
        return status.st_mtime_ns, status.st_ino

    def _read(self) -> View:
        generation = self._directory.current()
        prefixes = {**WIDELY_USED, **Namespaces(generation.base).prefixes}
        try:
            made = generation.catalogue_path.stat().st_mtime_ns
        except OSError as error:
            raise GraphVersionError(
                f"The catalogue {generation.catalogue_path} is missing.",
                hint="Build the graph again in an empty directory.",
            ) from error
        version = f"{generation.number}-{made:x}"
        return View(str(generation.store_path), version, prefixes, str(self._directory.path.absolute()))
