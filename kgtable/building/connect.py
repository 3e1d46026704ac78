"""Graph directories that point to a SPARQL endpoint: connect, list tables, count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import rdflib

from kgtable.building.catalogue import Catalogue, FileRecord, TableRecord
from kgtable.building.generations import Generation, GraphDirectory
from kgtable.graph.export import write_rdf
from kgtable.graph.remote.dialects import StoreEndpoint
from kgtable.graph.remote.endpoint import RemoteStore
from kgtable.graph.remote.http import checked_url
from kgtable.graph.store import TripleStore
from kgtable.graph.terms import DEFAULT_BASE, UNIT, Namespaces
from kgtable.graph.writers import Format
from kgtable.resources import read_shipped

_TABLES = "data/table/"


def connect(
    directory: Path | str,
    url: str,
    *,
    store: str | None = None,
    dialect: str = "generic",
    base: str | None = None,
) -> StoreEndpoint:
    """Make `directory` point to the graph behind a SPARQL endpoint, once the endpoint has answered.

    `store` is its Graph Store Protocol address, `base` what the graph's IRIs begin with: without it
    the endpoint is asked for a table. Nothing is written where the endpoint does not answer.

    Raises `UsageError`, `RemoteStoreError`, `GraphVersionError` for a directory that holds something
    else, `StorageError`.
    """
    store = None if store is None else checked_url(store)
    endpoint = StoreEndpoint(checked_url(url), dialect, base or DEFAULT_BASE, store)
    found = _base_of(RemoteStore(endpoint, Namespaces(endpoint.base).prefixes))
    if base is None and found is not None:
        endpoint = StoreEndpoint(url, dialect, found, store)
    GraphDirectory(directory).point_to_endpoint(endpoint)
    return endpoint


def _base_of(store: RemoteStore) -> str | None:
    found = store.query(read_shipped("queries/remote/a-table.rq"))
    assert isinstance(found, ox.QuerySolutions)
    for solution in found:
        base, mark, _ = solution["table"].value.partition(_TABLES)
        return base if mark else None
    return None


def list_tables(store: TripleStore) -> Catalogue:
    """The catalogue of the tables in a store, from its triples: sizes and sources, no counts of cells."""
    files: dict[str, list[TableRecord]] = {}
    for row in _rows(store, "tables"):
        path = row["path"] or row["id"]
        record = TableRecord(
            id=row["id"], path=path, sheet=row["sheet"], number=len(files.get(path, ())) + 1, media_type="",
            sha256="", title=row["title"] or "", rows=int(row["rows"] or 0), width=int(row["width"]), cells=0,
            quads=0,
        )  # fmt: skip
        files.setdefault(path, []).append(record)
    return Catalogue(
        FileRecord(path, tables[0].id, "", "", path, tuple(tables)) for path, tables in files.items()
    )


def endpoint_generation(place: GraphDirectory, endpoint: StoreEndpoint) -> Generation:
    """A generation for a graph kept by an endpoint: its folder is the directory itself."""
    return Generation(0, place.path, endpoint.base)


def description(store: TripleStore, names: Namespaces) -> rdflib.Graph:
    """The default graph of a store: description of the dataset and ontology."""
    text = "".join(write_rdf(store, (), names, Format.NTRIPLES))
    return rdflib.Graph().parse(data=text, format="nt")


def in_memory(nquads: Iterable[str]) -> ox.Store:
    """Load N-Quads, given in pieces, into a store in memory."""
    store = ox.Store()
    store.load("".join(nquads), ox.RdfFormat.N_QUADS, lenient=True)
    return store


def endpoint_info(endpoint: StoreEndpoint, store: TripleStore) -> dict[str, Any]:
    """Counts of the graph behind an endpoint, computed by its engine."""
    catalogue = list_tables(store)
    return {
        "endpoint": endpoint.url,
        "dialect": endpoint.dialect,
        "base": endpoint.base,
        "files": len(catalogue.files),
        "tables": len(catalogue.tables),
        "rows": sum(record.rows for record in catalogue.tables.values()),
        "quads_of_tables": sum(int(row["quads"]) for row in _rows(store, "quads")),
        "units": {row["unit"].removeprefix(UNIT): int(row["quantities"]) for row in _rows(store, "units")},
        "table_ids": list(catalogue.tables),
    }


def _rows(store: TripleStore, name: str) -> Iterator[dict[str, Any]]:
    found = store.query(read_shipped(f"queries/remote/{name}.rq"))
    assert isinstance(found, ox.QuerySolutions)
    names = [variable.value for variable in found.variables]
    for solution in found:
        terms = {name: solution[name] for name in names}
        yield {name: None if term is None else term.value for name, term in terms.items()}
