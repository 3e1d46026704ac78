"""Export of a graph as RDF, and of its tables as CSV, data frames and HTML."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kgtable.graph.store import TripleStore
from kgtable.graph.table_source import read_table
from kgtable.graph.terms import Blocks, Namespaces, Term, encode
from kgtable.graph.writers import Format, collect, plain_blocks, table_blocks, whole_document
from kgtable.storage import storage_errors, whole_file
from kgtable.tables.model import Table
from kgtable.values.text import delimited_text

if TYPE_CHECKING:
    import rdflib


_LONGEST_NAME = 120
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def write_rdf(
    store: TripleStore,
    tables: Iterable[str],
    names: Namespaces,
    format: Format,
    *,
    documents: Iterable[str] = (),
    description: bool = True,
) -> Iterator[str]:
    """The graphs of tables and documents, and the default graph unless `description` is false, in pieces."""
    graphs = (*map(names.table_iri, tables), *map(names.document_iri, documents))
    return whole_document(format, names, _graphs(store, graphs, description=description))


def _graphs(
    store: TripleStore, graphs: Iterable[str], *, description: bool
) -> Iterator[tuple[Term | None, Blocks]]:
    for iri in graphs:
        yield f"<{iri}>", table_blocks(store.graph(iri))
    if description:
        yield None, plain_blocks(collect(store.graph(None)))


def to_dataset(
    store: TripleStore, tables: Iterable[str], names: Namespaces, documents: Iterable[str] = ()
) -> rdflib.Dataset:
    """The graphs of tables and documents and the default graph in memory."""
    import rdflib

    dataset = rdflib.Dataset()
    for name, namespace in names.prefixes.items():
        dataset.bind(name, namespace)
    dataset.parse(
        data="".join(write_rdf(store, tables, names, Format.NQUADS, documents=documents)), format="nquads"
    )
    return dataset


def csv_text(table: Table, *, defuse: bool = False) -> str:
    """The table as CSV (RFC 4180, lines end with a line feed): every cell's text as it was read.

    With `defuse`, what a spreadsheet would run as a formula stands behind an apostrophe.
    """
    return delimited_text(table.grid.rows, defused=defuse)


def write_csv_folder(
    store: TripleStore, tables: Iterable[str], names: Namespaces, folder: Path, *, defuse: bool = False
) -> list[Path]:
    """One CSV file a table, named after its id; gives the paths. Raises `StorageError`."""
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    taken: set[str] = set()
    for id in tables:
        name = safe_file_name(id)
        if name.casefold() in taken:
            name = _with_digest(name, id)
        taken.add(name.casefold())
        path = folder / f"{name}.csv"
        with whole_file(path) as handle:
            write_csv(read_table(store, id, names), handle, defuse=defuse)
        paths.append(path)
    return paths


def write_csv(table: Table, handle: IO[bytes], *, defuse: bool = False) -> None:
    """Writes one table as UTF-8 CSV."""
    handle.write(csv_text(table, defuse=defuse).encode("utf-8", "surrogatepass"))


def safe_file_name(id: str) -> str:
    """A file name for a table id on any system, different for different ids; never a path.

    >>> safe_file_name("balance-2016"), safe_file_name("../../etc/passwd"), safe_file_name("a:b")
    ('balance-2016', '%2E.%2F..%2Fetc%2Fpasswd', 'a%3Ab')
    """
    name = encode(id).replace("~", "%7E")
    if name.startswith("."):
        name = "%2E" + name[1:]
    stem, dot, rest = name.partition(".")
    if stem.lower() in _RESERVED:
        name = f"{stem}%{dot}{rest}"
    if not name or name.endswith("."):
        name = f"{name}%"
    return name if len(name.encode("utf-8")) <= _LONGEST_NAME else _with_digest(name, id)


def _with_digest(name: str, id: str) -> str:
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    cut = name.encode("utf-8")[: _LONGEST_NAME - 17].decode("utf-8", "ignore")
    return f"{cut}~{digest}"
