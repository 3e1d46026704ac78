"""Asking a graph: what every triple store can do, and Oxigraph inside this process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Protocol, TypeAlias

import pyoxigraph as ox

from kgtable.errors import GraphNotFoundError, QueryError, StorageError
from kgtable.graph.sparql_text import Bindable, to_term

_TRIPLE = attrgetter("triple")

Results: TypeAlias = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples


class TripleStore(Protocol):
    """A graph that answers SPARQL 1.1 queries."""

    def query(
        self, text: str, *, bindings: Mapping[str, Bindable] | None = None, union_default_graph: bool = True
    ) -> Results:
        """The results of a query.

        `bindings` gives values to variables by name; a SELECT must name them among its results. With
        `union_default_graph` patterns outside ``GRAPH`` match every table and the description;
        without it, the description alone.
        Raises `QueryError` for a query that cannot be parsed or evaluated.
        """
        ...

    def graph(self, iri: str | None) -> Iterator[ox.Triple]:
        """Every triple of a named graph, or with None of the default graph."""
        ...


class EmbeddedStore:
    """An Oxigraph store on disk, opened for reading; it works beside a build.

    Results belong to the thread that asked: they must not be handed to another. Queries may use
    the `prefixes` (name to namespace) without declaring them.
    Raises `GraphNotFoundError` where there is no store, `StorageError` where it is damaged.
    """

    def __init__(self, path: str | Path, prefixes: Mapping[str, str] | None = None) -> None:
        self.path = Path(path)
        self._prefixes = dict(prefixes or {})
        if not Path(path, "CURRENT").exists():
            raise GraphNotFoundError(f"There is no store in {path}.")
        try:
            self._store = ox.Store.read_only(str(path))
        except (OSError, RuntimeError) as error:  # a RuntimeError tells of damaged files
            raise StorageError(f"The store in {path} cannot be opened: {error}.") from error

    def query(
        self, text: str, *, bindings: Mapping[str, Bindable] | None = None, union_default_graph: bool = True
    ) -> Results:
        """See `TripleStore.query`."""
        substitutions = {_variable(name): to_term(value) for name, value in (bindings or {}).items()}
        try:
            return self._store.query(
                text,
                use_default_graph_as_union=union_default_graph,
                prefixes=self._prefixes,
                substitutions=substitutions,  # type: ignore[arg-type]
            )
        except SyntaxError as error:
            raise QueryError(f"The query cannot be parsed: {error}") from error
        except (ValueError, OSError, RuntimeError) as error:
            hint = "Select the variables that you bind." if "SELECT projection" in str(error) else ""
            raise QueryError(f"The query cannot be evaluated: {error}", hint=hint) from error

    def graph(self, iri: str | None) -> Iterator[ox.Triple]:
        """See `TripleStore.graph`."""
        name = ox.DefaultGraph() if iri is None else ox.NamedNode(iri)
        return map(_TRIPLE, self._store.quads_for_pattern(None, None, None, name))

    def has_graph(self, iri: str) -> bool:
        """Whether there is a named graph of this name."""
        return self._store.contains_named_graph(ox.NamedNode(iri))

    def __len__(self) -> int:
        return len(self._store)


def store_state(path: Path) -> str:
    """A text that changes whenever something is written to the store in this folder.

    RocksDB never changes a data file: a write makes its log longer, a flush or a new writer makes new files.
    """
    kinds = ("CURRENT", "MANIFEST", ".log", ".sst")
    found = sorted(
        (entry.name, entry.stat().st_size)
        for entry in path.iterdir()
        if entry.name.startswith(kinds[:2]) or entry.name.endswith(kinds[2:])
    )
    return hashlib.sha256(repr(found).encode()).hexdigest()


def _variable(name: str) -> ox.Variable:
    try:
        return ox.Variable(name)
    except ValueError as error:
        raise QueryError(f"{name!r} is not the name of a variable.") from error
