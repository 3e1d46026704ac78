"""Three small tables and their triples, for the tests of whole-table retrieval."""

from __future__ import annotations

from kgtable.retrieval.result import ScoredTriple
from kgtable.tables.model import Column, Context, Grid, Row, Source, Structure, Table


def table(id: str, *rows: Row, title: str = "") -> Table:
    columns = tuple(Column(index, (name,)) for index, name in enumerate(rows[0]))
    grid = Grid(id, Source(f"{id}.csv"), rows, len(rows[0]), Context(title=title))
    return Table(grid, Structure(columns=columns, header=(0,), body_start=1))


TABLES = (
    table("planets", ("Planet", "Moons"), ("Mars", "2"), ("Jupiter", "95"), title="Solar system"),
    table("rivers", ("River", "Length (km)"), ("Rhine", "1,230"), ("Elbe", "1,094")),
    table("pensions", ("Year", "Pension"), ("2011", "574"), ("2012", "602")),
)


def triples_of(id: str) -> tuple[ScoredTriple, ...]:
    (found,) = (table for table in TABLES if table.id == id)
    return tuple(
        ScoredTriple(id, r, c, row[0], f"has{c}", text, None, None, None, None, f"cell/{id}/{r}/{c}", 0.0)
        for r, row in found.body()
        for c, text in enumerate(row)
    )
