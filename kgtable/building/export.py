"""Export of a graph as RDF, and of its tables as CSV, data frames, and HTML in a notebook."""

from __future__ import annotations

import hashlib
import html
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyoxigraph as ox

from kgtable.building.catalogue import TableRecord, counted_rows, missing_table
from kgtable.errors import MissingExtraError, UsageError
from kgtable.graph.store import TripleStore, select
from kgtable.graph.table_source import read_table
from kgtable.graph.terms import Blocks, Namespaces, Term, encode
from kgtable.graph.writers import Format, collect, plain_blocks, table_blocks, whole_document
from kgtable.resources import read_shipped
from kgtable.storage import output_file, refuse_within_graph, storage_errors
from kgtable.tables.model import Position, Table
from kgtable.values.text import delimited_text

if TYPE_CHECKING:
    import pandas as pd
    import rdflib


_LONGEST_NAME = 120
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def write_rdf(
    store: TripleStore, graphs: Iterable[str], names: Namespaces, format: Format, *, description: bool = True
) -> Iterator[str]:
    """Named graphs, and the default graph unless `description` is false, in pieces."""

    def written() -> Iterator[tuple[Term | None, Blocks]]:
        for iri in graphs:
            yield iri if iri.startswith("_:") else f"<{iri}>", table_blocks(store.graph(iri))
        if description:
            yield None, plain_blocks(collect(store.graph(None)))

    return whole_document(format, names, written())


def all_graphs(
    store: TripleStore, tables: Iterable[str], names: Namespaces, documents: Iterable[str] = ()
) -> list[str]:
    """The named graphs of tables and documents, then all others (which users may have written), sorted."""
    known = dict.fromkeys((*map(names.table_iri, tables), *map(names.document_iri, documents)))
    stated = (row["graph"] for row in select(store, read_shipped("queries/named-graphs.rq"), union_default_graph=False))
    others = {str(name) if isinstance(name, ox.BlankNode) else name.value for name in stated}
    return [*known, *sorted(others - known.keys())]


def to_dataset(store: TripleStore, graphs: Iterable[str], names: Namespaces) -> rdflib.Dataset:
    """Named graphs and the default graph in memory."""
    import rdflib

    dataset = rdflib.Dataset()
    for name, namespace in names.prefixes.items():
        dataset.bind(name, namespace)
    dataset.parse(data="".join(write_rdf(store, graphs, names, Format.NQUADS)), format="nquads")
    return dataset


def csv_text(table: Table, *, defuse: bool = False) -> str:
    """The table as CSV (RFC 4180, lines end with a line feed): every cell's text as it was read.

    With `defuse`, what a spreadsheet would run as a formula follows an apostrophe.
    """
    return delimited_text(table.grid.rows, defused=defuse)


def write_csv_files(
    store: TripleStore,
    tables: Sequence[str],
    names: Namespaces,
    out: Path,
    *,
    as_file: bool = False,
    defuse: bool = False,
) -> list[Path]:
    """Write tables as CSV to `out`, a folder for their files or the file of the only one; returns the paths.

    `out` is a file if it exists as one, if its suffix is ``.csv``, or with `as_file` if it has any suffix. With
    `defuse`, what a spreadsheet would run as a formula follows an apostrophe. Raises `UsageError` if several
    tables would have to share a file, `StorageError`.
    """
    refuse_within_graph(out)
    is_file = out.exists() or out.suffix.lower() == ".csv" or (as_file and bool(out.suffix))
    if not is_file or out.is_dir():
        return write_csv_folder(store, tables, names, out, defuse=defuse)
    if len(tables) != 1:
        raise UsageError(
            f"{out} cannot hold {len(tables):,} tables: a CSV file holds one.",
            hint=f"Name one with --table, or a folder for all: {out.with_suffix('')}{os.sep}",
        )
    table = read_table(store, tables[0], names)
    with output_file(out) as handle:
        write_csv(table, handle, defuse=defuse)
    return [out]


def write_csv_folder(
    store: TripleStore, tables: Iterable[str], names: Namespaces, folder: Path, *, defuse: bool = False
) -> list[Path]:
    """One CSV file per table, named after its id; returns the paths. Raises `StorageError`."""
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
        with output_file(path) as handle:
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


