"""The interface of triple stores, and the one inside this process: Oxigraph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Protocol, TypeAlias

import pyoxigraph as ox

from kgtable.errors import GraphClosedError, GraphNotFoundError, QueryError, StorageError
from kgtable.graph.sparql_text import Bindable, check_depth, spelt_out, to_term
from kgtable.storage import Lease

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

    def close(self) -> None:
        """Release files or connections. A store that is used again raises `GraphClosedError`."""
        ...


@contextmanager
def query_errors() -> Iterator[None]:
    """Turn what Oxigraph raises into a `QueryError` of one line.

    Results are evaluated as they are read, so that reading them raises as well: a ``SERVICE`` that
    refuses, a result that is too large.
    """
    try:
        yield
    except SyntaxError as error:
        raise QueryError(f"The query cannot be parsed: {error}") from error
    except (ValueError, OSError, RuntimeError) as error:
        hint = "Select the variables that you bind." if "SELECT projection" in str(error) else ""
        text = " ".join(str(error).split())
        raise QueryError(f"The query cannot be evaluated: {text}", hint=hint) from error


class EmbeddedStore:
    """An Oxigraph store on disk, opened for reading, also while a build goes on beside it.

    Results belong to the thread that asked: they must not be handed to another. Queries may use
    the `prefixes` (name to namespace) without declaring them. ``SELECT *`` gives its variables in the
    order in which the query names them.
    The files stay as long as the store is used where `leases` are those on its folder and its generation's.
    Raises `GraphNotFoundError` where there is no store, `StorageError` where it is damaged.
    """

    def __init__(
        self,
        path: str | Path,
        prefixes: Mapping[str, str] | None = None,
        leases: Sequence[Lease | None] = (),
    ) -> None:
        self.path = Path(path)
        self._prefixes = dict(prefixes or {})
        self._leases = tuple(leases)
        if not Path(path, "CURRENT").exists():
            raise GraphNotFoundError(f"There is no store in {path}.")
        try:
            self._opened: ox.Store | None = ox.Store.read_only(str(path))
        except (OSError, RuntimeError) as error:  # a RuntimeError tells of damaged files
            raise StorageError(f"The store in {path} cannot be opened: {error}.") from error

    @property
    def _store(self) -> ox.Store:
        if self._opened is None:
            raise GraphClosedError("The graph was closed.", hint="Open it again with kgtable.open.")
        return self._opened

    def query(
        self, text: str, *, bindings: Mapping[str, Bindable] | None = None, union_default_graph: bool = True
    ) -> Results:
        """See `TripleStore.query`."""
        substitutions = {_variable(name): to_term(value) for name, value in (bindings or {}).items()}
        store = self._store

        def results(text: str) -> Results:
            return store.query(
                text,
                use_default_graph_as_union=union_default_graph,
                prefixes=self._prefixes,
                substitutions=substitutions,  # type: ignore[arg-type]
            )

        with query_errors():
            check_depth(text)
            found = results(text)
            if isinstance(found, ox.QuerySolutions):
                ordered = spelt_out(text, [variable.value for variable in found.variables])
                found = found if ordered is None else results(ordered)
            return found

    def graph(self, iri: str | None) -> Iterator[ox.Triple]:
        """See `TripleStore.graph`."""
        name = ox.DefaultGraph() if iri is None else ox.NamedNode(iri)
        return map(_TRIPLE, self._store.quads_for_pattern(None, None, None, name))

    def has_graph(self, iri: str) -> bool:
        """Whether there is a named graph of this name."""
        return self._store.contains_named_graph(ox.NamedNode(iri))

    def close(self) -> None:
        """See `TripleStore.close`; a query that is being evaluated in another thread ends as it would."""
        self._opened = None
        self._leases = ()

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
