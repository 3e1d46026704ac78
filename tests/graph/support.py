from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox

from kgtable.building.convert import ConversionOptions, TableConversion
from kgtable.building.generations import GraphDirectory
from kgtable.graph.terms import Namespaces
from kgtable.graph.writers import Format, writer_for
from kgtable.tables.model import Grid, Source

NAMES = Namespaces()


def grid(*rows: tuple[str, ...], id: str = "t", **more: object) -> Grid:
    """A grid of texts."""
    width = max((len(row) for row in rows), default=0)
    return Grid(id, Source(f"{id}.csv", media_type="text/csv"), tuple(rows), width, **more)  # type: ignore[arg-type]


def text_of(table: Grid, format: Format = Format.NQUADS) -> str:
    """A whole document with one table."""
    settings = ConversionOptions(NAMES, format)
    writer = writer_for(format, NAMES)
    return writer.start() + "".join(TableConversion(table, settings)) + writer.end()


def triples_of(table: Grid) -> list[ox.Triple]:
    """The triples of a table's graph."""
    parsed = ox.parse(text_of(table).encode("utf-8"), format=ox.RdfFormat.N_QUADS)
    return [quad.triple for quad in parsed]


def dump(directory: Path) -> list[str]:
    """The sorted statements of a graph directory's store."""
    store = ox.Store.read_only(str(GraphDirectory(directory).current().store_path))
    return sorted(map(str, store))