@dataclass(frozen=True)
class TableView:
    """A table of the graph: its record in the catalogue, and its cells when asked for."""

    record: TableRecord
    table: Table
    values: Callable[[], Mapping[Position, Any]] = dict
    """The cells that are not just text, by grid position."""

    @property
    def id(self) -> str:
        """The table's id."""
        return self.record.id

    def to_frame(self, *, text: bool = False) -> pd.DataFrame:
        """The body rows under the column names, typed or as printed.

        Numbers are exact `Decimal` with the scale applied, years whole numbers, dates, times and truth values such, and
        blank and missing cells None. With `text`, every cell is the text that is printed.
        """
        import pandas as pd

        names = [column.name or f"[column {column.index + 1}]" for column in self.table.columns]
        rows: list[list[Any]] = [[*row, *[""] * (len(names) - len(row))] for _, row in self.table.body()]
        if not text:
            values = self.values()
            for (index, _), row in zip(self.table.body(), rows, strict=True):
                row[:] = (values.get((index, column), cell or None) for column, cell in enumerate(row))
        return pd.DataFrame(rows, columns=pd.Index(names, dtype=object), dtype=None if text else object)

    def to_csv(self, *, defuse: bool = False) -> str:
        """The table as CSV, every cell as it was read."""
        return csv_text(self.table, defuse=defuse)

    def __repr__(self) -> str:
        rows = counted_rows(self.record.members, self.record.totals)
        return f"TableView({self.id!r}, {rows}, {self.record.width:,} columns)"

    def _repr_html_(self) -> str:
        title = html.escape(self.record.title or self.id)
        return (
            f"<p><b>{title}</b> ({html.escape(self.record.path)})</p>{self.to_frame(text=True).to_html(notebook=True)}"
        )


def write_parquet(view: TableView, handle: IO[bytes]) -> None:
    """The body of a table with typed values; a column of several types as texts. Raises `MissingExtraError`."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("Writing Parquet", "parquet") from error
    typed, texts = view.to_frame(), None
    columns = []
    for at in range(typed.shape[1]):
        try:
            columns.append(pa.array(typed.iloc[:, at].tolist()))
        except (pa.ArrowException, TypeError, ValueError):
            texts = view.to_frame(text=True) if texts is None else texts
            columns.append(pa.array(texts.iloc[:, at].tolist(), pa.string()))
    pq.write_table(pa.Table.from_arrays(columns, names=list(map(str, typed.columns))), handle)


class Tables(Mapping[str, TableView]):
    """The tables of a graph by id, in the order they were read."""

    def __init__(
        self,
        records: Mapping[str, TableRecord],
        read: Callable[[str], Table],
        values: Callable[[str], Mapping[Position, Any]] = lambda id: {},
    ) -> None:
        self._records = records
        self._read = read
        self._values = values

    def __getitem__(self, id: str) -> TableView:
        if id not in self._records:
            raise missing_table(id, self._records)
        return TableView(self._records[id], self._read(id), partial(self._values, id))

    def __contains__(self, id: object) -> bool:
        return id in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        ids = [repr(id) for id, _ in zip(self._records, range(3), strict=False)]
        more = ", …" if len(self) > len(ids) else ""
        return f"Tables({len(self):,}: {', '.join(ids)}{more})"

    def to_frame(self) -> pd.DataFrame:
        """One row for each table: id, title, file, sheet, rows, columns, cells."""
        import pandas as pd

        columns = ["id", "title", "file", "sheet", "rows", "columns", "cells"]
        return pd.DataFrame(table_list(self._records.values()), columns=columns)

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(notebook=True, max_rows=20))


def table_list(records: Iterable[TableRecord]) -> list[dict[str, Any]]:
    """Id, title, file, sheet, and numbers of rows, totals, columns and cells of each table, as values of JSON."""
    return [
        {
            "id": record.id,
            "title": record.title,
            "file": record.path,
            "sheet": record.sheet,
            "rows": record.members,
            "totals": record.totals,
            "columns": record.width,
            "cells": record.cells,
        }
        for record in records
    ]


def column_list(record: TableRecord) -> list[dict[str, Any]]:
    """Each column of a table with its meaning (role, kind, variant, evidence, confidence) and units, for JSON."""
    return [
        {
            "index": fact.index,
            "name": fact.name,
            "predicate": fact.predicate,
            **(asdict(fact.meaning) if fact.meaning else {}),
            "units": list(fact.units),
        }
        for fact in record.facts
    ]
